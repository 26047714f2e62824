"""The Processor API: base classes of operators, and their context (KIP-478, KIP-820)."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkapy.streams.exception_handlers import DeadLetterRecord
from kafkapy.streams.records import FixedKeyRecord, Headers, Record, RecordContext, RecordMetadata

if TYPE_CHECKING:
    from kafkapy.streams.serdes import Serde

log = logging.getLogger("kafkapy.streams")

Duration = int | timedelta
"""ms, or a timedelta."""


class PunctuationType(Enum):
    """The clock of a punctuation.

    Example:
        >>> PunctuationType.STREAM_TIME.value
        'stream-time'
    """

    STREAM_TIME = "stream-time"
    """The highest timestamp that the task has processed; it does not advance without records."""
    WALL_CLOCK_TIME = "system-time"


class Cancellable(ABC):
    """A scheduled punctuation.

    Example:
        >>> from kafkapy.streams import Processor, PunctuationType
        >>> class Tick(Processor):
        ...     def init(self, context):
        ...         self.tick = context.schedule(1_000, PunctuationType.STREAM_TIME, self.stop)
        ...     def process(self, record):
        ...         pass
        ...     def stop(self, timestamp):
        ...         self.tick.cancel()
        >>> Tick().process(None)
    """

    @abstractmethod
    def cancel(self) -> None:
        """Cancel further calls; a running call is not interrupted."""


class ProcessorContext(ABC):
    """The task's interface for a processor.

    Example:
        >>> from kafkapy.streams import Processor, PunctuationType
        >>> class Tick(Processor):
        ...     def init(self, context):
        ...         self.tick = context.schedule(1_000, PunctuationType.STREAM_TIME, self.stop)
        ...     def process(self, record):
        ...         pass
        ...     def stop(self, timestamp):
        ...         self.tick.cancel()
        >>> Tick().process(None)
    """

    @abstractmethod
    def forward(self, record: Any, child_name: str | None = None) -> None:
        """Forward a record to all child processors, or to the one of this name.

        Args:
            record: A `Record`, from a `FixedKeyProcessor` the `FixedKeyRecord`.
            child_name: Name of a child processor.

        Raises:
            StreamsException: There is no such child, or one of them failed.
        """

    @abstractmethod
    def get_state_store(self, name: str) -> Any:
        """Return a store that is connected to this processor, or a read-only global store.

        Args:
            name: Name of the store.

        Raises:
            StreamsException: It is not connected.
        """

    @abstractmethod
    def schedule(self, interval: Duration, type: PunctuationType, punctuator: Callable[[int], Any]) -> Cancellable:
        """Call the punctuator with the time at each multiple of the interval.

        Args:
            interval: Time between two calls, a `timedelta` or ms.
            type: STREAM_TIME or WALL_CLOCK_TIME.
            punctuator: Function of the time, in ms since the epoch.

        Raises:
            ValueError: The interval is shorter than 1 ms.
        """

    @abstractmethod
    def record_metadata(self) -> RecordMetadata | None:
        """Return the origin of the current record; None before the first."""

    @abstractmethod
    def current_stream_time_ms(self) -> int:
        """Return the highest timestamp that the task has processed; -1 before the first."""

    @abstractmethod
    def current_system_time_ms(self) -> int:
        """Return the wall-clock time at the start of the task's current step."""

    @abstractmethod
    def commit(self) -> None:
        """Request a commit as soon as possible."""


