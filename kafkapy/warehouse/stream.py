"""The command `run`: batches fill current, and rollups move finished hours, each in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from kafkapy.errors import AuthorizationError, SaslAuthenticationFailedError
from kafkapy.warehouse.cluster import TopicLogs
from kafkapy.warehouse.config import ConfigError
from kafkapy.warehouse.file_system import FileExists
from kafkapy.warehouse.lag import LagWatch
from kafkapy.warehouse.ledger import LedgerError
from kafkapy.warehouse.metrics import CommittedBatch, RunProgress
from kafkapy.warehouse.plan import (
    BatchPlan,
    Bounds,
    LogLook,
    Looks,
    PlanRules,
    RecordsLostError,
    falls_short,
    plan_batch,
)
from kafkapy.warehouse.rollup import OutrunError, roll_up
from kafkapy.warehouse.session import SparkJobs, session_has_ended
from kafkapy.warehouse.snapshot import Hour
from kafkapy.warehouse.supervision import Worker
from kafkapy.warehouse.tasks import run_batch
from kafkapy.warehouse.warehouse import Warehouse

_log = logging.getLogger("kafkapy.warehouse")

LOOKS = 3
"""Number of checks of a log that seems shorter than before: a new leader may report that for a moment."""
SWEEP_MS = 60_000


class MadeAgainError(RuntimeError):
    """A topic was recreated while a batch was read; the batch is discarded, as its records may be of either log."""


class Stream:
    """Reads all topics, batch by batch.

    Args:
        on_batch: Called with each committed batch.
        cluster: The cluster to read. Default: the configuration's.
        told: Called with each error, and with None after a recovery.
    """

    def __init__(
        self,
        warehouse: Warehouse,
        on_batch: Callable[[CommittedBatch], object] = lambda batch: None,
        cluster: TopicLogs | None = None,
        told: Callable[[Exception | None], object] = lambda error: None,
    ) -> None:
        self._warehouse = warehouse
        self._on_batch = on_batch
        self._cluster = cluster or TopicLogs(warehouse.config)
        self._told = told
        self._absent: set[str] = set()
        self._target: Looks | None = None
        """The end offsets at the start, at which a stream with `available_now` ends."""
        self._available_now = False

    def start(self, available_now: bool = False) -> Worker:
        """Start the thread. `available_now`: it ends at the offsets that were the end at its start."""
        worker = self.worker(available_now)
        worker.start()
        return worker

    def worker(self, available_now: bool = False) -> Worker:
        self._available_now = available_now
        spark = self._warehouse.spark
        jobs = SparkJobs(spark, "ingestion")
        return Worker(
            "Reading", jobs.naming(self.step), lambda error: is_permanent(spark, error), self._told, jobs.cancel
        )

    def step(self) -> float | None:
        """Plan a batch and run it, if there are records. Return the seconds until the next; None after the last."""
        warehouse = self._warehouse
        now = warehouse.time.milliseconds()
        number, plan = warehouse.state.end, self._plan(now)
        if plan.is_due:
            self._batch(number, plan, now)
        if plan.more:
            return 0.0
        if self._available_now:
            return None
        trigger = warehouse.config.trigger_seconds * 1000
        return (trigger - warehouse.time.milliseconds() % trigger) / 1000

    def _plan(self, now: int) -> BatchPlan:
        config, state = self._warehouse.config, self._warehouse.state
        looks = self._look()
        if self._available_now:
            self._target = self._target or looks
            looks = capped(looks, self._target)
        rules = PlanRules(config.max_events_per_batch, config.starting_offsets, config.on_data_loss)
        logs = {topic: state.log_of(topic) for topic in looks}
        seen = {log.name: self._cluster.ends.get((topic, log.topic_id), {}) for topic, log in logs.items()}
        return plan_batch(state, looks, rules, now, seen)

    def _look(self) -> Looks:
        warehouse = self._warehouse
        for _ in range(LOOKS):
            looks = self._cluster.look()
            if not any(self._seems_short(topic, look) for topic, look in looks.items()):
                break
            warehouse.time.sleep(1)
        absent = {table.topic for table in warehouse.config.tables} - looks.keys()
        for topic in sorted(absent - self._absent):
            _log.warning("There is no topic %s: its events are read when it is there", topic)
        self._absent = absent
        return looks

    def _seems_short(self, topic: str, look: LogLook) -> bool:
        state = self._warehouse.state
        log = state.log_of(topic)
        positions = {partition: end for partition, (_, end) in state.offsets.get(log.name, {}).items()}
        return log.topic_id in ("", look.topic_id) and falls_short(look, positions)

    def _batch(self, number: int, plan: BatchPlan, now: int) -> None:
        warehouse = self._warehouse
        for loss in plan.losses:
            _log.error("Lost: %s", loss)
        logs = {log.topic: log for log in (*warehouse.state.logs, *plan.logs)}
        names = {topic: log.name for topic, log in logs.items()}
        directory, rows = run_batch(warehouse, number, plan.ranges, now, names)
        self._check_ids({topic: logs[topic].topic_id for topic in {each.partition.topic for each in plan.ranges}})
        batch = warehouse.commit_batch(number, directory, rows, now, plan)
        if batch is not None:
            self._on_batch(CommittedBatch.of(batch, rows, now, warehouse.time.milliseconds()))

    def _check_ids(self, read: Mapping[str, str]) -> None:
        """Compare topic ids after the read. Ids are unique, so an equal id before and after proves that the log was
        the same."""
        ids = self._cluster.topic_ids() if read else {}
        for topic, id in read.items():
            if ids.get(topic, "") != id:
                raise MadeAgainError(f"The topic {topic} was deleted, or made again, while it was read")


def capped(looks: Looks, target: Looks) -> dict[str, LogLook]:
    """Limit the ends to `target`; logs that are not in it are dropped."""
    found = {}
    for topic, look in looks.items():
        until = target.get(topic)
        if until is not None and until.topic_id == look.topic_id:
            partitions = {
                partition: Bounds(bounds.first, min(bounds.stable, until.partitions[partition].stable), bounds.end)
                for partition, bounds in look.partitions.items()
                if partition in until.partitions
            }
            found[topic] = LogLook(look.topic_id, partitions)
    return found


def hour_at(ms: float) -> Hour:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d-%H")


def due_cutoff(now_ms: int, delay_minutes: float) -> Hour:
    """Return the cutoff: hours below it ended at least `delay_minutes` ago."""
    return hour_at(now_ms - delay_minutes * 60_000)


class Rollups:
    """Rolls finished hours up, and deletes directories that no view shows."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._swept_ms = warehouse.time.monotonic_ms()

    def step(self) -> float:
        """Roll up what is due and sweep. Return the seconds until the next check of the clock."""
        warehouse = self._warehouse
        cutoff = due_cutoff(warehouse.time.milliseconds(), warehouse.config.rollup_delay_minutes)
        if cutoff > warehouse.state.cutoff and warehouse.state.moves(cutoff):
            try:
                roll_up(warehouse, cutoff)
            except (OutrunError, FileExists) as error:
                _log.info("%s", error)
        if warehouse.time.monotonic_ms() - self._swept_ms >= SWEEP_MS:
            warehouse.sweep()
            self._swept_ms = warehouse.time.monotonic_ms()
        return 1.0


