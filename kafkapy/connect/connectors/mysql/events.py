"""Makes records of changes: keys, envelopes, tombstones and headers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kafkapy.connect.connectors.debezium.change_events import ChangeEvent, EnvelopeFactory
from kafkapy.connect.connectors.debezium.event_schemas import CONNECTOR_VERSION
from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.mysql.captured_table import BinlogTable
from kafkapy.connect.connectors.mysql.event_schemas import schema_change_key, schema_change_value, source_schema
from kafkapy.connect.connectors.mysql.settings import BinlogSettings
from kafkapy.connect.data.struct import Struct


@dataclass(frozen=True)
class BinlogOrigins:
    """Where a change is from, for `source`.

    Attributes:
        us: Time of the event, or of the snapshot, in microseconds since 1970.
        file: Of the binary log.
        place: Of the event in it.
        server_id: Of the server that wrote it.
        row: Its place in the event.
        gtid: Of the transaction.
        thread: Of the session.
        query: The statement.
        snapshot: `false`, or the place in a snapshot.
        order: Its place in the transaction, and among the changes of its table there; None: `transaction` is left out.
        transaction: Its id in events.
    """

    us: int
    file: str
    place: int
    server_id: int = 0
    row: int = 0
    gtid: str | None = None
    thread: int | None = None
    query: str | None = None
    snapshot: str = "false"
    order: tuple[int, int] | None = None
    transaction: str = ""

    def next(self) -> BinlogOrigins:
        """Return the origins of a second event of the same change."""
        if self.order is None:
            return self
        total, own = self.order
        return replace(self, order=(total + 1, own + 1))


class BinlogEventFactory(EnvelopeFactory):
    """Makes the events of changes.

    Args:
        settings: Forms and names.
        now_ns: The clock, in nanoseconds since 1970.
    """

    settings: BinlogSettings

    def read(self, table: BinlogTable, row: Sequence[Any], origins: BinlogOrigins) -> ChangeEvent:
        """Return the event of a row of a snapshot."""
        return self.event(table, table.key_of(row), "r", None, table.row(row), origins)

    def change(
        self,
        table: BinlogTable,
        old: Sequence[Any] | None,
        new: Sequence[Any] | None,
        origins: BinlogOrigins,
    ) -> list[ChangeEvent]:
        """Return the events of a change of a row. Raises ConnectException.

        Args:
            table: Of the row.
            old: Before the change; None: the row is inserted.
            new: After it; None: the row is deleted.
            origins: For `source`.
        """
        before = None if old is None else table.row(old)
        after = None if new is None else table.row(new)
        if old is None:
            return [self.event(table, table.key_of(new or ()), "c", None, after, origins)]
        old_key = table.key_of(old)
        if new is None:
            return self.deleted(table, old_key, before, origins)
        key = table.key_of(new)
        if old_key != key:
            return self.moved(table, (old_key, key), (before, after), origins, origins.next())
        return [self.event(table, key, "u", before, after, origins)]

    def schema_change(self, database: str, statement: str, origins: BinlogOrigins) -> ChangeEvent:
        """Return the event of a statement that changes tables."""
        flavor = self.settings.flavor
        key_schema, schema = schema_change_key(flavor), schema_change_value(flavor)
        source = self.source(TableId(database, ""), origins)
        value = {"source": source, "ts_ms": origins.us // 1000, "databaseName": database, "ddl": statement}
        key = Struct(key_schema, {"databaseName": database})
        return ChangeEvent(self.settings.topic_of(), key_schema, key, schema, Struct(schema, value))

    def source(self, table: TableId, origins: BinlogOrigins) -> Struct:
        values: dict[str, Any] = {
            "version": CONNECTOR_VERSION,
            "connector": self.settings.flavor,
            "name": self.settings.prefix,
            "ts_ms": origins.us // 1000,
            "snapshot": origins.snapshot,
            "db": table.schema,
            "ts_us": origins.us,
            "ts_ns": origins.us * 1000,
            "table": table.name or None,
            "server_id": origins.server_id,
            "gtid": origins.gtid,
            "file": origins.file,
            "pos": origins.place,
            "row": origins.row,
            "thread": origins.thread,
            "query": origins.query,
        }
        return Struct(source_schema(self.settings.flavor), values)
