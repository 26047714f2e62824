"""The configuration of a warehouse: one TOML file (config/warehouse.toml is an example with every setting)."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from kafkapy.common.strict_json import loads

EVENTS, CHANGES = "events", "changes"
FAIL, CONTINUE = "fail", "continue"
EARLIEST, LATEST = "earliest", "latest"
_KAFKA_DEFAULTS = {"isolation.level": "read_committed"}
"""Defaults that differ from Kafka's: records of aborted transactions are not events."""


class ConfigError(ValueError):
    """The file is invalid; the message says where and what is expected."""


@dataclass(frozen=True)
class TableConfig:
    """A topic whose events become rows."""

    topic: str
    table: str = ""
    """The table's name; by default the topic's, with underscores for what a name cannot have."""
    kind: str = EVENTS
    """"events": each once, by its id. "changes": keyed, the hour has the last state of each key; null is a deletion."""
    format: str = "registry"
    """"registry": Confluent's wire format. "avro", "json": bare values of one schema, which `schema` names."""
    schema: str = ""
    """A file with the schema, for "avro" and "json"."""
    id_header: str = "event-id"
    """The header with the event's id. A record without it is an event of its own."""
    id_field: str = ""
    """A field of the value that has the event's id, instead of the header: "booking_id", "meta.id". See `event_fields.py`."""
    time_field: str = ""
    """A field of the value that has the event's time, instead of the record's timestamp. See `event_fields.py`."""
    record: str = ""
    """The full name of the record (JSON Schema's title) whose table has the topic's name. By default a rule says it
    (docs/warehouse.md)."""

    @property
    def name(self) -> str:
        return self.table or "".join(c if c.isalnum() else "_" for c in self.topic.lower())

    def check(self) -> None:
        if self.kind not in (EVENTS, CHANGES):
            raise ConfigError(f'tables: kind of {self.topic} is "events" or "changes", not {self.kind!r}')
        if self.format not in ("registry", "avro", "json"):
            raise ConfigError(f'tables: format of {self.topic} is "registry", "avro" or "json", not {self.format!r}')
        if (self.format == "registry") == bool(self.schema):
            raise ConfigError(f"tables: {self.topic}: `schema` names a file if format is avro or json, and only then")
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,99}", self.name):
            raise ConfigError(
                f"tables: {self.name!r} is no name for a table, which has up to 100 letters of ASCII, digits and underscores, "
                f"a letter first: give {self.topic} another with `table`"
            )
        if self.name.lower() == "quarantine" or "__" in self.name:
            raise ConfigError(f"tables: {self.name} is a name that the warehouse needs itself: give `table` another")


