"""The consumer behind the facades: it runs on the driver's thread; the user's code does not.

The facades differ in how they wait for `poll` and in where they call the user's listeners and callbacks.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafkapy.clients.client_metadata import MetadataRequestBuilder
from kafkapy.clients.driver import Driver, wait_for
from kafkapy.clients.metadata import ClusterMetadata
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.extras import need
from kafkapy.common.patterns import TranslatedPattern
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.fetch.fetcher import Fetcher
from kafkapy.consumer.fetch.pending_records import PendingRecords
from kafkapy.consumer.group.coordinator import ConsumerCoordinator
from kafkapy.consumer.health import ConsumerHealth, health_of
from kafkapy.consumer.metrics import figures_of
from kafkapy.consumer.subscription_state import FetchPosition, FetchState, SubscriptionState, SubscriptionType
from kafkapy.errors import IllegalStateError, KafkaTimeoutError, NoOffsetForPartitionError, WakeupException
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.structs import ConsumerGroupMetadata, MemberState, OffsetAndMetadata, OffsetResetStrategy

_log = logging.getLogger("kafkapy.consumer")
_HANDED_OVER_RECORDS = 10_000
"""Records handed over in one batch: enough to amortize the hand-over, few enough for the CPU's cache."""
_ALL = 1 << 31
_TROUBLES = (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.TOPIC_AUTHORIZATION_FAILED, Errors.INVALID_TOPIC_EXCEPTION)


