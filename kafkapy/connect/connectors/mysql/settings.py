"""The connector's settings, typed, and what follows from them for single tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kafkapy.connect.connectors.debezium.settings import DebeziumSettings, NameChoice, TableId
from kafkapy.connect.connectors.mysql.config_table import CONFIG_DEF, FIXED_OPTIONS

_BUILT_IN: Final = frozenset({"mysql", "information_schema", "performance_schema", "sys"})


@dataclass(frozen=True)
class BinlogSettings(DebeziumSettings):
    """The parsed configs.

    Args:
        values: By name.
        flavor: `mysql` or `mariadb`, as events show it. Default: mysql.

    Example:
        >>> base = {"database.hostname": "h", "database.user": "u", "topic.prefix": "dbs"}
        >>> settings = BinlogSettings.of({**base, "table.include.list": "shop.a.*"})
        >>> settings.includes_table(TableId("shop", "ab")), settings.topic(TableId("shop", "ab"))
        (True, 'dbs.shop.ab')
    """

    flavor: str = "mysql"

    @classmethod
    def of(cls, config: Mapping[str, str | None], flavor: str = "mysql") -> BinlogSettings:
        """Parse a connector's config. Raises ConfigException, or ConnectException for an option that is not supported."""
        cls.refuse(config, FIXED_OPTIONS)
        settings = cls(CONFIG_DEF.parse(config), flavor)
        settings.check(("database", "table", "column"))
        return settings

    @cached_property
    def snapshot_mode(self) -> str:
        """The mode by its newest name."""
        mode = self.word("snapshot.mode")
        return "no_data" if mode == "schema_only" else mode

    @cached_property
    def _databases(self) -> NameChoice:
        return NameChoice(self["database.include.list"], self["database.exclude.list"])

    def includes_database(self, name: str) -> bool:
        """Return whether a database is captured; those of the system never are."""
        return name.lower() not in _BUILT_IN and self._databases.includes(name)

    def includes_table(self, table: TableId) -> bool:
        """Return whether a table is captured."""
        return self.includes_database(table.schema) and self._tables.includes(str(table))

    def topic(self, table: TableId) -> str:
        """Return the topic of a table."""
        return self.topic_of(table.schema, table.name)
