"""Sends the records of tasks; with exactly-once, in transactions (Kafka's `StreamsProducer`,
`RecordCollectorImpl`)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import (
    CommitFailedError,
    IllegalGenerationError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidRecordError,
    InvalidTimestampError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumberError,
    PolicyViolationError,
    ProducerFencedError,
    RecordListTooLargeError,
    TransactionAbortableError,
    UnknownMemberIdError,
    UnknownProducerIdError,
)
from kafkapy.producer import KafkaProducer
from kafkapy.streams.errors import StreamsException, TaskMigratedException
from kafkapy.streams.records import Headers
from kafkapy.streams.task.record_collector import IsFatal, ProducedRecord
from kafkapy.structs import OffsetAndMetadata

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.producer.future import BatchMetadata

log = logging.getLogger("kafkapy.streams")

_OF_RECORD = (
    InvalidRecordError,
    InvalidTimestampError,
    MessageSizeTooLargeError,
    PolicyViolationError,
    RecordListTooLargeError,
)
"""Errors of a single record; others can still be written."""
_MIGRATED = (
    CommitFailedError,
    IllegalGenerationError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    OutOfOrderSequenceNumberError,
    ProducerFencedError,
    UnknownMemberIdError,
    UnknownProducerIdError,
)
"""Errors that mean that another instance has the tasks, by the group's generation or the transactional id."""
_UNDECIDED = (KafkaTimeoutError, TransactionAbortableError)
"""Errors after which the transaction is aborted, and the tasks restart at the end of the previous one."""


_MAX_BUFFERED_RECORDS: Final = 1000
_MAX_BUFFERED_BYTES: Final = 1 << 20


class _Buffer:
    """Records of one topic (and of one partition, if they have one), as columns."""

    __slots__ = ("headers", "keys", "size", "timestamps", "values")

    def __init__(self) -> None:
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.timestamps: list[int] = []
        self.headers: list[Headers] = []
        self.size = 0

    def add(self, record: ProducedRecord) -> bool:
        """Append a record; return whether the buffer is full."""
        key, value = record.key, record.value
        self.keys.append(key)
        self.values.append(value)
        self.timestamps.append(int(time.time() * 1000) if record.timestamp is None else record.timestamp)
        self.headers.append(record.headers)
        self.size += (0 if key is None else len(key)) + (0 if value is None else len(value))
        return self.size > _MAX_BUFFERED_BYTES or len(self.keys) >= _MAX_BUFFERED_RECORDS


class _Columns(NamedTuple):
    """Serialized records of one partition."""

    keys: list[bytes]
    values: list[bytes]
    timestamps: list[int]