class UserCall(NamedTuple):
    """A function to call on the thread that polls; its outcome goes to `completion`, on the driver's thread."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    completion: Completion[Any]


class ConsumerCore:
    """Connects subscriptions, group, fetcher and pending records.

    Invariant: assignment and positions change only inside `poll`, or inside another method that the user calls. The
    facade serves `calls` before it calls `poll` again.
    """

    def __init__(self, driver: Driver, config: ConsumerConfig) -> None:
        self.config = config
        self.client = NetworkClient(driver, config)
        self.driver = self.client.driver
        self.subscriptions = SubscriptionState(config.reset_strategy)
        self.fetcher = Fetcher(self.client, self.subscriptions, config)
        self.fetcher.notify = self.wake
        self.fetcher.is_awaited = lambda: self._inside > 0
        self.pending = PendingRecords()
        self.calls: deque[UserCall] = deque()
        self.coordinator: ConsumerCoordinator | None = None
        if config.group_id is not None:
            self.coordinator = ConsumerCoordinator(self.client, config, self.subscriptions, self)
        self.closed = False
        self.woken = False
        """True: the waiting poll, else the next one, raises WakeupException. Any thread may set it and call `wake`."""
        self._polled_ms: float = driver.time.monotonic_ms()
        self._inside = 0
        self._gate: Completion[None] = Completion()
        self._wake: Completion[None] = Completion()
        self._initializing: Completion[None] | None = None
        self._assigned_by: tuple[Any, ...] = ()
        """The inputs of the last assignment without a group."""
        self._error: KafkaError | None = None
        self._told_of_no_topics = False
        self.troubles: dict[str, str] = {}
        """Subscribed topics that can't be read, and why."""
        self.client.metadata.listeners.append(self._metadata_changed)

    # -- poll

    @property
    def last_poll_ms(self) -> float:
        """Time of the user's last poll (monotonic ms); the current time while a poll waits."""
        return self.driver.time.monotonic_ms() if self._inside else self._polled_ms

    @last_poll_ms.setter
    def last_poll_ms(self, now_ms: float) -> None:
        self._polled_ms = now_ms

    @property
    def needs_poll(self) -> bool:
        """Return whether `poll` must run although records are pending. Thread-safe."""
        if self.calls or self._error is not None or self.woken:
            return True
        coordinator = self.coordinator
        return coordinator is not None and (coordinator.needs_poll or coordinator.commits.auto_commit_due)

    async def poll(self, timeout_ms: float) -> None:
        """Wait until records are pending, a callback of the user is due, or the time is over. Raises errors for the
        user."""
        await self._poll(timeout_ms, self.collect)

    async def poll_arrow(self, timeout_ms: float, max_records: int | None) -> Any:
        """As `poll`, but return the records as a table; None if there are none, or a callback of the user is due."""
        return await self._poll(timeout_ms, lambda: self.collect_arrow(max_records))

    async def _poll(self, timeout_ms: float, collect: Callable[[], Any]) -> Any:
        self.enter()
        try:
            deadline = self.driver.time.monotonic_ms() + timeout_ms
            while not self.closed:
                found = self.look(collect)
                remaining = deadline - self.driver.time.monotonic_ms()
                if found or self.calls or remaining <= 0:
                    return found
                await self.news(remaining)
        finally:
            self.leave()

    def look(self, collect: Callable[[], Any]) -> Any:
        """Do one round of a poll without waiting; return what `collect` finds, None if a callback of the user is due
        first."""
        self._renew_wake()  # first, so that an event from here on ends the next wait
        if self.woken:
            self.woken = False
            raise WakeupException("The consumer was woken up")
        if self.calls:
            return None
        self._prepare_fetch()
        found = collect()
        self.fetcher.fetch_soon()
        return found

    def _prepare_fetch(self) -> None:
        """Do one round of group and position maintenance."""
        self._raise_error()
        if self.subscriptions.type is SubscriptionType.NONE and not self._told_of_no_topics:
            self._told_of_no_topics = True
            _log.warning("This consumer polls, and has no topics: nothing comes before it subscribes or assigns")
        if self.coordinator is not None:
            self.coordinator.poll()
        else:
            self._assign_all()
        if not self.calls:  # a listener may seek in new partitions
            self._initialize_positions(self.subscriptions.initializing_partitions())
        self.fetcher.reset_offsets_if_needed()

    def _raise_error(self, only: Collection[TopicPartition] | None = None) -> None:
        """Raise an error from the background, unless it has been resolved since. `only`: report errors of positions
        only for these partitions."""
        error, self._error = self._error, None
        if isinstance(error, NoOffsetForPartitionError):
            missing = self.subscriptions.initializing_partitions().intersection(error.args[0])
            if missing and (only is None or not missing.isdisjoint(only)):
                raise NoOffsetForPartitionError(missing)
        elif error is not None:
            raise error

    def collect(self, only: Collection[TopicPartition] = ()) -> bool:
        """Move fetched records to the pending ones; return whether there are any. `only`: of these partitions, unless
        empty."""
        if self.pending.available(self.held_but(only)):
            return True
        starts = self.subscriptions.all_positions()
        records = self.fetcher.collect(max(_HANDED_OVER_RECORDS, self.config.max_poll_records), only)
        if records:
            self.pending.add(records, starts)
        return bool(records)

    def collect_arrow(self, max_records: int | None) -> Any:
        """Return records as a table; None if there are none."""
        need("arrow", "pyarrow", "numpy", by="poll_arrow")
        for partition, at in self.pending.positions().items():  # left by a `poll`: fetch them as columns
            self.seek(partition, at.offset, at.offset_epoch)
        return self.fetcher.collect_arrow(max_records or _ALL)

    async def news(self, timeout_ms: float, only: Collection[TopicPartition] = ()) -> None:
        """Wait for the next event, at most `timeout_ms` and at most as long as a poll may sleep."""
        if not self._wake.done and not self.fetcher.has_records(only):
            timer = self.driver.call_later(min(timeout_ms, self._patience_ms()), self.wake)
            try:
                await self._wake
            finally:
                timer.cancel()

    def _patience_ms(self) -> float:
        """Return how long a poll may sleep before commits or positions are due."""
        if not self.subscriptions.has_all_fetch_positions():
            return self.config.retry_backoff_ms
        patience = float(max(1, self.config.fetch_max_wait_ms))
        if self.coordinator is not None and self.config.enable_auto_commit:
            due = self.coordinator.commits.next_auto_commit_ms - self.driver.time.monotonic_ms()
            patience = min(patience, max(1.0, due))
        return patience

    def wake(self) -> None:
        """Wake a waiting poll, so that it does another round."""
        self._wake.set_result(None)

    def _renew_wake(self) -> Completion[None]:
        if self._wake.done:
            self._wake = Completion()
        return self._wake

    def held(self, partition: TopicPartition) -> bool:
        """Return whether the partition's records are withheld from the user."""
        state = self.subscriptions.assignment.get(partition)
        return state is None or state.paused or state.pending_revocation

    def held_but(self, only: Collection[TopicPartition]) -> Callable[[TopicPartition], bool]:
        """Return a predicate: `held`, and also true for all partitions outside `only`, unless that is empty."""
        return (lambda partition: partition not in only or self.held(partition)) if only else self.held

    # -- the user's code

    def gate(self) -> Completion[None]:
        """Return a completion that is done while the user polls: only then may the assignment change."""
        if self._inside:
            return Completion.of(None)
        if self._gate.done:
            self._gate = Completion()
        return self._gate

    def call_user(self, f: Callable[..., Any], *args: Any) -> Completion[Any]:
        """Schedule a call on the thread that polls."""
        completion: Completion[Any] = Completion()
        self.calls.append(UserCall(f, args, completion))
        self.wake()
        return completion

    async def next_calls(self, task: Completion[Any]) -> list[UserCall]:
        """Wait for and return the next calls to serve while `task` runs; none when it has ended."""
        await self.until_call(task)
        return self.take_calls()

    async def until_call(self, task: Completion[Any]) -> None:
        """Wait until a callback of the user is due, or `task` has ended."""
        self.enter()
        try:
            task.add_callback(lambda _: self.wake())
            while not task.done and not self.calls:
                await self._renew_wake()
        finally:
            self.leave()

    def take_calls(self) -> list[UserCall]:
        calls = list(self.calls)
        self.calls.clear()
        return calls

    def enter(self) -> None:
        """Mark the user as polling, until `leave` was called as often as this."""
        self._inside += 1
        self._gate.set_result(None)

    def leave(self) -> None:
        self._inside -= 1
        self._polled_ms = self.driver.time.monotonic_ms()

    # -- what to read

    def subscribe(self, topics: Sequence[str], pattern: str | TranslatedPattern | None, listener: Any) -> None:
        before = self.subscriptions.subscription
        self.subscriptions.subscribe(topics, pattern, listener)
        if pattern is not None:
            self.client.metadata.set_all_topics()
        else:
            self.client.metadata.set_topics(self.subscriptions.subscription)
        gone = [p for p in self.subscriptions.assignment if p.topic in before - self.subscriptions.subscription]
        if pattern is None and gone:
            self.drop(gone)
        self.wake()

    def _assign_all(self) -> None:
        """Assign all partitions of the subscribed topics: the meaning of a subscription without a group (as in
        kafka-python)."""
        subscriptions = self.subscriptions
        version = self.client.metadata.version
        seen = (version, subscriptions.subscription, subscriptions.pattern, subscriptions.assignment_id)
        if not subscriptions.auto_assigned or seen == self._assigned_by:
            return
        topics = self.client.metadata.cluster.topics
        if subscriptions.pattern is not None:
            subscriptions.match(topics, self.config.exclude_internal_topics)
        wanted = {
            TopicPartition(topic, p.partition)
            for topic in subscriptions.subscription
            if topic in topics
            for p in topics[topic].partitions
        }
        owned = subscriptions.assigned_partitions()
        if wanted != owned:
            self.drop(owned - wanted)
            subscriptions.assign_from_subscribed(wanted)
        self._assigned_by = (version, subscriptions.subscription, subscriptions.pattern, subscriptions.assignment_id)

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        wanted = list(partitions)
        self._auto_commit_now()
        before = self.subscriptions.assigned_partitions()
        self.subscriptions.assign_from_user(wanted)
        self.drop(before.difference(wanted))
        self.client.metadata.set_topics({partition.topic for partition in wanted})
        self.wake()

    async def unsubscribe(self) -> None:
        self._auto_commit_now()
        try:
            if self.coordinator is not None and self.subscriptions.auto_assigned:
                await self.coordinator.member.leave("the consumer unsubscribed from all topics")
        finally:
            self.drop(self.subscriptions.assigned_partitions())
            self.subscriptions.unsubscribe()
            self.client.metadata.set_topics(())

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        """Discard the records of partitions that are revoked or whose position jumps."""
        if partitions:
            self.pending.drop(partitions)
            self.fetcher.drop(partitions)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.subscriptions.state(partition).paused = True
            self.pending.hold(partition)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.subscriptions.state(partition).paused = False
        self.wake()

    # -- positions

    def seek(self, partition: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        self.subscriptions.state(partition)
        self.drop((partition,))
        self.client.metadata.record_epoch(partition, leader_epoch)
        self.subscriptions.seek(partition, offset, leader_epoch)
        self.wake()

    def seek_to(self, strategy: OffsetResetStrategy, partitions: Collection[TopicPartition]) -> None:
        self.drop(partitions)
        for partition in partitions:
            self.subscriptions.request_offset_reset(partition, strategy)
        self.fetcher.reset_offsets_if_needed()
        self.wake()

    async def position(self, partition: TopicPartition, timeout_ms: float | None) -> int | None:
        """Return the offset of the next record for the user; None if it is not known in time."""
        state = self.subscriptions.state(partition)
        deadline = None if timeout_ms is None else self.driver.time.monotonic_ms() + timeout_ms
        while state.position is None or state.fetch_state is FetchState.AWAIT_VALIDATION:
            # Only this partition: a listener that waits for its position may be about to seek in the others.
            self._initialize_positions(self.subscriptions.initializing_partitions() & {partition})
            self.fetcher.reset_offsets_if_needed()
            self._raise_error({partition})
            pause = self.config.retry_backoff_ms
            remaining = pause if deadline is None else min(pause, deadline - self.driver.time.monotonic_ms())
            if state.position is None and remaining <= 0:
                return None
            await self._wait_for_position(remaining)
            state = self.subscriptions.state(partition)
            if deadline is not None and self.driver.time.monotonic_ms() >= deadline:
                break
        position = self.pending.positions().get(partition, state.position)
        return None if position is None else position.offset

    async def _wait_for_position(self, timeout_ms: float) -> None:
        try:
            await wait_for(self.driver, self._renew_wake(), min(timeout_ms, 10))
        except KafkaTimeoutError:
            pass

    def positions(self) -> dict[TopicPartition, FetchPosition]:
        """Return the user's position in every partition that has a valid one."""
        positions = self.subscriptions.all_positions()
        return positions | {p: at for p, at in self.pending.positions().items() if p in positions}

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the user's positions as offsets to commit."""
        return {p: OffsetAndMetadata(at.offset, "", at.offset_epoch) for p, at in self.positions().items()}

    def _initialize_positions(self, missing: set[TopicPartition]) -> None:
        """Set positions from committed offsets, else by the reset policy. Raises NoOffsetForPartitionError without
        either."""
        if not missing:
            return
        if self.coordinator is None:
            self.subscriptions.reset_initializing_positions(missing)
        elif self._initializing is None:
            task = self._initializing = spawn(self._fetch_committed(missing))
            task.add_callback(self._initialized)

    async def _fetch_committed(self, partitions: set[TopicPartition]) -> None:
        assert self.coordinator is not None
        assignment = {p: self.subscriptions.assignment[p] for p in partitions}
        offsets = await self.coordinator.commits.committed(partitions)
        for partition, state in assignment.items():
            now = self.subscriptions.assignment.get(partition)
            if now is not state or state.fetch_state is not FetchState.INITIALIZING:
                continue
            found = offsets.get(partition)
            if found is not None:
                epoch = -1 if found.leader_epoch is None else found.leader_epoch
                self.client.metadata.record_epoch(partition, epoch)
                state.seek(FetchPosition(found.offset, epoch))
            elif self.config.reset_strategy is not OffsetResetStrategy.NONE:
                state.await_reset(self.config.reset_strategy)
        self.subscriptions.reset_initializing_positions(partitions)  # raises if there are any: no reset policy

    def _initialized(self, task: Completion[None]) -> None:
        self._initializing = None
        error = task.exception()
        if isinstance(error, KafkaError):
            self._error = error
        self.wake()

    # -- commits

    async def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None, timeout_ms: float | None
    ) -> None:
        """Commit and wait; `offsets` None: the user's positions. Raises the errors of `OffsetCommits.commit`."""
        await self._group().commits.commit(self.consumed() if offsets is None else offsets, timeout_ms)

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None,
        callback: Callable[[Any, Any], Any] | None,
    ) -> Completion[Any]:
        """Commit in the background; `callback(offsets, response or error)` is called on the thread that polls."""
        committed = dict(self.consumed() if offsets is None else offsets)
        commit = self._group().commits.commit_async(committed)
        told = callback or self.config.default_offset_commit_callback

        def finished(done: Completion[Any]) -> None:
            error = done.exception()
            if isinstance(error, Exception) and callback is None:
                _log.warning("A commit of group %s failed: %s", self.config.group_id, error)
            outcome = error if error is not None else done.result()
            self.call_user(told, committed, outcome).add_callback(_log_failure)

        commit.add_callback(finished)
        return commit

    async def committed(self, partitions: Iterable[TopicPartition], timeout_ms: float | None) -> dict[Any, Any]:
        """Return committed offsets. Times out after request_timeout_ms by default, because a transaction may stay open
        for long."""
        patience = self.config.request_timeout_ms if timeout_ms is None else timeout_ms
        return await self._group().commits.committed(partitions, patience)

    def _auto_commit_now(self) -> None:
        if self.coordinator is not None and self.config.enable_auto_commit and self.subscriptions.assignment:
            self.coordinator.commits.auto_commit(self.consumed())

    def _group(self) -> ConsumerCoordinator:
        if self.coordinator is None:
            raise IllegalStateError("Requires group_id")
        return self.coordinator

    # -- what is known

    def group_metadata(self) -> ConsumerGroupMetadata:
        if self.coordinator is None:
            return ConsumerGroupMetadata()
        membership = self.coordinator.member.membership
        states = {"stable": MemberState.STABLE, "joining": MemberState.REBALANCING, "syncing": MemberState.REBALANCING}
        state = states.get(membership.state.value, MemberState.UNJOINED)
        if state == MemberState.STABLE and self.coordinator.member.rebalancing:
            state = MemberState.REBALANCING
        generation = self.coordinator.joined
        return ConsumerGroupMetadata(
            self.config.group_id, generation.id, generation.member_id, self.config.group_instance_id, state
        )

    def enforce_rebalance(self, reason: str) -> None:
        """Make the next poll join the group again."""
        if self.coordinator is None or not self.subscriptions.auto_assigned:
            raise IllegalStateError("Tried to force a rebalance, but the consumer has no subscription with a group")
        self.coordinator.member.membership.request_rejoin(reason)
        self.wake()

    def health(self) -> ConsumerHealth:
        member = None if self.coordinator is None else self.coordinator.member
        read_committed = self.config.read_committed
        return health_of(
            self.driver.time,
            self.subscriptions,
            self.pending,
            member,
            self.last_poll_ms,
            read_committed,
            dict(self.troubles),
        )

    def _metadata_changed(self, cluster: ClusterMetadata) -> None:
        """Update the unreadable topics from new metadata; log each error once."""
        before = self.troubles
        self.troubles = {
            name: topic.error.message for name, topic in cluster.topics.items() if topic.error in _TROUBLES
        }
        for name in self.troubles.keys() - before.keys():
            _log.warning("Topic %s cannot be read: %s", name, self.troubles[name])
        self.wake()

    def metrics(self) -> dict[str, dict[str, float]]:
        """Return metrics by group and name, with the Java client's names. Thread-safe."""
        return figures_of(
            self.client,
            self.config.metric_group_prefix,
            self.fetcher.statistics,
            self.subscriptions,
            self.coordinator,
            self.health(),
        )

    async def topics(self, timeout_ms: float) -> dict[str, set[int]]:
        """All topics with their partitions, fresh from the cluster."""
        response = await self.client.any_broker(MetadataRequestBuilder(None, False), timeout_ms=timeout_ms)
        return {t.name: {p.partition_index for p in t.partitions} for t in response.topics if not t.error_code}

    # -- the end

    async def close(self, auto_commit: bool, timeout_ms: float) -> None:
        """Commit, leave the group and release all resources; steps that exceed the time are abandoned."""
        if self.closed:
            return
        deadline = self.driver.time.monotonic_ms() + timeout_ms
        try:
            if self.coordinator is not None:
                await self._close_group(self.coordinator, auto_commit, deadline)
        finally:
            self.closed = True
            self.pending.drop()
            if self._initializing is not None:
                self._initializing.cancel()
            self.fetcher.close()
            self.client.close()
            self.wake()

    async def _close_group(self, coordinator: ConsumerCoordinator, auto_commit: bool, deadline: float) -> None:
        def remaining() -> float:
            return max(0.0, deadline - self.driver.time.monotonic_ms())

        commits = coordinator.commits
        try:
            offsets = self.consumed()
            if auto_commit and self.config.enable_auto_commit and offsets:
                await commits.commit(offsets, remaining())
            await wait_for(self.driver, spawn(commits.settle()), remaining())
        except KafkaError as error:
            _log.warning("The last commit of group %s failed: %s", self.config.group_id, error)
        try:
            await coordinator.member.close("the consumer is being closed", remaining())
        except KafkaTimeoutError as error:
            _log.warning("Group %s was not left in time: %s", self.config.group_id, error)


def _log_failure(done: Completion[Any]) -> None:
    error = done.exception()
    if isinstance(error, Exception):
        _log.error("A callback of the user failed", exc_info=error)
