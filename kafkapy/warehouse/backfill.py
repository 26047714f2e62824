"""Hours built again from the topics: the same rows, since the ledger knows with which batch each offset came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.offset_ranges import OffsetRange, divide
from kafkapy.warehouse.columns import HOUR, ORIGIN, own_columns
from kafkapy.warehouse.ranges_source import RANGES
from kafkapy.warehouse.rollup import write_generation
from kafkapy.warehouse.snapshot import Batch, Hour, HourGeneration, Offsets, Rollup, State, joined_offsets
from kafkapy.warehouse.tasks import run_tasks
from kafkapy.warehouse.warehouse import Warehouse


class BackfillError(Exception):
    """An hour cannot be built again; the text says why."""


def backfill(warehouse: Warehouse, hours: Sequence[Hour], tables: Sequence[str] = ()) -> list[HourGeneration]:
    """`tables`: all that have the hours, if none is named. Raises BackfillError; DataLossError in Spark's error if the topic has
    lost what is needed: tables stay as they were then."""
    warehouse.reload()
    state = warehouse.state
    old = _chosen(state, hours, tables)
    offsets = joined_offsets([each.offsets for each in old])
    scratch = f"backfill/{uuid4().hex[:8]}"
    try:
        settings = warehouse.settings(scratch, 0, batches_by_place(warehouse.ledger.history(state)))
        run_tasks(warehouse, _ranges(warehouse, offsets), settings, scratch)
        made = [_build(warehouse, state, each, scratch) for each in old]

        def record(now: State) -> Rollup:
            if now.rollups != state.rollups:
                raise BackfillError("A rollup has come between: try again")
            return Rollup(now.rollups, now.boundary, now.cutoff, tuple(made), warehouse.time.milliseconds())

        warehouse.commit_rollup(record)
    finally:
        warehouse.files.delete(scratch)
    return made


def _chosen(state: State, hours: Sequence[Hour], tables: Sequence[str]) -> list[HourGeneration]:
    unknown = sorted(set(tables) - state.tables.keys())
    if unknown:
        raise BackfillError(f"There is no table {', '.join(unknown)}; there is {', '.join(sorted(state.tables))}")
    found = [
        each
        for (table, hour), each in sorted(state.generations.items(), key=lambda item: item[0])
        if hour in hours and state.tables[table].topic and (not tables or table in tables)
    ]
    missing = sorted(set(hours) - {each.hour for each in found})
    if missing:
        raise BackfillError(f"No hour {', '.join(missing)} has been rolled up: its rows, if any, are in current")
    return found


def batches_by_place(history: Iterable[Batch]) -> dict[str, tuple[list[int], list[int], list[int]]]:
    """By "topic partition" the ends of batches, their numbers and their times (ms), for `IngestSettings.batches`."""
    found: dict[str, tuple[list[int], list[int], list[int]]] = {}
    for batch in history:
        for topic, partitions in batch.offsets.items():
            for partition, (start, end) in partitions.items():
                if end > start:
                    ends, numbers, times = found.setdefault(f"{topic} {partition}", ([], [], []))
                    ends.append(end)
                    numbers.append(batch.number)
                    times.append(batch.at_ms)
    return found


def _ranges(warehouse: Warehouse, offsets: Offsets) -> Any:
    """As many tasks as there are cores, at least."""
    whole = [
        OffsetRange(TopicPartition(topic, partition), start, end)
        for topic, partitions in offsets.items()
        for partition, (start, end) in partitions.items()
    ]
    cores = warehouse.spark.sparkContext.defaultParallelism
    rows = [(*each.partition, each.start, each.until) for each in divide(whole, cores)]
    return warehouse.spark.createDataFrame(rows, RANGES).repartition(max(len(rows), 1))


def _build(warehouse: Warehouse, state: State, old: HourGeneration, scratch: str) -> HourGeneration:
    from pyspark.sql.types import StructType

    table = state.tables[old.table]
    own = own_columns(table.columns, table.kind).fields
    paths = [f"{scratch}/{table.topic}/s={schema}" for schema in table.schemas]
    found = [path for path in paths if warehouse.files.names(path)]
    if not found:
        raise BackfillError(f"The topic {table.topic} has no event of {old.table} for the hour {old.hour} any more")
    reader = warehouse.spark.read.schema(StructType([*own, *ORIGIN.fields, *HOUR.fields]))
    rows = reader.parquet(*map(warehouse.files.url, found))
    # What came with later batches is in current, and stays there.
    rows = rows.where(f"ds = '{old.hour[:10]}' AND hr = '{old.hour[11:]}' AND _batch < {state.boundary}")
    made = write_generation(warehouse, table, old.hour, rows, 0, warehouse.files.size(old.path)[1])
    return HourGeneration(**{**made._asdict(), "dropped": old.dropped})
