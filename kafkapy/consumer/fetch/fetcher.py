"""Prefetches records from the brokers (Kafka's `Fetcher`).

At most one Fetch request per broker is in flight. It covers all partitions of that broker. Records are buffered until
the user takes them; meanwhile the next fetch runs. The buffer holds at most about two responses of a partition, and
`fetch_max_bytes` of all partitions together.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from kafkapy.clients.fetch_session import FIRST_WITH_TOPIC_IDS, FetchSessionHandler, PartitionRequest
from kafkapy.clients.metadata import Node
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.timestamps import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.fetch.completed_fetch import CompletedFetch, PolicyFirst
from kafkapy.consumer.fetch.fetch_buffer import FetchBuffer
from kafkapy.consumer.fetch.fetch_plan import FetchPlan
from kafkapy.consumer.fetch.offsets import OffsetFetcher
from kafkapy.consumer.fetch.statistics import FetchStatistics
from kafkapy.consumer.records import ConsumerRecord, RecordFactory
from kafkapy.consumer.subscription_state import SubscriptionState, TopicPartitionState
from kafkapy.errors import (
    CorruptRecordError,
    LookUpFailedError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
    as_client_error,
    error_for,
)
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.serializer import LookUpFirst
from kafkapy.structs import OffsetAndTimestamp, OffsetResetStrategy

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger("kafkapy.consumer")

_FETCH_FIRST_BYTES = 1 << 16
"""From this size on, the next fetch is sent before the response is decoded, so that the broker works on it
meanwhile."""

_STALE_LEADER = (
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.REPLICA_NOT_AVAILABLE,
    Errors.KAFKA_STORAGE_ERROR,
    Errors.FENCED_LEADER_EPOCH,
    Errors.OFFSET_NOT_AVAILABLE,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.UNKNOWN_TOPIC_ID,
    Errors.INCONSISTENT_TOPIC_ID,
)


class Fetcher:
    """Fetches the assigned partitions of one consumer. Everything here runs on the driver's thread.

    Invariant: `_in_flight` maps the brokers with an unanswered request to what was requested. No partition is
    requested twice at a time. Fetched records continue the buffered ones of their partition, or are dropped.
    """

    def __init__(self, client: NetworkClient, subscriptions: SubscriptionState, config: ConsumerConfig) -> None:
        self.statistics = FetchStatistics(client.metrics.stat)
        self._client = client
        self._time = client.driver.time
        self._subscriptions = subscriptions
        self._config = config
        self._offsets = OffsetFetcher(client, subscriptions, config, self._progress, self._fail)
        factory = RecordFactory(config.key_deserializer, config.value_deserializer, config.deserialization_policy)
        self._buffer = FetchBuffer(subscriptions, factory)
        self._plan = FetchPlan(client.metadata, subscriptions, self._buffer, config)
        self._sessions: dict[int, FetchSessionHandler] = {}
        self._in_flight: dict[int, dict[TopicPartition, tuple[TopicPartitionState, int, int]]] = {}
        self._errors: deque[BaseException] = deque()
        self._fetching_soon = False
        self._look_up: Completion[object] | None = None
        """The look-up that a deserializer or the user's policy needs, while it runs; no records are returned
        meanwhile."""
        self.notify: Callable[[], object] = lambda: None
        """Called when `collect` would return records or raise."""
        self.is_awaited: Callable[[], bool] = lambda: False
        """Returns whether a caller waits for records; if none does, failed requests are not retried."""
        client.metadata.listeners.append(self._metadata_changed)

    # --- returning records

    def collect(
        self, max_records: int, only: Collection[TopicPartition] = ()
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Return up to `max_records` buffered records and advance the positions behind them; `only`: of these
        partitions, unless empty.

        Raises the error of the next record, partition or position, if there are no records before it:
        CorruptRecordError or another error of a damaged batch, OffsetOutOfRangeError, LogTruncationError,
        TopicAuthorizationFailedError, RecordDeserializationError or the exception that the user's policy raised
        instead, LookUpFailedError.
        """
        if self._look_up is not None:
            return {}
        try:
            found = self._buffer.collect(max_records, only)
        except LookUpFirst as needed:
            found = {}
            if not self._errors:  # an earlier look-up's error has not been raised yet
                self._begin_look_up(needed, only)
        self._after_collecting([(partition.topic, len(records)) for partition, records in found.items()])
        return found

    def collect_arrow(self, max_records: int | None = None) -> pa.Table | None:
        """As `collect`, but return a table in `arrow.record_schema()`; None if there are no records. Deserializers are
        not called.

        `max_records` None: all that are buffered.
        """
        taken: list[tuple[str, int]] = []
        found = self._buffer.collect_arrow(max_records, taken)
        self._after_collecting(taken)
        return found

    def _after_collecting(self, taken: list[tuple[str, int]]) -> None:
        """`taken`: how many records of which topic."""
        if taken:
            now = self._time.monotonic_ms()
            for topic, count in taken:
                self.statistics.taken(topic, count, now)
        elif self._errors:
            raise self._errors.popleft()
        self.fetch_soon()

    def has_records(self, only: Collection[TopicPartition] = ()) -> bool:
        """Return whether `collect` would return records or raise."""
        if self._look_up is not None:
            return False
        return bool(self._errors) or self._buffer.next_fetch(only) is not None

    def _begin_look_up(self, needed: LookUpFirst, only: Collection[TopicPartition]) -> None:
        """Run the look-up in a thread. Its error is raised in place of the record, which stays the next one."""
        fetch = self._buffer.next_fetch(only)
        assert fetch is not None
        partition, offset = fetch.partition, fetch.next_offset

        def ended(done: Completion[object]) -> None:
            self._look_up = None
            failure = done.exception()
            if failure is not None and partition in self._subscriptions.assignment:
                self._errors.append(failure if isinstance(needed, PolicyFirst) else not_yet(failure))
            self._progress()

        def not_yet(failure: BaseException) -> LookUpFailedError:
            where = f"topic {partition.topic}, partition {partition.partition}, offset {offset}"
            error = LookUpFailedError(f"The record at {where} cannot be deserialized yet: {failure}")
            error.__cause__ = failure
            return error

        self._look_up = self._client.driver.run_in_thread(needed.look_up)
        self._look_up.add_callback(ended)

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """Discard the buffered records of these partitions (they were revoked, or their position jumped)."""
        dropped = set(partitions)
        self._buffer.drop(dropped)
        self._plan.end_rest(dropped)

    # --- requests

    def fetch_soon(self) -> None:
        """Schedule one `send_fetches` after the current event."""
        if not self._fetching_soon and not self._client.closed:
            self._fetching_soon = True
            self._client.driver.call_soon(self.send_fetches)

    def send_fetches(self) -> None:
        """Send a fetch to every broker without one in flight; begin resets and validations that are due. Never
        raises."""
        self._fetching_soon = False
        if self._client.closed:
            return
        self._plan.notice_new_leaders()
        self._offsets.reset_if_needed()
        self._offsets.validate_if_needed()
        for node_id, wishes in self._plan.wishes(self._in_flight, self._time.monotonic_ms()).items():
            self._send_fetch(node_id, wishes)

    def _send_fetch(self, node_id: int, wishes: dict[TopicPartition, PartitionRequest]) -> None:
        delay = self._client.connection_delay_ms(node_id)
        if delay > 0:
            self._send_later(delay)
            return
        session = self._sessions.get(node_id)
        if session is None:
            session = FetchSessionHandler(self._config.enable_incremental_fetch_sessions, _log)
            self._sessions[node_id] = session
        request, by_id = session.next_request(wishes)
        request.max_wait_ms = self._config.fetch_max_wait_ms
        request.min_bytes = self._config.fetch_min_bytes
        request.max_bytes = self._config.fetch_max_bytes
        request.isolation_level = self._config.isolation
        request.rack_id = self._config.client_rack
        assignment = self._subscriptions.assignment
        self._in_flight[node_id] = {
            partition: (assignment[partition], assignment[partition].version, wish.fetch_offset)
            for partition, wish in wishes.items()
        }
        response: Completion[FetchResponse] = self._client.send(
            node_id, request, max_version=32767 if by_id else FIRST_WITH_TOPIC_IDS - 1
        )
        response.add_callback(lambda done: self._answered(node_id, session, done))

    def _send_later(self, delay_ms: float) -> None:
        self._client.driver.call_later(delay_ms + 1, self._progress)

    # --- responses

    def _answered(self, node_id: int, session: FetchSessionHandler, done: Completion[FetchResponse]) -> None:
        asked = self._in_flight.pop(node_id, {})
        if self._client.closed:
            return
        failure = done.exception()
        if failure is not None:
            self._fetch_failed(session, asked, failure)
            return
        response = done.result()
        answers = self._by_partition(response, session)
        if not session.accept(response, answers):
            # A refused session is created again immediately; after an invalid response the broker is not asked for a while.
            self._send_later(0 if response.error_code else self._config.retry_backoff_ms)
            return
        nodes = [Node(n.node_id, n.host, n.port, n.rack) for n in response.node_endpoints or ()]
        sizes: dict[str, int] = {}
        now_ms = self._time.milliseconds()
        for partition, data in answers.items():
            if partition in asked:
                asked[partition][0].answered_ms = now_ms
                sizes[partition.topic] = sizes.get(partition.topic, 0) + len(data.records or b"")
                self._take_over(node_id, partition, data, *asked[partition], nodes)
        size = sum(sizes.values())
        self.statistics.fetched(sizes, self._time.monotonic_ms())
        if size >= _FETCH_FIRST_BYTES:
            self.send_fetches()
        self._progress()
        if size:
            self.fetch_soon()  # last, so that callers that wait for these records don't also wait for a system call

    def _by_partition(
        self, response: FetchResponse, session: FetchSessionHandler
    ) -> dict[TopicPartition, FetchResponse.PartitionData]:
        return {
            TopicPartition(session.name_of(topic), data.partition_index): data
            for topic in response.responses
            for data in topic.partitions
        }

    def _fetch_failed(
        self,
        session: FetchSessionHandler,
        asked: Mapping[TopicPartition, tuple[TopicPartitionState, int, int]],
        failure: BaseException,
    ) -> None:
        session.failed()
        for state, _, _ in asked.values():
            state.prefer_read_replica(-1, 0)
        if not isinstance(failure, KafkaError):
            _log.error("A fetch failed", exc_info=failure)
            return
        error = as_client_error(failure)
        if error.retriable:
            _log.debug("A fetch failed: %s", error)
            self._client.metadata.request_update()
            self._send_later(self._config.retry_backoff_ms)
        else:
            self._rest(asked)
            self._fail(error)

    def _take_over(
        self,
        node_id: int,
        partition: TopicPartition,
        data: FetchResponse.PartitionData,
        state: TopicPartitionState,
        version: int,
        fetch_offset: int,
        nodes: list[Node],
    ) -> None:
        if self._subscriptions.assignment.get(partition) is not state or state.version != version:
            return  # revoked, or the position jumped
        error = Errors.for_code(data.error_code)
        if error is not Errors.NONE:
            self._partition_failed(node_id, partition, data, state, fetch_offset, error, nodes)
            return
        if data.high_watermark >= 0:
            state.high_watermark = data.high_watermark
        if data.last_stable_offset >= 0:
            state.last_stable_offset = data.last_stable_offset
        if data.log_start_offset >= 0:
            state.log_start_offset = data.log_start_offset
        if data.preferred_read_replica >= 0:
            expires = self._time.monotonic_ms() + self._config.metadata_max_age_ms
            state.prefer_read_replica(data.preferred_read_replica, expires)
        if not data.records:
            return
        try:
            fetch = CompletedFetch(
                partition,
                state,
                fetch_offset,
                data,
                read_committed=self._config.read_committed,
                check_crcs=self._config.check_crcs,
            )
        except KafkaError as damage:
            self._rest((partition,))
            self._fail(as_client_error(damage))
        else:
            self._buffer.add(fetch)

    def _partition_failed(
        self,
        node_id: int,
        partition: TopicPartition,
        data: FetchResponse.PartitionData,
        state: TopicPartitionState,
        fetch_offset: int,
        error: Errors,
        nodes: list[Node],
    ) -> None:
        """`FetchCollector.handleInitializeErrors`."""
        _log.debug("Fetching %s at %d failed: %s", partition, fetch_offset, error.name)
        self._subscriptions.move_to_end(partition)
        if error is Errors.OFFSET_OUT_OF_RANGE:
            self._out_of_range(node_id, partition, state, fetch_offset)
            return
        self._rest((partition,))
        if error in _STALE_LEADER:
            state.prefer_read_replica(-1, 0)
            leader = data.current_leader
            named = leader is not None and self._client.metadata.update_leader(
                partition, leader.leader_id, leader.leader_epoch, nodes
            )
            if named:  # KIP-951: no need to ask for metadata
                self._plan.end_rest((partition,))
            else:
                self._client.metadata.request_update()
        elif error is Errors.TOPIC_AUTHORIZATION_FAILED:
            self._fail(TopicAuthorizationFailedError({partition.topic}))
        elif error is Errors.CORRUPT_MESSAGE:
            self._fail(
                CorruptRecordError(f"Encountered corrupt message when fetching offset {fetch_offset} of {partition}")
            )
        elif not error.retriable and error is not Errors.UNKNOWN_SERVER_ERROR:
            self._fail(error_for(error, f"Unexpected error while fetching {partition} at offset {fetch_offset}"))

    def _out_of_range(
        self, node_id: int, partition: TopicPartition, state: TopicPartitionState, fetch_offset: int
    ) -> None:
        leader = self._client.metadata.leader_of(partition)
        if leader is not None and node_id != leader.leader_id:
            state.prefer_read_replica(-1, 0)  # a follower that lags: retry at the leader
        elif state.position is None or state.position.offset != fetch_offset:
            self._rest((partition,))  # earlier records are still buffered; it is retried after them
        elif self._subscriptions.default_reset is OffsetResetStrategy.NONE:
            self._rest((partition,))
            self._fail(OffsetOutOfRangeError({partition: fetch_offset}))
        else:
            _log.info("Fetch offset %d is out of range for partition %s, resetting offset", fetch_offset, partition)
            self._subscriptions.request_offset_reset(partition)

    def _rest(self, partitions: Iterable[TopicPartition]) -> None:
        self._plan.rest(partitions, self._time.monotonic_ms() + self._config.retry_backoff_ms)
        self._send_later(self._config.retry_backoff_ms)

    # --- waiting callers

    def _metadata_changed(self, cluster: object) -> None:
        if self.is_awaited():
            self._client.driver.call_soon(self._progress)

    def _fail(self, error: KafkaError) -> None:
        """Store an error that the next `collect` raises."""
        self._errors.append(error)
        self._progress()

    def _progress(self) -> None:
        """Process a possible change: wake waiting callers if there is data for them, else continue fetching."""
        if self._client.closed or not self.is_awaited():
            return
        if self.has_records():
            self.notify()
        else:
            self.fetch_soon()

    # --- offsets

    def reset_offsets_if_needed(self) -> None:
        """Begin the resets that are due. Raises the errors of earlier resets or fetches."""
        if self._errors:
            raise self._errors.popleft()
        self._offsets.reset_if_needed()

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return each partition's first record with at least this timestamp (ms); None if there is none."""
        return await self._offsets.list_offsets(timestamps, timeout_ms)

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        return await self._ends(partitions, EARLIEST_TIMESTAMP, timeout_ms)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the offset after the last readable record (for read_committed: the last stable offset)."""
        return await self._ends(partitions, LATEST_TIMESTAMP, timeout_ms)

    async def _ends(
        self, partitions: Iterable[TopicPartition], which: int, timeout_ms: float | None
    ) -> dict[TopicPartition, int]:
        found = await self._offsets.list_offsets(dict.fromkeys(partitions, which), timeout_ms)
        return {partition: answer.offset for partition, answer in found.items() if answer is not None}

    # --- the end

    def close(self) -> None:
        """Discard the buffer and close the fetch sessions, without waiting for the responses."""
        if self._look_up is not None:
            self._look_up.cancel()
        self._buffer.clear()
        self._errors.clear()
        if self._metadata_changed in self._client.metadata.listeners:
            self._client.metadata.listeners.remove(self._metadata_changed)
        for node_id, session in self._sessions.items():
            request = session.closing_request()
            if request is not None and self._client.is_ready(node_id):
                spawn(self._close_session(node_id, request))
        self._sessions.clear()

    async def _close_session(self, node_id: int, request: object) -> None:
        try:
            await self._client.send(node_id, request, min_version=7)
        except KafkaError as error:
            _log.debug("Closing a fetch session failed: %s", error)
