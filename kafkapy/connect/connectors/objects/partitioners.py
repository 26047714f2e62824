"""The folder of a record: `partitioner.class`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.objects.path_format import PathFormat
from kafkapy.connect.connectors.objects.record_fields import field_of
from kafkapy.connect.connectors.objects.timestamps import Extractor
from kafkapy.connect.data.decimals import plain_text
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import SinkRecord

Partitioner = Callable[[SinkRecord], str]
"""Returns the folder of a record below that of its topic; raises DataException."""

DEFAULT, FIELD, TIME_BASED, HOURLY, DAILY = "Default", "Field", "TimeBased", "Hourly", "Daily"
_JAVA: Final = "io.confluent.connect.storage.partitioner."
_HOUR_MS: Final = 3_600_000
_FIXED: Final = {
    HOURLY: ("'year'=YYYY/'month'=MM/'day'=dd/'hour'=HH", _HOUR_MS),
    DAILY: ("'year'=YYYY/'month'=MM/'day'=dd", 24 * _HOUR_MS),
}
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def partitioner_name(name: str) -> str:
    """Return the short name of a partitioner.

    Args:
        name: Short, or Confluent's class.

    Raises:
        ConfigException: It is neither.

    Example:
        >>> partitioner_name("io.confluent.connect.storage.partitioner.DailyPartitioner")
        'Daily'
    """
    short = name.removeprefix(_JAVA).removesuffix("Partitioner")
    if short not in (DEFAULT, FIELD, TIME_BASED, HOURLY, DAILY):
        wanted = "Expected Default, Field, TimeBased, Hourly or Daily (classes of one's own are not supported)."
        raise ConfigException.invalid("partitioner.class", name, wanted)
    return short


def make_partitioner(config: Mapping[str, Any], extractor: Extractor) -> Partitioner:
    """Return the partitioner of a config.

    Args:
        config: The sink's, parsed.
        extractor: Returns the time of a record.

    Raises:
        ConfigException: A config that the partitioner needs is missing.
    """
    name = partitioner_name(config["partitioner.class"])
    if name == DEFAULT:
        return lambda record: f"partition={record.kafka_partition}"
    delimiter: str = config["directory.delim"]
    if name == FIELD:
        fields = config["partition.field.name"]
        if not fields:
            raise ConfigException.invalid("partition.field.name", fields, "The Field partitioner needs it.")
        return _by_fields(fields, config["partition.field.format.path"], delimiter)
    pattern, duration = _FIXED.get(name) or (config["path.format"], config["partition.duration.ms"])
    if not pattern:
        raise ConfigException.invalid("path.format", pattern, "The TimeBased partitioner needs it.")
    if duration <= 0:
        raise ConfigException.invalid("partition.duration.ms", duration, "The TimeBased partitioner needs it.")
    return _by_time(PathFormat(pattern.replace("/", delimiter)), duration, zone_of(config["timezone"]), extractor)


def zone_of(name: str) -> dt.tzinfo:
    """Return a time zone.

    Args:
        name: Such as `Europe/Berlin`.

    Raises:
        ConfigException: There is none of this name.

    Example:
        >>> str(zone_of("UTC"))
        'UTC'
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        wanted = "Expected a name of the time zone database, such as UTC or Europe/Berlin."
        raise ConfigException.invalid("timezone", name, wanted) from None


def _by_fields(fields: Sequence[str], has_names: bool, delimiter: str) -> Partitioner:
    def folder(record: SinkRecord) -> str:
        values = ((name, _path_text(name, field_of(record.value, name))) for name in fields)
        return delimiter.join(f"{name}={text}" if has_names else text for name, text in values)

    return folder


def _by_time(path: PathFormat, duration_ms: int, zone: dt.tzinfo, extractor: Extractor) -> Partitioner:
    def folder(record: SinkRecord) -> str:
        try:
            local = (_EPOCH + dt.timedelta(milliseconds=extractor(record))).astimezone(zone)
        except OverflowError:
            raise DataException(f"The time of the record at offset {record.kafka_offset} is out of range.") from None
        elapsed = local.replace(tzinfo=None) - dt.datetime(1970, 1, 1)
        past = elapsed % dt.timedelta(milliseconds=duration_ms)
        return path.text(local.replace(tzinfo=None) - past)

    return folder


def _path_text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, Decimal):
        return plain_text(value)
    if isinstance(value, str):
        text = quote(value, safe=" !\"#$&'()*+,:;<=>?@[]^`{|}~")
        return text.replace(".", "%2E") if text in (".", "..") else text
    raise DataException(f"The field {name} cannot name a folder: it must be a number, a text or a boolean.")
