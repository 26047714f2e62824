"""Configs of the sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.connectors.sql.source_config import CONNECTION_ROWS, define_rows, zone_of

_BOOLEAN, _STRING, _INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
INSERT: Final = "insert"
UPSERT: Final = "upsert"
UPDATE: Final = "update"
KAFKA_COLUMNS: Final = ("__connect_topic", "__connect_partition", "__connect_offset")

SINK_CONFIG_DEF: Final = define_rows(
    (
        *CONNECTION_ROWS,
        (
            "insert.mode",
            _STRING,
            INSERT,
            OneOf("INSERT", "UPSERT", "UPDATE", case_insensitive=True),
            "insert, upsert or update.",
        ),
        (
            "pk.mode",
            _STRING,
            "none",
            OneOf("NONE", "KAFKA", "RECORD_KEY", "RECORD_VALUE", case_insensitive=True),
            "Where the primary key comes from: none, kafka, record_key or record_value.",
        ),
        (
            "pk.fields",
            ConfigType.LIST,
            [],
            None,
            "Columns of the primary key. Default: all fields of the key or value.",
        ),
        ("table.name.format", _STRING, "${topic}", NonEmptyString(), "Name of the table, with or without its schema."),
        ("table.types", ConfigType.LIST, ["TABLE"], None, "TABLE, VIEW: whether views may be written to."),
        ("fields.whitelist", ConfigType.LIST, [], None, "Fields of values that are written. Default: all."),
        ("batch.size", _INT, 3000, Range(1, None), "The most records of a transaction."),
        ("delete.enabled", _BOOLEAN, False, None, "Whether tombstones delete rows; needs pk.mode=record_key."),
        ("auto.create", _BOOLEAN, False, None, "Whether missing tables are created."),
        ("auto.evolve", _BOOLEAN, False, None, "Whether missing columns are added."),
        ("max.retries", _INT, 10, Range(0, None), "Attempts after a lost connection or a lock, before the task fails."),
        ("retry.backoff.ms", _INT, 3000, Range(0, None), "Pause between them."),
    )
)


def parse_sink_config(config: Mapping[str, str]) -> dict[str, Any]:
    """Parse and check the configs.

    Args:
        config: As text.

    Raises:
        ConfigException: A value is wrong, or does not fit the others.
    """
    known = SINK_CONFIG_DEF.parse(config)
    for name in ("insert.mode", "pk.mode", "quote.sql.identifiers"):
        known[name] = known[name].lower()
    mode, keys, fields = known["insert.mode"], known["pk.mode"], known["pk.fields"]
    if mode != INSERT and keys == "none":
        raise ConfigException(
            f"insert.mode={mode} needs a primary key: set pk.mode to record_key, record_value or kafka."
        )
    if known["delete.enabled"] and keys != "record_key":
        raise ConfigException("delete.enabled=true needs pk.mode=record_key: a tombstone has nothing but its key.")
    if keys == "kafka" and fields and len(fields) != len(KAFKA_COLUMNS):
        raise ConfigException.invalid("pk.fields", fields, "pk.mode=kafka needs three names: topic, partition, offset")
    zone_of(known["db.timezone"])
    return known
