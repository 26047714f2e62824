"""Reads a range of offsets of one partition in bulk: without a group or threads; the reader runs the event loop
itself.

While one response is decoded into Arrow columns, the broker already sends the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.clients.caller_driver import CallerDriver
from kafkapy.clients.client_metadata import MetadataRequestBuilder
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.fetch_session import FIRST_WITH_TOPIC_IDS
from kafkapy.clients.frames import BulkBuffer
from kafkapy.clients.metadata import Address, ClusterMetadata
from kafkapy.clients.node_client import NodeClient
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.fetch.partition_records import AbortedTransactions, PartitionRecords, offset_after
from kafkapy.errors import (
    KafkaTimeoutError,
    OffsetOutOfRangeError,
    as_client_error,
    error_for,
)
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest
from kafkapy.runtime.completion import Completion

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.consumer.arrow import ArrowBuilder

EARLIEST, LATEST = -2, -1


class OffsetRangeError(OffsetOutOfRangeError):
    """Offsets to read are not in the log (no longer, or not yet).

    `offset` is the first of them; the log holds `log_start_offset` to `log_end_offset` (exclusive).
    """

    def __init__(self, partition: TopicPartition, offset: int, log_start_offset: int, log_end_offset: int) -> None:
        self.partition = partition
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        super().__init__(
            f"Offset {offset} of {partition} is out of range: the log holds offsets {log_start_offset} to "
            f"{log_end_offset} (exclusive)"
        )

    def __reduce__(self) -> Any:
        return type(self), (self.partition, self.offset, self.log_start_offset, self.log_end_offset)


def read_range(
    config: ClientConfig | str | Iterable[str] | Mapping[str, Any],
    topic: str,
    partition: int,
    start: int,
    end: int,
    *,
    isolation_level: str = "read_uncommitted",
    include_headers: bool = False,
    timestamp_unit: str = "us",
    check_crcs: bool = True,
    fetch_max_bytes: int = 50 << 20,
    max_partition_fetch_bytes: int = 2 << 20,
    fetch_min_bytes: int = 1,
    fetch_max_wait_ms: int = 500,
    timeout_ms: float = 120_000,
    connections: RangeConnections | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the records with start <= offset < end, in order, in batches of `arrow.record_schema`.

    `config`: a `ClientConfig`, its options as a mapping, or just bootstrap servers. Gaps (compaction, markers, aborted
    transactions) are skipped. It retries after lost connections and leader changes; `timeout_ms` limits the time
    without progress. The batches own their memory. Closing the iterator closes the connection.

    Raises `OffsetRangeError` at offsets that the log does not hold (after all records before them),
    `KafkaTimeoutError`, CorruptRecordError or another error of damaged records, and the cluster's errors.
    """
    reader = _RangeReader(as_client_config(config), TopicPartition(topic, partition), start, end, connections)
    reader.read_committed = is_read_committed(isolation_level)
    reader.check_crcs = check_crcs
    reader.timeout_ms = timeout_ms
    reader.request = FetchRequest(
        max_wait_ms=fetch_max_wait_ms,
        min_bytes=fetch_min_bytes,
        max_bytes=fetch_max_bytes,
        isolation_level=int(reader.read_committed),
        topics=[
            FetchRequest.FetchTopic(
                topic=topic,
                partitions=[
                    FetchRequest.FetchPartition(partition=partition, partition_max_bytes=max_partition_fetch_bytes)
                ],
            )
        ],
    )
    return reader.batches(include_headers, timestamp_unit)


def log_bounds(config: ClientConfig, partition: TopicPartition, isolation_level: str) -> tuple[int, int]:
    """Return (first offset, offset after the last readable one) of a partition, within request_timeout_ms."""
    reader = _RangeReader(config, partition, 0, 0)
    reader.read_committed = is_read_committed(isolation_level)
    reader.timeout_ms = config.request_timeout_ms
    return reader.bounds()


def as_client_config(config: ClientConfig | str | Iterable[str] | Mapping[str, Any]) -> ClientConfig:
    if isinstance(config, ClientConfig):
        return config
    if isinstance(config, Mapping):
        return ClientConfig(**config)
    return ClientConfig(bootstrap_servers=config)


def is_read_committed(isolation_level: str) -> bool:
    if isolation_level not in ("read_uncommitted", "read_committed"):
        raise ValueError(f"isolation_level must be read_uncommitted or read_committed; it is {isolation_level!r}")
    return isolation_level == "read_committed"