class TaskContext(ProcessorContext):
    """The extended interface for the runtime's processors and stores (Kafka's `InternalProcessorContext`).

    Attributes:
        application_id: `application.id`.
        task_id: Sub-topology and partition, for example "0_1".
        state_dir: The task's directory; a persistent store creates its files in `rocksdb/NAME` under it.
        config: The application's, with Kafka's names.
        default_key_serde: `default.key.serde`; None: each operator needs one of its own.
        default_value_serde: `default.value.serde`.
        record_context: Context of the current record. The flush of a cache sets it to that of each entry.
        cache: The record cache, shared by the stores of all tasks of a thread.
    """

    application_id: str
    task_id: str
    state_dir: Path
    config: dict[str, Any]
    default_key_serde: Serde[Any] | None
    default_value_serde: Serde[Any] | None
    record_context: RecordContext | None
    cache: Any

    @property
    @abstractmethod
    def current_node(self) -> Any:
        """Return the current node of the topology; None between records. Opaque, for `set_current_node`."""

    @abstractmethod
    def set_current_node(self, node: Any) -> None:
        """Set the current node: the flush of a cache forwards from the node that wrote the entries."""

    @abstractmethod
    def register_store(self, store: Any, restore: Callable[[list[Any]], None]) -> None:
        """Register a store with the task; called by the store's `init`.

        Args:
            store: The outermost layer (`root`) of a store.
            restore: Called with batches of changelog records, which have key, value, timestamp and headers.
        """

    @abstractmethod
    def log_change(
        self, store_name: str, key: bytes, value: bytes | None, timestamp: int | None, headers: Headers | None = None
    ) -> None:
        """Write to the store's changelog; the buffer of suppress has no timestamp."""

    def log_changes(self, store_name: str, keys: list[bytes], values: list[bytes], timestamps: list[int]) -> None:
        """Write several records to the store's changelog, in this order."""
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            self.log_change(store_name, key, value, timestamp)

    @abstractmethod
    def changelog_topic(self, store_name: str) -> str:
        """Return the topic to pass to a store's serializers, even if it has no changelog."""

    @abstractmethod
    def record_dropped(self) -> None:
        """Count a dropped record (`dropped-records-total`), for example a late one, or one with a null key."""

    def source_raw(self) -> tuple[bytes | None, bytes | None]:
        """Return key and value of the input record as bytes; (None, None) if they are not stored, or in a
        punctuation."""
        return None, None

    def send_dead_letter(self, record: DeadLetterRecord) -> None:
        """Write a record to a dead-letter topic; not for global tables, which write nothing.

        Args:
            record: The record.
        """
        log.warning("A global table cannot write to the dead-letter topic %s", record.topic)

    @abstractmethod
    def processor_metadata_for_key(self, key: str) -> int | None:
        """Return the number that a processor has last stored under this key, also in an earlier run of the task; None:
        none."""

    @abstractmethod
    def add_processor_metadata_key_value(self, key: str, value: int) -> None:
        """Store a number for a processor; the task commits it in the metadata of its offsets."""


class Processor:
    """An operator, which forwards its results by `self.context.forward`. Derive from it, and override `process`.

    Example:
        >>> class Upper(Processor):
        ...     def process(self, record):
        ...         self.context.forward(record.with_value(record.value.upper()))
    """

    context: ProcessorContext

    def init(self, context: ProcessorContext) -> Any:
        """Called before the first record; keeps the context.

        Args:
            context: Where the processor or handler is called.
        """
        self.context = context

    def process(self, record: Record[Any, Any]) -> Any:
        """Process a record.

        Args:
            record: The record.
        """
        raise NotImplementedError

    def close(self) -> Any:
        """Called when the task is closed; `init` may be called again after it."""


class FixedKeyProcessor:
    """An operator that does not change keys, so that it causes no repartitioning.

    Example:
        >>> class Upper(FixedKeyProcessor):
        ...     def init(self, context):
        ...         self.context = context
        ...     def process(self, record):
        ...         self.context.forward(record.with_value(record.value.upper()))
        >>> from kafkapy.streams import StreamsBuilder
        >>> upper = StreamsBuilder().stream("lines").process_values(Upper)
    """

    context: ProcessorContext

    def init(self, context: ProcessorContext) -> Any:
        """Called before the first record.

        Args:
            context: Where the processor or handler is called.
        """
        self.context = context

    def process(self, record: FixedKeyRecord[Any, Any]) -> Any:
        """Process a record.

        Args:
            record: The record.
        """
        raise NotImplementedError

    def close(self) -> Any:
        """Called when the task is closed."""


class ValueTransformerWithKey:
    """Computes new values of a table from its keys and values.

    Example:
        >>> class Label(ValueTransformerWithKey):
        ...     def transform(self, key, value):
        ...         return f"{key}: {value}"
        >>> Label().transform("kafka", 3)
        'kafka: 3'
    """

    def init(self, context: ProcessorContext) -> Any:
        """Called before the first value.

        Args:
            context: Where the processor or handler is called.
        """

    def transform(self, key: Any, value: Any) -> Any:
        """Return the new value.

        Args:
            key: The key.
            value: The value.
        """
        raise NotImplementedError

    def close(self) -> Any:
        """Called when the task is closed."""


def milliseconds(duration: Duration, name: str) -> int:
    """Convert a duration to ms.

    Raises:
        TypeError: The duration is None or of another type.
    """
    if isinstance(duration, timedelta):
        return duration // timedelta(milliseconds=1)
    if isinstance(duration, bool) or not isinstance(duration, int):
        raise TypeError(f"{name} should be milliseconds or a timedelta, not {duration!r}")
    return duration
