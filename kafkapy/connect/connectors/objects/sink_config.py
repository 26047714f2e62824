"""Configs that all sinks of this package have."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.objects.file_group import Column, headers_part, key_part, value_part
from kafkapy.connect.connectors.objects.formats import make_format
from kafkapy.connect.connectors.objects.partition_writer import WriterSettings
from kafkapy.connect.connectors.objects.partitioners import make_partitioner, zone_of
from kafkapy.connect.connectors.objects.timestamps import WALLCLOCK, extractor_name, make_extractor

_STRING, _INT, _LONG = ConfigType.STRING, ConfigType.INT, ConfigType.LONG
_AVRO: Final = "io.confluent.connect.s3.format.avro.AvroFormat"
_DEFAULT: Final = "io.confluent.connect.storage.partitioner.DefaultPartitioner"
_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("topics.dir", _STRING, "topics", None, "Topmost folder."),
    ("directory.delim", _STRING, "/", NonEmptyString(), "Between folders."),
    ("file.delim", _STRING, "+", NonEmptyString(), "Between the parts of a file's name: topic, partition, offset."),
    ("filename.offset.zero.pad.width", _INT, 10, Range(0, 20), "Least number of digits of the offset."),
    ("rotate.interval.ms", _LONG, -1, None, "Longest time between the records of a file, by their times. -1: none."),
    ("rotate.schedule.interval.ms", _LONG, -1, None, "Files end at multiples of this, by the clock. -1: they don't."),
    ("rotate.idle.interval.ms", _LONG, -1, None, "Files end if there was no record for this long. -1: they don't."),
    ("max.open.files.per.partition", _INT, 100, Range(1, None), "How many folders a partition may write to at once."),
    ("retry.backoff.ms", _LONG, 5000, Range(0, None), "Pause before a failed upload is tried again."),
    (
        "schema.compatibility",
        _STRING,
        "NONE",
        OneOf("NONE", "BACKWARD", "FORWARD", "FULL"),
        "When a change of the schema ends a file.",
    ),
    ("format.class", _STRING, _AVRO, None, "Of values: Avro, Parquet, Json, ByteArray, String or Confluent's class."),
    ("partitioner.class", _STRING, _DEFAULT, None, "Default, Field, TimeBased, Hourly, Daily or Confluent's class."),
    ("partition.field.name", ConfigType.LIST, [], None, "Fields that name the folder, for the Field partitioner."),
    ("partition.field.format.path", ConfigType.BOOLEAN, True, None, "Whether folders are `name=value`."),
    ("partition.duration.ms", _LONG, -1, None, "Time of a folder, for the TimeBased partitioner."),
    ("path.format", _STRING, "", None, "Folder for a time, for the TimeBased partitioner."),
    ("locale", _STRING, "en", None, "Names of months and days: only English."),
    ("timezone", _STRING, "", None, "Of folders and of the schedule, such as UTC."),
    ("timestamp.extractor", _STRING, "Wallclock", None, "Time of a record: Wallclock, Record or RecordField."),
    ("timestamp.field", _STRING, "timestamp", None, "Field with the time, for RecordField."),
    ("store.kafka.keys", ConfigType.BOOLEAN, False, None, "Whether keys are stored, in files of their own."),
    ("keys.format.class", _STRING, _AVRO, None, "Format of keys."),
    ("store.kafka.headers", ConfigType.BOOLEAN, False, None, "Whether headers are stored, in files of their own."),
    ("headers.format.class", _STRING, _AVRO, None, "Format of headers."),
    (
        "behavior.on.null.values",
        _STRING,
        "fail",
        OneOf("FAIL", "IGNORE", "WRITE", case_insensitive=True),
        "Records without a value: fail; ignore; write, their keys into a folder of their own.",
    ),
    ("tombstone.encoded.partition", _STRING, "tombstone", NonEmptyString(), "Folder of records without a value."),
    (
        "avro.codec",
        _STRING,
        "null",
        OneOf("null", "deflate", "bzip2", "snappy", "zstandard", "xz"),
        "Compression of Avro files.",
    ),
    ("connect.meta.data", ConfigType.BOOLEAN, True, None, "Whether Avro's schemas have what only Connect's have."),
    ("enhanced.avro.schema.support", ConfigType.BOOLEAN, True, None, "Whether Avro's enums and namespaces are kept."),
    ("allow.optional.map.keys", ConfigType.BOOLEAN, False, None, "Whether optional text is a key of Avro's maps."),
    ("scrub.invalid.names", ConfigType.BOOLEAN, False, None, "Whether characters that Avro does not allow become _."),
    (
        "parquet.codec",
        _STRING,
        "snappy",
        OneOf("none", "snappy", "gzip", "zstd", "lz4", "brotli"),
        "Compression of Parquet files.",
    ),
    ("json.decimal.format", _STRING, "BASE64", OneOf("BASE64", "NUMERIC"), "Decimals in JSON."),
    ("format.bytearray.extension", _STRING, ".bin", None, "Of files of the format ByteArray."),
    ("format.bytearray.separator", _STRING, None, None, "After each value. Default: a line feed."),
    ("s3.compression.type", _STRING, "none", OneOf("none", "gzip"), "Of files of JSON, text and bytes."),
    ("s3.compression.level", _INT, -1, Range(-1, 9), "Of gzip; -1: the default."),
    ("s3.part.size", _INT, 26_214_400, Range(5 << 20, None), "Bytes of a part of an upload."),
    ("spool.dir", _STRING, None, None, "Local folder for files before their upload. Default: the system's."),
)


def sink_config_def() -> ConfigDef:
    """Return the definitions."""
    definitions = ConfigDef().define(
        "flush.size",
        _INT,
        validator=Range(1, None),
        importance=Importance.HIGH,
        doc="Records of a partition in its files.",
    )
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return definitions


def writer_settings(config: Mapping[str, Any]) -> WriterSettings:
    """Return what writers need.

    Args:
        config: Parsed.

    Raises:
        ConfigException: A value is wrong, or does not fit the others.
    """
    if not config["locale"].lower().startswith("en"):
        raise ConfigException.invalid(
            "locale", config["locale"], "Only English names of months and days are supported."
        )
    schedule_ms = max(0, config["rotate.schedule.interval.ms"])
    if schedule_ms and not config["timezone"]:
        raise ConfigException.invalid("timezone", "", "rotate.schedule.interval.ms needs it, for example UTC.")
    columns, tombstones = _columns(config)
    extractor = extractor_name(config["timestamp.extractor"])
    extract = make_extractor(extractor, config["timestamp.field"])
    return WriterSettings(
        columns=columns,
        tombstone_columns=tombstones,
        tombstone_folder=config["tombstone.encoded.partition"],
        ignores_tombstones=config["behavior.on.null.values"].lower() == "ignore",
        partitioner=make_partitioner(config, extract),
        extractor=extract,
        is_wallclock=extractor == WALLCLOCK,
        topics_dir=config["topics.dir"] or "",
        delimiter=config["directory.delim"],
        file_delimiter=config["file.delim"],
        offset_width=config["filename.offset.zero.pad.width"],
        flush_size=config["flush.size"],
        rotate_ms=max(0, config["rotate.interval.ms"]),
        schedule_ms=schedule_ms,
        idle_ms=max(0, config["rotate.idle.interval.ms"]),
        zone=zone_of(config["timezone"]) if config["timezone"] else dt.UTC,
        max_open=config["max.open.files.per.partition"],
        schema_rule=config["schema.compatibility"],
        spool_folder=config["spool.dir"],
    )


def _columns(config: Mapping[str, Any]) -> tuple[list[Column], list[Column]]:
    """Return the files of a record with, and of one without a value."""
    values = make_format(config["format.class"], config)
    others = []
    if config["store.kafka.keys"]:
        keys = make_format(config["keys.format.class"], config)
        others.append(Column(f".keys{keys.extension}", keys, key_part))
    if config["store.kafka.headers"]:
        headers = make_format(config["headers.format.class"], config)
        others.append(Column(f".headers{headers.extension}", headers, headers_part))
    writes = config["behavior.on.null.values"].lower() == "write"
    if writes and not config["store.kafka.keys"]:
        wanted = "Records without a value are stored by their keys: set store.kafka.keys to true."
        raise ConfigException.invalid("behavior.on.null.values", "write", wanted)
    return [Column(values.extension, values, value_part), *others], others if writes else []