@dataclass(frozen=True)
class WarehouseConfig:
    root: str
    """Where the tables lie: a directory, or the URL of any Hadoop file system."""
    kafka: Mapping[str, str]
    """Of the client, by Kafka's names; bootstrap.servers is needed. isolation.level is read_committed by default."""
    tables: tuple[TableConfig, ...]
    database: str = "warehouse"
    registry: Mapping[str, Any] = field(default_factory=dict)
    """Of the schema registry's client, by confluent-kafka's names; url is needed if a table's format is registry."""
    trigger_seconds: float = 60.0
    max_events_per_batch: int = 5_000_000
    starting_offsets: str = EARLIEST
    """Of topics when the ledger begins: "earliest", "latest", or offsets as JSON, {"bookings": {"0": 23, "1": -2}}."""
    on_data_loss: str = FAIL
    """The reaction to records that were lost before they were read (retention, DeleteRecords): "fail": `run` ends with
    an error; "continue": the loss is recorded in the ledger, and the rest is read."""
    rollup_delay_minutes: float = 5.0
    """An hour is rolled up this long after its end. Later events are added by the next rollup."""
    grace_minutes: float = 60.0
    """Files that no view uses any more are deleted after this time: the limit of a query's run time."""
    max_future_minutes: float = 60.0
    """An event whose time is further ahead of the clock goes to the quarantine."""
    file_mib: int = 128
    """About the size of an hour's files."""
    metastore: str = ""
    """thrift://host:port of a Hive metastore; by default Derby's, in `metastore_directory`, for one process at a time."""
    metastore_directory: str = ""
    """By default `metastore` in the root, or in ./kafkapy-metastore if that is not local."""
    http_port: int = 0
    """Where `run` serves its metrics and its page; 0: nowhere."""
    http_host: str = "127.0.0.1"
    audit_topic: str = "_bus_audit"
    spark: Mapping[str, str] = field(default_factory=dict)
    """Spark's own configs."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Load the file. Raises ConfigError, and OSError if it cannot be read."""
        try:
            found = tomllib.loads(path.read_text())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is no TOML: {error}") from None
        try:
            return cls.of(found, path.parent)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from None

    @classmethod
    def of(cls, found: Mapping[str, Any], directory: Path = Path()) -> Self:
        """Build from parsed TOML. `directory`: base of relative paths. Raises ConfigError."""
        tables = found.get("tables", [])
        if not isinstance(tables, list) or not tables:
            raise ConfigError("there is no table: add [[tables]] with a topic")
        values = _checked(cls, found, "")
        values["tables"] = tuple(_table(each, directory) for each in tables)
        values["root"] = _place(values["root"], directory)
        if values.get("metastore_directory"):
            values["metastore_directory"] = _place(values["metastore_directory"], directory)
        values["kafka"] = _KAFKA_DEFAULTS | values["kafka"]
        config = cls(**values)
        config.check()
        return config

    def check(self) -> None:
        if "bootstrap.servers" not in self.kafka:
            raise ConfigError('kafka: "bootstrap.servers" is missing')
        if any(table.format == "registry" for table in self.tables) and "url" not in self.registry:
            raise ConfigError("registry: url is missing, which tables of format registry need")
        for what in ("topic", "name"):
            names = [getattr(table, what) for table in self.tables]
            # Names are case-insensitive in a metastore, and case-sensitive in Kafka.
            counted = Counter(name if what == "topic" else name.lower() for name in names)
            twice = sorted(name for name, count in counted.items() if count > 1)
            if twice:
                remedy = "" if what == "topic" else ": give one of the topics another with `table`"
                raise ConfigError(f"tables: {what} {', '.join(twice)} is there twice{remedy}")
        if not self.database.isidentifier():
            raise ConfigError(f"database: {self.database!r} is no name")
        parse_starting_offsets(self.starting_offsets)
        if self.on_data_loss not in (FAIL, CONTINUE):
            raise ConfigError(f'on_data_loss is "fail" or "continue", not {self.on_data_loss!r}')
        if self.kafka["isolation.level"] not in ("read_committed", "read_uncommitted"):
            raise ConfigError('kafka: "isolation.level" is "read_committed" or "read_uncommitted"')
        if self.trigger_seconds <= 0 or self.max_events_per_batch < 1 or self.file_mib < 1:
            raise ConfigError("trigger_seconds, max_events_per_batch and file_mib are above 0")
        if self.rollup_delay_minutes < 0 or self.grace_minutes < 0:
            raise ConfigError("rollup_delay_minutes and grace_minutes are not below 0")

    def table(self, topic: str) -> TableConfig:
        return next(table for table in self.tables if table.topic == topic)


def parse_starting_offsets(text: str) -> dict[str, dict[int, int]]:
    """Parse `starting_offsets` to topic -> partition -> offset; empty for "earliest" and "latest". Raises
    ConfigError."""
    if text in (EARLIEST, LATEST):
        return {}
    try:
        found = loads(text)
        return {topic: {int(each): int(offset) for each, offset in of.items()} for topic, of in found.items()}
    except (ValueError, TypeError, AttributeError):
        raise ConfigError(
            f'starting_offsets is "earliest", "latest" or offsets like {{"bookings": {{"0": 23, "1": -2}}}}, not {text!r}'
        ) from None


def _table(found: Any, directory: Path) -> TableConfig:
    if not isinstance(found, Mapping):
        raise ConfigError("tables: each is a table of its own: [[tables]]")
    values = _checked(TableConfig, found, "tables: ")
    if values.get("schema"):
        values["schema"] = _place(values["schema"], directory)
    table = TableConfig(**values)
    table.check()
    return table


def _checked(kind: Any, found: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the given settings after checking their types."""
    known = {each.name: each for each in fields(kind)}
    unknown = sorted(found.keys() - known.keys())
    if unknown:
        raise ConfigError(f"{where}unknown keys: {', '.join(unknown)}; known ones are {', '.join(known)}")
    missing = [name for name, each in known.items() if name not in found and _is_needed(each)]
    if missing:
        raise ConfigError(f"{where}{', '.join(missing)} is missing")
    return {name: _typed(value, str(known[name].type), where + name) for name, value in found.items()}


def _is_needed(each: Any) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _typed(value: Any, type: str, where: str) -> Any:
    if type == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    kinds: dict[str, Any] = {"str": str, "int": int, "float": float}
    if type.startswith("Mapping"):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where} is a table: [{where}]")
        return {name: _text(each) if type.endswith("str]") else each for name, each in _flat(value).items()}
    if type in kinds and (not isinstance(value, kinds[type]) or isinstance(value, bool)):
        raise ConfigError(f"{where} is {'a text' if type == 'str' else 'a number'}, not {value!r}")
    return value


def _flat(found: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Flatten nested tables, because TOML parses unquoted names with dots as tables."""
    flat: dict[str, Any] = {}
    for name, value in found.items():
        flat |= _flat(value, f"{before}{name}.") if isinstance(value, Mapping) else {before + name: value}
    return flat


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _place(path: str, directory: Path) -> str:
    return path if "://" in path or path.startswith("file:") else str((directory / path).absolute())
