"""The context of processors and stores in their task (Kafka's `ProcessorContextImpl`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.exception_handlers import DeadLetterRecord
from kafkapy.streams.processor import Cancellable, Duration, PunctuationType, TaskContext, milliseconds
from kafkapy.streams.records import FixedKeyRecord, Headers, Record, RecordContext, RecordMetadata
from kafkapy.streams.task.record_collector import ProducedRecord, RecordCollector
from kafkapy.streams.task.state_manager import Restore, StateManager
from kafkapy.streams.topology.nodes import TopologyNode

if TYPE_CHECKING:
    from kafkapy.streams.columns.batch import ColumnBatch


class RunningTask(Protocol):
    """The part of a task that its context uses."""

    commit_requested: bool

    @property
    def stream_time(self) -> int: ...

    def source_raw(self, context: RecordContext | None) -> tuple[bytes | None, bytes | None]: ...

    def schedule(self, interval_ms: int, type: PunctuationType, punctuator: Callable[[int], Any]) -> Cancellable: ...


class NodeContext(TaskContext):
    """Base of the contexts of tasks and global tables: the current node and the stores.

    Invariant: `record_context` and the current node are those of the record being processed; `forward` restores both
    when it returns or raises.

    Args:
        task_id: For example "0_1".
        config: The application's configuration.
        state: The stores.
        cache: The record cache.
        dropped: Called for each dropped record.
    """

    def __init__(
        self, task_id: str, config: StreamsConfig, state: StateManager, cache: Any, dropped: Callable[[], None]
    ) -> None:
        self.application_id = config.application_id
        self.task_id = task_id
        self.state_dir = Path(config.state_dir, config.application_id, task_id)
        self.config = config.originals
        self.default_key_serde = config.serde("default.key.serde")
        self.default_value_serde = config.serde("default.value.serde")
        self.record_context: RecordContext | None = None
        self.cache = cache
        self._topic_prefix = config.topic_prefix
        self._state = state
        self._dropped = dropped
        self._node: TopologyNode | None = None
        self.system_time_ms = 0
        self.processor_metadata: dict[str, int] = {}

    @property
    def current_node(self) -> TopologyNode | None:
        return self._node

    def set_current_node(self, node: TopologyNode | None) -> None:
        self._node = node

    def forward(self, record: Any, child_name: str | None = None) -> None:
        node = self._node
        if node is None:
            raise StreamsException(
                "Current node is unknown. This can happen if forward() is called outside of process() and of a punctuation, or "
                "if several tasks share one processor: a supplier must return a new one at each call."
            )
        if isinstance(record, FixedKeyRecord):
            record = Record(record.key, record.value, record.timestamp, record.headers)
        previous = self.record_context
        try:
            if previous is not None and (
                record.timestamp != previous.timestamp or record.headers is not previous.headers
            ):
                self.record_context = RecordContext(
                    record.timestamp, previous.offset, previous.partition, previous.topic, record.headers
                )
            if child_name is None:
                for child in node.children:
                    self._node = child
                    child.process(record)
            else:
                self._node = named = self._child(node, child_name)
                named.process(record)
        finally:
            self.record_context = previous
            self._node = node

    def forward_batch(self, batch: ColumnBatch) -> None:
        """Forward a batch to all children; those that do not process batches get its rows one by one."""
        node = self._node
        if node is None:
            raise StreamsException("Current node is unknown: forward_batch() is called outside of process_batch()")
        previous = self.record_context
        try:
            for child in node.children:
                self._node = child
                self.record_context = batch.context_of(len(batch) - 1)
                child.process_batch(batch)
        finally:
            self.record_context = previous
            self._node = node

    def _child(self, node: TopologyNode, name: str) -> TopologyNode:
        child = node.child(name)
        if child is None:
            raise StreamsException(
                f"Unknown downstream node: {name} either does not exist or is not connected to this processor."
            )
        return child

    def record_metadata(self) -> RecordMetadata | None:
        context = self.record_context
        return None if context is None else RecordMetadata(context.topic, context.partition, context.offset)

    def current_system_time_ms(self) -> int:
        return self.system_time_ms

    def register_store(self, store: Any, restore: Restore) -> None:
        self._state.register(store, restore)

    def changelog_topic(self, store_name: str) -> str:
        topic = self._state.changelogs.get(store_name)
        return f"{self._topic_prefix}-{store_name}-changelog" if topic is None else topic

    def record_dropped(self) -> None:
        self._dropped()

    def processor_metadata_for_key(self, key: str) -> int | None:
        return self.processor_metadata.get(key)

    def add_processor_metadata_key_value(self, key: str, value: int) -> None:
        self.processor_metadata[key] = value


class StreamTaskContext(NodeContext):
    """The context of a stream task.

    Args:
        task: The task; for the other parameters see `NodeContext`.
        collector: Receives the task's output.
        partition: Partition number of its changelogs.
        global_store: Returns a read-only view of a global store by name; None if there is none.
    """

    def __init__(
        self,
        task: RunningTask,
        task_id: str,
        config: StreamsConfig,
        state: StateManager,
        cache: Any,
        dropped: Callable[[], None],
        collector: RecordCollector,
        partition: int,
        global_store: Callable[[str], Any],
    ) -> None:
        super().__init__(task_id, config, state, cache, dropped)
        self.collector = collector
        self._task = task
        self._partition = partition
        self._global_store = global_store

    def source_raw(self) -> tuple[bytes | None, bytes | None]:
        return self._task.source_raw(self.record_context)

    def send_dead_letter(self, record: DeadLetterRecord) -> None:
        self.collector.send_dead_letter(record)

    def get_state_store(self, name: str) -> Any:
        node = self._node
        if node is None:
            raise StreamsException("Accessing from an unknown node")
        store = self._global_store(name)
        if store is not None:
            return store
        if name not in node.stores:
            raise StreamsException(
                f"Processor {node.name} has no access to StateStore {name} as the store is not connected to the processor. "
                "Name the store where the processor is added: in `process(supplier, name)`, or by "
                "`connect_processor_and_state_stores`."
            )
        return self._state.stores[name]

    def log_change(
        self, store_name: str, key: bytes, value: bytes | None, timestamp: int | None, headers: Headers | None = None
    ) -> None:
        topic = self._state.changelogs[store_name]
        self.collector.send_bytes(ProducedRecord(topic, self._partition, key, value, timestamp, headers or []))

    def log_changes(self, store_name: str, keys: list[bytes], values: list[bytes], timestamps: list[int]) -> None:
        topic = self._state.changelogs[store_name]
        self.collector.send_columns(topic, self._partition, keys, values, timestamps)

    def schedule(self, interval: Duration, type: PunctuationType, punctuator: Callable[[int], Any]) -> Cancellable:
        interval_ms = milliseconds(interval, "interval")
        if interval_ms < 1:
            raise ValueError("The minimum supported scheduling interval is 1 millisecond.")
        return self._task.schedule(interval_ms, type, punctuator)

    def current_stream_time_ms(self) -> int:
        return self._task.stream_time

    def commit(self) -> None:
        self._task.commit_requested = True
