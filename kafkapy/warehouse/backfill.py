"""Rebuilds hours from the topics. The rows are the same, because the ledger has the batch of each offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import uuid4

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.offset_ranges import OffsetRange
from kafkapy.warehouse.columns import HOUR, ORIGIN, own_columns
from kafkapy.warehouse.rollup import write_generations
from kafkapy.warehouse.snapshot import Batch, Hour, HourGeneration, Rollup, State, joined_offsets
from kafkapy.warehouse.tasks import run_tasks
from kafkapy.warehouse.warehouse import Warehouse


class BackfillError(Exception):
    """An hour cannot be rebuilt; the message says why."""


def backfill(warehouse: Warehouse, hours: Sequence[Hour], tables: Sequence[str] = ()) -> list[HourGeneration]:
    """Rebuild hours. `tables`: default all with these hours.

    Raises BackfillError, and DataLossError within Spark's error if the topic has lost needed records; tables are
    unchanged then.
    """
    warehouse.reload()
    state = warehouse.state
    old = _chosen(state, hours, tables)
    _check_logs(state, old)
    ranges = [
        OffsetRange(TopicPartition(topic, partition), first, end)
        for topic in sorted({state.tables[each.table].topic for each in old})
        for partition, (first, end) in joined_offsets([each.offsets for each in old])[state.log_of(topic).name].items()
    ]
    scratch = f"backfill/{uuid4().hex[:8]}"
    try:
        logs = {each.partition.topic: state.log_of(each.partition.topic).name for each in ranges}
        batches = batches_by_place(warehouse.ledger.history(state), {log: topic for topic, log in logs.items()})
        run_tasks(warehouse, ranges, warehouse.settings(scratch, 0, logs, batches), scratch)
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
    views = {table.view for table in state.tables.values()}
    unknown = sorted(set(tables) - views)
    if unknown:
        raise BackfillError(f"There is no table {', '.join(unknown)}; there is {', '.join(sorted(views))}")
    found = [
        each
        for (table, hour), each in sorted(state.generations.items(), key=lambda item: item[0])
        if hour in hours and state.tables[table].topic and (not tables or state.tables[table].view in tables)
    ]
    missing = sorted(set(hours) - {each.hour for each in found})
    if missing:
        raise BackfillError(f"No hour {', '.join(missing)} has been rolled up: its rows, if any, are in current")
    return found


def _check_logs(state: State, hours: Iterable[HourGeneration]) -> None:
    """Raise BackfillError if the rows are from deleted topics."""
    for each in hours:
        topic = state.tables[each.table].topic
        gone = sorted(each.offsets.keys() - {state.log_of(topic).name})
        if gone:
            raise BackfillError(
                f"The hour {each.hour} of {each.table} has events of a topic {topic} that is gone: it was deleted and made again "
                f"({', '.join(gone)} in the ledger). What the hour has is all that is left of them"
            )


def batches_by_place(
    history: Iterable[Batch], topics: Mapping[str, str]
) -> dict[str, tuple[list[int], list[int], list[int]]]:
    """By "topic partition" the ends of batches, their numbers and their times (ms), for `IngestSettings.batches`. `topics`: those
    of the logs that count."""
    found: dict[str, tuple[list[int], list[int], list[int]]] = {}
    for batch in history:
        for log, partitions in batch.offsets.items():
            for partition, (start, end) in partitions.items():
                if end > start and log in topics:
                    ends, numbers, times = found.setdefault(f"{topics[log]} {partition}", ([], [], []))
                    ends.append(end)
                    numbers.append(batch.number)
                    times.append(batch.at_ms)
    return found


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
    # Rows of later batches are in current, and remain there.
    rows = rows.where(f"ds = '{old.hour[:10]}' AND hr = '{old.hour[11:]}' AND _batch < {state.boundary}")
    (made,) = write_generations(warehouse, table, rows, {old.hour: 0}, warehouse.files.size(old.path)[1])
    return made._replace(dropped=old.dropped)
