"""How the pipeline does: progress of batches, state of tables, the last audit; as text for people and for Prometheus."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from kafkapy.common.prometheus_text import head, label, sample
from kafkapy.warehouse.snapshot import State
from kafkapy.warehouse.stream import CommittedBatch

KEPT_BATCHES = 300


class RunProgress:
    """Of a process that runs the stream. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._batches: deque[CommittedBatch] = deque(maxlen=KEPT_BATCHES)
        self.rows: dict[str, int] = {}
        self.no_id = 0
        self.count = 0

    def add(self, batch: CommittedBatch) -> None:
        with self._lock:
            self._batches.append(batch)
            self.count += 1
            self.no_id += batch.no_id
            for table, rows in batch.rows.items():
                self.rows[table] = self.rows.get(table, 0) + rows

    def batches(self) -> list[CommittedBatch]:
        with self._lock:
            return list(self._batches)


def freshness_seconds(batch: CommittedBatch) -> float | None:
    """From the newest event's time until it could be queried; None if the batch had no event."""
    return None if batch.newest_ms is None else max(batch.done_ms - batch.newest_ms, 0) / 1000


def prometheus(state: State, progress: RunProgress, report: Mapping[str, Any] | None) -> str:
    """The exposition format, one family after the other."""
    return "".join(_families(state, progress, report))


def _families(state: State, progress: RunProgress, report: Mapping[str, Any] | None) -> Iterator[str]:
    yield _family("batches_total", "counter", "Batches that this process has committed.", {(): progress.count})
    rows = {_labels(table=table): count for table, count in sorted(progress.rows.items())}
    yield _family("rows_total", "counter", "Rows that came into current, duplicates counted.", rows)
    yield _family("events_without_id_total", "counter", "Events whose place stands for their id.", {(): progress.no_id})
    batches = progress.batches()
    if batches:
        last = batches[-1]
        seconds = (last.done_ms - last.began_ms) / 1000
        yield _family(
            "batch_seconds", "gauge", "How long the last batch took until its rows could be queried.", {(): seconds}
        )
        fresh = next((found for each in reversed(batches) if (found := freshness_seconds(each)) is not None), None)
        if fresh is not None:
            text = "From the newest event's time until it could be queried, in the last batch that had one."
            yield _family("freshness_seconds", "gauge", text, {(): fresh})
    yield _family("ledger_batches", "gauge", "Batches in the ledger, of all time.", {(): state.end})
    yield _family("ledger_rollups", "gauge", "Rollups in the ledger, of all time.", {(): state.rollups})
    waiting = {_labels(table=table): sum(state.current_rows(table).values()) for table in sorted(state.tables)}
    yield _family("current_rows", "gauge", "Rows that wait for a rollup, duplicates counted.", waiting)
    if report is not None:
        yield from _of_audit(report)


def _of_audit(report: Mapping[str, Any]) -> Iterator[str]:
    hours = report["hours"][-500:]
    of_hours = {_labels(topic=each["topic"], hour=each["hour"]): each["completeness"] for each in hours}
    yield _family("completeness", "gauge", "Of the events of an hour, the part that tables have; 1 is all.", of_hours)
    wrong = {_labels(topic=each["topic"], hour=each["hour"]): len(each["problems"]) for each in hours}
    yield _family("audit_problems", "gauge", "What the last audit found wrong with an hour.", wrong)
    yield _family(
        "audit_time_seconds", "gauge", "When the last audit was (seconds since 1970).", {(): report["at_ms"] / 1000}
    )


def _family(name: str, kind: str, text: str, values: Mapping[tuple[str, ...], float]) -> str:
    whole = f"kafkapy_warehouse_{name}"
    return head(whole, kind, text) + "".join(sample(whole, labels, value) for labels, value in values.items())


def _labels(**labels: str) -> tuple[str, ...]:
    return tuple(label(name, value) for name, value in labels.items())


def status_text(state: State) -> str:
    """A line a table and hour, the newest at the end; and how far the ledger is."""
    lines = [f"{'table':28} {'hour':13} {'rolled up':>12} {'came twice':>12} {'in current':>12}"]
    for table in sorted(state.tables):
        current = state.current_rows(table)
        hours = {hour for name, hour in state.generations if name == table} | current.keys()
        for hour in sorted(hours)[-48:]:
            generation = state.generations.get((table, hour))
            rows, dropped = (generation.rows, generation.dropped) if generation else ("-", "-")
            lines.append(f"{table:28} {hour:13} {rows:>12} {dropped:>12} {current.get(hour, 0):>12}")
    lines.append(f"{state.end} batches, {state.rollups} rollups, hours before {state.cutoff} are rolled up")
    for topic, partitions in sorted(state.offsets.items()):
        ends = ", ".join(f"{partition}: {end}" for partition, (_, end) in sorted(partitions.items()))
        lines.append(f"{topic} is read to {ends}")
    return "\n".join(lines)
