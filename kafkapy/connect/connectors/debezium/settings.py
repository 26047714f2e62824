"""Settings that all connectors have, typed, and what follows from them for single tables and columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from kafkapy.common.patterns import java
from kafkapy.connect.connectors.debezium.config_table import refused_options
from kafkapy.connect.errors import ConnectException


class TableId(NamedTuple):
    """Names a table. `schema`: where a database is what others call a schema, that.

    Example:
        >>> str(TableId("public", "users"))
        'public.users'
    """

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class DebeziumSettings:
    """The parsed configs; attributes that are computed from several of them are properties.

    Args:
        values: By name.
    """

    values: Mapping[str, Any]

    @staticmethod
    def refuse(config: Mapping[str, str | None], fixed: Mapping[str, set[str]]) -> None:
        """Raises ConnectException for an option that is not supported; `fixed`: supported values of some."""
        if refused := refused_options(config, fixed):
            name, reason = next(iter(refused.items()))
            raise ConnectException(f"Option {name}: {reason}")

    def check(self, kinds: Iterable[str]) -> None:
        """Raises ConnectException for options that exclude each other; `kinds`: what has lists of names."""
        for kind in kinds:
            if self[f"{kind}.include.list"] and self[f"{kind}.exclude.list"]:
                raise ConnectException(
                    f"{kind}.include.list and {kind}.exclude.list exclude each other; set one of them"
                )
        for operation in self["skipped.operations"]:
            if operation not in ("c", "u", "d", "t", "none"):
                raise ConnectException(f"skipped.operations has {operation!r}; set some of c, u, d, t, or none")
        self.key_columns(TableId("", ""))

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def word(self, name: str) -> str:
        """Return a config that is one of some words, in lower case."""
        return str(self.values[name]).lower()

    @property
    def prefix(self) -> str:
        return str(self["topic.prefix"])

    @cached_property
    def skipped(self) -> frozenset[str]:
        return frozenset(self["skipped.operations"]) - {"none"}

    @cached_property
    def _tables(self) -> NameChoice:
        return NameChoice(self["table.include.list"], self["table.exclude.list"])

    @cached_property
    def _columns(self) -> NameChoice:
        return NameChoice(self["column.include.list"], self["column.exclude.list"])

    def includes_column(self, table: TableId, column: str) -> bool:
        """Return whether a column is captured."""
        return self._columns.includes(f"{table}.{column}")

    def in_snapshot(self, table: TableId) -> bool:
        """Return whether a snapshot reads a captured table."""
        return NameChoice(self["snapshot.include.collection.list"], []).includes(str(table))

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
        return ".".join(avro_name(part) for part in name.split("."))

    def field_name(self, name: str) -> str:
        """Return the name of a column's field, adjusted if the config says so."""
        return name if self.word("field.name.adjustment.mode") == "none" else avro_name(name)


def avro_name(name: str) -> str:
    """Return a name of letters, digits and underscores only."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{name}" if name[:1].isdigit() else name


class NameChoice:
    """Which names are chosen by an include list, or not by an exclude list: expressions for the whole name.

    Args:
        included: Expressions; none: all names but the excluded ones.
        excluded: Expressions.
    """

    def __init__(self, included: Iterable[str], excluded: Iterable[str]) -> None:
        self._included = [java(f"(?i:{pattern})") for pattern in included]
        self._excluded = [java(f"(?i:{pattern})") for pattern in excluded]

    def includes(self, name: str) -> bool:
        """Return whether a name is chosen."""
        if self._included:
            return any(pattern.fullmatch(name) for pattern in self._included)
        return not any(pattern.fullmatch(name) for pattern in self._excluded)
