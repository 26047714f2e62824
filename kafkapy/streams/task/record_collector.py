"""Serializes and sends the output of a task (Kafka's `RecordCollectorImpl`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.exception_handlers import (
    DeadLetterRecord,
    DefaultProductionExceptionHandler,
    ErrorHandlerContext,
    ProductionExceptionHandler,
    settle,
)
from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import Headers, Record
from kafkapy.streams.serdes import Serializer
from kafkapy.streams.topology.node_specs import Partitioner
from kafkapy.streams.topology.nodes import error_context

if TYPE_CHECKING:
    import pyarrow as pa


class ProducedRecord(NamedTuple):
    """A record for the producer. `partition` None: the producer partitions by key; `timestamp` None: the current
    time."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: Headers


class Output(Protocol):
    """The destination of records: a producer, or a list in tests."""

    def send(self, record: ProducedRecord) -> None: ...

    def partitions_for(self, topic: str) -> int:
        """Return the number of partitions of the topic."""


IsFatal = Callable[[Exception], bool]
"""Returns whether the task fails because of a record that the broker refuses."""
SendWatched = Callable[[ProducedRecord, IsFatal], None]
SendBatch = Callable[[str, "pa.RecordBatch"], None]
SendColumns = Callable[[str, int, list[bytes], list[bytes], list[int]], None]


class RecordCollector:
    """Serializes, partitions and sends.

    Args:
        output: Destination of the records.
        handler: Decides about records that cannot be serialized.
        dropped: Called for each dropped record.
    """

    def __init__(self, output: Output, handler: ProductionExceptionHandler, dropped: Callable[[], None]) -> None:
        self._output = output
        self._handler = handler
        self._dropped = dropped
        is_default = type(handler) is DefaultProductionExceptionHandler
        self._watch: SendWatched | None = None if is_default else getattr(output, "send_watched", None)
        """Sends records whose refusal the handler decides about; None: each refusal is fatal."""
        self._refused: deque[DeadLetterRecord] = deque()
        self._send_batch: SendBatch | None = getattr(output, "send_batch", None)
        self._send_columns: SendColumns | None = getattr(output, "send_columns", None)

    def send(
        self,
        topic: str,
        record: Record[Any, Any],
        key_serializer: Serializer,
        value_serializer: Serializer,
        node: str,
        context: TaskContext,
        partitioner: Partitioner | None,
    ) -> None:
        """Serialize and send a record.

        Raises:
            StreamsException: It cannot be serialized and the handler decides to fail.
        """
        partition = None
        if partitioner is not None:
            count = self._output.partitions_for(topic)
            partition = partitioner(topic, record.key, record.value, count)
        try:
            of_key = True
            key = key_serializer.serialize(topic, record.key)
            of_key = False
            value = value_serializer.serialize(topic, record.value)
        except Exception as error:
            self._unserializable(topic, record, error, of_key, node, context)
            return
        made = ProducedRecord(topic, partition, key, value, record.timestamp, record.headers)
        if self._watch is None:
            self._output.send(made)
        else:
            where = error_context(context.record_context, node, context.task_id, context.source_raw())
            self._watch(made, lambda error: self._is_refusal_fatal(where, made, error))

    @property
    def takes_columns(self) -> bool:
        """Return whether `send_batch` may be called: only if no production handler decides about single records."""
        return self._watch is None and self._send_batch is not None

    def send_batch(self, topic: str, rows: pa.RecordBatch) -> None:
        """Send serialized records as columns.

        Args:
            topic: Destination topic.
            rows: The columns `key`, `value`, `timestamp` (int64, ms), and `headers` if a record has some.
        """
        assert self._send_batch is not None
        self._send_batch(topic, rows)

    def send_bytes(self, record: ProducedRecord) -> None:
        """Send a serialized record, such as a store's change."""
        self._output.send(record)

    def send_columns(
        self, topic: str, partition: int, keys: list[bytes], values: list[bytes], timestamps: list[int]
    ) -> None:
        """Send serialized records without headers, such as the changes of a store, in this order."""
        if self._send_columns is not None:
            self._send_columns(topic, partition, keys, values, timestamps)
            return
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            self._output.send(ProducedRecord(topic, partition, key, value, timestamp, []))

    def _is_refusal_fatal(self, where: ErrorHandlerContext, record: ProducedRecord, error: Exception) -> bool:
        """Call the handler on the producer's thread, which must not send: dead letters are queued for
        `send_waiting`."""
        fatal = settle(self._handler.handle(where, record, error), self._refused.append)
        if not fatal:
            self._dropped()
        return fatal

    def send_waiting(self) -> bool:
        """Send the queued dead letters of refused records; return whether there were any."""
        found = bool(self._refused)
        while self._refused:
            self.send_dead_letter(self._refused.popleft())
        return found

    def send_dead_letter(self, record: DeadLetterRecord) -> None:
        """Write a record to a dead-letter topic."""
        headers = Headers((name, value) for name, value in record.headers)
        self._output.send(ProducedRecord(record.topic, None, record.key, record.value, record.timestamp, headers))

    def _unserializable(
        self, topic: str, record: Record[Any, Any], error: Exception, of_key: bool, node: str, context: TaskContext
    ) -> None:
        if isinstance(error, TypeError):
            data = record.key if of_key else record.value
            raise StreamsException(
                f"The {'key' if of_key else 'value'} serializer does not take a {type(data).__name__}, which was about to be "
                f"written to topic {topic}. Change the default serde, or give the operator one (for example "
                "`Produced.with_(key_serde, value_serde)`)."
            ) from error
        where = error_context(context.record_context, node, context.task_id, context.source_raw())
        response = self._handler.handle_serialization_exception(where, record, error, of_key)
        if settle(response, self.send_dead_letter):
            raise StreamsException(
                f"Unable to serialize record. ProducerRecord(topic=[{topic}], timestamp=[{record.timestamp}])"
            ) from error
        self._dropped()