def is_permanent(spark: Any, error: Exception) -> bool:
    """Return whether retrying is futile, for example because Spark's session has ended."""
    known = (RecordsLostError, ConfigError, LedgerError, AuthorizationError, SaslAuthenticationFailedError)
    return isinstance(error, known) or session_has_ended(spark)


def run(
    warehouse: Warehouse,
    stopped: threading.Event,
    available_now: bool = False,
    on_batch: Callable[[CommittedBatch], object] = lambda batch: None,
    on_round: Callable[[], None] = lambda: None,
    progress: RunProgress | None = None,
) -> None:
    """Run until `stopped` is set, or (`available_now`) all records present at the start are read.

    Raises the final error of a thread, after the retries of `supervision`, or at once if the error is permanent.

    `on_round`: called about once a second. `progress`: receives batches, errors and lags.
    """
    progress = progress or RunProgress(warehouse.time)

    def told(batch: CommittedBatch) -> None:
        progress.add(batch)
        on_batch(batch)

    cluster = TopicLogs(warehouse.config)
    stream = Stream(warehouse, told, cluster, progress.telling("reading"))
    workers = [stream.worker(available_now)]
    if not available_now:
        workers += _beside(warehouse, cluster, progress)
    for worker in workers:
        worker.start()
    try:
        while not stopped.is_set() and workers[0].isActive:
            workers[0].wait(1)
            for worker in workers:
                worker.check()
            on_round()
        workers[0].check()
    finally:
        for worker in workers:
            worker.stop()
        cluster.close()


def _beside(warehouse: Warehouse, cluster: TopicLogs, progress: RunProgress) -> list[Worker]:
    spark = warehouse.spark
    jobs = SparkJobs(spark, "rollup")
    rollups = Worker(
        "Rolling up",
        jobs.naming(Rollups(warehouse).step),
        lambda error: is_permanent(spark, error),
        progress.telling("rolling up"),
        jobs.cancel,
    )
    watch = LagWatch(warehouse.config, cluster, warehouse.time)
    return [rollups, Worker("Watching", lambda: progress.watch(watch, lambda: warehouse.state))]
