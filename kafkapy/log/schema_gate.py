"""Checks the records of topics with `kafkapy.value.schema.validation=true`: their values must have an accepted schema.

A value in Confluent's wire format starts with five bytes: 0, and the id of its schema. A batch has few different ones,
so they are collected in a set, and each is looked up once. The registry is asked in a thread: `check_schemas` raises
`WouldBlock` on the reactor, and blocks in another thread. Tombstones (null values) pass.
"""

from __future__ import annotations

from typing import Final

from kafkapy.log.log_types import WouldBlock
from kafkapy.log.schema_configs import AcceptedSchemas
from kafkapy.log.validation_result import Batch
from kafkapy.log.validation_rules import raise_record_errors
from kafkapy.protocol.errors import Errors
from kafkapy.record.record_batch import RecordBatch

_PREFIX_SIZE: Final = 5
_ZIGZAG_PREFIX_SIZE: Final = 2 * _PREFIX_SIZE
"""The same as a zigzag-encoded length. Odd ones are negative: null."""
_MAX_ERRORS: Final = 10_000
"""Limit of records in an error response, as in `validation_rules`."""


def check_schemas(accepted: AcceptedSchemas, batch: Batch, non_blocking: bool) -> None:
    """Raise `RecordValidationError` INVALID_RECORD if records are refused; `WouldBlock` if the registry must be asked
    and `non_blocking`.
    """
    prefixes = value_prefixes(batch)
    verdicts: dict[bytes, str] = {}
    for prefix in set(prefixes):
        if prefix is None:
            continue
        found = accepted.verdict(prefix)
        if found is None:
            if non_blocking:
                raise WouldBlock
            found = accepted.look_up(prefix)
        if found:
            verdicts[prefix] = found
    if verdicts:
        refused = (
            (Errors.INVALID_RECORD, index, verdicts[prefix])
            for index, prefix in enumerate(prefixes)
            if prefix is not None and prefix in verdicts
        )
        raise_record_errors([each for each, _ in zip(refused, range(_MAX_ERRORS), strict=False)])


def value_prefixes(batch: Batch) -> list[bytes | None]:
    """Return the first five bytes of each value (fewer if it is shorter), None for null."""
    if not isinstance(batch, RecordBatch):
        return [None if record.value is None else bytes(record.value[:_PREFIX_SIZE]) for record in batch.records()]
    return _prefixes(batch.record_bytes(), batch.record_count)


def _prefixes(data: bytes, count: int) -> list[bytes | None]:
    """Return prefixes of records whose structure was checked, so lengths are valid and varints end.

    The code is inlined, because a call for each varint would double the cost per record (0.7 µs).
    """
    found: list[bytes | None] = []
    add = found.append
    position = 0
    for _ in range(count):
        size = data[position]
        position += 1
        if size & 0x80:
            size, position = _long(data, position, size)
        end = position + (size >> 1)
        position += 1  # attributes
        while data[position] & 0x80:  # timestamp
            position += 1
        position += 1
        while data[position] & 0x80:  # offset
            position += 1
        position += 1
        size = data[position]
        position += 1
        if size & 0x80:
            size, position = _long(data, position, size)
        if not size & 1:
            position += size >> 1
        size = data[position]
        position += 1
        if size & 0x80:
            size, position = _long(data, position, size)
        if size & 1:
            add(None)
        elif size >= _ZIGZAG_PREFIX_SIZE:
            add(data[position : position + _PREFIX_SIZE])
        else:
            add(data[position : position + (size >> 1)])
        position = end
    return found


def _long(data: bytes, position: int, first: int) -> tuple[int, int]:
    """Return a varint, whose first byte was read, still zigzag-encoded, and the position of its end."""
    value, shift = first & 0x7F, 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
