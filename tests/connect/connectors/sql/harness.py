"""The SQL connectors without a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from kafkapy.connect.connectors.sql.sql_sink import JdbcSinkTask
from kafkapy.connect.connectors.sql.sql_source import JdbcSourceConnector, JdbcSourceTask
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.records import SinkRecord, SourceRecord

_started: list[Any] = []


def stop_tasks() -> None:
    """Stop all tasks that harnesses have started."""
    while _started:
        _started.pop().stop()


class SourceHarness:
    """A source with one task, whose offsets are kept as a worker would keep them.

    Args:
        url: `connection.url`.
        configs: More configs.
        offsets: Stored offsets. Default: none.
    """

    def __init__(
        self,
        url: str,
        configs: Mapping[str, str],
        offsets: list[tuple[Mapping[str, Any], Mapping[str, Any]]] | None = None,
    ) -> None:
        self.offsets = [] if offsets is None else offsets
        self.now = 0.0
        self.connector = JdbcSourceConnector()
        self.reconfigurations = 0
        context: Any = SimpleNamespace(request_task_reconfiguration=self._reconfigure)
        self.connector.initialize(context)
        plain = {"topic.prefix": "p-", "poll.interval.ms": "1000", "connection.backoff.ms": "1000"}
        self.connector.start({"name": "source", "connection.url": url, **plain, **configs})
        self.task_configs = self.connector.task_configs(4)
        self.connector.stop()
        self.task = JdbcSourceTask()
        self.task._clock = lambda: self.now
        reader = SimpleNamespace(offsets=self._read)
        task_context: Any = SimpleNamespace(offset_storage_reader=lambda: reader)
        self.task.initialize(task_context)
        _started.append(self.task)
        self.task.start(self.task_configs[0])

    def _reconfigure(self) -> None:
        self.reconfigurations += 1

    def _read(self, partitions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any] | None]:
        known = {tuple(sorted(partition.items())): offset for partition, offset in self.offsets}
        return [known.get(tuple(sorted(partition.items()))) for partition in partitions]

    def batch(self) -> list[SourceRecord]:
        """Poll once, `poll.interval.ms` after the last time; the offsets of what comes are stored."""
        self.now += 1.001
        records = self.task.poll() or []
        for record in records:
            if record.source_offset:
                self.offsets.append((record.source_partition or {}, record.source_offset))
        return records

    def ids(self, polls: int = 1) -> list[Any]:
        return [record.value["id"] for _ in range(polls) for record in self.batch()]


class SqlSinkHarness:
    """A sink's task.

    Args:
        url: `connection.url`.
        configs: More configs.
        reports: Whether errors of records are reported.
    """

    def __init__(self, url: str, configs: Mapping[str, str] | None = None, *, reports: bool = False) -> None:
        self.timeouts: list[float] = []
        self.reported: list[tuple[SinkRecord, BaseException]] = []
        self.task = JdbcSinkTask()
        reporter = SimpleNamespace(report=self._report) if reports else None
        context: Any = SimpleNamespace(errant_record_reporter=lambda: reporter, timeout=self.timeouts.append)
        self.task.initialize(context)
        _started.append(self.task)
        self.task.start({"connection.url": url, **(configs or {})})

    def _report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        self.reported.append((record, error))
        return Future()

    def put(self, *records: SinkRecord) -> None:
        self.task.put(records)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        assert self.task._database is not None
        return execute(self.task._database.engine, statement)


def execute(engine: Any, *statements: str) -> list[tuple[Any, ...]]:
    """Execute statements, and return the rows of the last one."""
    with engine.begin() as connection:
        for statement in statements:
            result = connection.execute(sa.text(statement))
        return [tuple(row) for row in result] if result.returns_rows else []


def record(
    offset: int, value: Any, key: Any = None, *, key_schema: Schema | None = None, topic: str = "t"
) -> SinkRecord:
    """Return a record for a sink; the schema is the struct's."""
    return SinkRecord(topic, 0, key_schema, key, getattr(value, "schema", None), value, offset)
