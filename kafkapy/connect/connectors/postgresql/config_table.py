"""The configs of the PostgreSQL connector: Debezium's names, defaults and values."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, Range
from kafkapy.common.patterns import PatternError, java
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.config.validators import Described

SNAPSHOT_MODES: Final = (
    *("initial", "always", "no_data", "never", "schema_only"),
    *("initial_only", "when_needed"),
)


def _check_patterns(name: str, value: list[str] | None) -> None:
    for pattern in value or ():
        try:
            java(pattern)
        except PatternError as error:
            raise ConfigException.invalid(name, pattern, f"Invalid regex: {error}") from None


_PATTERNS: Final = Described(_check_patterns, "regular expressions")
_TEXT, _INT, _LONG = ConfigType.STRING, ConfigType.INT, ConfigType.LONG
_FLAG, _LIST = ConfigType.BOOLEAN, ConfigType.LIST


def _one_of(words: tuple[str, ...]) -> Described:
    def check(name: str, value: str | None) -> None:
        if value is None or value.lower() not in words:
            raise ConfigException.invalid(name, value, f"Value must be one of {', '.join(words)}")

    return Described(check, ", ".join(words))


class _ConfigTable:
    """Collects definitions in one line each."""

    def __init__(self) -> None:
        self.configs = ConfigDef()

    def required(self, name: str, doc: str) -> None:
        self.configs.define(name, _TEXT, validator=NonEmptyString(), importance=Importance.HIGH, doc=doc)

    def text(self, name: str, default: str | None, doc: str) -> None:
        self.configs.define(name, _TEXT, default, doc=doc)

    def word(self, name: str, words: tuple[str, ...], doc: str) -> None:
        """One of some words; the first is the default."""
        self.configs.define(name, _TEXT, words[0], validator=_one_of(words), doc=doc)

    def flag(self, name: str, default: bool, doc: str) -> None:
        self.configs.define(name, _FLAG, default, doc=doc)

    def number(self, name: str, default: int, low: int, doc: str, type: ConfigType = _INT) -> None:
        self.configs.define(name, type, default, validator=Range(low, None), doc=doc)

    def patterns(self, name: str, doc: str) -> None:
        self.configs.define(name, _LIST, [], validator=_PATTERNS, doc=doc)

    def names(self, name: str, default: list[str], doc: str) -> None:
        self.configs.define(name, _LIST, default, doc=doc)


def _define_connection(table: _ConfigTable) -> None:
    table.required("database.hostname", "Host of the server.")
    table.number("database.port", 5432, 1, "Port of the server.")
    table.required("database.user", "Role with REPLICATION that may read the tables.")
    table.configs.define("database.password", ConfigType.PASSWORD, None, doc="Password of the role.")
    table.required("database.dbname", "The database.")
    modes = ("prefer", "disable", "allow", "require", "verify-ca", "verify-full")
    table.word("database.sslmode", modes, "Whether the connection is encrypted, as of libpq.")
    for name in ("sslcert", "sslkey", "sslrootcert"):
        table.text(f"database.{name}", None, f"File, as libpq's {name}.")
    table.configs.define("database.sslpassword", ConfigType.PASSWORD, None, doc="Password of the client's key.")
    table.text("database.initial.statements", None, "SQL that is run in each session, except those of replication.")
    table.flag("database.tcpKeepAlive", True, "Whether the connections send TCP keep-alives.")


def _define_streaming(table: _ConfigTable) -> None:
    table.word("plugin.name", ("pgoutput",), "Output plug-in of the slot.")
    table.text("slot.name", "debezium", "Replication slot; it is created if it is missing.")
    table.flag("slot.drop.on.stop", False, "Whether the slot is dropped when the task stops: changes are lost then.")
    table.text("publication.name", "dbz_publication", "Publication with the tables.")
    modes = ("all_tables", "disabled", "filtered", "no_tables")
    table.word("publication.autocreate.mode", modes, "What a publication has that the connector creates.")
    table.number("status.update.interval.ms", 10_000, 1, "How often the server is told what it may remove.")
    table.number("retry.backoff.ms", 200, 1, "First pause after a lost connection; it doubles up to the longest.")
    table.number("retriable.restart.connector.wait.ms", 10_000, 1, "The longest pause after a lost connection.")
    table.number("errors.max.retries", -1, -1, "How often a lost connection is tried again; -1: without end.")
    table.number("poll.interval.ms", 500, 1, "How long a poll waits for changes.", _LONG)
    table.number("max.batch.size", 2048, 1, "The largest number of records of one poll.")
    table.number("heartbeat.interval.ms", 0, 0, "How often a record is written to the heartbeat topic; 0: never.")
    table.text("heartbeat.action.query", None, "SQL that is run with each heartbeat.")
    table.text("topic.heartbeat.prefix", "__debezium-heartbeat", "Start of the heartbeat topic's name.")
    table.text("heartbeat.topics.prefix", None, "The older name of topic.heartbeat.prefix.")


def _define_snapshot(table: _ConfigTable) -> None:
    table.word("snapshot.mode", SNAPSHOT_MODES, "When the tables are read.")
    table.number("snapshot.fetch.size", 10_240, 1, "Rows that are fetched at once.")
    table.patterns("snapshot.include.collection.list", "Tables that a snapshot reads; default: all that are captured.")
    table.number("snapshot.delay.ms", 0, 0, "Pause before a snapshot.", _LONG)


def _define_selection(table: _ConfigTable) -> None:
    for kind, what in (("schema", "Schemas"), ("table", "Tables (schema.table)"), ("column", "schema.table.column")):
        table.patterns(f"{kind}.include.list", f"{what} that are captured: regular expressions for the whole name.")
        table.patterns(f"{kind}.exclude.list", f"{what} that are not captured.")
    table.text("message.key.columns", None, "Key columns: schema.table:column,column;… with regular expressions.")
    table.names("skipped.operations", ["t"], "Operations without events: c, u, d, t, or none.")
    table.patterns("message.prefix.include.list", "Prefixes of logical messages that are captured.")
    table.patterns("message.prefix.exclude.list", "Prefixes of logical messages that are not captured.")


def _define_events(table: _ConfigTable) -> None:
    table.required("topic.prefix", "Start of all topics' and schemas' names; unique in the cluster.")
    table.text("topic.delimiter", ".", "Between the parts of a topic's name.")
    table.flag("tombstones.on.delete", True, "Whether a tombstone follows a delete.")
    table.flag("provide.transaction.metadata", False, "Whether events and a topic tell of transactions.")
    table.text("topic.transaction", "transaction", "End of the name of the topic with transactions.")
    table.word("decimal.handling.mode", ("precise", "double", "string"), "Form of NUMERIC and MONEY.")
    modes = ("adaptive", "adaptive_time_microseconds", "connect")
    table.word("time.precision.mode", modes, "Form of dates and times.")
    table.word("interval.handling.mode", ("numeric", "string"), "Form of INTERVAL.")
    table.word("binary.handling.mode", ("bytes", "base64", "base64-url-safe", "hex"), "Form of BYTEA.")
    table.word("hstore.handling.mode", ("json", "map"), "Form of HSTORE.")
    table.flag("include.unknown.datatypes", False, "Whether columns of unknown types are captured, as bytes.")
    table.number("money.fraction.digits", 2, 0, "Digits of MONEY behind the point.")
    table.text("unavailable.value.placeholder", "__debezium_unavailable_value", "Stands for large unchanged values.")
    table.word("schema.name.adjustment.mode", ("none", "avro"), "avro: names of schemas have only letters, digits, _.")
    table.word("field.name.adjustment.mode", ("none", "avro"), "avro: names of fields have only letters, digits, _.")


def _definitions() -> ConfigDef:
    table = _ConfigTable()
    _define_connection(table)
    _define_events(table)
    _define_selection(table)
    _define_snapshot(table)
    _define_streaming(table)
    return table.configs


CONFIG_DEF: Final = _definitions()
"""All of them."""

_FIXED: Final = {
    "topic.naming.strategy": {
        "io.debezium.schema.SchemaTopicNamingStrategy",
        "io.debezium.schema.DefaultTopicNamingStrategy",
    },
    "snapshot.locking.mode": {"none"},
    "snapshot.isolation.mode": {"repeatable_read", "serializable"},
    "schema.refresh.mode": {"columns_diff"},
    "event.processing.failure.handling.mode": {"fail"},
    "snapshot.select.statement.overrides": {""},
    "signal.data.collection": {""},
    "slot.stream.params": {""},
    "publish.via.partition.root": {"false"},
    "flush.lsn.source": {"true"},
    "sanitize.field.names": {"false"},
    "schema.history.internal": {""},
    "column.propagate.source.type": {""},
    "datatype.propagate.source.type": {""},
    "converters": {""},
    "post.processors": {""},
    "notification.enabled.channels": {""},
    "truncate.handling.mode": {"skip"},
    "database.history": {""},
    "snapshot.max.threads": {"1"},
    "read.only": {"false"},
}
"""Options of Debezium's for which only one value is supported."""
_REFUSED_PREFIXES: Final = ("column.mask.", "column.truncate.", "snapshot.select.statement.overrides.")


def refusals(config: dict[str, Any]) -> dict[str, str]:
    """Return the options that cannot be done here, each with a sentence.

    Args:
        config: The connector's, as text.

    Example:
        >>> refusals({"column.mask.hash.SHA-256.with.salt.x": "a"})
        {'column.mask.hash.SHA-256.with.salt.x': 'It is not supported; leave it out, or use a transform (MaskField).'}
    """
    found = {}
    for name, value in config.items():
        allowed = _FIXED.get(name)
        if allowed is not None and value not in (None, "") and value not in allowed:
            found[name] = f"{value} is not supported; leave it out" + (
                f", or set {' or '.join(sorted(allowed))}." if any(allowed) else "."
            )
        elif name.startswith(_REFUSED_PREFIXES):
            found[name] = "It is not supported; leave it out, or use a transform (MaskField)."
    return found


def read_options() -> frozenset[str]:
    """Return the names of the options that have an effect, or are checked by `refusals`."""
    return frozenset(CONFIG_DEF.names()) | _FIXED.keys()
