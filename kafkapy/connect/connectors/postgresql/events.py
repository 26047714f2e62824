"""Makes records of changes: keys, envelopes, tombstones and headers."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from kafkapy.connect.connectors.debezium.change_events import ChangeEvent, EnvelopeFactory
from kafkapy.connect.connectors.debezium.event_schemas import CONNECTOR_VERSION
from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.postgresql.event_schemas import (
    MESSAGE_BLOCK_SCHEMA,
    MESSAGE_KEY_SCHEMA,
    MESSAGE_VALUE_SCHEMA,
    SOURCE_SCHEMA,
)
from kafkapy.connect.connectors.postgresql.pgoutput import (
    UNCHANGED,
    LogicalMessage,
    PgDelete,
    PgInsert,
    PgUpdate,
    Row,
)
from kafkapy.connect.connectors.postgresql.table_schemas import CapturedTable
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import ConnectException


@dataclass(frozen=True)
class Origins:
    """Where a change is from, for `source`.

    Attributes:
        us: Time of the commit, or of the snapshot, in microseconds since 1970.
        lsn: Of the change.
        commit_lsn: End of the last transaction before; None: there is none.
        xid: None: outside of a transaction.
        snapshot: `false`, or the place in a snapshot.
        order: Its place in the transaction, and among the changes of its table there; None: `transaction` is left out.
        transaction: Its id in events.
    """

    us: int
    lsn: int
    commit_lsn: int | None
    xid: int | None
    snapshot: str = "false"
    order: tuple[int, int] | None = None
    transaction: str = ""

    def next(self) -> Origins:
        """Return the origins of a second event of the same change."""
        if self.order is None:
            return self
        total, own = self.order
        return replace(self, order=(total + 1, own + 1))


class ChangeEventFactory(EnvelopeFactory):
    """Makes the events of changes.

    Args:
        settings: Forms and names.
        now_ns: The clock, in nanoseconds since 1970.
    """

    def read(self, table: CapturedTable, row: Row, origins: Origins) -> ChangeEvent:
        """Return the event of a row of a snapshot."""
        return self.event(table, table.key_of(row), "r", None, table.row(row), origins)

    def change(
        self, table: CapturedTable, change: PgInsert | PgUpdate | PgDelete, origins: Origins
    ) -> list[ChangeEvent]:
        """Return the events of a change of a row.

        Raises:
            ConnectException: A value cannot be represented, or a deleted row's key is not known.
        """
        match change:
            case PgInsert(new=new):
                return [self.event(table, table.key_of(new), "c", None, table.row(new), origins)]
            case PgUpdate():
                return self._update(table, change, origins)
            case PgDelete():
                old = change.old if change.old is not None else change.key or ()
                if not table.knows_key(change.old is not None):
                    raise ConnectException(
                        f"A delete from {table.id} does not have the columns of message.key.columns; "
                        f"execute ALTER TABLE {table.id} REPLICA IDENTITY FULL"
                    )
                return self.deleted(table, table.key_of(old), table.row(old), origins)

    def _update(self, table: CapturedTable, change: PgUpdate, origins: Origins) -> list[ChangeEvent]:
        old = change.old if change.old is not None else change.key
        before = None if old is None else table.row(old)
        new = _completed(table, change)
        after = table.row(new)
        key = table.key_of(new)
        if old is not None and table.knows_key(change.old is not None):
            old_key = table.key_of(old)
            if old_key != key:
                return self.moved(table, (old_key, key), (before, after), origins, origins.next())
        return [self.event(table, key, "u", before, after, origins)]

    def message(self, message: LogicalMessage, origins: Origins) -> ChangeEvent:
        """Return the event of a logical message."""
        value = self.filled(Struct(MESSAGE_VALUE_SCHEMA), "m", self.source(TableId("", ""), origins), origins)
        block = Struct(MESSAGE_BLOCK_SCHEMA, {"prefix": message.prefix, "content": message.content})
        key = Struct(MESSAGE_KEY_SCHEMA, {"prefix": message.prefix})
        topic = self.settings.topic_of("message")
        return ChangeEvent(topic, MESSAGE_KEY_SCHEMA, key, MESSAGE_VALUE_SCHEMA, value.put("message", block))

    def source(self, table: TableId, origins: Origins) -> Struct:
        commit = None if origins.commit_lsn is None else str(origins.commit_lsn)
        values: dict[str, Any] = {
            "version": CONNECTOR_VERSION,
            "connector": "postgresql",
            "name": self.settings.prefix,
            "ts_ms": origins.us // 1000,
            "snapshot": origins.snapshot,
            "db": self.settings["database.dbname"],
            "sequence": json.dumps([commit, str(origins.lsn)], separators=(",", ":")),
            "ts_us": origins.us,
            "ts_ns": origins.us * 1000,
            "schema": table.schema,
            "table": table.name,
            "txId": origins.xid,
            "lsn": origins.lsn,
        }
        return Struct(SOURCE_SCHEMA, values)


def _completed(table: CapturedTable, change: PgUpdate) -> Row:
    """The new row, with the large values that are unchanged as far as the old row, or the old key, has them."""
    if UNCHANGED not in change.new:
        return change.new
    old = change.old if change.old is not None else change.key
    if old is None:
        return change.new
    columns = zip(change.new, old, table.relation.columns, strict=True)
    is_full = change.old is not None
    return tuple(
        before if text is UNCHANGED and (is_full or column.is_key) else text for text, before, column in columns
    )
