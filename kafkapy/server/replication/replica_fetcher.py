"""Replicates leaders' logs to a follower (Kafka's `AbstractFetcherThread` and `ReplicaFetcherThread`), without I/O.

`ReplicaFetcher.next_step` returns the next request to the leader, `handle` processes its response. Phases of a
partition:

    TRUNCATING ----- the end of our last epoch is known ----> FETCHING      (OffsetForLeaderEpoch; without truncation on fetch)
    FETCHING ------- the leader's log diverges -------------> FETCHING      (cut, ask again; KIP-595)
    FETCHING ------- our offset is out of its range --------> FINDING_END   (ListOffsets, latest)
    FINDING_END ---- its log ends before ours (cut) --------> FETCHING
    FINDING_END ---- it does not ---------------------------> FINDING_START (ListOffsets, earliest)
    FINDING_START -- where its log starts is known ---------> FETCHING
"""

from __future__ import annotations

import heapq
import itertools
import logging
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple, Protocol

from kafkapy.clients.fetch_session import FIRST_WITH_TOPIC_IDS, FetchSessionHandler, PartitionRequest
from kafkapy.common.leader_and_isr import NO_EPOCH
from kafkapy.common.timestamps import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_types import LogAppendInfo
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkapy.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse
from kafkapy.runtime.clock import Clock
from kafkapy.server.replication.log_changes import LogChanges
from kafkapy.server.replication.replica_truncation import truncation_point

log = logging.getLogger("kafkapy.server.ReplicaFetcher")

FIRST_BACKOFF_MS = 50
"""Backoff after a first failure; each further one doubles it, up to `replica.fetch.backoff.ms` (1 s by default)."""

_NOT_YET = frozenset(
    (
        Errors.UNKNOWN_LEADER_EPOCH,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.UNKNOWN_TOPIC_ID,
    )
)
"""Errors of a leader that has not processed the controller's LeaderAndIsr yet."""


class Phase(Enum):
    TRUNCATING = "truncating"
    FETCHING = "fetching"
    FINDING_END = "looking for the leader's log end"
    FINDING_START = "looking for the leader's log start"


class PartitionFetch:
    """A follower's progress in one partition. `lag` in records, None before the first response."""

    __slots__ = (
        "delayed",
        "failures",
        "fetch_offset",
        "lag",
        "last_fetched_epoch",
        "leader_epoch",
        "phase",
        "topic_id",
    )

    def __init__(self, topic_id: bytes, leader_epoch: int, fetch_offset: int) -> None:
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = NO_EPOCH
        self.lag: int | None = None
        self.phase = Phase.TRUNCATING
        self.delayed = False
        self.failures = 0
        """Number of consecutive failures."""

    @property
    def is_in_sync(self) -> bool:
        return self.lag is not None and self.lag <= 0


class Replicas(Protocol):
    """A fetcher's interface to the local logs. `KafkaError` if there is none."""

    def follower_log(self, partition: TopicPartition) -> Log: ...

    async def append_from_leader(
        self, partition: TopicPartition, data: FetchResponse.PartitionData, leader_epoch: int, changes: LogChanges
    ) -> LogAppendInfo:
        """Append, immediately or in a thread. `KafkaError` as `Log.append_as_follower`; in a thread nothing is
        appended once the leader's epoch has ended."""
        ...

    def take_over_offsets(
        self, partition: TopicPartition, data: FetchResponse.PartitionData, info: LogAppendInfo
    ) -> None:
        """Apply the leader's high watermark and log start, after the append."""
        ...

    def agree_on_end(self, partition: TopicPartition) -> None:
        """Remove epochs that begin at the log's end; called once the log has no records that its leader lacks."""
        ...

    async def truncate_to(self, partition: TopicPartition, offset: int, changes: LogChanges) -> None:
        """Remove all records from `offset` on, in a thread."""
        ...

    async def truncate_fully_and_start_at(self, partition: TopicPartition, offset: int, changes: LogChanges) -> None:
        """Remove all records and continue at `offset`; in a thread."""
        ...

    def appended_from_leader(self, partitions: Iterable[TopicPartition]) -> None:
        """Wake operations that wait for these partitions, after a response has been processed."""
        ...


