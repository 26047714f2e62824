"""Runs a sink's task without a worker."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkTask


class SinkDriver:
    """A started task, and what it has told its context.

    Args:
        task: Not started.
        config: Its config.
        reports: Whether records can be reported.

    Attributes:
        reported: Offsets and errors of reported records.
        pauses: In ms.
    """

    def __init__(self, task: SinkTask, config: Mapping[str, str], *, reports: bool = False) -> None:
        self.reported: dict[int, str] = {}
        self.pauses: list[float] = []
        reporter = SimpleNamespace(report=self._report) if reports else None
        context: Any = SimpleNamespace(timeout=self.pauses.append, errant_record_reporter=lambda: reporter)
        self.task = task
        task.initialize(context)
        task.start({"name": "sink", **config})

    def put(self, *records: SinkRecord) -> None:
        self.task.put(records)

    def _report(self, record: Any, error: BaseException) -> Future[None]:
        self.reported[record.kafka_offset] = str(error)
        return Future()


def sink_record(
    offset: int, key: Any, value: Any, *, topic: str = "t", timestamp: int | None = None, schema: Schema | None = None
) -> SinkRecord:
    """A record of partition 0; the schema of a struct is its own."""
    value_schema = value.schema if isinstance(value, Struct) else schema
    return SinkRecord(topic, 0, None, key, value_schema, value, offset, timestamp)
