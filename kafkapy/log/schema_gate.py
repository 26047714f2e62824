"""Which records a topic with `kafkapy.value.schema.validation=true` lets in: those whose values name a schema that it accepts.

A value in Confluent's wire format begins with five bytes: 0, and the id of its schema. A batch has few different ones, so they
are gathered into a set, and each is looked up once. What they mean, a registry knows, which is asked in a thread:
`check_schemas` gives up (`TakesLong`) on the thread that serves everybody, and waits in another. Tombstones (null values) pass.
"""

from __future__ import annotations

from typing import Final

from kafkapy.log.log_types import TakesLong
from kafkapy.log.schema_configs import AcceptedSchemas
from kafkapy.log.validation_result import Batch
from kafkapy.log.validation_rules import raise_record_errors
from kafkapy.protocol.errors import Errors
from kafkapy.record.record_batch import RecordBatch

_PREFIX_SIZE: Final = 5
_WHOLE: Final = 2 * _PREFIX_SIZE
"""The same as a length in zigzag. Odd ones are negative: null."""
_MOST_ERRORS: Final = 10_000
"""Records that an answer names, as in `validation_rules`."""


def check_schemas(accepted: AcceptedSchemas, batch: Batch, at_once: bool) -> None:
    """`RecordValidationError` INVALID_RECORD if records are refused; `TakesLong` if it must be asked and `at_once`."""
    prefixes = value_prefixes(batch)
    verdicts: dict[bytes, str] = {}
    for prefix in set(prefixes):
        if prefix is None:
            continue
        found = accepted.verdict(prefix)
        if found is None:
            if at_once:
                raise TakesLong
            found = accepted.look_up(prefix)
        if found:
            verdicts[prefix] = found
    if verdicts:
        refused = (
            (Errors.INVALID_RECORD, index, verdicts[prefix])
            for index, prefix in enumerate(prefixes)
            if prefix is not None and prefix in verdicts
        )
        raise_record_errors([each for each, _ in zip(refused, range(_MOST_ERRORS), strict=False)])


def value_prefixes(batch: Batch) -> list[bytes | None]:
    """The first five bytes of each value (fewer if it has fewer), None for null."""
    if not isinstance(batch, RecordBatch):
        return [None if record.value is None else bytes(record.value[:_PREFIX_SIZE]) for record in batch.records()]
    return _prefixes(batch.record_bytes(), batch.record_count)


def _prefixes(data: bytes, count: int) -> list[bytes | None]:
    """Of records whose structure was checked: so lengths are right, and varints end. Written out, since a call for each varint
    would double what a record costs (0.7 µs)."""
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
        elif size >= _WHOLE:
            add(data[position : position + _PREFIX_SIZE])
        else:
            add(data[position : position + (size >> 1)])
        position = end
    return found


def _long(data: bytes, position: int, first: int) -> tuple[int, int]:
    """A varint of which the first byte was read, still in zigzag; and where it ends."""
    value, shift = first & 0x7F, 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