class FollowerQuota(Protocol):
    """`follower.replication.throttled.rate`."""

    def is_throttled(self, partition: TopicPartition) -> bool: ...

    def is_exceeded(self) -> bool: ...

    def record(self, size: int) -> None: ...


class FetcherConfig(NamedTuple):
    broker_id: int
    leader_id: int
    min_bytes: int
    max_wait_ms: int
    max_bytes: int
    partition_max_bytes: int
    backoff_ms: int
    fetch_version: int
    offset_for_leader_epoch_version: int
    list_offsets_version: int
    truncates_on_fetch: bool


class Step(NamedTuple):
    """A request to the leader."""

    request: Any
    version: int
    asked: dict[TopicPartition, int]
    """Leader epochs of the request's partitions; empty for a Fetch, whose session has them."""


class ReplicaFetcher:
    """All partitions of one fetcher, which have the same leader. Times in ms of the monotonic clock.

    Invariants: `_changed` holds the FETCHING partitions to add to or update in the leader's fetch session,
    `_forgotten` those to remove from it. A partition that is in another phase, delayed or throttled is neither in the
    session nor in `_changed`. A response is applied to a partition only if its offset and leader epoch are still those
    of the request.
    """

    def __init__(self, config: FetcherConfig, replicas: Replicas, quota: FollowerQuota, clock: Clock) -> None:
        self.config = config
        self.changes = LogChanges(clock)
        self.partitions: dict[TopicPartition, PartitionFetch] = {}
        self.failed: set[TopicPartition] = set()
        """Failed partitions: not fetched until the controller sends a new leader or epoch."""
        self.unflushed: list[Log] = []
        """Logs that `flush.messages` requires to be flushed before the next step, whose fetch offset acknowledges the
        records."""
        self._replicas = replicas
        self._quota = quota
        self._clock = clock
        self._session = FetchSessionHandler()
        self._changed: dict[TopicPartition, None] = {}
        self._forgotten: set[TopicPartition] = set()
        self._waiting: dict[Phase, dict[TopicPartition, None]] = {
            phase: {} for phase in Phase if phase is not Phase.FETCHING
        }
        self._delayed: list[tuple[int, TopicPartition, int, PartitionFetch]] = []
        self._numbers = itertools.count()
        self._held: set[TopicPartition] = set()

    # ------------------------------------------------------------------------------------------------ which partitions

    def add(self, partition: TopicPartition, topic_id: bytes, leader_epoch: int, offset: int) -> None:
        """Follow from `offset` on: the log end, or the high watermark without a known epoch. Ignored if the epoch is
        unchanged."""
        self.failed.discard(partition)
        known = self.partitions.get(partition)
        if known is not None and known.leader_epoch == leader_epoch:
            return
        self._take_out(partition)
        fetch = PartitionFetch(topic_id, leader_epoch, offset)
        self.partitions[partition] = fetch
        epoch = self._replicas.follower_log(partition).latest_epoch
        if self.config.truncates_on_fetch and epoch is not None:
            fetch.last_fetched_epoch = epoch
            self._enter(partition, fetch, Phase.FETCHING)
        else:
            self._enter(partition, fetch, Phase.TRUNCATING)

    def remove(self, partition: TopicPartition) -> PartitionFetch | None:
        self.failed.discard(partition)
        self._take_out(partition)
        return self.partitions.pop(partition, None)

    def _enter(self, partition: TopicPartition, fetch: PartitionFetch, phase: Phase) -> None:
        self._take_out(partition)
        fetch.phase = phase
        fetch.delayed = False
        if phase is Phase.FETCHING:
            self._changed[partition] = None
            self._forgotten.discard(partition)
        else:
            self._waiting[phase][partition] = None

    def _take_out(self, partition: TopicPartition) -> None:
        """Remove the partition from all sets of waiting partitions."""
        self._changed.pop(partition, None)
        self._held.discard(partition)
        for waiting in self._waiting.values():
            waiting.pop(partition, None)
        if partition in self._session.partitions:
            self._forgotten.add(partition)

    def _delay(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        """Delay the partitions, for `replica.fetch.backoff.ms` at most; then they continue in their phases.

        The first delays are shorter: most often the leader has not processed its LeaderAndIsr yet.
        """
        backoff_ms = self.config.backoff_ms
        for partition in partitions:
            fetch = self.partitions.get(partition)
            if fetch is not None and not fetch.delayed:
                self._take_out(partition)
                fetch.delayed = True
                delay_ms = min(backoff_ms, FIRST_BACKOFF_MS << min(fetch.failures, 10))
                fetch.failures += 1
                heapq.heappush(self._delayed, (now_ms + delay_ms, partition, next(self._numbers), fetch))

    def _fail(self, partition: TopicPartition) -> None:
        self._take_out(partition)
        self.partitions.pop(partition, None)
        self.failed.add(partition)

    # ------------------------------------------------------------------------------------------------ requests

    async def next_step(self, now_ms: int) -> Step | None:
        """Return the next request; None if there is none before `wake_ms`."""
        while self._delayed and self._delayed[0][0] <= now_ms:
            _, partition, _, fetch = heapq.heappop(self._delayed)
            if self.partitions.get(partition) is fetch and fetch.delayed:
                self._enter(partition, fetch, fetch.phase)
        if self._waiting[Phase.TRUNCATING]:
            await self._truncate_those_without_epochs()
            step = self._ask_for_epochs()
            if step is not None:
                return step
        for phase, timestamp in ((Phase.FINDING_END, LATEST_TIMESTAMP), (Phase.FINDING_START, EARLIEST_TIMESTAMP)):
            if self._waiting[phase]:
                return self._ask_for_offsets(self._waiting[phase], timestamp)
        return self._fetch(now_ms)

    def wake_ms(self, now_ms: int) -> int:
        """Return when `next_step` is due without any event."""
        after_backoff = now_ms + self.config.backoff_ms
        return min(after_backoff, self._delayed[0][0]) if self._delayed else after_backoff

    async def _truncate_those_without_epochs(self) -> None:
        """Truncate them to the high watermark, because the leader can't be asked without an epoch."""
        for partition in list(self._waiting[Phase.TRUNCATING]):
            fetch = self.partitions.get(partition)
            if fetch is not None and self._replicas.follower_log(partition).latest_epoch is None:
                cause = "no leader epoch is known: to the high watermark"
                await self._guarded(partition, self._truncate_to(partition, fetch, fetch.fetch_offset, cause))

    def _ask_for_epochs(self) -> Step | None:
        """Request the leader's end offset for our last epoch (KIP-101)."""
        request = OffsetForLeaderEpochRequest(replica_id=self.config.broker_id)
        topics: dict[str, OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = {}
        asked: dict[TopicPartition, int] = {}
        for partition in list(self._waiting[Phase.TRUNCATING]):
            fetch = self.partitions[partition]
            epoch = self._replicas.follower_log(partition).latest_epoch
            if epoch is None:
                continue  # it was added while others were truncated
            topic = topics.get(partition.topic)
            if topic is None:
                topic = topics[partition.topic] = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
                    topic=partition.topic
                )
                request.topics.append(topic)
            topic.partitions.append(
                OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
                    partition=partition.partition, current_leader_epoch=fetch.leader_epoch, leader_epoch=epoch
                )
            )
            asked[partition] = fetch.leader_epoch
        return Step(request, self.config.offset_for_leader_epoch_version, asked) if asked else None

    def _ask_for_offsets(self, partitions: Iterable[TopicPartition], timestamp: int) -> Step:
        request = ListOffsetsRequest(replica_id=self.config.broker_id)
        topics: dict[str, ListOffsetsRequest.ListOffsetsTopic] = {}
        asked: dict[TopicPartition, int] = {}
        for partition in partitions:
            topic = topics.get(partition.topic)
            if topic is None:
                topic = topics[partition.topic] = ListOffsetsRequest.ListOffsetsTopic(name=partition.topic)
                request.topics.append(topic)
            epoch = self.partitions[partition].leader_epoch
            topic.partitions.append(
                ListOffsetsRequest.ListOffsetsPartition(
                    partition_index=partition.partition, current_leader_epoch=epoch, timestamp=timestamp
                )
            )
            asked[partition] = epoch
        return Step(request, self.config.list_offsets_version, asked)

    def _fetch(self, now_ms: int) -> Step | None:
        self._apply_quota()
        changed: dict[TopicPartition, PartitionRequest] = {}
        for partition in list(self._changed):
            try:
                start = self._replicas.follower_log(partition).log_start_offset
            except KafkaError as error:
                log.info("Partition %s is not fetched any more: %s", partition, error.message)
                self._fail(partition)
                continue
            fetch = self.partitions[partition]
            changed[partition] = PartitionRequest(
                fetch.fetch_offset,
                self.config.partition_max_bytes,
                fetch.leader_epoch,
                fetch.topic_id,
                start,
                fetch.last_fetched_epoch if self.config.truncates_on_fetch else NO_EPOCH,
            )
        if not changed and not (self._session.partitions.keys() - self._forgotten):
            return None
        version = self.config.fetch_version
        request, uses_ids = self._session.request(changed, self._forgotten, version >= FIRST_WITH_TOPIC_IDS)
        if not uses_ids:
            version = min(version, FIRST_WITH_TOPIC_IDS - 1)
        self._changed.clear()
        self._forgotten.clear()
        request.min_bytes = self.config.min_bytes
        request.max_wait_ms = self.config.max_wait_ms
        if self._delayed:
            # The long poll must end when a delayed partition is due.
            request.max_wait_ms = max(0, min(request.max_wait_ms, self._delayed[0][0] - now_ms))
        request.max_bytes = self.config.max_bytes
        return Step(request, version, {})

    def _apply_quota(self) -> None:
        """Stop fetching throttled partitions that lag, while the quota is exceeded (`shouldFollowerThrottle`)."""
        for partition in list(self._held):
            self._enter(partition, self.partitions[partition], Phase.FETCHING)
        if self._quota.is_exceeded():
            for partition, fetch in self.partitions.items():
                fetched = fetch.phase is Phase.FETCHING and not fetch.delayed
                if fetched and not fetch.is_in_sync and self._quota.is_throttled(partition):
                    self._take_out(partition)
                    self._held.add(partition)

    # ------------------------------------------------------------------------------------------------ responses

    def failed_to_ask(self, step: Step, now_ms: int) -> None:
        """Handle a failed request: the leader is unreachable, or has closed the connection. Its partitions are delayed."""
        if isinstance(step.request, FetchRequest):
            asked: Iterable[TopicPartition] = list(self._session.partitions)
            self._session.failed()
        else:
            asked = step.asked
        self._delay(asked, now_ms)

    def interrupted(self) -> None:
        """Handle a Fetch that this fetcher has aborted with its connection: all partitions are requested again immediately."""
        self._session.failed()

    async def handle(self, step: Step, response: Any, now_ms: int) -> None:
        """Process the leader's response."""
        if isinstance(response, FetchResponse):
            await self._handle_fetch(response, now_ms)
        elif isinstance(response, OffsetForLeaderEpochResponse):
            await self._handle_epochs(step, response, now_ms)
        elif isinstance(response, ListOffsetsResponse):
            await self._handle_offsets(step, response, now_ms)

    async def _handle_fetch(self, response: FetchResponse, now_ms: int) -> None:
        session = self._session
        if not session.accept(response):
            error = Errors.for_code(response.error_code)
            log.info("Broker %d has ended our fetch session: %s", self.config.leader_id, error.name)
            if error not in (Errors.FETCH_SESSION_ID_NOT_FOUND, Errors.INVALID_FETCH_SESSION_EPOCH):
                self._delay(list(session.partitions), now_ms)
            return
        delayed: list[TopicPartition] = []
        appended: list[TopicPartition] = []
        for topic in response.responses:
            name = session.name_of(topic)
            for data in topic.partitions:
                await self._clock.checkpoint()
                partition = TopicPartition(name, data.partition_index)
                found = self._as_asked(partition)
                if found is None:
                    continue
                fetch, asked = found
                end = self._divergence(data)
                if end is not None:
                    await self._guarded(partition, self._truncate(partition, fetch, end.epoch, end.end_offset))
                    appended.append(partition)
                elif await self._take(partition, fetch, asked, data):
                    appended.append(partition)
                elif self._as_asked(partition) == found:
                    delayed.append(partition)
        if appended:
            self._replicas.appended_from_leader(appended)
        self._delay(delayed, now_ms)

    def _as_asked(self, partition: TopicPartition) -> tuple[PartitionFetch, PartitionRequest] | None:
        """Return the partition; None if it was removed (even if added again) or truncated since the request."""
        fetch = self.partitions.get(partition)
        asked = self._session.partitions.get(partition)
        if fetch is None or asked is None or fetch.phase is not Phase.FETCHING or fetch.delayed:
            return None
        if (asked.fetch_offset, asked.current_leader_epoch) != (fetch.fetch_offset, fetch.leader_epoch):
            return None
        return fetch, asked

    def _divergence(self, data: FetchResponse.PartitionData) -> FetchResponse.EpochEndOffset | None:
        """Return the leader's diverging epoch and its end, if any."""
        truncates = self.config.truncates_on_fetch and data.error_code == Errors.NONE.code
        return data.diverging_epoch if truncates else None

    async def _take(
        self,
        partition: TopicPartition,
        fetch: PartitionFetch,
        asked: PartitionRequest,
        data: FetchResponse.PartitionData,
    ) -> bool:
        """Process the response for one partition. Return False if it is to be delayed, or if it has changed since the
        request: a thread may have been appending."""
        if data.error_code != Errors.NONE.code:
            return self._take_error(partition, fetch, Errors.for_code(data.error_code))
        try:
            info, partition_log = await self._append(partition, fetch, data)
            if self._as_asked(partition) != (fetch, asked):
                return False
            self._replicas.take_over_offsets(partition, data, info)
        except Exception as error:
            if self._as_asked(partition) != (fetch, asked):
                return False
            return self._take_failure(partition, fetch, error)
        if info.flush_due:
            self.unflushed.append(partition_log)
        if info.valid_bytes > 0:
            fetch.fetch_offset = info.last_offset + 1
            if info.last_leader_epoch >= 0:
                fetch.last_fetched_epoch = info.last_leader_epoch
            if self._quota.is_throttled(partition):
                self._quota.record(info.valid_bytes)
            self._changed[partition] = None
        elif asked.log_start_offset != partition_log.log_start_offset:
            self._changed[partition] = None  # the leader needs the new log start (DeleteRecords)
        fetch.lag = max(0, data.high_watermark - fetch.fetch_offset)
        fetch.failures = 0
        return True

    async def _append(
        self, partition: TopicPartition, fetch: PartitionFetch, data: FetchResponse.PartitionData
    ) -> tuple[LogAppendInfo, Log]:
        partition_log = self._replicas.follower_log(partition)
        if fetch.fetch_offset != partition_log.log_end_offset:
            raise KafkaError(
                Errors.UNKNOWN_SERVER_ERROR,
                f"fetched offset {fetch.fetch_offset}, but the log ends at {partition_log.log_end_offset}",
            )
        return await self._replicas.append_from_leader(partition, data, fetch.leader_epoch, self.changes), partition_log

    def _take_failure(self, partition: TopicPartition, fetch: PartitionFetch, error: Exception) -> bool:
        if not isinstance(error, KafkaError):
            log.error(
                "Partition %s is not fetched any more until it gets a new leader epoch", partition, exc_info=error
            )
        elif error.error is Errors.CORRUPT_MESSAGE:
            # It may have been damaged in transit, or the leader's log is being truncated: the next response may be
            # valid.
            log.error("Partition %s, offset %d: the leader sent a corrupt batch: %s",
                      partition, fetch.fetch_offset, error.message)  # fmt: skip
            return False
        else:
            log.error("Partition %s is not fetched any more until it gets a new leader epoch, because its records could not be "
                      "taken in at offset %d: %s", partition, fetch.fetch_offset, error.message)  # fmt: skip
        self._fail(partition)
        return True

    def _take_error(self, partition: TopicPartition, fetch: PartitionFetch, error: Errors) -> bool:
        if error is Errors.OFFSET_OUT_OF_RANGE:
            log.info("Partition %s: offset %d is out of the range of its leader, broker %d; looking for where that lies",
                     partition, fetch.fetch_offset, self.config.leader_id)  # fmt: skip
            self._enter(partition, fetch, Phase.FINDING_END)
            return True
        if error is Errors.FENCED_LEADER_EPOCH:
            self._fenced(partition, fetch)
            return True
        log.log(
            logging.DEBUG if error in _NOT_YET and fetch.failures < 5 else logging.WARNING,
            "Partition %s: broker %d answers %s; trying again",
            partition, self.config.leader_id, error.name,
        )  # fmt: skip
        return False

    def _fenced(self, partition: TopicPartition, fetch: PartitionFetch) -> None:
        log.info("Partition %s: fenced by broker %d, which has a newer epoch than %d; not fetched until this broker has it, too",
                 partition, self.config.leader_id, fetch.leader_epoch)  # fmt: skip
        self._fail(partition)

    # ------------------------------------------------------------------------------------------------ truncation

    async def _handle_epochs(self, step: Step, response: OffsetForLeaderEpochResponse, now_ms: int) -> None:
        answers = {
            TopicPartition(topic.topic, answer.partition): answer
            for topic in response.topics
            for answer in topic.partitions
        }
        for partition, fetch, answer in self._answered(step, answers, Phase.TRUNCATING, "where epochs end", now_ms):
            cut = self._truncate(partition, fetch, answer.leader_epoch, answer.end_offset)
            await self._guarded(partition, cut)

    def _answered(
        self, step: Step, answers: Mapping[TopicPartition, Any], phase: Phase, asked_for: str, now_ms: int
    ) -> Iterator[tuple[TopicPartition, PartitionFetch, Any]]:
        """Yield the partitions that still wait for the response, with their results. A partition that the leader
        fences stops; one with another error, or without a result, is delayed."""
        for partition, epoch in step.asked.items():
            fetch = self._still(partition, epoch, phase)
            if fetch is None:
                continue
            answer = answers.get(partition)
            error = Errors.UNKNOWN_SERVER_ERROR if answer is None else Errors.for_code(answer.error_code)
            if error is Errors.FENCED_LEADER_EPOCH:
                self._fenced(partition, fetch)
            elif error is not Errors.NONE:
                log.warning("Partition %s: broker %d did not return %s: %s",
                            partition, self.config.leader_id, asked_for, error.name)  # fmt: skip
                self._delay([partition], now_ms)
            else:
                yield partition, fetch, answer

    def _still(self, partition: TopicPartition, leader_epoch: int, phase: Phase) -> PartitionFetch | None:
        """Return the partition, if its epoch and phase are still those of the request."""
        fetch = self.partitions.get(partition)
        if fetch is None or fetch.leader_epoch != leader_epoch or fetch.phase is not phase or fetch.delayed:
            return None
        return fetch

    async def _truncate(
        self, partition: TopicPartition, fetch: PartitionFetch, leaders_epoch: int, leaders_end: int
    ) -> None:
        """Truncate the log behind the end of the largest common epoch, as the leader has returned it."""
        partition_log = self._replicas.follower_log(partition)
        offset, completed = truncation_point(partition_log, fetch.fetch_offset, leaders_epoch, leaders_end)
        cause = f"in the log of leader {self.config.leader_id}, epoch {leaders_epoch} ends at {leaders_end}"
        await self._truncate_to(partition, fetch, offset, cause, completed)

    async def _truncate_to(
        self, partition: TopicPartition, fetch: PartitionFetch, offset: int, cause: str, completed: bool = True
    ) -> None:
        partition_log = self._replicas.follower_log(partition)
        end, high_watermark = partition_log.log_end_offset, partition_log.high_watermark
        if offset >= end:
            self._replicas.agree_on_end(partition)
        else:
            await self._replicas.truncate_to(partition, offset, self.changes)
            log.log(
                logging.WARNING if offset < high_watermark else logging.INFO,
                "Partition %s: truncated from offset %d to %d (leader epoch %d, high watermark %d)%s, because %s",
                partition, end, offset, fetch.leader_epoch, high_watermark,
                "; BELOW THE HIGH WATERMARK: records that had been committed are gone" if offset < high_watermark else "", cause,
            )  # fmt: skip
        fetching = completed or self.config.truncates_on_fetch
        self._go_on_at(partition, fetch, partition_log.log_end_offset, Phase.FETCHING if fetching else Phase.TRUNCATING)

    def _go_on_at(self, partition: TopicPartition, fetch: PartitionFetch, offset: int, phase: Phase) -> None:
        if self.partitions.get(partition) is not fetch:
            return  # it was removed, and perhaps added again, while a thread was working
        epoch = self._replicas.follower_log(partition).latest_epoch
        fetch.fetch_offset = offset
        fetch.last_fetched_epoch = NO_EPOCH if epoch is None else epoch
        self._enter(partition, fetch, phase)

    async def _handle_offsets(self, step: Step, response: ListOffsetsResponse, now_ms: int) -> None:
        answers = {
            TopicPartition(topic.name, answer.partition_index): answer
            for topic in response.topics
            for answer in topic.partitions
        }
        latest = step.request.topics[0].partitions[0].timestamp == LATEST_TIMESTAMP
        phase, found = (Phase.FINDING_END, self._found_end) if latest else (Phase.FINDING_START, self._found_start)
        for partition, fetch, answer in self._answered(step, answers, phase, "its offsets", now_ms):
            offset = answer.offset or (answer.old_style_offsets or [0])[0]
            await self._guarded(partition, found(partition, fetch, offset))

    async def _found_end(self, partition: TopicPartition, fetch: PartitionFetch, leaders_end: int) -> None:
        end = self._replicas.follower_log(partition).log_end_offset
        if leaders_end < end:
            # After an unclean election, the leader has fewer records than this replica.
            cause = f"the log of leader {self.config.leader_id} ends there"
            await self._truncate_to(partition, fetch, leaders_end, cause)
        else:
            fetch.lag = leaders_end - end
            self._enter(partition, fetch, Phase.FINDING_START)

    async def _found_start(self, partition: TopicPartition, fetch: PartitionFetch, leaders_start: int) -> None:
        end = self._replicas.follower_log(partition).log_end_offset
        if leaders_start > end:
            log.warning(
                "Partition %s: all records up to offset %d are given up, because the log of leader %d starts at %d only",
                partition, end, self.config.leader_id, leaders_start,
            )  # fmt: skip
            await self._replicas.truncate_fully_and_start_at(partition, leaders_start, self.changes)
        self._go_on_at(partition, fetch, max(leaders_start, end), Phase.FETCHING)

    async def _guarded(self, partition: TopicPartition, action: Coroutine[Any, Any, None]) -> None:
        """Run the action; an error affects this partition only."""
        fetch = self.partitions.get(partition)
        try:
            await action
        except Exception as error:
            if self.partitions.get(partition) is not fetch:
                return
            log.error("Partition %s is not fetched any more until it gets a new leader epoch: %s", partition, error,
                      exc_info=None if isinstance(error, KafkaError) else error)  # fmt: skip
            self._fail(partition)
