"""The nodes of a topology that one task runs (Kafka's `ProcessorNode`, `SourceNode`, `SinkNode`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkapy.streams.errors import StreamsException, TaskCorruptedException, TaskMigratedException
from kafkapy.streams.exception_handlers import ErrorHandlerContext, ProcessingExceptionHandler, settle
from kafkapy.streams.processor import FixedKeyProcessor, Processor, TaskContext
from kafkapy.streams.records import FixedKeyRecord, Record, RecordContext
from kafkapy.streams.serdes import Deserializer, Serializer
from kafkapy.streams.topology.node_specs import Partitioner, TopicExtractor

if TYPE_CHECKING:
    from kafkapy.streams.columns.batch import ColumnBatch


class FailedProcessing(Exception):
    """An operator failed, and its handler returned FAIL: propagates through all nodes to the task."""


class TopologyNode:
    """A node with its children, in the order in which they were added.

    Attributes:
        name: Unique in the topology.
        stores: Names of the stores connected to it.
    """

    def __init__(self, name: str, stores: frozenset[str] = frozenset()) -> None:
        self.name = name
        self.stores = stores
        self.children: list[TopologyNode] = []
        self._context: TaskContext
        self._handler: ProcessingExceptionHandler | None = None

    def child(self, name: str) -> TopologyNode | None:
        for child in self.children:
            if child.name == name:
                return child
        return None

    def init(self, context: TaskContext, handler: ProcessingExceptionHandler | None) -> None:
        """Initialize the node; called when the task starts."""
        self._context = context
        self._handler = handler

    def process(self, record: Record[Any, Any]) -> None:
        raise NotImplementedError

    def takes_columns(self) -> bool:
        """Return whether the node processes batches as a whole."""
        return False

    def process_batch(self, batch: ColumnBatch) -> None:
        """Process the rows of a batch, here one by one. The caller restores the record context."""
        context = self._context
        for record, context.record_context in batch.records():
            self.process(record)

    def close(self) -> None:
        """Close the node; called when the task stops."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class ProcessorNode(TopologyNode):
    """An operator."""

    def __init__(self, name: str, processor: Processor | FixedKeyProcessor, stores: frozenset[str]) -> None:
        super().__init__(name, stores)
        self._processor: Any = processor
        self._fixed_key = isinstance(processor, FixedKeyProcessor)

    def init(self, context: TaskContext, handler: ProcessingExceptionHandler | None) -> None:
        super().init(context, handler)
        try:
            self._processor.init(context)
        except Exception as error:
            raise StreamsException(f"failed to initialize processor {self.name}") from error

    def process(self, record: Record[Any, Any]) -> None:
        try:
            if self._fixed_key:
                self._processor.process(FixedKeyRecord(record.key, record.value, record.timestamp, record.headers))
            else:
                self._processor.process(record)
        except (FailedProcessing, TaskCorruptedException, TaskMigratedException):
            raise
        except Exception as error:
            self._failed(record, error)

    def takes_columns(self) -> bool:
        return hasattr(self._processor, "process_batch")

    def process_batch(self, batch: ColumnBatch) -> None:
        if not self.takes_columns():
            super().process_batch(batch)
            return
        from kafkapy.streams.columns.errors import NotInColumns

        try:
            self._processor.process_batch(batch)
        except (FailedProcessing, TaskCorruptedException, TaskMigratedException):
            raise
        except NotInColumns:
            super().process_batch(batch)
        except Exception as error:
            raise FailedProcessing from error

    def _failed(self, record: Record[Any, Any], error: Exception) -> None:
        context = self._context
        if self._handler is None:
            raise FailedProcessing from error
        where = error_context(context.record_context, self.name, context.task_id, context.source_raw())
        try:
            response = self._handler.handle(where, record, error)
        except Exception as fatal:
            raise FailedProcessing("Fatal user code error in processing error callback") from fatal
        if settle(response, context.send_dead_letter):
            raise FailedProcessing from error
        context.record_dropped()

    def close(self) -> None:
        try:
            self._processor.close()
        except Exception as error:
            raise StreamsException(f"failed to close processor {self.name}") from error