def bulk_client(driver: CallerDriver, config: ClientConfig, address: Address) -> NodeClient:
    """Return a client with one request in flight; a response's memory is valid until the next byte is received."""
    return NodeClient(driver, config, lambda: address, lambda: BulkBuffer(config.receive_message_max_bytes))


class RangeConnections:
    """Shared state of successive reads with one config: the loop, idle connections, and leaders."""

    def __init__(self) -> None:
        self.driver = CallerDriver()
        self.metadata: dict[str, ClusterMetadata] = {}
        """Topic -> its last metadata."""
        self._idle: dict[Address, NodeClient] = {}

    def take(self, config: ClientConfig, address: Address) -> NodeClient:
        return self._idle.pop(address, None) or bulk_client(self.driver, config, address)

    def give_back(self, address: Address, connection: NodeClient) -> None:
        """Return an idle connection to the pool."""
        self._idle[address] = connection

    def close(self) -> None:
        for connection in self._idle.values():
            self.driver.act(connection.close)
        self._idle.clear()
        self.driver.close()


class _RangeReader:
    """Reads one range.

    Invariant: every record before `position` was yielded or is hidden. `connection` is to the partition's leader, and
    `answer` is the pending response of a fetch from `position` there; None: there is none. A response's records lie in
    the connection's buffer: they are valid until the next response is received.
    """

    request: FetchRequest
    read_committed = False
    check_crcs = True
    timeout_ms = 120_000.0

    def __init__(
        self,
        config: ClientConfig,
        partition: TopicPartition,
        start: int,
        end: int,
        shared: RangeConnections | None = None,
    ) -> None:
        self.config = config
        self.partition = partition
        self.position = start
        self.end = end
        self.connection: NodeClient | None = None
        self.answer: Completion[FetchResponse] | None = None
        self._shared = shared or RangeConnections()
        self._is_alone = shared is None
        self._driver = self._shared.driver
        self._leader: Address | None = None
        """The address of `connection`."""
        self._patience = 0.0
        self._failures = 0

    def batches(self, include_headers: bool, timestamp_unit: str) -> Iterator[pa.RecordBatch]:
        if self.position >= self.end:
            return
        from kafkapy.consumer.arrow import ArrowBuilder

        builder = ArrowBuilder(self.partition.topic, self.partition.partition, include_headers, timestamp_unit)
        self._progress()
        try:
            while self.position < self.end:
                try:
                    data = self._receive()
                except KafkaError as error:
                    self._recover(as_client_error(error))
                    continue
                yield from self._take(data, builder)
        finally:
            self.close()

    def bounds(self) -> tuple[int, int]:
        """See `log_bounds`."""
        self._progress()
        try:
            while True:
                try:
                    self.connection, _ = self._connection_to_leader()
                    return self._log_bounds()
                except KafkaError as error:
                    self._recover(as_client_error(error))
        finally:
            self.close()

    def _take(self, data: FetchResponse.PartitionData, builder: ArrowBuilder) -> Iterator[pa.RecordBatch]:
        records = data.records
        if not records:
            self._check_patience(
                KafkaTimeoutError(
                    f"{self.partition} has no records at offset {self.position} (to {self.end} were asked for) after "
                    f"{self.timeout_ms:g} ms"
                )
            )
            self._ask()
            return
        start = self.position
        following = offset_after(records, start)
        if following == start:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"Failed to make progress reading {self.partition} at {start}: the response has no complete batch",
            )
        if following < self.end:
            self._ask(following)  # the broker works on it during the decoding
        aborted = AbortedTransactions(data.aborted_transactions or ()) if self.read_committed else None
        found = PartitionRecords(records, start, end_offset=self.end, aborted=aborted, check_crcs=self.check_crcs)
        try:
            for columns in found:
                self.position = columns.next_offset
                if len(columns):
                    yield builder.build(columns)
        except KafkaError as error:
            raise error_for(
                error.error,
                f"Record batch of {self.partition} at offset {found.next_offset} is invalid: {error.message}",
            ) from error
        self.position = max(self.position, following)
        self._progress()

    # --- the connection

    def _receive(self) -> FetchResponse.PartitionData:
        """Receive the pending response and return the partition's part. Raises its error."""
        if self.connection is None:
            self._connect()
        assert self.answer is not None
        response: FetchResponse = self._driver.run(self.answer)
        if response.error_code:
            raise error_for(response.error_code)
        data = response.responses[0].partitions[0] if response.responses else None
        if data is None:
            raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"A response without {self.partition}")
        if data.error_code == Errors.OFFSET_OUT_OF_RANGE.code:
            raise OffsetRangeError(self.partition, self.position, *self._log_bounds())
        if data.error_code:
            raise error_for(data.error_code, f"{self.partition}: {Errors.for_code(data.error_code).message}")
        return data

    def _ask(self, offset: int | None = None) -> None:
        """Send a fetch. A failure to send is raised by `_receive`."""
        self.request.topics[0].partitions[0].fetch_offset = self.position if offset is None else offset
        self._driver.act(self._send)

    def _send(self) -> None:
        assert self.connection is not None
        self.answer = self.connection.call(self.request, FIRST_WITH_TOPIC_IDS - 1)

    def _connect(self) -> None:
        """Connect to the leader and send a fetch."""
        connection, epoch = self._connection_to_leader()
        self.connection = connection
        self.request.topics[0].partitions[0].current_leader_epoch = epoch
        self._ask()

    def _connection_to_leader(self) -> tuple[NodeClient, int]:
        """Return (a connection to the leader, the leader epoch)."""
        topic = self.partition.topic
        cluster = self._shared.metadata.get(topic)
        if cluster is None:
            cluster = self._shared.metadata[topic] = self._ask_who_leads()
        leader = cluster.leader_of(self.partition)
        found = cluster.partition(self.partition)
        self._leader = Address(leader.host, leader.port)
        return self._shared.take(self.config, self._leader), found.leader_epoch if found is not None else -1

    def _ask_who_leads(self) -> ClusterMetadata:
        """Fetch metadata from the first bootstrap server that answers."""
        failure: KafkaError | None = None
        for address in self.config.bootstrap:
            connection = self._shared.take(self.config, address)
            try:
                self._driver.run(connection.connect)
            except KafkaError as error:
                failure = error
                continue
            try:
                response = self._driver.run(connection.call, MetadataRequestBuilder([self.partition.topic], False))
            except BaseException:
                self._driver.act(connection.close)
                raise
            self._shared.give_back(address, connection)
            return ClusterMetadata.of(response)
        assert failure is not None  # there is at least one bootstrap server
        raise failure

    def _log_bounds(self) -> tuple[int, int]:
        """Return the leader's (first offset, offset after the last). No request may be in flight."""
        assert self.connection is not None
        bounds = []
        for timestamp in (EARLIEST, LATEST):
            wanted = ListOffsetsRequest.ListOffsetsPartition(
                partition_index=self.partition.partition, timestamp=timestamp
            )
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=int(self.read_committed),
                topics=[ListOffsetsRequest.ListOffsetsTopic(name=self.partition.topic, partitions=[wanted])],
            )
            call = partial(self.connection.call, request, min_version=2 if self.read_committed else 0)
            answer = self._driver.run(call).topics[0].partitions[0]
            if answer.error_code:
                raise error_for(answer.error_code)
            bounds.append(answer.old_style_offsets[0] if answer.old_style_offsets else answer.offset)
        return bounds[0], bounds[1]

    def _disconnect(self) -> None:
        """Close the connection, and discard the topic's metadata, which may be stale."""
        self._shared.metadata.pop(self.partition.topic, None)
        if self.connection is not None:
            self._driver.act(self.connection.close)
            self.connection = self.answer = None

    def close(self) -> None:
        if self._is_alone:
            self._disconnect()
            self._shared.close()
        elif self.connection is not None and self._leader is not None and (self.answer is None or self.answer.done):
            self._shared.give_back(self._leader, self.connection)
            self.connection = self.answer = None
        else:
            self._disconnect()

    # --- time limits

    def _progress(self) -> None:
        self._failures = 0
        self._patience = self._driver.now() + self.timeout_ms / 1000

    def _recover(self, error: KafkaError) -> None:
        """Handle a failure: raise it, or back off and continue without a connection."""
        self._disconnect()
        if not getattr(error, "retriable", False) or isinstance(error, OffsetRangeError):
            raise error
        self._check_patience(error)
        backoff = min(self.config.retry_backoff_max_ms, self.config.retry_backoff_ms * 2**self._failures)
        self._failures = min(self._failures + 1, 20)
        self._driver.time.sleep(backoff / 1000)

    def _check_patience(self, error: KafkaError) -> None:
        if self._driver.now() < self._patience:
            return
        if isinstance(error, KafkaTimeoutError):
            raise error
        raise KafkaTimeoutError(
            f"No progress in reading {self.partition} at offset {self.position} for {self.timeout_ms:g} ms. "
            f"The last failure: {error}"
        ) from error
