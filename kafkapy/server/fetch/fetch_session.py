"""Incremental fetches (KIP-227; Kafka's `FetchSession`): a client sends its partitions once and then only changes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.log_types import LogOffsetMetadata
from kafkapy.protocol.errors import Errors
from kafkapy.server.replication.delayed_fetch import DelayedFetch
from kafkapy.server.replication.fetch_params import FetchPartition, FetchResult
from kafkapy.server.replication.replica_manager import ReplicaManager

INVALID_SESSION_ID: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
_NONE: Final = Errors.NONE
LOOK_AT_ALL_MS: Final = 5_000
"""Interval at which followers get news without notification; shorter than Kafka's default for
`replica.lag.time.max.ms`, 30 s.
"""
MIN_EVICTION_MS: Final = 120_000
"""A session younger than this is not evicted by one of equal rank (`min.incremental.fetch.session.eviction.ms`)."""

Key = tuple[bytes | str, int]
"""(topic id, or the topic's name if the client does not use ids; partition)"""


class CachedPartition(FetchPartition):
    """The client's request for a partition, and the values of its last response."""

    __slots__ = ("high_watermark", "local_log_start_offset", "start")

    def __init__(self, fetch: FetchPartition) -> None:
        super().__init__(
            fetch.topic_partition,
            fetch.topic_id,
            fetch.fetch_offset,
            fetch.log_start_offset,
            fetch.max_bytes,
            fetch.current_leader_epoch,
            fetch.last_fetched_epoch,
        )
        self.high_watermark = -1
        self.local_log_start_offset = -1
        self.start = LogOffsetMetadata(-1)
        """The position of the fetch offset in the log at the last read of the partition."""

    def update_request(self, fetch: FetchPartition) -> None:
        self.fetch_offset = fetch.fetch_offset
        self.log_start_offset = fetch.log_start_offset
        self.max_bytes = fetch.max_bytes
        self.current_leader_epoch = fetch.current_leader_epoch
        self.last_fetched_epoch = fetch.last_fetched_epoch

    def maybe_update_response(self, result: FetchResult) -> bool:
        """Return whether the response must include the partition; stores the response's values
        (`CachedPartition.maybeUpdateResponseData`).
        """
        must = bool(result.records)
        if self.high_watermark != result.high_watermark:
            must = True
            self.high_watermark = result.high_watermark
        if self.local_log_start_offset != result.log_start_offset:
            must = True
            self.local_log_start_offset = result.log_start_offset
        if result.preferred_read_replica != -1 or result.diverging_epoch is not None:
            must = True
        if result.error is not _NONE:
            # Included in the next response even without other changes: the client must see that the error has ended.
            self.high_watermark = -1
            must = True
        return must


class FetchSession:
    """One client's partitions, in the order in which they are read.

    Invariant: `epoch` is the expected epoch of the client's next request; `partitions` all use topic ids or none does.
    `active` are those that a fetch must check: for a consumer all (then it is `partitions` itself).
    """

    __slots__ = ("active", "created_ms", "epoch", "id", "last_used_ms", "partitions", "privileged", "uses_topic_ids")

    def __init__(self, session_id: int, privileged: bool, uses_topic_ids: bool, now_ms: int) -> None:
        self.id = session_id
        self.privileged = privileged
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.epoch = 1
        self.partitions: dict[Key, CachedPartition] = {}
        self.active = self.partitions

    def update(self, wanted: list[FetchPartition], forgotten: list[Key]) -> None:
        partitions = self.partitions
        for fetch in wanted:
            key = key_of(fetch)
            cached = partitions.get(key)
            if cached is None:
                partitions[key] = CachedPartition(fetch)
            else:
                cached.update_request(fetch)
        for key in forgotten:
            partitions.pop(key, None)

    def next_epoch(self) -> None:
        self.epoch = 1 if self.epoch == 2147483647 else self.epoch + 1

    def close(self) -> None:
        """Release resources; the session is not used again."""


class FollowerFetchSession(FetchSession):
    """A follower's session, usually with many partitions and news of a few only.

    Invariant: each of `partitions` is either in `active` or in `_quiet`. For a quiet one the follower is in sync, has
    all data and knows the watermarks, and `quiet_partitions` notifies the session of changes. Every `LOOK_AT_ALL_MS`
    all are active once, for changes without notification (retention has moved a log start, an ACL has changed).
    """

    __slots__ = ("_broker_id", "_looked_at_all_ms", "_quiet", "_replica_manager", "_woken", "waiting")

    def __init__(
        self, session_id: int, uses_topic_ids: bool, now_ms: int, broker_id: int, replica_manager: ReplicaManager
    ) -> None:
        super().__init__(session_id, True, uses_topic_ids, now_ms)
        self.active = {}
        self.waiting: DelayedFetch | None = None
        """The fetch that waits for news."""
        self._broker_id = broker_id
        self._replica_manager = replica_manager
        self._quiet: dict[TopicPartition, CachedPartition] = {}
        self._woken: dict[TopicPartition, CachedPartition] = {}
        """Those of `active` for which `on_notified` has not been called."""
        self._looked_at_all_ms = now_ms

    def update(self, wanted: list[FetchPartition], forgotten: list[Key]) -> None:
        for key in forgotten:
            cached = self.partitions.get(key)
            if cached is not None:
                self._activate(cached)
                del self.active[key]
        super().update(wanted, forgotten)
        for fetch in wanted:
            key = key_of(fetch)
            if key in self.partitions:
                self._activate(self.partitions[key])

    def look_at_all(self, now_ms: int) -> None:
        """Activate all partitions if the interval has passed."""
        if now_ms - self._looked_at_all_ms >= LOOK_AT_ALL_MS:
            self._looked_at_all_ms = now_ms
            for cached in list(self._quiet.values()):
                self._activate(cached)

    def _activate(self, cached: CachedPartition) -> None:
        name = cached.topic_partition
        if self._quiet.get(name) is cached:  # and not the same name of a re-created topic
            del self._quiet[name]
            self._replica_manager.quiet_partitions.discard(name, self)
            self._replica_manager.was_caught_up(name, self._broker_id, self.last_used_ms)
        self.active[key_of(cached)] = cached

    def deactivate_caught_up(self, fetches: list[FetchPartition], results: list[FetchResult]) -> None:
        """Deactivate the partitions in which the follower has everything, until the next notification."""
        for fetch, result in zip(fetches, results, strict=True):
            assert isinstance(fetch, CachedPartition)
            if result.start is not None:
                fetch.start = result.start
            told = (fetch.high_watermark, fetch.local_log_start_offset)
            if result.has_all and told == (result.high_watermark, result.log_start_offset):
                key = key_of(fetch)
                if self.active.get(key) is fetch:
                    del self.active[key]
                    self._quiet[fetch.topic_partition] = fetch
                    self._replica_manager.quiet_partitions.add(fetch.topic_partition, self)

    def wake(self, partition: TopicPartition) -> None:
        cached = self._quiet.pop(partition, None)
        if cached is None:
            return  # this session was closed because another one was notified before
        self.active[key_of(cached)] = cached
        self._replica_manager.was_caught_up(partition, self._broker_id, self.last_used_ms)
        self._woken[partition] = cached

    def on_notified(self, partition: TopicPartition) -> None:
        cached = self._woken.pop(partition, None)
        waiting = self.waiting
        if cached is None or waiting is None or waiting.completed:
            return  # the waiting fetch is answered, with this partition
        if not waiting.wait_also(cached, cached.start):
            self._replica_manager.fetch_purgatory.watch_also(waiting, partition)

    def close(self) -> None:
        for name in self._quiet:
            self._replica_manager.quiet_partitions.discard(name, self)
            self._replica_manager.was_caught_up(name, self._broker_id, self.last_used_ms)
        self._quiet.clear()
        self._woken.clear()


def key_of(fetch: FetchPartition) -> Key:
    topic, partition = fetch.topic_partition
    return (topic if fetch.topic_id == ZERO_UUID else fetch.topic_id, partition)


class FetchContext:
    """How one fetch request is read and answered; this one is sessionless."""

    session_id = INVALID_SESSION_ID

    def __init__(self, fetches: list[FetchPartition]) -> None:
        self.fetches = fetches

    def select(self, results: list[FetchResult]) -> list[int]:
        """Return the results (as indexes into `fetches`) that the response includes."""
        return list(range(len(results)))


class FullFetchContext(FetchContext):
    """A full fetch whose partitions became a new session, if the cache had room."""

    def __init__(self, fetches: list[FetchPartition], session: FetchSession | None) -> None:
        super().__init__(fetches)
        self._session = session
        if session is not None:
            self.session_id = session.id

    def select(self, results: list[FetchResult]) -> list[int]:
        session = self._session
        if session is not None:
            for fetch, result in zip(self.fetches, results, strict=True):
                cached = session.partitions.get(key_of(fetch))
                if cached is not None:
                    cached.maybe_update_response(result)
        return list(range(len(results)))


class IncrementalFetchContext(FetchContext):
    """A fetch within a session: the response includes only partitions with news."""

    def __init__(self, session: FetchSession) -> None:
        super().__init__(list(session.active.values()))
        self.session = session
        self.session_id = session.id

    def select(self, results: list[FetchResult]) -> list[int]:
        partitions = self.session.active
        told: list[int] = []
        for index, (fetch, result) in enumerate(zip(self.fetches, results, strict=True)):
            assert isinstance(fetch, CachedPartition)
            if not fetch.maybe_update_response(result):
                continue
            told.append(index)
            if result.records:
                # Served partitions move to the end, so that a busy partition can't starve the others.
                key = key_of(fetch)
                if partitions.get(key) is fetch:
                    del partitions[key]
                    partitions[key] = fetch
        return told


class SessionErrorContext(FetchContext):
    """The session of the request is unusable: the whole response is an error."""

    def __init__(self, error: Errors) -> None:
        super().__init__([])
        self.error = error


class FetchSessionCache:
    """All sessions of the broker, at most `max_entries`.

    Invariant: `_sessions` is ordered from the least to the most recently used.
    """

    def __init__(
        self,
        max_entries: int,
        time: Time,
        new_id: Callable[[], int] | None = None,
        replica_manager: ReplicaManager | None = None,
    ) -> None:
        """With a `replica_manager`, followers' sessions check only partitions with news."""
        self._replica_manager = replica_manager
        self._max_entries = max_entries
        self._time = time
        self._new_id = new_id or (lambda: random.randint(1, 2147483647))
        self._sessions: dict[int, FetchSession] = {}
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partitions_cached(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    def context(
        self,
        session_id: int,
        session_epoch: int,
        is_follower: bool,
        uses_topic_ids: bool,
        fetches: list[FetchPartition],
        forgotten: list[Key],
        broker_id: int = -1,
    ) -> FetchContext:
        """Return the context for a request (`FetchManager.newContext`)."""
        if session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != INVALID_SESSION_ID:
                self.drop(session_id)
            if session_epoch == FINAL_EPOCH:
                return FetchContext(fetches)
            return FullFetchContext(fetches, self._maybe_create(is_follower, uses_topic_ids, fetches, broker_id))
        session = self._sessions.get(session_id)
        if session is None:
            return SessionErrorContext(Errors.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != session_epoch:
            return SessionErrorContext(Errors.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            return SessionErrorContext(Errors.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(fetches, forgotten)
        if not session.partitions:
            self.drop(session_id)
            return FetchContext([])
        now = self._time.monotonic_ms()
        if isinstance(session, FollowerFetchSession):
            session.look_at_all(now)
        session.last_used_ms = now
        del self._sessions[session_id]
        self._sessions[session_id] = session
        session.next_epoch()
        return IncrementalFetchContext(session)

    def drop(self, session_id: int) -> None:
        """End the session with this id, if there is one."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()

    def _maybe_create(
        self, privileged: bool, uses_topic_ids: bool, fetches: list[FetchPartition], broker_id: int
    ) -> FetchSession | None:
        now = self._time.monotonic_ms()
        if not self._make_room(privileged, len(fetches), now):
            return None
        session_id = self._new_id()
        while session_id in self._sessions:
            session_id = self._new_id()
        session: FetchSession
        if privileged and self._replica_manager is not None:
            session = FollowerFetchSession(session_id, uses_topic_ids, now, broker_id, self._replica_manager)
        else:
            session = FetchSession(session_id, privileged, uses_topic_ids, now)
        session.update(fetches, [])
        self._sessions[session_id] = session
        return session

    def _make_room(self, privileged: bool, size: int, now: int) -> bool:
        """Evict one session if needed: the least recently used if it is stale, else the lowest if it ranks lower than
        the new one.

        A follower evicts a consumer of any age; otherwise only an old session is evicted.
        """
        if len(self._sessions) < self._max_entries:
            return True
        if self._max_entries <= 0:
            return False
        stalest = next(iter(self._sessions.values()))
        victim: FetchSession | None = None
        if now - stalest.last_used_ms > MIN_EVICTION_MS:
            victim = stalest
        else:
            lowest = min(
                (
                    s
                    for s in self._sessions.values()
                    if now - s.created_ms > MIN_EVICTION_MS or privileged > s.privileged
                ),
                key=lambda s: (s.privileged, len(s.partitions), s.id),
                default=None,
            )
            if lowest is not None and (lowest.privileged, len(lowest.partitions)) < (privileged, size):
                victim = lowest
        if victim is None:
            return False
        self.drop(victim.id)
        self.evictions += 1
        return True
