"""An object sink without a worker: its task, a clock that tests set, and what the store has."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.connectors.objects.object_sink import ObjectSinkTask
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.records import SinkRecord
from kafkapy.structs import OffsetAndMetadata


class SinkHarness:
    """A task that writes to a folder.

    Args:
        root: The folder.
        configs: More configs; names have `_` for `.`.
        reports: Whether errors of records are reported.
    """

    def __init__(self, root: Path, configs: Mapping[str, str] | None = None, *, reports: bool = False) -> None:
        self.root = root
        self.now_ms = 0.0
        self.timeouts: list[float] = []
        self.reported: list[tuple[Any, BaseException]] = []
        self.task = ObjectSinkTask()
        self.task._now_ms = lambda: self.now_ms
        reporter = SimpleNamespace(report=self._report) if reports else None
        context: Any = SimpleNamespace(errant_record_reporter=lambda: reporter, timeout=self.timeouts.append)
        self.task.initialize(context)
        plain = {"flush.size": "3", "format.class": "Json", "store.url": f"file://{root}"}
        self.task.start({**plain, **(configs or {})})

    def _report(self, record: Any, error: BaseException) -> Future[None]:
        self.reported.append((record, error))
        return Future()

    def put(self, *records: SinkRecord) -> None:
        self.task.put(records)

    def committed(self, read: int, partition: int = 0) -> int | None:
        """Return the offset that may be committed when the worker has read up to one."""
        at = TopicPartition("t", partition)
        found = self.task.pre_commit({at: OffsetAndMetadata(read)}).get(at)
        return None if found is None else found.offset

    def files(self) -> dict[str, str]:
        """Return the objects below `topics`, without the cut logs."""
        top = self.root / "topics"
        return {
            str(path.relative_to(top)): path.read_text()
            for path in sorted(top.rglob("*"))
            if path.is_file() and "_cuts" not in path.parts
        }


def record(
    offset: int, value: Any = None, schema: Schema | None = None, partition: int = 0, **others: Any
) -> SinkRecord:
    """Return a record of topic `t`."""
    key = others.pop("key", None)
    return SinkRecord(
        others.pop("topic", "t"), partition, others.pop("key_schema", None), key, schema, value, offset, **others
    )
