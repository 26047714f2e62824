"""`run`: the streaming query that fills current, and beside it a rollup whenever an hour is over."""

from __future__ import annotations

import json
import logging
import threading
import time as clock
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kafkapy.consumer.range_reader import EARLIEST
from kafkapy.warehouse.client_options import client_options
from kafkapy.warehouse.file_system import FileExists
from kafkapy.warehouse.rollup import OutrunError, roll_up
from kafkapy.warehouse.snapshot import Batch, Hour, State
from kafkapy.warehouse.tasks import run_batch
from kafkapy.warehouse.warehouse import Warehouse

_log = logging.getLogger("kafkapy.warehouse")


class CheckpointError(Exception):
    """Checkpoint and ledger do not fit each other; the text says what to do."""


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
        tables = {part.table: sum(batch.rows(part.table).values()) for part in batch.parts}
        ends = min(oldest, default=None), max(newest, default=None)
        return cls(batch.number, tables, began_ms, done_ms, *ends, sum(each["no_id"] for each in told))


class Stream:
    """One query over all topics. `on_batch`: told of each batch that is committed."""

    def __init__(self, warehouse: Warehouse, on_batch: Callable[[CommittedBatch], object] = lambda batch: None) -> None:
        self._warehouse = warehouse
        self._on_batch = on_batch
        self._base = 0
        self._query: Any = None

    def start(self, available_now: bool = False) -> Any:
        """The query. `available_now`: it ends when it has read what was there."""
        warehouse = self._warehouse
        config = warehouse.config
        fresh = not warehouse.files.names("_checkpoint")
        self._base = self._checkpoint()
        reader = warehouse.spark.readStream.format("kafkapy-ranges")
        options = {
            **warehouse.source_options(),
            "maxOffsetsPerTrigger": str(config.max_events_per_batch),
            "minPartitions": str(warehouse.spark.sparkContext.defaultParallelism),
            "startingOffsets": config.starting_offsets,
        }
        if fresh and warehouse.state.offsets:
            partitions = partitions_of(warehouse)
            options["startingOffsets"] = starting_offsets(warehouse.state, config.starting_offsets, partitions)
        for name, value in options.items():
            reader = reader.option(name, value)
        trigger: dict[str, Any] = (
            {"availableNow": True}
            if available_now
            else {"processingTime": f"{int(config.trigger_seconds * 1000)} milliseconds"}
        )
        writer = reader.load().writeStream.foreachBatch(self._batch).trigger(**trigger)
        place = warehouse.files.url(f"_checkpoint/{self._base:012}")
        self._query = writer.option("checkpointLocation", place).queryName(f"warehouse {config.database}").start()
        return self._query

    def _checkpoint(self) -> int:
        """The number of the batch that Spark calls 0: the name of the checkpoint's directory says it."""
        files = self._warehouse.files
        found = [int(name) for name in files.names("_checkpoint") if name.isdigit()]
        if found:
            return max(found)
        files.make_directory(f"_checkpoint/{self._warehouse.state.end:012}")
        return self._warehouse.state.end

    def _batch(self, ranges: Any, spark_number: int) -> None:
        warehouse = self._warehouse
        number = self._base + spark_number
        if number < warehouse.state.end:  # it was committed, and Spark was stopped before it knew
            return
        if number > warehouse.state.end:
            raise CheckpointError(
                f"Spark's checkpoint is at batch {number}, but the ledger ends with batch {warehouse.state.end - 1}. One of "
                "them is not of this warehouse: put the ledger back, or delete the directory _checkpoint to go on where "
                "the ledger ends"
            )
        now = warehouse.time.milliseconds()
        directory, rows = run_batch(warehouse, number, ranges, now)
        batch = warehouse.commit_batch(number, directory, rows, now)
        if batch is not None:
            self._on_batch(CommittedBatch.of(batch, rows, now, warehouse.time.milliseconds()))


def starting_offsets(state: State, first: str, partitions: Mapping[str, Iterable[int]]) -> str:
    """Where the ledger ends; partitions that it does not know from their beginning. Without a ledger: as configured.
    `partitions`: of all topics."""
    if not state.offsets:
        return first
    known = {
        topic: {str(each): state.offsets.get(topic, {}).get(each, (0, EARLIEST))[1] for each in sorted(numbers)}
        for topic, numbers in partitions.items()
    }
    return json.dumps(known)


def partitions_of(warehouse: Warehouse) -> dict[str, set[int]]:
    """Of the topics that there are. Raises what a client raises."""
    from kafkapy import KafkaConsumer

    with KafkaConsumer(**client_options(warehouse.config.kafka)) as consumer:
        found = {table.topic: consumer.partitions_for_topic(table.topic) for table in warehouse.config.tables}
    return {topic: set(numbers) for topic, numbers in found.items() if numbers}


def hour_at(ms: float) -> Hour:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d-%H")


def due_cutoff(now_ms: int, delay_minutes: float) -> Hour:
    """Hours below it have been over for the delay."""
    return hour_at(now_ms - delay_minutes * 60_000)


def run(
    warehouse: Warehouse,
    stopped: threading.Event,
    available_now: bool = False,
    on_batch: Callable[[CommittedBatch], object] = lambda batch: None,
    on_round: Callable[[], None] = lambda: None,
) -> None:
    """Until it is stopped, or the query ends; raises what the query fails with."""
    stream = Stream(warehouse, on_batch)
    query = stream.start(available_now)
    swept = clock.monotonic()
    try:
        while not stopped.is_set() and query.isActive:
            query.awaitTermination(1)
            if not available_now:
                swept = _housekeeping(warehouse, swept)
            on_round()
        if query.exception() is not None:
            raise query.exception()
    finally:
        if query.isActive:
            query.stop()


def _housekeeping(warehouse: Warehouse, swept: float) -> float:
    cutoff = due_cutoff(warehouse.time.milliseconds(), warehouse.config.rollup_delay_minutes)
    if cutoff > warehouse.state.cutoff and warehouse.state.moves(cutoff):
        try:
            roll_up(warehouse, cutoff)
        except (OutrunError, FileExists) as error:
            _log.info("%s", error)
    if clock.monotonic() - swept > 60:
        warehouse.sweep()
        swept = clock.monotonic()
    return swept
