"""A task of the sink, run over records without Spark and without a broker."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafkapy.warehouse.ingest import QUARANTINED, IngestSettings, IngestTask, TopicSettings
from tests.warehouse.records import HOUR_MS

NOW = HOUR_MS + 10 * 3_600_000


class Ran:
    """A task over records, and what it has written: rows by topic ("" is the quarantine)."""

    def __init__(self, directory: Path, read: list[pa.RecordBatch], topic: TopicSettings, **settings: Any) -> None:
        options = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "t"}
        registry = settings.pop("registry", "{}")
        given = IngestSettings({"t": topic}, registry, options, str(directory), "a", NOW, 3_600_000, **settings)
        task = IngestTask(given)
        task._reader = type("Reader", (), {"read": lambda self, partition: iter(read)})()
        self.files = task.run([("t", 0, 0, sum(map(len, read)))])
        self._directory = directory

    @cached_property
    def rows(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for file in self.files:
            if file["name"]:
                middle = f"s={file['schema']}" if file["schema"] == QUARANTINED else f"t/s={file['schema']}"
                table = pq.read_table(self._directory / middle / f"_{file['name']}", partitioning=None)
                assert len(table) == file["rows"] == sum(json.loads(file["hours"]).values())
                found.setdefault(file["topic"], []).extend(table.to_pylist())
        return found

    @property
    def told(self) -> Any:
        return json.loads(self.files[-1]["told"])
