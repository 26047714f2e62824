"""Drives the task of the PostgreSQL connector without a worker: it polls, delivers and commits as a test wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg2

from kafkapy.connect.connectors.postgresql.source_connector import PostgresConnectorTask
from kafkapy.connect.records import SourceRecord
from tests.databases.postgresql import PostgresqlServer
from tests.waiting import wait_until


class StoredOffsets:
    """A context whose offsets are those that a `CaptureRun` has committed. Invariant: `offset` is the newest."""

    def __init__(self) -> None:
        self.stored: dict[str, Any] | None = None

    def offset_storage_reader(self) -> StoredOffsets:
        return self

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.stored

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        return [self.stored for _ in partitions]

    def configs(self) -> dict[str, str | None]:
        return {}

    def transaction_context(self) -> None:
        return None


class CaptureRun:
    """A running task. Invariant: `records` are those polled; `delivered` are in Kafka, the others not yet."""

    def __init__(self, config: Mapping[str, str], offsets: StoredOffsets) -> None:
        self.task = PostgresConnectorTask()
        self.task.initialize(offsets)
        self._offsets = offsets
        self.records: list[SourceRecord] = []
        self.delivered: list[SourceRecord] = []
        self._undelivered: list[SourceRecord] = []
        self.task.start(config)

    def poll(self) -> list[SourceRecord]:
        records = self.task.poll() or []
        self.records += records
        self._undelivered += records
        return records

    @property
    def is_streaming(self) -> bool:
        offset = self._offsets.stored
        return offset is not None and "snapshot" not in offset

    def deliver(self, count: int | None = None) -> None:
        """Deliver records, and commit their offsets."""
        some = self._undelivered[:count]
        del self._undelivered[:count]
        self.delivered += some
        for record in some:
            self.task.commit_record(record, None)
            self._offsets.stored = dict(record.source_offset or {})
        self.task.commit()

    def until(self, count: int) -> list[SourceRecord]:
        """Poll until so many records have come; deliver them."""
        wait_until(lambda: self.poll() is not None and len(self.records) >= count, lambda: self.records[-3:])
        self.deliver()
        return self.records


class CaptureWorld:
    """A database with one connector. Invariant: `offsets` outlive runs."""

    def __init__(self, server: PostgresqlServer, config: Mapping[str, str] | None = None) -> None:
        self.server = server
        self.offsets = StoredOffsets()
        self.config = {
            "database.hostname": "127.0.0.1",
            "database.port": str(server.port),
            "database.user": "postgres",
            "database.dbname": "postgres",
            "topic.prefix": "shop",
            "slot.name": "shop",
            "publication.name": "shop",
            "poll.interval.ms": "20",
            "retry.backoff.ms": "20",
            "retriable.restart.connector.wait.ms": "100",
            **(config or {}),
        }

    @contextmanager
    def running(self, **more: str) -> Iterator[CaptureRun]:
        """A run; `more`: configs with `_` for `.`."""
        changes = {name.replace("_", "."): value for name, value in more.items()}
        run = CaptureRun({**self.config, **changes}, self.offsets)
        try:
            yield run
        finally:
            run.task.stop()

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements in one transaction; return the rows of the last one."""
        connection = psycopg2.connect(self.server.dsn)
        try:
            with connection, connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()

    def clean(self) -> None:
        """Remove slots, publications and schemas that a test has left."""
        wait_until(lambda: not self.sql("SELECT 1 FROM pg_replication_slots WHERE active"))
        self.sql("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
        self.sql("DROP PUBLICATION IF EXISTS shop", "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")

    def slot_lsn(self) -> int:
        """The place that is confirmed."""
        return int(self.sql("SELECT confirmed_flush_lsn - '0/0'::pg_lsn FROM pg_replication_slots")[0][0])


def ops(records: Sequence[SourceRecord]) -> list[tuple[str | None, Any]]:
    """Operations and keys: None for a tombstone."""
    return [(r.value["op"] if r.value is not None else None, plain_key(r.key)) for r in records]


def plain_key(struct: Any) -> Any:
    """The only column of a key, or a tuple of them."""
    if struct is None:
        return None
    values = tuple(struct[field.name] for field in struct.schema.fields)
    return values[0] if len(values) == 1 else values


def plain(struct: Any) -> dict[str, Any] | None:
    """A row as a dict."""
    return None if struct is None else {field.name: struct[field.name] for field in struct.schema.fields}


def header(record: SourceRecord, name: str) -> Any:
    """The value of a header."""
    found = record.headers.last_with_name(name)
    return None if found is None else found.value


def position(record: SourceRecord) -> int:
    """The place of a change in the log."""
    return int(record.value["source"]["lsn"])
