"""The connector's settings, typed, and what follows from them for single tables and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from kafkapy.common.patterns import java
from kafkapy.connect.connectors.postgresql.config_table import CONFIG_DEF, refusals
from kafkapy.connect.errors import ConnectException


class TableId(NamedTuple):
    """Names a table.

    Example:
        >>> str(TableId("public", "users"))
        'public.users'
    """

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class CaptureSettings:
    """The parsed configs; attributes that are computed from several of them are properties.

    Args:
        values: By name.

    Example:
        >>> base = {"database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "shop"}
        >>> settings = CaptureSettings.of({**base, "table.include.list": "public.a.*"})
        >>> settings.includes_table(TableId("public", "ab")), settings.topic(TableId("public", "ab"))
        (True, 'shop.public.ab')
    """

    values: Mapping[str, Any]

    @classmethod
    def of(cls, config: Mapping[str, str | None]) -> CaptureSettings:
        """Parse a connector's config. Raises ConfigException, or ConnectException for an option that is not supported."""
        if refused := refusals(dict(config)):
            name, reason = next(iter(refused.items()))
            raise ConnectException(f"Option {name}: {reason}")
        settings = cls(CONFIG_DEF.parse(config))
        for kind in ("schema", "table", "column"):
            if settings[f"{kind}.include.list"] and settings[f"{kind}.exclude.list"]:
                raise ConnectException(
                    f"{kind}.include.list and {kind}.exclude.list exclude each other; set one of them"
                )
        for operation in settings["skipped.operations"]:
            if operation not in ("c", "u", "d", "t", "none"):
                raise ConnectException(f"skipped.operations has {operation!r}; set some of c, u, d, t, or none")
        settings.key_columns(TableId("", ""))
        return settings

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def word(self, name: str) -> str:
        """Return a config that is one of some words, in lower case."""
        return str(self.values[name]).lower()

    @property
    def prefix(self) -> str:
        return str(self["topic.prefix"])

    @cached_property
    def snapshot_mode(self) -> str:
        """The mode by its newest name."""
        mode = self.word("snapshot.mode")
        return "no_data" if mode in ("never", "schema_only") else mode

    @cached_property
    def skipped(self) -> frozenset[str]:
        return frozenset(self["skipped.operations"]) - {"none"}

    @cached_property
    def _tables(self) -> _NameChoice:
        return _NameChoice(self["table.include.list"], self["table.exclude.list"])

    @cached_property
    def _schemas(self) -> _NameChoice:
        return _NameChoice(self["schema.include.list"], self["schema.exclude.list"])

    @cached_property
    def _columns(self) -> _NameChoice:
        return _NameChoice(self["column.include.list"], self["column.exclude.list"])

    @cached_property
    def _prefixes(self) -> _NameChoice:
        return _NameChoice(self["message.prefix.include.list"], self["message.prefix.exclude.list"])

    def includes_table(self, table: TableId) -> bool:
        """Return whether a table is captured; those of the system never are."""
        if table.schema in ("pg_catalog", "information_schema", "pg_toast"):
            return False
        return self._schemas.includes(table.schema) and self._tables.includes(str(table))

    def includes_column(self, table: TableId, column: str) -> bool:
        """Return whether a column is captured."""
        return self._columns.includes(f"{table}.{column}")

    def includes_message(self, prefix: str) -> bool:
        """Return whether logical messages with a prefix are captured."""
        return self._prefixes.includes(prefix)

    def in_snapshot(self, table: TableId) -> bool:
        """Return whether a snapshot reads a captured table."""
        return _NameChoice(self["snapshot.include.collection.list"], []).includes(str(table))

    def key_columns(self, table: TableId) -> tuple[str, ...]:
        """Return the columns of `message.key.columns` for a table; none: its primary key.

        Raises:
            ConnectException: The config cannot be read.
        """
        for part in filter(None, (self["message.key.columns"] or "").split(";")):
            pattern, colon, columns = part.rpartition(":")
            if not colon or not columns:
                raise ConnectException(f"message.key.columns has {part!r}; the form is schema.table:column,column;…")
            if java(f"(?i:{pattern.strip()})").fullmatch(str(table)):
                return tuple(column.strip() for column in columns.split(","))
        return ()

    def topic(self, table: TableId) -> str:
        """Return the topic of a table."""
        return self.topic_of(table.schema, table.name)

    def topic_of(self, *parts: str) -> str:
        """Return the topic of a name below the prefix; what topics cannot have in their names becomes `_`."""
        return re.sub(r"[^A-Za-z0-9._-]", "_", self["topic.delimiter"].join((self.prefix, *parts)))

    @property
    def heartbeat_topic(self) -> str:
        return f"{self['heartbeat.topics.prefix'] or self['topic.heartbeat.prefix']}.{self.prefix}"

    def schema_name(self, name: str) -> str:
        """Return the name of a schema, adjusted if the config says so."""
        if self.word("schema.name.adjustment.mode") == "none":
            return name
        return ".".join(_avro(part) for part in name.split("."))

    def field_name(self, name: str) -> str:
        """Return the name of a column's field, adjusted if the config says so."""
        return name if self.word("field.name.adjustment.mode") == "none" else _avro(name)


def _avro(name: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{name}" if name[:1].isdigit() else name


class _NameChoice:
    """Which names are chosen by an include list, or not by an exclude list: expressions for the whole name."""

    def __init__(self, included: Iterable[str], excluded: Iterable[str]) -> None:
        self._included = [java(f"(?i:{pattern})") for pattern in included]
        self._excluded = [java(f"(?i:{pattern})") for pattern in excluded]

    def includes(self, name: str) -> bool:
        if self._included:
            return any(pattern.fullmatch(name) for pattern in self._included)
        return not any(pattern.fullmatch(name) for pattern in self._excluded)
