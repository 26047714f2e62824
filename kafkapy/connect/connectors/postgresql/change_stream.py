"""Turns the messages of the replication stream into records with their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from kafkapy.connect.connectors.debezium.change_events import ChangeEvent
from kafkapy.connect.connectors.debezium.settings import TableId
from kafkapy.connect.connectors.debezium.transaction_events import transaction_event
from kafkapy.connect.connectors.postgresql.events import ChangeEventFactory, Origins
from kafkapy.connect.connectors.postgresql.ledger import DeliveryLedger
from kafkapy.connect.connectors.postgresql.pgoutput import (
    LogicalMessage,
    PgBegin,
    PgCommit,
    PgDelete,
    PgInsert,
    PgRelation,
    PgTruncate,
    PgUpdate,
    decode,
)
from kafkapy.connect.connectors.postgresql.position import ReplayFilter, StreamPosition
from kafkapy.connect.connectors.postgresql.settings import CaptureSettings
from kafkapy.connect.connectors.postgresql.table_schemas import CapturedTable
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SourceRecord

_OPERATIONS: Final[dict[type[Any], str]] = {PgInsert: "c", PgUpdate: "u", PgDelete: "d"}


class CapturedRecord(SourceRecord):
    """A record that the ledger knows. `number`: the ledger's."""

    __slots__ = ("number",)

    number: int


class RecordMaker:
    """Gives events their partition, offset and number in the ledger."""

    def __init__(self, settings: CaptureSettings, ledger: DeliveryLedger) -> None:
        self.partition = source_partition(settings)
        self._ledger = ledger

    def record(self, event: ChangeEvent, offset: dict[str, Any]) -> CapturedRecord:
        """Return an event as a record."""
        key = (event.key_schema, event.key)
        value = (event.value_schema, event.value)
        made = CapturedRecord(self.partition, offset, event.topic, None, *key, *value, headers=event.headers)
        made.number = self._ledger.emitted()
        return made


def source_partition(settings: CaptureSettings) -> dict[str, str]:
    """Return the source partition of a connector."""
    return {"server": settings.prefix}


