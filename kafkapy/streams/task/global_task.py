"""The task that updates the global tables of an instance (Kafka's `GlobalStateUpdateTask`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.exception_handlers import DeserializationExceptionHandler
from kafkapy.streams.processor import Cancellable, Duration, PunctuationType
from kafkapy.streams.records import Headers, Record, RecordContext
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.task.state_manager import StateManager
from kafkapy.streams.task.stream_task import deserialized
from kafkapy.streams.task.task_context import NodeContext
from kafkapy.streams.topology.processor_topology import ProcessorTopology


class GlobalContext(NodeContext):
    """The context of a global table's processor: without changelog, punctuation and stream time."""

    def get_state_store(self, name: str) -> Any:
        return self._state.stores.get(name)

    def log_change(
        self, store_name: str, key: bytes, value: bytes | None, timestamp: int | None, headers: Headers | None = None
    ) -> None:
        raise NotImplementedError("a global store has no changelog of its own")

    def schedule(self, interval: Duration, type: PunctuationType, punctuator: Callable[[int], Any]) -> Cancellable:
        raise NotImplementedError("this should not happen: schedule() not supported in global processor context.")

    def current_stream_time_ms(self) -> int:
        raise NotImplementedError("There is no concept of stream-time for a global processor.")

    def commit(self) -> None:
        """Do nothing: global tables have no commits."""


class GlobalTask:
    """The global tables of an instance.

    Invariant: `offsets` has the offset of the next record of each partition.

    Args:
        topology: Sources, processors and stores of all global tables.
        config: The application's configuration.
        cache: The record cache.
        handler: Decides about records that cannot be deserialized.
    """

    def __init__(
        self, topology: ProcessorTopology, config: StreamsConfig, cache: Any, handler: DeserializationExceptionHandler
    ) -> None:
        self.topology = topology
        self.state = StateManager(topology.changelogs)
        self.context = GlobalContext("-1_-1", config, self.state, cache, self._drop)
        self.offsets: dict[tuple[str, int], int] = {}
        self.dropped_records = 0
        self._handler = handler

    def initialize(self) -> None:
        """Open the stores and initialize the processors."""
        for store in self.topology.stores.values():
            store.init(self.context, store)
        for node in self.topology.nodes:
            self.context.set_current_node(node)
            try:
                node.init(self.context, None)
            finally:
                self.context.set_current_node(None)

    def update(self, raw: ConsumedRecord) -> None:
        """Process a record of a table's topic."""
        source = self.topology.source(raw.topic)
        record = deserialized(source, raw, self._handler, self.context, self._drop)
        if record is not None:
            self.context.record_context = RecordContext(
                record.timestamp, record.offset, record.partition, record.topic, record.headers
            )
            self.context.set_current_node(source)
            source.process(Record(record.key, record.value, record.timestamp, record.headers))
        self.offsets[raw.topic, raw.partition] = raw.offset + 1

    def store(self, name: str) -> Any:
        """Return a store by name; None if there is none."""
        return self.state.stores.get(name)

    def flush(self) -> None:
        self.state.flush()

    def close(self) -> None:
        self.state.close()

    def _drop(self) -> None:
        self.dropped_records += 1
