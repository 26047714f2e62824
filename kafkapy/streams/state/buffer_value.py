"""A buffered value of a key, and its format in changelogs."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.streams.records import RecordContext
from kafkapy.streams.state.record_context_bytes import BufferReader, nullable_array, write_context
from kafkapy.streams.state.thread_cache import context_size

_OLD_IS_PRIOR: Final = -2
"""Written as length of an old value that equals the prior value."""
_VERSIONS: Final = {b"\x01": 1, b"\x02": 2, b"\x03": 3}


class BufferValue:
    """A change of bytes with the origin of its record.

    Attributes:
        prior_value: The key's value in the downstream table.
        old_value: Old value of the last change.
        new_value: New value of the last change.
        context: Record context of the last change.
    """

    __slots__ = ("context", "new_value", "old_value", "prior_value")

    def __init__(
        self, prior_value: bytes | None, old_value: bytes | None, new_value: bytes | None, context: RecordContext
    ) -> None:
        self.prior_value = prior_value
        self.old_value = old_value
        self.new_value = new_value
        self.context = context

    def memory_size(self) -> int:
        """Return Kafka's estimate of the size in bytes."""
        size = context_size(self.context)
        if self.prior_value is not None:
            size += len(self.prior_value)
        if self.old_value is not None and self.old_value != self.prior_value:
            size += len(self.old_value)
        if self.new_value is not None:
            size += len(self.new_value)
        return size

    def write(self) -> bytes:
        if self.old_value is not None and self.old_value == self.prior_value:
            old = _OLD_IS_PRIOR.to_bytes(4, "big", signed=True)
        else:
            old = nullable_array(self.old_value)
        return write_context(self.context) + nullable_array(self.prior_value) + old + nullable_array(self.new_value)


def read_buffer_value(reader: BufferReader) -> BufferValue:
    """Read a value that `BufferValue.write` wrote."""
    context = reader.context()
    prior = reader.nullable_array()
    old_size = reader.integer()
    if old_size == _OLD_IS_PRIOR:
        old = prior
    else:
        old = None if old_size == -1 else reader.take(old_size)
    return BufferValue(prior, old, reader.nullable_array(), context)


def read_changelog_record(record: Any, prior_value: bytes | None) -> tuple[int, BufferValue]:
    """Read buffer time and value from a record of a suppression's changelog, of any version of Kafka.

    Args:
        record: With key, value, timestamp, headers, and for the oldest version offset, partition and topic.
        prior_value: The key's buffered prior value, for older versions, which did not write it.

    Raises:
        ValueError: The record is malformed.
    """
    version = _version(record)
    if version == 3:
        return _read_v3(record)
    if version == 2:
        # Kafka 2.4.0 wrote version 3 under this number.
        try:
            return _read_v2(record)
        except ValueError:
            return _read_v3(record)
    return _read_v0_or_v1(record, version, prior_value)


def _version(record: Any) -> int:
    values = [value for name, value in record.headers or () if name == "v"]
    if not values:
        return 0
    version = _VERSIONS.get(values[-1])
    if version is None:
        raise ValueError(f"Restoring apparently invalid changelog record: {record}")
    return version


def _read_v3(record: Any) -> tuple[int, BufferValue]:
    reader = BufferReader(record.value)
    value = read_buffer_value(reader)
    return reader.long(), value


def _read_v2(record: Any) -> tuple[int, BufferValue]:
    reader = BufferReader(record.value)
    context = reader.context()
    old, new = _change(reader.nullable_array())
    prior = reader.nullable_array()
    return reader.long(), BufferValue(prior, old, new, context)


def _read_v0_or_v1(record: Any, version: int, prior_value: bytes | None) -> tuple[int, BufferValue]:
    reader = BufferReader(record.value)
    time = reader.long()
    if version == 1:
        context = reader.context()
        old, new = _change(reader.nullable_array())
    else:
        context = RecordContext(record.timestamp, record.offset, record.partition, record.topic, record.headers)
        old, new = reader.nullable_array(), reader.nullable_array()
    return time, BufferValue(old if prior_value is None else prior_value, old, new, context)


def _change(data: bytes | None) -> tuple[bytes | None, bytes | None]:
    if data is None:
        raise ValueError("a null where there must be a change")
    reader = BufferReader(data)
    return reader.nullable_array(), reader.nullable_array()
