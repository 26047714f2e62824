"""The configs of the PostgreSQL connector: Debezium's names, defaults and values."""

from __future__ import annotations

from typing import Final

from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.debezium.config_table import DebeziumConfigTable, define_shared

SNAPSHOT_MODES: Final = (
    *("initial", "always", "no_data", "never", "schema_only"),
    *("initial_only", "when_needed"),
)


def _define_connection(table: DebeziumConfigTable) -> None:
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


def _define_streaming(table: DebeziumConfigTable) -> None:
    table.word("plugin.name", ("pgoutput",), "Output plug-in of the slot.")
    table.text("slot.name", "debezium", "Replication slot; it is created if it is missing.")
    table.flag("slot.drop.on.stop", False, "Whether the slot is dropped when the task stops: changes are lost then.")
    table.text("publication.name", "dbz_publication", "Publication with the tables.")
    modes = ("all_tables", "disabled", "filtered", "no_tables")
    table.word("publication.autocreate.mode", modes, "What a publication has that the connector creates.")
    table.number("status.update.interval.ms", 10_000, 1, "How often the server is told what it may remove.")


def _define_snapshot(table: DebeziumConfigTable) -> None:
    table.word("snapshot.mode", SNAPSHOT_MODES, "When the tables are read.")


def _define_selection(table: DebeziumConfigTable) -> None:
    for kind, what in (("schema", "Schemas"), ("table", "Tables (schema.table)"), ("column", "schema.table.column")):
        table.patterns(f"{kind}.include.list", f"{what} that are captured: regular expressions for the whole name.")
        table.patterns(f"{kind}.exclude.list", f"{what} that are not captured.")
    table.patterns("message.prefix.include.list", "Prefixes of logical messages that are captured.")
    table.patterns("message.prefix.exclude.list", "Prefixes of logical messages that are not captured.")


def _define_events(table: DebeziumConfigTable) -> None:
    table.word("decimal.handling.mode", ("precise", "double", "string"), "Form of NUMERIC and MONEY.")
    modes = ("adaptive", "adaptive_time_microseconds", "connect")
    table.word("time.precision.mode", modes, "Form of dates and times.")
    table.word("interval.handling.mode", ("numeric", "string"), "Form of INTERVAL.")
    table.word("hstore.handling.mode", ("json", "map"), "Form of HSTORE.")
    table.flag("include.unknown.datatypes", False, "Whether columns of unknown types are captured, as bytes.")
    table.number("money.fraction.digits", 2, 0, "Digits of MONEY behind the point.")
    table.text("unavailable.value.placeholder", "__debezium_unavailable_value", "Stands for large unchanged values.")


def _definitions() -> ConfigDef:
    table = DebeziumConfigTable()
    define_shared(table)
    _define_connection(table)
    _define_events(table)
    _define_selection(table)
    _define_snapshot(table)
    _define_streaming(table)
    return table.configs


CONFIG_DEF: Final = _definitions()
"""All of them."""

FIXED_OPTIONS: Final = {
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


def read_options() -> frozenset[str]:
    """Return the names of the options that have an effect, or are checked at the start."""
    return frozenset(CONFIG_DEF.names()) | FIXED_OPTIONS.keys()
