"""Configs of the source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import NO_DEFAULT, ConfigDef
from kafkapy.connect.connectors.sql.column_schemas import GRANULARITIES, NUMERIC_MAPPINGS

_STRING, _INT, _LONG, _LIST = ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.LIST
_Row = tuple[str, ConfigType, Any, Any, str]
MODES: Final = ("bulk", "incrementing", "timestamp", "timestamp+incrementing")
TABLES_CONFIG: Final = "tables"
"""Of a task: its tables as JSON."""

CONNECTION_ROWS: Final[tuple[_Row, ...]] = (
    ("connection.url", _STRING, NO_DEFAULT, None, "JDBC's URL, or SQLAlchemy's."),
    ("connection.user", _STRING, None, None, "User of the database."),
    ("connection.password", ConfigType.PASSWORD, None, None, "Its password."),
    ("connection.attempts", _INT, 3, Range(1, None), "Attempts to reach the database before the task fails."),
    ("connection.backoff.ms", _LONG, 10_000, Range(0, None), "Pause between the attempts."),
    ("dialect.name", _STRING, "", None, "Confluent's name of the dialect; must fit the URL."),
    ("db.timezone", _STRING, "UTC", None, "Zone of times that the database stores without one."),
    (
        "quote.sql.identifiers",
        _STRING,
        "always",
        OneOf("ALWAYS", "NEVER", case_insensitive=True),
        "Whether names are quoted.",
    ),
)
_ROWS: Final[tuple[_Row, ...]] = (
    ("mode", _STRING, NO_DEFAULT, OneOf(*MODES), "How new and changed rows are found."),
    ("incrementing.column.name", _STRING, "", None, "Column whose values grow with each new row."),
    (
        "timestamp.column.name",
        _LIST,
        [],
        None,
        "Columns with the time of the last change; the first that is not NULL counts.",
    ),
    (
        "timestamp.initial",
        _LONG,
        None,
        None,
        "Where to begin, in ms since 1970; -1: now. Default: with the oldest row.",
    ),
    ("timestamp.delay.interval.ms", _LONG, 0, Range(0, None), "Rows younger than this are left for later."),
    ("late.commit.warning.ms", _LONG, 60_000, Range(1, None), "When waiting for an open transaction is logged."),
    ("validate.non.null", ConfigType.BOOLEAN, True, None, "Whether the columns of the mode must be NOT NULL."),
    ("query", _STRING, "", None, "Reads the rows of this SELECT instead of tables."),
    ("query.suffix", _STRING, "", None, "Added to the end of each statement."),
    ("table.whitelist", _LIST, [], None, "Only these tables."),
    ("table.include.list", _LIST, [], None, "Only tables whose names match one of these regular expressions."),
    ("table.blacklist", _LIST, [], None, "All tables but these."),
    ("table.exclude.list", _LIST, [], None, "Not tables whose names match one of these regular expressions."),
    ("catalog.pattern", _STRING, None, None, "Name of the database; others cannot be read over this connection."),
    ("schema.pattern", _STRING, None, None, "Pattern of LIKE for schemas."),
    ("table.types", _LIST, ["TABLE"], None, "TABLE, VIEW, MATERIALIZED VIEW."),
    ("table.poll.interval.ms", _LONG, 60_000, Range(1, None), "How often new and removed tables are looked for."),
    ("poll.interval.ms", _INT, 5000, Range(0, None), "Pause between two statements for one table."),
    ("batch.max.rows", _INT, 100, Range(1, None), "Rows of a batch."),
    (
        "numeric.mapping",
        _STRING,
        "none",
        OneOf(*map(str.upper, NUMERIC_MAPPINGS), case_insensitive=True),
        "Types for NUMERIC columns.",
    ),
    ("numeric.precision.mapping", ConfigType.BOOLEAN, False, None, "The older name of numeric.mapping=precision_only."),
    ("timestamp.granularity", _STRING, "connect_logical", OneOf(*GRANULARITIES), "Type for timestamps."),
    ("topic.prefix", _STRING, NO_DEFAULT, None, "Before the table's name; the topic itself with a query."),
)


def define_rows(rows: tuple[_Row, ...]) -> ConfigDef:
    """Return definitions."""
    definitions = ConfigDef()
    for name, kind, default, validator, doc in rows:
        importance = Importance.HIGH if default is NO_DEFAULT else Importance.MEDIUM
        definitions.define(name, kind, default, validator=validator, importance=importance, doc=doc)
    return definitions


SOURCE_CONFIG_DEF: Final = define_rows((*CONNECTION_ROWS, *_ROWS))


def parse_source_config(config: Mapping[str, str]) -> dict[str, Any]:
    """Parse and check the configs.

    Args:
        config: As text.

    Raises:
        ConfigException: A value is wrong, or does not fit the others.
    """
    known = SOURCE_CONFIG_DEF.parse(config)
    mode, query = known["mode"], known["query"]
    if "incrementing" in mode and not known["incrementing.column.name"]:
        raise ConfigException(f"mode={mode} needs incrementing.column.name: the column whose values grow.")
    if mode.startswith("timestamp") and not known["timestamp.column.name"]:
        raise ConfigException(f"mode={mode} needs timestamp.column.name: the column with the time of the last change.")
    filters = [
        name
        for name in ("table.whitelist", "table.include.list", "table.blacklist", "table.exclude.list")
        if known[name]
    ]
    if query and filters:
        raise ConfigException(f"query and {filters[0]} exclude each other; remove one of them.")
    if known["table.whitelist"] and known["table.blacklist"]:
        raise ConfigException("table.whitelist and table.blacklist exclude each other; remove one of them.")
    known["numeric.mapping"] = known["numeric.mapping"].lower()
    if known["numeric.precision.mapping"] and known["numeric.mapping"] == "none":
        known["numeric.mapping"] = "precision_only"
    zone_of(known["db.timezone"])
    return known


def zone_of(name: str) -> ZoneInfo:
    """Return the zone. Raises ConfigException."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ConfigException.invalid("db.timezone", name, "no such time zone; an example is Europe/Berlin") from None