class ChangeStream:
    """The state of the replication stream.

    Invariant: `position` is that of the last event that was emitted or filtered out; `_begin` is the transaction whose messages
    are being received, None between two; `_seen` counts the events of it. `_shown_commit` is what `source.sequence` has.

    Args:
        settings: What is captured.
        events: Makes the events.
        records: Makes records of them.
        ledger: Learns what has been passed.
        find_table: Returns a table's schemas when its relation is announced.
        resume: Where an earlier stream has ended.
    """

    def __init__(
        self,
        settings: CaptureSettings,
        events: ChangeEventFactory,
        records: RecordMaker,
        ledger: DeliveryLedger,
        find_table: Callable[[PgRelation], CapturedTable],
        resume: StreamPosition,
    ) -> None:
        self._settings, self._events, self._records, self._ledger = settings, events, records, ledger
        self._find_table = find_table
        self.position = resume
        self._replay = ReplayFilter(resume)
        self._relations: dict[int, PgRelation] = {}
        self._tables: dict[int, CapturedTable | None] = {}
        self._begin: PgBegin | None = None
        self._commit_lsn = resume.commit_lsn
        self._shown_commit = None if resume.xid is None else resume.commit_lsn
        self._seen = 0
        self._first_lsn = 0
        self._counts: Counter[TableId] = Counter()

    @property
    def is_between_transactions(self) -> bool:
        return self._begin is None

    def handle(self, lsn: int, data: bytes) -> list[CapturedRecord]:
        """Process one message of the server; return the records of it.

        Args:
            lsn: Where the message is from. data: The message.

        Raises:
            ConnectException: It cannot be represented, or is damaged.
        """
        message = decode(data)
        match message:
            case PgBegin():
                self._begin, self._seen, self._first_lsn = message, 0, 0
                self._counts.clear()
                self._replay.begin(message.xid, message.final_lsn)
            case PgCommit():
                return self._commit(message)
            case PgRelation():
                self._relations[message.oid] = message
                self._tables.pop(message.oid, None)
            case PgInsert() | PgUpdate() | PgDelete():
                return self._change(lsn, message)
            case PgTruncate():
                tables = [self._table(oid) for oid in message.relations]
                return [record for table in tables for record in self._truncate(lsn, table)]
            case LogicalMessage():
                return self._message(lsn, message)
        return []

    def _commit(self, commit: PgCommit) -> list[CapturedRecord]:
        records = self._transaction_record("END") if self._counts and not self._replay.is_done else []
        self._commit_lsn = self._shown_commit = max(self._commit_lsn, commit.end_lsn)
        self._begin = None
        self._ledger.passed(commit.end_lsn)
        return records

    def _table(self, oid: int) -> CapturedTable | None:
        """The table, None if it is not captured."""
        if oid not in self._tables:
            relation = self._relations.get(oid)
            if relation is None:
                raise ConnectException(f"The server sent a change of relation {oid}, which it has not announced")
            is_captured = self._settings.includes_table(TableId(relation.schema, relation.name))
            self._tables[oid] = self._find_table(relation) if is_captured else None
        return self._tables[oid]

    def _change(self, lsn: int, change: PgInsert | PgUpdate | PgDelete) -> list[CapturedRecord]:
        table = self._table(change.relation)
        is_new = self._next_event(lsn)
        if table is None or _OPERATIONS[type(change)] in self._settings.skipped:
            return []
        return self._emit(is_new, table.id, lsn, lambda origins: self._events.change(table, change, origins))

    def _truncate(self, lsn: int, table: CapturedTable | None) -> list[CapturedRecord]:
        is_new = self._next_event(lsn)
        if table is None or "t" in self._settings.skipped:
            return []
        return self._emit(is_new, table.id, lsn, lambda origins: [self._events.truncate(table, origins)])

    def _message(self, lsn: int, message: LogicalMessage) -> list[CapturedRecord]:
        if not self._settings.includes_message(message.prefix):
            return []
        if message.is_transactional and self._begin is not None:
            is_new = self._next_event(lsn)
            kind = TableId("", message.prefix)
            return self._emit(is_new, kind, lsn, lambda origins: [self._events.message(message, origins)])
        self._shown_commit = message.lsn
        origins = Origins(self.position.commit_us, message.lsn, message.lsn, None)
        return [self._records.record(self._events.message(message, origins), self.position.offset())]

    def _next_event(self, lsn: int) -> bool:
        """Count an event; return whether it was not emitted before."""
        self._seen += 1
        return not self._replay.is_emitted(self._seen, lsn)

    def _emit(
        self, is_new: bool, table: TableId, lsn: int, make: Callable[[Origins], list[ChangeEvent]]
    ) -> list[CapturedRecord]:
        begin = self._begin
        if begin is None:
            raise ConnectException("The server sent a change outside of a transaction")
        is_first = not self._counts
        if is_first:
            self._first_lsn = lsn
        self._counts[table] += 1
        if not is_new and not self._settings["provide.transaction.metadata"]:
            return []
        order = (self._counts.total(), self._counts[table])
        origins = Origins(
            begin.commit_us, lsn, self._shown_commit, begin.xid, order=order, transaction=self._transaction_id
        )
        events = make(origins)
        # A changed key is a delete and a create, which count as two.
        self._counts[table] += sum(event.value is not None for event in events) - 1
        if not is_new:
            return []
        before = self._transaction_record("BEGIN") if is_first else []
        self.position = StreamPosition(self._commit_lsn, lsn, begin.xid, self._seen, begin.commit_us)
        # A change of a key is three records: only after the last one of them is the change done.
        partial = StreamPosition(self._commit_lsn, lsn, begin.xid, self._seen - 1, begin.commit_us)
        places = [partial] * (len(events) - 1) + [self.position]
        return before + [
            self._records.record(event, place.offset()) for event, place in zip(events, places, strict=True)
        ]

    @property
    def _transaction_id(self) -> str:
        return "" if self._begin is None else f"{self._begin.xid}:{self._first_lsn}"

    def _transaction_record(self, status: str) -> list[CapturedRecord]:
        begin = self._begin
        if not self._settings["provide.transaction.metadata"] or begin is None:
            return []
        place = StreamPosition(self._commit_lsn, self.position.lsn, begin.xid, 0, begin.commit_us)
        counts: dict[str, int] | None = None
        if status == "END":
            counts = {str(table): count for table, count in self._counts.items()}
            place = self.position
        event = transaction_event(self._settings, status, self._transaction_id, begin.commit_us // 1000, counts)
        return [self._records.record(event, place.offset())]