class SourceNode(TopologyNode):
    """Reads records of topics.

    Attributes:
        timestamp_extractor: The source's extractor; None: the configuration's.
    """

    def __init__(
        self,
        name: str,
        key_deserializer: Deserializer | None,
        value_deserializer: Deserializer | None,
        timestamp_extractor: Any,
    ) -> None:
        super().__init__(name)
        self.timestamp_extractor = timestamp_extractor
        self._given_key = key_deserializer
        self._given_value = value_deserializer

    def init(self, context: TaskContext, handler: ProcessingExceptionHandler | None) -> None:
        super().init(context, handler)
        self.key_deserializer = prepared(self._given_key, context, self.name, "key", "source", "deserializer")
        self.value_deserializer = prepared(self._given_value, context, self.name, "value", "source", "deserializer")

    def takes_columns(self) -> bool:
        """Return whether records are read as batches, because a child processes them."""
        return any(child.takes_columns() for child in self.children)

    def process(self, record: Record[Any, Any]) -> None:
        self._context.forward(record)

    def process_batch(self, batch: ColumnBatch) -> None:
        context: Any = self._context
        context.forward_batch(batch)


class SinkNode(TopologyNode):
    """Writes records to a topic, or to one chosen by a function."""

    def __init__(
        self,
        name: str,
        topic: str | TopicExtractor,
        key_serializer: Serializer | None,
        value_serializer: Serializer | None,
        partitioner: Partitioner | None,
    ) -> None:
        super().__init__(name)
        self._topic = topic
        self._given_key = key_serializer
        self._given_value = value_serializer
        self._partitioner = partitioner

    def init(self, context: TaskContext, handler: ProcessingExceptionHandler | None) -> None:
        super().init(context, handler)
        self._key_serializer = prepared(self._given_key, context, self.name, "key", "sink", "serializer")
        self._value_serializer = prepared(self._given_value, context, self.name, "value", "sink", "serializer")

    def process(self, record: Record[Any, Any]) -> None:
        context: Any = self._context
        topic = self._topic
        if not isinstance(topic, str):
            now = context.record_context
            topic = topic(
                record.key,
                record.value,
                RecordContext(record.timestamp, now.offset, now.partition, now.topic, record.headers),
            )
        context.collector.send(
            topic, record, self._key_serializer, self._value_serializer, self.name, context, self._partitioner
        )

    def process_batch(self, batch: ColumnBatch) -> None:
        context: Any = self._context
        topic = self._topic
        if isinstance(topic, str) and self._partitioner is None and context.collector.takes_columns:
            from kafkapy.streams.columns.errors import NotInColumns
            from kafkapy.streams.columns.writing import encoded_batch

            try:
                rows = encoded_batch(batch, self._key_serializer, self._value_serializer)
            except NotInColumns:
                pass
            else:
                context.collector.send_batch(topic, rows)
                return
        super().process_batch(batch)


def error_context(
    record_context: RecordContext | None,
    node: str,
    task_id: str,
    raw: tuple[bytes | None, bytes | None] = (None, None),
) -> ErrorHandlerContext:
    """Return the context of an error for handlers.

    Args:
        record_context: Context of the input record; None: there is none.
        node: Name of the node.
        task_id: For example "0_1".
        raw: Key and value of the input record, as bytes.
    """
    if record_context is None:
        return ErrorHandlerContext(None, -1, -1, [], node, task_id, -1)
    return ErrorHandlerContext(
        record_context.topic,
        record_context.partition,
        record_context.offset,
        record_context.headers,
        node,
        task_id,
        record_context.timestamp,
        *raw,
    )


def prepared(given: Any, context: TaskContext, node: str, of: str, kind: str, what: str) -> Any:
    """Return a node's serializer or deserializer: its own, or that of the configuration's serde.

    Wrappers get their inner serdes in the same way: those of changes by `configure(context, is_key)`, those of
    windowed keys by `set_if_unset` with the two default serdes.

    Raises:
        StreamsException: Neither the node nor the configuration has a serde.
    """
    is_key = of == "key"
    try:
        if given is None:
            serde = context.default_key_serde if is_key else context.default_value_serde
            if serde is None:
                raise missing_serde(is_key)
            return serde.serializer() if what == "serializer" else serde.deserializer()
        if hasattr(given, "configure"):
            given.configure(context, is_key)
        elif hasattr(given, "set_if_unset"):
            given.set_if_unset(context.default_key_serde, context.default_value_serde)
        return given
    except Exception as error:
        raise StreamsException(f"Failed to initialize {of} serdes for {kind} node {node}") from error


def missing_serde(is_key: bool) -> Exception:
    """Return the error for a serde missing in both operator and configuration."""
    of = "key" if is_key else "value"
    return ValueError(f"Please specify a {of} serde or set one through default.{of}.serde")
