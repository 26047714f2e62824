"""Which records a topic with `kafkapy.value.schema.validation=true` lets in: those whose values name a schema that it accepts.

A value in Confluent's wire format begins with five bytes: 0, and the id of its schema. A batch has few different ones, so they
are gathered into a set, and each is looked up once. What they mean, a registry knows, which is asked in a thread:
`check_schemas` gives up (`TakesLong`) on the thread that serves everybody, and waits in another. Tombstones (null values) pass.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from kafkapy.log.log_types import TakesLong
from kafkapy.log.schema_configs import AcceptedSchemas
from kafkapy.log.validation_result import Batch
from kafkapy.log.validation_rules import raise_record_errors
from kafkapy.protocol.errors import Errors
from kafkapy.record.record_batch import RecordBatch
from kafkapy.record.record_table import RecordTable

_PREFIX_SIZE: Final = 5
_ROW: Final = Struct("<24xii8x")
_MAX_LONG: Final = (1 << 63) - 1
_MOST_ERRORS: Final = 10_000


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
    data = batch.record_bytes()
    table = RecordTable()
    table.add(batch, data, 0, -_MAX_LONG, _MAX_LONG)
    found: list[bytes | None] = []
    for start, length in _ROW.iter_unpack(table.rows.getvalue()):
        if length >= _PREFIX_SIZE:
            found.append(data[start : start + _PREFIX_SIZE])
        else:
            found.append(None if length < 0 else data[start : start + length])
    return found
