"""Makes the events of changes: keys, envelopes, tombstones and headers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from kafkapy.connect.connectors.debezium.event_schemas import TRANSACTION_BLOCK_SCHEMA
from kafkapy.connect.connectors.debezium.settings import DebeziumSettings, TableId
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.headers import Header, Headers

NEW_KEY: Final = "__debezium.newkey"
OLD_KEY: Final = "__debezium.oldkey"


class ChangeEvent(NamedTuple):
    """What becomes a record: without its offset."""

    topic: str
    key_schema: Schema | None
    key: Struct | None
    value_schema: Schema | None
    value: Struct | None
    headers: Headers | None = None


class EventTable(Protocol):
    """What an event takes from its table."""

    id: TableId
    topic: str
    key_schema: Schema | None
    envelope: Schema


class EventOrigins(Protocol):
    """Where a change is from.

    Attributes:
        order: Its place in the transaction, and among the changes of its table there; None: `transaction` is left out.
        transaction: Its id in events.
    """

    @property
    def order(self) -> tuple[int, int] | None: ...

    @property
    def transaction(self) -> str: ...


class EnvelopeFactory(ABC):
    """Makes the events of changes.

    Args:
        settings: Forms and names.
        now_ns: The clock, in nanoseconds since 1970.
    """

    def __init__(self, settings: DebeziumSettings, now_ns: Callable[[], int]) -> None:
        self.settings, self._now_ns = settings, now_ns
        self._has_tombstones: bool = settings["tombstones.on.delete"]
        self._has_transactions: bool = settings["provide.transaction.metadata"]

    @abstractmethod
    def source(self, table: TableId, origins: Any) -> Struct:
        """Return the value of `source`."""

    def moved(
        self,
        table: EventTable,
        keys: tuple[Struct | None, Struct | None],
        rows: tuple[Struct | None, Struct | None],
        origins: EventOrigins,
        next_origins: EventOrigins,
    ) -> list[ChangeEvent]:
        """Return the events of a row whose key has changed: a delete, a tombstone and a create.

        Args:
            table: Of the row.
            keys: The old and the new one.
            rows: The old and the new one.
            origins: Of the delete. next_origins: Of the create.
        """
        assert table.key_schema is not None
        new_headers = Headers().add_header(Header(NEW_KEY, table.key_schema, keys[1]))
        old_headers = Headers().add_header(Header(OLD_KEY, table.key_schema, keys[0]))
        created = self.event(table, keys[1], "c", None, rows[1], next_origins, old_headers)
        return [*self.deleted(table, keys[0], rows[0], origins, new_headers), created]

    def truncate(self, table: EventTable, origins: EventOrigins) -> ChangeEvent:
        """Return the event of an emptied table, which has no key."""
        value = self.filled(Struct(table.envelope), "t", self.source(table.id, origins), origins)
        return ChangeEvent(table.topic, None, None, table.envelope, value)

    def deleted(
        self,
        table: EventTable,
        key: Struct | None,
        before: Struct | None,
        origins: EventOrigins,
        headers: Headers | None = None,
    ) -> list[ChangeEvent]:
        """Return the events of a deleted row."""
        events = [self.event(table, key, "d", before, None, origins, headers)]
        if self._has_tombstones:
            events.append(ChangeEvent(table.topic, table.key_schema, key, None, None, headers and headers.duplicate()))
        return events

    def event(
        self,
        table: EventTable,
        key: Struct | None,
        op: str,
        before: Struct | None,
        after: Struct | None,
        origins: EventOrigins,
        headers: Headers | None = None,
    ) -> ChangeEvent:
        """Return an event of a table."""
        value = Struct(table.envelope)
        value.put("before", before).put("after", after)
        self.filled(value, op, self.source(table.id, origins), origins)
        return ChangeEvent(table.topic, table.key_schema, key, table.envelope, value, headers)

    def filled(self, value: Struct, op: str, source: Struct, origins: EventOrigins) -> Struct:
        """Fill in what all events have; returns the event's value."""
        now = self._now_ns()
        value.put("source", source).put("op", op)
        value.put("ts_ms", now // 1_000_000)
        if value.schema.field("ts_ns") is not None:
            value.put("ts_us", now // 1000).put("ts_ns", now)
        if self._has_transactions and origins.order is not None:
            total, own = origins.order
            block = {"id": origins.transaction, "total_order": total, "data_collection_order": own}
            value.put("transaction", Struct(TRANSACTION_BLOCK_SCHEMA, block))
        return value
