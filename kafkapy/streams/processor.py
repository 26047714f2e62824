"""The Processor API: what an operator is, and what it is given to work with (KIP-478, KIP-820)."""

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
    """The clock that a punctuation goes by.

    Example:
        >>> PunctuationType.STREAM_TIME.value
        'stream-time'
    """

    STREAM_TIME = "stream-time"
    """The highest timestamp that the task has seen: it stands still while no records come."""
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
        """No further calls; one that is under way ends."""


class ProcessorContext(ABC):
    """What a processor may ask of the task that it runs in.

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
        """Hand a record to all processors downstream, or to the one of this name.

        Args:
            record: A `Record`, from a `FixedKeyProcessor` the `FixedKeyRecord`.
            child_name: Of a processor that is connected to this one.

        Raises:
            StreamsException: There is no such child, or one of them failed.
        """

    @abstractmethod
    def get_state_store(self, name: str) -> Any:
        """A store that is connected to this processor, or a global one, which can be read only.

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
        """Of the record that is processed; None before the first."""

    @abstractmethod
    def current_stream_time_ms(self) -> int:
        """The highest timestamp that the task has seen; -1 before the first."""

    @abstractmethod
    def current_system_time_ms(self) -> int:
        """The wall clock, as of this step of the task."""

    @abstractmethod
    def commit(self) -> None:
        """Ask for a commit as soon as possible."""


class TaskContext(ProcessorContext):
    """What the runtime's own processors and stores have beyond that (Kafka's `InternalProcessorContext`).

    Attributes:
        application_id: `application.id`.
        task_id: As "0_1": sub-topology and partition.
        state_dir: The task's directory; a persistent store makes its own files in `rocksdb/NAME` under it.
        config: The application's, with Kafka's names.
        default_key_serde: `default.key.serde`; None: each operator needs one of its own.
        default_value_serde: `default.value.serde`.
        record_context: Of the record that is processed. A cache that is flushed sets it to that of each entry.
        cache: Of records, which the stores of all tasks of a thread share.
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
        """The node of the topology that processes; None between records. Opaque, to be put back by `set_current_node`."""

    @abstractmethod
    def set_current_node(self, node: Any) -> None:
        """A cache that is flushed forwards from the node that wrote its entries."""

    @abstractmethod
    def register_store(self, store: Any, restore: Callable[[list[Any]], None]) -> None:
        """Called by a store's `init`: the task knows it now.

        Args:
            store: The outermost layer (`root`) of a store.
            restore: Takes records of its changelog in batches, each with key, value, timestamp and headers.
        """

    @abstractmethod
    def log_change(
        self, store_name: str, key: bytes, value: bytes | None, timestamp: int | None, headers: Headers | None = None
    ) -> None:
        """Write to the store's changelog; the buffer of suppress has no timestamp."""

    @abstractmethod
    def changelog_topic(self, store_name: str) -> str:
        """The topic that serializers are told; also for a store without a changelog."""

    @abstractmethod
    def record_dropped(self) -> None:
        """One more record that is not processed (`dropped-records-total`): late, or with a null key."""

    def source_raw(self) -> tuple[bytes | None, bytes | None]:
        """Key and value, as bytes, of the record that came in; (None, None): they are not kept, or it is a punctuation."""
        return None, None

    def send_dead_letter(self, record: DeadLetterRecord) -> None:
        """Write a record to a dead-letter topic; not for global tables, which write nothing.

        Args:
            record: The record.
        """
        log.warning("A global table cannot write to the dead-letter topic %s", record.topic)

    @abstractmethod
    def processor_metadata_for_key(self, key: str) -> int | None:
        """What a processor has last noted under this key, in an earlier run of the task, too; None: nothing."""

    @abstractmethod
    def add_processor_metadata_key_value(self, key: str, value: int) -> None:
        """Note a number for a processor; the task commits it in the metadata of its offsets."""


class Processor:
    """An operator: records in, records out by `self.context.forward`. Derive from it, and override `process`.

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
    """An operator that leaves keys as they are, so no repartitioning follows from it.

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
        """Is called before the first record.

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
    """Makes a table's values of its old ones and their keys.

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
    """A duration as ms.

    Raises:
        TypeError: It is None or of another type.
    """
    if isinstance(duration, timedelta):
        return duration // timedelta(milliseconds=1)
    if isinstance(duration, bool) or not isinstance(duration, int):
        raise TypeError(f"{name} should be milliseconds or a timedelta, not {duration!r}")
    return duration
