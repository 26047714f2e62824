"""The configs of the connectors to MySQL and MariaDB: Debezium's names, defaults and values."""

from __future__ import annotations

from typing import Final

from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.debezium.config_table import DebeziumConfigTable, define_shared

SNAPSHOT_MODES: Final = (
    *("initial", "always", "no_data", "schema_only", "never"),
    *("initial_only", "when_needed"),
)


def _define_connection(table: DebeziumConfigTable) -> None:
    table.required("database.hostname", "Host of the server.")
    table.number("database.port", 3306, 1, "Port of the server.")
    table.required("database.user", "User with REPLICATION SLAVE, REPLICATION CLIENT and SELECT.")
    table.configs.define("database.password", ConfigType.PASSWORD, None, doc="Password of the user.")
    table.number("database.server.id", 0, 0, "Number that no other replica of the server has; 0: a random one.")
    modes = ("preferred", "disabled", "required", "verify_ca", "verify_identity")
    table.word("database.ssl.mode", modes, "Whether the connection is encrypted.")
    for name in ("sslcert", "sslkey", "sslrootcert"):
        table.text(f"database.{name}", None, f"File (PEM) for TLS: {name[3:]}.")
    table.text("database.initial.statements", None, "SQL that is run in each session, separated by semicolons.")
    table.number("connect.timeout.ms", 30_000, 1, "How long a connection may take to be made.")
    table.flag("connect.keep.alive", True, "Whether the server shows that it is there while nothing changes.")
    table.number("connect.keep.alive.interval.ms", 60_000, 100, "How often it does.")


def _define_reading(table: DebeziumConfigTable) -> None:
    table.word("snapshot.mode", SNAPSHOT_MODES, "When the tables are read.")
    table.word("snapshot.locking.mode", ("minimal", "none"), "Whether MySQL is locked while a snapshot begins.")
    for kind, what in (("database", "Databases"), ("table", "Tables (database.table)"), ("column", "Columns")):
        table.patterns(f"{kind}.include.list", f"{what} that are captured: regular expressions for the whole name.")
        table.patterns(f"{kind}.exclude.list", f"{what} that are not captured.")
    modes = ("fail", "warn", "skip")
    table.word("event.processing.failure.handling.mode", modes, "What a change does that is logged as a statement.")


def _define_events(table: DebeziumConfigTable) -> None:
    table.word("decimal.handling.mode", ("precise", "double", "string"), "Form of DECIMAL.")
    table.word("bigint.unsigned.handling.mode", ("long", "precise"), "Form of BIGINT UNSIGNED.")
    table.word("time.precision.mode", ("adaptive_time_microseconds", "connect"), "Form of dates and times.")
    table.flag("include.query", False, "Whether events have the statement that made the change.")
    table.flag("include.schema.changes", True, "Whether statements that change tables go to the topic of the prefix.")


def _definitions() -> ConfigDef:
    table = DebeziumConfigTable()
    define_shared(table)
    _define_connection(table)
    _define_events(table)
    _define_reading(table)
    return table.configs


CONFIG_DEF: Final = _definitions()
"""All of them."""
FIXED_OPTIONS: Final = {
    "topic.naming.strategy": {
        "io.debezium.schema.SchemaTopicNamingStrategy",
        "io.debezium.schema.DefaultTopicNamingStrategy",
    },
    "database.ssl.truststore": {""},
    "database.ssl.keystore": {""},
    "binlog.buffer.size": {"0"},
    "gtid.source.includes": {""},
    "gtid.source.excludes": {""},
    "gtid.source.filter.dml.events": {"true"},
    "inconsistent.schema.handling.mode": {"fail"},
    "table.ignore.builtin": {"true"},
    "enable.time.adjuster": {"true"},
    "snapshot.isolation.mode": {"repeatable_read"},
    "snapshot.select.statement.overrides": {""},
    "signal.data.collection": {""},
    "sanitize.field.names": {"false"},
    "column.propagate.source.type": {""},
    "datatype.propagate.source.type": {""},
    "include.schema.comments": {"false"},
    "converters": {""},
    "post.processors": {""},
    "notification.enabled.channels": {""},
    "snapshot.max.threads": {"1"},
    "read.only": {"false"},
}
"""Options of Debezium's for which only some values are supported."""
UNNEEDED_PREFIXES: Final = ("schema.history.internal", "database.history")
"""Options of what Debezium stores tables' structures in: the binary log has them."""


def read_options() -> frozenset[str]:
    """Return the names of the options that have an effect, or are checked at the start."""
    return frozenset(CONFIG_DEF.names()) | FIXED_OPTIONS.keys()
