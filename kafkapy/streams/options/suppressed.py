"""Options of `KTable.suppress`: which updates of a table are held back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from kafkapy.streams.processor import Duration, milliseconds

UNLIMITED: Final = 2**63 - 1


class BufferFullStrategy(Enum):
    """The action when the buffer of a suppression is full."""

    EMIT = "emit"
    """The oldest updates are emitted early."""
    SHUT_DOWN = "shut down"
    """The application stops."""


@dataclass(frozen=True, slots=True)
class BufferConfig:
    """Limits of a suppression's buffer. Immutable: each `with_…` returns a new object.

    Attributes:
        record_limit: Largest number of keys.
        byte_limit: Largest size of keys, values and metadata in bytes.
        full_strategy: What happens when a limit is exceeded.
        logging_enabled: Whether the buffer has a changelog topic.
        log_config: Configs of that topic.

    Example:
        >>> BufferConfig.max_records(1000).with_max_bytes(1_000_000).emit_early_when_full().record_limit
        1000
    """

    record_limit: int = UNLIMITED
    byte_limit: int = UNLIMITED
    full_strategy: BufferFullStrategy = BufferFullStrategy.SHUT_DOWN
    logging_enabled: bool = True
    log_config: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def max_records(records: int) -> BufferConfig:
        """Limit the number of keys; emit early when the buffer is full.

        Args:
            records: Number of records, from 0.
        """
        return BufferConfig(record_limit=records, full_strategy=BufferFullStrategy.EMIT)

    @staticmethod
    def max_bytes(size: int) -> BufferConfig:
        """Limit the bytes; emit early when the buffer is full.

        Args:
            size: Size in bytes, from 0.
        """
        return BufferConfig(byte_limit=size, full_strategy=BufferFullStrategy.EMIT)

    @staticmethod
    def unbounded() -> BufferConfig:
        """Return a buffer without limits."""
        return BufferConfig()

    def with_max_records(self, records: int) -> BufferConfig:
        """Return a copy with another limit of keys.

        Args:
            records: Number of records, from 0.
        """
        return replace(self, record_limit=records)

    def with_max_bytes(self, size: int) -> BufferConfig:
        """Return a copy with another limit of bytes.

        Args:
            size: Size in bytes, from 0.
        """
        return replace(self, byte_limit=size)

    def shut_down_when_full(self) -> BufferConfig:
        """Return a copy with which the application stops when the buffer is full."""
        return replace(self, full_strategy=BufferFullStrategy.SHUT_DOWN)

    def emit_early_when_full(self) -> BufferConfig:
        """Return a copy with which the oldest updates are emitted when the buffer is full."""
        return replace(self, full_strategy=BufferFullStrategy.EMIT)

    def with_no_bound(self) -> BufferConfig:
        """Return a copy without limits."""
        return replace(self, record_limit=UNLIMITED, byte_limit=UNLIMITED, full_strategy=BufferFullStrategy.SHUT_DOWN)

    def with_logging_enabled(self, config: Mapping[str, str]) -> BufferConfig:
        """Return a copy with a changelog topic (the default).

        Args:
            config: Configs of the topic, in addition to Kafka's for changelogs.
        """
        return replace(self, logging_enabled=True, log_config=dict(config))

    def with_logging_disabled(self) -> BufferConfig:
        """Return a copy without a changelog topic: buffered updates are lost when a task moves."""
        return replace(self, logging_enabled=False, log_config={})


@dataclass(frozen=True, slots=True)
class Suppressed:
    """Options of a suppression: the updates to buffer, and for how long. Immutable.

    Attributes:
        buffer_config: Options of the buffer.
        wait_ms: How long after a key's first update, in the time of the table, ms; None: until its window closes.
        name: Name of the node; its store's name is this with "-store"; None: generated.

    Example:
        >>> Suppressed.until_time_limit(1000, BufferConfig.unbounded()).with_name("calm").name
        'calm'
    """

    buffer_config: BufferConfig
    wait_ms: int | None = None
    name: str | None = None

    @staticmethod
    def until_window_closes(buffer_config: BufferConfig) -> Suppressed:
        """Emit one update for each window, when its grace period has ended.

        Args:
            buffer_config: A buffer that does not emit early, since early results are not final.

        Raises:
            TypeError: The buffer emits early.
        """
        if buffer_config.full_strategy is not BufferFullStrategy.SHUT_DOWN:
            raise TypeError("a buffer that emits early can't hold back results until windows close")
        return Suppressed(buffer_config)

    @staticmethod
    def until_time_limit(time: Duration, buffer_config: BufferConfig) -> Suppressed:
        """Emit only the last update of a key within a time.

        Args:
            time: ms or a timedelta.
            buffer_config: Options of the buffer.
        """
        return Suppressed(buffer_config, milliseconds(time, "timeToWaitForMoreEvents"))

    def with_name(self, name: str | None) -> Suppressed:
        """Return a copy with a name.

        Args:
            name: Name of the node. None: a generated one.
        """
        return replace(self, name=name)
