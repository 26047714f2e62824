"""The connector's settings, typed, and what follows from them for single tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kafkapy.connect.connectors.debezium.settings import DebeziumSettings, NameChoice, TableId
from kafkapy.connect.connectors.postgresql.config_table import CONFIG_DEF, FIXED_OPTIONS


@dataclass(frozen=True)
class CaptureSettings(DebeziumSettings):
    """The parsed configs.

    Args:
        values: By name.

    Example:
        >>> base = {"database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "shop"}
        >>> settings = CaptureSettings.of({**base, "table.include.list": "public.a.*"})
        >>> settings.includes_table(TableId("public", "ab")), settings.topic(TableId("public", "ab"))
        (True, 'shop.public.ab')
    """

    @classmethod
    def of(cls, config: Mapping[str, str | None]) -> CaptureSettings:
        """Parse a connector's config. Raises ConfigException, or ConnectException for an option that is not supported."""
        cls.refuse(config, FIXED_OPTIONS)
        settings = cls(CONFIG_DEF.parse(config))
        settings.check(("schema", "table", "column"))
        return settings

    @cached_property
    def snapshot_mode(self) -> str:
        """The mode by its newest name."""
        mode = self.word("snapshot.mode")
        return "no_data" if mode in ("never", "schema_only") else mode

    @cached_property
    def _schemas(self) -> NameChoice:
        return NameChoice(self["schema.include.list"], self["schema.exclude.list"])

    @cached_property
    def _prefixes(self) -> NameChoice:
        return NameChoice(self["message.prefix.include.list"], self["message.prefix.exclude.list"])

    def includes_table(self, table: TableId) -> bool:
        """Return whether a table is captured; those of the system never are."""
        if table.schema in ("pg_catalog", "information_schema", "pg_toast"):
            return False
        return self._schemas.includes(table.schema) and self._tables.includes(str(table))

    def includes_message(self, prefix: str) -> bool:
        """Return whether logical messages with a prefix are captured."""
        return self._prefixes.includes(prefix)

    def topic(self, table: TableId) -> str:
        """Return the topic of a table."""
        return self.topic_of(table.schema, table.name)
