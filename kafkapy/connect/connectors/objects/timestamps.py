"""The time of a record: `timestamp.extractor`."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.objects.record_fields import field_of
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import SinkRecord

Extractor = Callable[[SinkRecord], int]
"""Returns the time of a record in ms since 1970; raises DataException."""

WALLCLOCK, RECORD, RECORD_FIELD = "Wallclock", "Record", "RecordField"
_JAVA: Final = "io.confluent.connect.storage.partitioner.TimeBasedPartitioner$"


def extractor_name(name: str) -> str:
    """Return the short name of an extractor.

    Args:
        name: Short, or Confluent's class.

    Raises:
        ConfigException: It is neither.

    Example:
        >>> extractor_name("io.confluent.connect.storage.partitioner.TimeBasedPartitioner$RecordTimestampExtractor")
        'Record'
    """
    short = name.removeprefix(_JAVA).removesuffix("TimestampExtractor")
    if short not in (WALLCLOCK, RECORD, RECORD_FIELD):
        raise ConfigException.invalid("timestamp.extractor", name, "Expected Wallclock, Record or RecordField.")
    return short


def make_extractor(name: str, field: str, clock: Callable[[], float] = time.time) -> Extractor:
    """Return the extractor of a name.

    Args:
        name: Wallclock, Record or RecordField.
        field: For RecordField: the field, with dots if it is inside of another.
        clock: Returns the time in seconds.
    """
    if name == WALLCLOCK:
        return lambda record: int(clock() * 1000)
    if name == RECORD:
        return _record_time
    return lambda record: _milliseconds(field, field_of(record.value, field))


def _record_time(record: SinkRecord) -> int:
    if record.timestamp is None:
        raise DataException(f"The record at offset {record.kafka_offset} of {record.topic} has no timestamp.")
    return record.timestamp


def _milliseconds(field: str, value: Any) -> int:
    if isinstance(value, Instant):
        return value.ms
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value.lstrip("-").isdigit():
            return int(value)
        try:
            return Instant.of(dt.datetime.fromisoformat(value)).ms
        except ValueError:
            pass
    raise DataException(f"The field {field} has no time: it must be a number, a timestamp, or a text in ISO 8601.")
