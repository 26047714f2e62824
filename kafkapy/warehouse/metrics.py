"""Metrics of the pipeline, as text and for Prometheus: batches, lags and failures of this process, tables, the last
audit."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kafkapy.common.prometheus_text import head, label, sample
from kafkapy.common.time import SystemTime, Time
from kafkapy.warehouse.lag import LagReport, LagWatch
from kafkapy.warehouse.snapshot import Batch, State
from kafkapy.warehouse.supervision import sentence

KEPT_SAMPLES = 720
WATCH_SECONDS = 5.0
"""Interval of polling the topics."""


class CommittedBatch(NamedTuple):
    """`rows`: by table. `began_ms`, `done_ms`: when it was planned, and when its rows could be queried. `oldest_ms`, `newest_ms`:
    of its events' times; None if it has none. `no_id`: events without an id."""

    number: int
    rows: dict[str, int]
    began_ms: int
    done_ms: int
    oldest_ms: int | None
    newest_ms: int | None
    no_id: int

    @classmethod
    def of(cls, batch: Batch, rows: Sequence[Any], began_ms: int, done_ms: int) -> CommittedBatch:
        told = [json.loads(row.told) for row in rows if not row.name]
        oldest = [each["oldest_ms"] for each in told if each["oldest_ms"] is not None]
        newest = [each["newest_ms"] for each in told if each["newest_ms"] is not None]
        tables: dict[str, int] = {part.table: sum(batch.rows(part.table).values()) for part in batch.parts}
        ends = min(oldest, default=None), max(newest, default=None)
        return cls(batch.number, tables, began_ms, done_ms, *ends, sum(each["no_id"] for each in told))


class LagSample(NamedTuple):
    at_ms: int
    freshness_seconds: float
    records: int


class Failure(NamedTuple):
    """A failure that is retried. `attempts`: consecutive failures."""

    attempts: int
    at_ms: int
    text: str


class RunProgress:
    """Progress of a process that runs the stream. Thread-safe."""

    def __init__(self, time: Time | None = None) -> None:
        self.time: Time = time or SystemTime()
        self._lock = threading.Lock()
        self._last: CommittedBatch | None = None
        self._samples: deque[LagSample] = deque(maxlen=KEPT_SAMPLES)
        self._failures: dict[str, Failure] = {}
        self.lag: LagReport | None = None
        """None: the topics were not polled yet."""
        self.rows: dict[str, int] = {}
        self.no_id = 0
        self.count = 0
        self.failed = 0
        """Total of failed attempts."""

    def add(self, batch: CommittedBatch) -> None:
        with self._lock:
            self._last = batch
            self.count += 1
            self.no_id += batch.no_id
            for table, rows in batch.rows.items():
                self.rows[table] = self.rows.get(table, 0) + rows

    def last_batch(self) -> CommittedBatch | None:
        return self._last

    def watch(self, watch: LagWatch, state: Callable[[], State]) -> float:
        """Poll the topics once; return the seconds until the next poll. A failure is recorded and does not end the
        process."""
        try:
            self.add_lag(watch.look(state()))
        except Exception as error:
            self.tell("looking at the topics", error)
        else:
            self.tell("looking at the topics", None)
        return WATCH_SECONDS

    def add_lag(self, lag: LagReport) -> None:
        with self._lock:
            self.lag = lag
            self._samples.append(LagSample(lag.at_ms, lag.freshness_seconds(lag.at_ms), lag.records))

    def samples(self) -> list[LagSample]:
        with self._lock:
            return list(self._samples)

    def telling(self, what: str) -> Callable[[Exception | None], None]:
        """For a `Worker`."""
        return lambda error: self.tell(what, error)

    def tell(self, what: str, error: Exception | None) -> None:
        """Record a failure of `what`; `error` None: it has succeeded."""
        with self._lock:
            if error is None:
                self._failures.pop(what, None)
                return
            before = self._failures.get(what)
            attempts = 1 if before is None else before.attempts + 1
            self._failures[what] = Failure(attempts, self.time.milliseconds(), sentence(error))
            self.failed += 1

    def failures(self) -> dict[str, Failure]:
        """Return the current failures."""
        with self._lock:
            return dict(self._failures)


def prometheus(state: State, progress: RunProgress, report: Mapping[str, Any] | None) -> str:
    """Yield the exposition format, one family after the other."""
    return "".join(_families(state, progress, report))


