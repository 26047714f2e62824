"""The stream over a cluster that is a table of offsets, and over tasks that say what they were to read."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")

from kafkapy.common.time import MockTime
from kafkapy.spark.offset_ranges import OffsetRange
from kafkapy.warehouse import stream
from kafkapy.warehouse import tasks as warehouse_tasks
from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.ledger import LedgerError
from kafkapy.warehouse.metrics import CommittedBatch
from kafkapy.warehouse.plan import Bounds, LogLook, RecordsLostError
from kafkapy.warehouse.session import SparkJobs
from kafkapy.warehouse.stream import MadeAgainError, Rollups, Stream, due_cutoff, is_permanent
from kafkapy.warehouse.warehouse import Warehouse
from tests.warehouse.test_two_processes import HOUR, File, Statements


class Logs:
    """In place of `TopicLogs`: one topic, and ids for the next questions."""

    def __init__(self, *ends: int) -> None:
        self.topic_id = "a"
        self.bounds = [Bounds(0, end, end) for end in ends]
        self.ends: dict[tuple[str, str], dict[int, int]] = {}
        self.looks = 0
        self.exists = True

    def look(self) -> dict[str, LogLook]:
        self.looks += 1
        return {"t": LogLook(self.topic_id, dict(enumerate(self.bounds)))} if self.exists else {}

    def topic_ids(self) -> dict[str, str]:
        return {"t": self.topic_id} if self.exists else {}


class Tasks:
    """In place of `run_tasks`: a row a record. `before`: called before each."""

    def __init__(self) -> None:
        self.read: list[tuple[int, int]] = []
        self.logs: list[dict[str, str]] = []
        self.during: Callable[[], object] = lambda: None

    def __call__(self, warehouse: Any, ranges: Sequence[OffsetRange], settings: Any, directory: str) -> list[File]:
        self.during()
        self.read += [(each.start, each.until) for each in ranges]
        self.logs.append(settings.logs)
        told = json.dumps({"no_id": 1, "oldest_ms": 5, "newest_ms": 9})
        files = [File("t", 0, f"{each.start}", each.size, json.dumps({HOUR: each.size})) for each in ranges]
        return [*files, File("", 0, "", 0, "{}", told)] if files else []


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> Tasks:
    made = Tasks()
    monkeypatch.setattr(warehouse_tasks, "run_tasks", made)
    return made


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    fields = [{"name": "n", "type": "int"}]
    (tmp_path / "t.avsc").write_text(json.dumps({"type": "record", "name": "T", "fields": fields}))
    found: Any = {
        "root": "tables",
        "kafka": {"bootstrap.servers": "h:1"},
        "max_events_per_batch": 10,
        "tables": [{"topic": "t", "format": "avro", "schema": "t.avsc"}],
    }
    made = Warehouse(Statements(), WarehouseConfig.of(found, tmp_path), MockTime(1_000_000_500))
    made.start()
    return made


def stream_over(warehouse: Warehouse, logs: Any, batches: list[CommittedBatch] | None = None) -> Stream:
    return Stream(warehouse, (batches if batches is not None else []).append, logs)


def test_a_batch_follows_at_once_if_more_is_there(warehouse: Warehouse, tasks: Tasks) -> None:
    batches: list[CommittedBatch] = []
    reading = stream_over(warehouse, Logs(12), batches)
    assert reading.step() == 0.0
    assert reading.step() == 19.5, "the next full minute"
    assert tasks.read == [(0, 10), (10, 12)]
    assert [(each.number, each.rows, each.no_id, each.oldest_ms) for each in batches] == [
        (0, {"t": 10}, 1, 5),
        (1, {"t": 2}, 1, 5),
    ]
    reading.step()
    assert warehouse.state.end == 2, "nothing new is no batch"


def test_another_process_goes_on_where_the_ledger_ends(warehouse: Warehouse, tasks: Tasks) -> None:
    logs = Logs(5)
    stream_over(warehouse, logs).step()
    again = Warehouse(warehouse.spark, warehouse.config, warehouse.time)
    again.start()
    logs.bounds = [Bounds(0, 7, 7)]
    stream_over(again, logs).step()
    assert tasks.read == [(0, 5), (5, 7)]


def test_a_batch_of_a_topic_that_was_made_again_meanwhile_comes_to_nothing(warehouse: Warehouse, tasks: Tasks) -> None:
    logs = Logs(5)
    reading = stream_over(warehouse, logs)

    def meanwhile() -> None:
        logs.topic_id = "b"
        tasks.during = lambda: None

    tasks.during = meanwhile
    with pytest.raises(MadeAgainError):
        reading.step()
    assert warehouse.state.end == 0
    reading.step()
    assert tasks.read == [(0, 5), (0, 5)]


def test_places_in_a_topic_that_was_made_again_have_its_name(warehouse: Warehouse, tasks: Tasks) -> None:
    logs = Logs(5)
    reading = stream_over(warehouse, logs)
    reading.step()
    logs.topic_id = "b"
    reading.step()
    assert tasks.logs == [{"t": "t"}, {"t": "t@1"}]


def test_a_log_that_is_short_for_a_moment_is_looked_at_again(warehouse: Warehouse, tasks: Tasks) -> None:
    logs = Logs(5)
    reading = stream_over(warehouse, logs)
    reading.step()
    logs.bounds = [Bounds(0, 3, 3)]
    looks, look = logs.looks, logs.look

    def with_news() -> dict[str, LogLook]:
        if logs.looks == looks + 1:
            logs.bounds = [Bounds(0, 6, 6)]
        return look()

    logs.look = with_news  # type: ignore[method-assign]
    reading.step()
    assert tasks.read == [(0, 5), (5, 6)]
    logs.bounds = [Bounds(0, 3, 3)]
    with pytest.raises(RecordsLostError):
        reading.step()


def test_a_topic_that_is_not_there_is_waited_for(warehouse: Warehouse, tasks: Tasks) -> None:
    logs = Logs(5)
    logs.exists = False
    reading = stream_over(warehouse, logs)
    reading.step()
    assert tasks.read == []
    logs.exists = True
    reading.step()
    assert tasks.read == [(0, 5)]


def test_what_is_available_now_ends(warehouse: Warehouse, tasks: Tasks) -> None:
    logs = Logs(15)
    reading = stream_over(warehouse, logs)
    reading.worker(available_now=True)
    assert reading.step() == 0.0
    logs.bounds = [Bounds(0, 99, 99)]
    assert reading.step() is None
    assert tasks.read == [(0, 10), (10, 15)]


def test_lost_records_are_an_error_that_no_attempt_mends(warehouse: Warehouse, tasks: Tasks) -> None:
    logs = Logs(5)
    reading = stream_over(warehouse, logs)
    reading.step()
    logs.bounds = [Bounds(8, 9, 9)]
    with pytest.raises(RecordsLostError) as found:
        reading.step()
    assert is_permanent(warehouse.spark, found.value)


class Jobs(SparkJobs):
    """Without a session. `cancelled`: by kind."""

    cancelled: ClassVar[dict[str, threading.Event]] = {}

    def naming(self, step: Callable[[], float | None]) -> Callable[[], float | None]:
        return step

    def cancel(self) -> None:
        self.cancelled[self._kind].set()


def test_a_stream_that_has_failed_ends_run_while_hours_are_rolled_up(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    rolling = threading.Event()

    def roll(self: Rollups) -> float:
        rolling.set()
        Jobs.cancelled["rollup"].wait(30)
        raise RuntimeError("the job was cancelled")

    def read(self: Stream) -> float:
        assert rolling.wait(30)
        raise RecordsLostError(())

    monkeypatch.setattr(stream, "SparkJobs", Jobs)
    monkeypatch.setattr(Jobs, "cancelled", {"ingestion": threading.Event(), "rollup": threading.Event()})
    monkeypatch.setattr(Rollups, "step", roll)
    monkeypatch.setattr(Stream, "step", read)
    monkeypatch.setattr(stream, "TopicLogs", lambda config: type("Silent", (Logs,), {"close": lambda self: None})(0))
    with pytest.raises(RecordsLostError):
        stream.run(warehouse, threading.Event())
    assert Jobs.cancelled["rollup"].is_set()


def test_a_rollup_that_fails_for_good_ends_run(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def roll(self: Rollups) -> float:
        raise LedgerError("a record is damaged")

    monkeypatch.setattr(stream, "SparkJobs", Jobs)
    monkeypatch.setattr(Jobs, "cancelled", {"ingestion": threading.Event(), "rollup": threading.Event()})
    monkeypatch.setattr(Rollups, "step", roll)
    monkeypatch.setattr(Stream, "step", lambda self: 60.0)
    monkeypatch.setattr(stream, "TopicLogs", lambda config: type("Silent", (Logs,), {"close": lambda self: None})(0))
    with pytest.raises(LedgerError):
        stream.run(warehouse, threading.Event())


def test_an_hour_is_due_after_the_delay() -> None:
    at = 1_795_482_000_000  # 2026-11-24T01:00Z
    assert due_cutoff(at + 299_999, 5) == HOUR
    assert due_cutoff(at + 300_000, 5) == "2026-11-24-01"


def test_hours_are_rolled_up_when_they_are_over(
    warehouse: Warehouse, tasks: Tasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_over(warehouse, Logs(5)).step()
    time: Any = warehouse.time
    rolled: list[str] = []
    monkeypatch.setattr(stream, "roll_up", lambda warehouse, cutoff: rolled.append(cutoff))
    rollups = Rollups(warehouse)
    time.now_ms = 1_795_482_000_000
    rollups.step()
    assert rolled == []
    time.now_ms += 300_000
    rollups.step()
    assert rolled == ["2026-11-24-01"]