class StreamsProducer:
    """A thread's producer.

    Invariant: with exactly-once, each record is sent within a transaction, and `_in_transaction` is true while one is
    open. `_error` is the first send error since the last commit; after it no more records are sent. `_buffers` has
    records that were not passed to the producer yet; a commit passes them, and `send_buffered`, which the thread calls
    often.

    Args:
        make: Creates the producer; called again if a transaction could not be ended.
        exactly_once: Whether it is transactional.
    """

    def __init__(self, make: Callable[[], KafkaProducer[Any, Any]], exactly_once: bool) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        """The offset of the last acknowledged record of each changelog partition."""
        self._make = make
        self._exactly_once = exactly_once
        self._producer = make()
        self._in_transaction = False
        self._error: BaseException | None = None
        self._buffers: dict[tuple[str, int | None], _Buffer] = {}
        if exactly_once:
            self._producer.init_transactions()

    def send(self, record: ProducedRecord) -> None:
        """Buffer a record, to send it together with others.

        Raises:
            TaskMigratedException: Another instance has taken over.
            StreamsException: An earlier record could not be written.
        """
        self._check()
        if record.key is None and record.value is None:
            self._sent(record).add_errback(self._failed)  # the producer says that it needs one of them
            return
        where = record.topic, record.partition
        buffer = self._buffers.get(where)
        if buffer is None:
            buffer = self._buffers[where] = _Buffer()
        if buffer.add(record):
            self.send_buffered()

    def send_columns(
        self, topic: str, partition: int, keys: list[bytes], values: list[bytes], timestamps: list[int]
    ) -> None:
        """Send records without headers, after those that are buffered; raises the errors of `send`.

        Args:
            topic: Destination topic.
            partition: Its partition.
            keys: The keys.
            values: The values, as many as keys.
            timestamps: Timestamps in ms, as many as keys.
        """
        self.send_buffered()
        self._begin()
        for first in range(0, len(keys), _MAX_BUFFERED_RECORDS):
            rows = slice(first, first + _MAX_BUFFERED_RECORDS)
            columns = _Columns(keys[rows], values[rows], timestamps[rows])
            self._guarded(self._send_many, topic, partition, columns, None)

    def send_buffered(self) -> None:
        """Pass the records of `send` to the producer; raises the errors of `send`."""
        if not self._buffers:
            return
        self._begin()
        buffers, self._buffers = self._buffers, {}
        for (topic, partition), buffer in buffers.items():
            headers = buffer.headers if any(buffer.headers) else None
            self._guarded(self._send_many, topic, partition, buffer, headers)

    def _send_many(self, topic: str, partition: int | None, buffer: _Buffer | _Columns, headers: Any) -> None:
        columns = buffer.values, buffer.keys, partition, headers, buffer.timestamps
        future = self._producer.send_many(topic, *columns)
        future.add_errback(self._failed)
        if topic.endswith("-changelog"):
            future.add_callback(self._written)

    def send_watched(self, record: ProducedRecord, is_fatal: IsFatal) -> None:
        """Send a record whose refusal may be tolerated.

        Args:
            record: The record.
            is_fatal: Called with the error if the broker, or the producer itself, refuses the record, on the producer's thread;
                not for errors that concern the producer or the cluster.

        Raises:
            TaskMigratedException: Another instance has taken over.
            StreamsException: An earlier record could not be written.
        """

        def failed(error: BaseException) -> None:
            if not isinstance(error, _OF_RECORD) or is_fatal(error):
                self._failed(error)

        try:
            future = self._sent(record)
        except _OF_RECORD as error:
            failed(error)
        else:
            future.add_errback(failed)

    def send_batch(self, topic: str, rows: pa.RecordBatch) -> None:
        """Send records as columns; raises the errors of `send`.

        Args:
            topic: Destination topic.
            rows: A batch as for `KafkaProducer.send_arrow`.
        """
        self.send_buffered()
        self._begin()
        try:
            future = self._producer.send_arrow(topic, rows)
        except Exception as error:
            self._raise(error)
        future.add_errback(self._failed)

    def _begin(self) -> None:
        self._check()
        if self._exactly_once and not self._in_transaction:
            self._guarded(self._producer.begin_transaction)
            self._in_transaction = True

    def _sent(self, record: ProducedRecord) -> Any:
        self._begin()
        try:
            return self._producer.send(
                record.topic,
                record.value,
                record.key,
                record.headers or None,
                record.partition,
                record.timestamp,
            )
        except (*_MIGRATED, *_UNDECIDED) as error:
            self._raise(error)

    def partitions_for(self, topic: str) -> int:
        return len(self._producer.partitions_for(topic))

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: Any) -> None:
        """Commit the transaction together with the offsets of the input.

        Raises:
            TaskMigratedException: Another instance has taken over.
            StreamsException: A record could not be written, or the broker refuses the commit.
        """
        self.send_buffered()
        if not self._in_transaction and not offsets:
            return
        if not self._in_transaction:
            self._guarded(self._producer.begin_transaction)
            self._in_transaction = True
        if offsets:
            self._guarded(self._producer.send_offsets_to_transaction, offsets, group_metadata)
        self._guarded(self._producer.commit_transaction)
        self._in_transaction = False
        self._check()

    def flush(self) -> None:
        """Wait until all records are acknowledged.

        Raises:
            StreamsException: A record could not be written.
        """
        self.send_buffered()
        self._producer.flush()
        self._check()

    def abort(self) -> None:
        """Abort the transaction. If that fails, the broker aborts it when the next producer initializes."""
        self._buffers.clear()
        if self._in_transaction:
            self._in_transaction = False
            try:
                self._producer.abort_transaction()
            except Exception as error:
                log.info("The transaction could not be aborted (%s): the next producer of this id does it", error)
                self._producer.close(timeout=0)
                self._producer = self._make()
                self._producer.init_transactions()
        self._error = None

    def metrics(self) -> dict[str, dict[str, Any]]:
        """Return the producer's metrics by group and name. Thread-safe."""
        figures: dict[str, dict[str, Any]] = self._producer.metrics()
        return figures

    def close(self) -> None:
        self._buffers.clear()  # a task that was closed cleanly has committed
        self._producer.close()

    def _failed(self, error: BaseException) -> None:
        """Called on the producer's thread."""
        if self._error is None:
            self._error = error

    def _written(self, batches: Sequence[BatchMetadata]) -> None:
        """Called on the producer's thread."""
        for batch in batches:
            self.offsets[TopicPartition(batch.topic, batch.partition)] = batch.offset + batch.record_count - 1

    def _check(self) -> None:
        error = self._error
        if error is not None:
            self._raise(error)

    def _guarded(self, f: Callable[..., object], *args: Any) -> None:
        try:
            f(*args)
        except Exception as error:
            self._raise(error)

    def _raise(self, error: BaseException) -> NoReturn:
        if isinstance(error, _MIGRATED):
            raise TaskMigratedException(f"Another instance has taken over: {error}") from error
        if self._exactly_once and isinstance(error, _UNDECIDED):
            raise TaskMigratedException(f"The transaction is aborted: {error}") from error
        raise StreamsException(f"Error encountered sending records: {error}") from error
