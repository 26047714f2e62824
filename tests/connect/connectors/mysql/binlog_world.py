"""Drives the task of the MariaDB connector without a worker: it polls, delivers and commits as a test wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kafkapy.connect.connectors.mysql.source_connector import MariaDbConnectorTask
from kafkapy.connect.records import SourceRecord
from tests.databases.mariadb import DATABASE, PASSWORD, USER, MariadbServer
from tests.waiting import wait_until


class BinlogOffsets:
    """A context whose offsets are those that a `BinlogRun` has committed. Invariant: `stored` is the newest."""

    def __init__(self) -> None:
        self.stored: dict[str, Any] | None = None

    def offset_storage_reader(self) -> BinlogOffsets:
        return self

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.stored

    def configs(self) -> dict[str, str | None]:
        return {}

    def transaction_context(self) -> None:
        return None


class BinlogRun:
    """A running task. Invariant: `records` are those polled; `delivered` are in Kafka, the others not yet."""

    def __init__(self, config: Mapping[str, str], offsets: Any) -> None:
        self.task = MariaDbConnectorTask()
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


class BinlogWorld:
    """A server with one connector. Invariant: `offsets` outlive runs."""

    def __init__(self, server: MariadbServer, config: Mapping[str, str] | None = None) -> None:
        self.server = server
        self.offsets = BinlogOffsets()
        self.sql = server.sql
        self.config = {
            "database.hostname": "127.0.0.1",
            "database.port": str(server.port),
            "database.user": USER,
            "database.password": PASSWORD,
            "topic.prefix": "dbs",
            "include.schema.changes": "false",
            "poll.interval.ms": "20",
            "retry.backoff.ms": "20",
            "retriable.restart.connector.wait.ms": "100",
            **(config or {}),
        }

    @contextmanager
    def running(self, **more: str) -> Iterator[BinlogRun]:
        """A run; `more`: configs with `_` for `.`."""
        changes = {name.replace("_", "."): value for name, value in more.items()}
        run = BinlogRun({**self.config, **changes}, self.offsets)
        try:
            yield run
        finally:
            run.task.stop()

    def clean(self) -> None:
        """Remove what a test has left."""
        self.server.end_sessions()
        self.sql(f"DROP DATABASE {DATABASE}", f"CREATE DATABASE {DATABASE}")
        self.offsets.stored = None