def _families(state: State, progress: RunProgress, report: Mapping[str, Any] | None) -> Iterator[str]:
    yield _family("batches_total", "counter", "Batches that this process has committed.", {(): progress.count})
    rows = {_labels(table=table): count for table, count in sorted(progress.rows.items())}
    yield _family("rows_total", "counter", "Rows that came into current, duplicates counted.", rows)
    yield _family("events_without_id_total", "counter", "Events whose place stands for their id.", {(): progress.no_id})
    last = progress.last_batch()
    if last is not None:
        seconds = (last.done_ms - last.began_ms) / 1000
        yield _family(
            "batch_seconds", "gauge", "How long the last batch took until its rows could be queried.", {(): seconds}
        )
    yield _family("failures_total", "counter", "Attempts that have failed, of anything.", {(): progress.failed})
    failing = {_labels(what=what): failure.attempts for what, failure in sorted(progress.failures().items())}
    yield _family("failing", "gauge", "Attempts in a row that have failed, of what fails now.", failing)
    if progress.lag is not None:
        yield from _of_lag(progress.lag, progress.time.milliseconds())
    yield _family("ledger_batches", "gauge", "Batches in the ledger, of all time.", {(): state.end})
    yield _family("ledger_rollups", "gauge", "Rollups in the ledger, of all time.", {(): state.rollups})
    waiting = {
        _labels(table=table.view): sum(state.current_rows(name).values())
        for name, table in sorted(state.tables.items())
    }
    lost: dict[str, int] = {}
    for loss in state.losses:
        lost[loss.topic] = lost.get(loss.topic, 0) + loss.end - loss.first
    text = "Offsets that were gone before they were read, of all time."
    yield _family("lost_offsets", "gauge", text, {_labels(topic=topic): count for topic, count in sorted(lost.items())})
    yield _family("current_rows", "gauge", "Rows that wait for a rollup, duplicates counted.", waiting)
    if report is not None:
        yield from _of_audit(report)


def _of_lag(lag: LagReport, now_ms: int) -> Iterator[str]:
    text = "Age of the oldest record that is neither a row nor in the quarantine; 0 if there is none."
    yield _family("freshness_seconds", "gauge", text, {(): lag.freshness_seconds(now_ms)})
    of_partitions = {_labels(topic=each.topic, partition=str(each.partition)): each.records for each in lag.partitions}
    yield _family("lag_records", "gauge", "Offsets that are not read yet.", of_partitions)
    ages = {_labels(topic=topic): seconds for topic, (_, seconds) in lag.by_topic(now_ms).items()}
    yield _family("topic_freshness_seconds", "gauge", "As freshness_seconds, of a topic.", ages)
    absent = {_labels(topic=topic): 1 for topic in lag.absent}
    yield _family("absent_topic", "gauge", "A topic of the configuration that there is none of.", absent)


def _of_audit(report: Mapping[str, Any]) -> Iterator[str]:
    hours = report["hours"][-500:]
    of_hours = {_labels(topic=each["topic"], hour=each["hour"]): each["completeness"] for each in hours}
    yield _family("completeness", "gauge", "Of the events of an hour, the part that tables have; 1 is all.", of_hours)
    wrong = {_labels(topic=each["topic"], hour=each["hour"]): len(each["problems"]) for each in hours}
    yield _family("audit_problems", "gauge", "What the last audit found wrong with an hour.", wrong)
    lost = len(report.get("losses", ())) + len(report.get("gaps", ()))
    yield _family(
        "audit_losses", "gauge", "Ranges of offsets that were never read, as the last audit found.", {(): lost}
    )
    yield _family(
        "audit_time_seconds", "gauge", "When the last audit was (seconds since 1970).", {(): report["at_ms"] / 1000}
    )


def _family(name: str, kind: str, text: str, values: Mapping[tuple[str, ...], float]) -> str:
    whole = f"kafkapy_warehouse_{name}"
    return head(whole, kind, text) + "".join(sample(whole, labels, value) for labels, value in values.items())


def _labels(**labels: str) -> tuple[str, ...]:
    return tuple(label(name, value) for name, value in labels.items())


def status_text(state: State, lag: LagReport | None = None, now_ms: int = 0) -> str:
    """Return the status: one line for each table and hour, the newest last; the ledger's position and lag."""
    lines = [f"{'table':28} {'hour':13} {'rolled up':>12} {'came twice':>12} {'in current':>12}"]
    for table in sorted(state.tables):
        current = state.current_rows(table)
        hours = {hour for name, hour in state.generations if name == table} | current.keys()
        for hour in sorted(hours)[-48:]:
            generation = state.generations.get((table, hour))
            rows, dropped = (generation.rows, generation.dropped) if generation else ("-", "-")
            lines.append(f"{state.tables[table].view:28} {hour:13} {rows:>12} {dropped:>12} {current.get(hour, 0):>12}")
    lines.append(f"{state.end} batches, {state.rollups} rollups, hours before {state.cutoff} are rolled up")
    for log, partitions in sorted(state.offsets.items()):
        ends = ", ".join(f"{partition}: {end}" for partition, (_, end) in sorted(partitions.items()))
        lines.append(f"{log} is read to {ends}")
    lines += [f"LOST: {loss}" for loss in state.losses]
    return "\n".join([*lines, *(_lag_lines(lag, now_ms) if lag is not None else ())])


def _lag_lines(lag: LagReport, now_ms: int) -> Iterator[str]:
    for each in lag.partitions:
        if each.records:
            age = "" if each.since_ms is None else f", the first since {max(now_ms - each.since_ms, 0) / 1000:.1f} s"
            yield f"{each.topic} partition {each.partition}: {each.records} records wait{age}"
    for topic in lag.absent:
        yield f"There is no topic {topic}"
    age = f"{lag.freshness_seconds(now_ms):.1f} s"
    yield f"lag: {lag.records} records; freshness: {age} (age of the oldest record that is not in a table)"
