"""An hour's rows go from current into a generation of its partition, each event once.

Duplicates are few, so they are looked for by a hash of the id alone; only rows whose hash is there twice are compared whole, and
the ones that lose are left out by their place. The wide rows are read once, sorted where they are, and written.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from kafkapy.warehouse.columns import IN_BATCH, IN_SCHEMA, ORIGIN, own_columns
from kafkapy.warehouse.snapshot import Hour, HourGeneration, Move, Rollup, State, TableDefinition
from kafkapy.warehouse.view_sql import current_table, in_current
from kafkapy.warehouse.warehouse import Warehouse

_log = logging.getLogger("kafkapy.warehouse")

MOST_BROADCAST = 1_000_000
"""Hashes, or places of rows that lose, of which each process gets a copy (some 100 bytes a row). Above that Spark itself decides
how to join."""
BYTES_OF_A_TASK = 16 << 20
"""Of an hour's Parquet files, for each task that looks for ids which are there twice."""


class OutrunError(RuntimeError):
    """Another process has rolled up at the same time: this rollup comes to nothing."""


def roll_up(warehouse: Warehouse, cutoff: Hour, at: Callable[[str], object] = lambda step: None) -> Rollup | None:
    """All hours below `cutoff` that have rows in current; None if there are none. `at`: told of each step (tests stop there).
    Raises OutrunError, and what Spark raises."""
    with warehouse.lock:
        warehouse.reload()
        state = warehouse.state
    moves = state.moves(cutoff)
    if not moves:
        return None
    generations = []
    for move in moves:
        generations.append(_generation(warehouse, state, move))
        at(f"wrote {move.table} {move.hour}")

    def record(now: State) -> Rollup:
        # Batches that came meanwhile stay in current: the boundary is the end that was seen at first.
        if now.rollups != state.rollups:
            raise OutrunError("Another process has rolled up at the same time: this rollup comes to nothing")
        done = max(cutoff, now.cutoff)
        return Rollup(now.rollups, state.end, done, tuple(generations), warehouse.time.milliseconds())

    rollup = warehouse.commit_rollup(record)
    _log.info("Rolled up %s", ", ".join(f"{each.table} {each.hour}: {each.rows} rows" for each in generations))
    return rollup


def _generation(warehouse: Warehouse, state: State, move: Move) -> HourGeneration:
    table = state.tables[move.table]
    columns = [*own_columns(table.columns, table.kind).names, *ORIGIN.names]
    where = in_current(state.snapshot(move.table), move.hour)
    numbers = sorted({number for number, _ in move.parts})
    where += f" AND {IN_BATCH} IN ({', '.join(repr(f'{number:012}') for number in numbers)})"
    rows = warehouse.spark.table(current_table(warehouse.config.database, table)).where(where)
    rows = rows.withColumn("_batch", rows[IN_BATCH].cast("long")).withColumn("_schema", rows[IN_SCHEMA].cast("int"))
    rows = rows.select(*columns)
    count = sum(part.hours[move.hour] for _, part in move.parts)
    paths = [part.path for _, part in move.parts]
    if move.before is not None:
        rows = rows.unionByName(read_generation(warehouse, table, move.before).select(*columns))
        count += move.before.rows
        paths.append(move.before.path)
    share = max(1, sum(warehouse.files.size(path)[1] for path in dict.fromkeys(paths)))
    return write_generation(warehouse, table, move.hour, rows, count, share)


def read_generation(warehouse: Warehouse, table: TableDefinition, generation: HourGeneration) -> Any:
    from pyspark.sql.types import StructType

    schema = StructType([*own_columns(table.columns, table.kind).fields, *ORIGIN.fields])
    return warehouse.spark.read.schema(schema).parquet(warehouse.files.url(generation.path))


def write_generation(
    warehouse: Warehouse, table: TableDefinition, hour: Hour, rows: Any, count: int, size: int
) -> HourGeneration:
    """`rows`: those of the hour, some of them twice; `count`, `size`: how many (0: not known) and about how many bytes."""
    tasks = max(warehouse.spark.sparkContext.defaultParallelism, size // BYTES_OF_A_TASK)
    with (
        _counted(_twice(rows, table.kind, tasks)) as (twice, _),
        _counted(_losers(rows, table.kind, twice, tasks)) as (losers, lost),
    ):
        if lost:
            rows = rows.join(losers, ["_partition", "_offset"], "left_anti")
        path = f"hours/{table.name}/ds={hour[:10]}/hr={hour[11:]}/g{warehouse.state.rollups:09}-{uuid4().hex[:8]}"
        files = max(math.ceil(size / (warehouse.config.file_mib << 20)), 1)
        if files > 1 or size > 32 << 20:
            files = max(files, min(warehouse.spark.sparkContext.defaultParallelism, size >> 24))
        names = [*own_columns(table.columns, table.kind).names, *ORIGIN.names]
        sorted_rows = rows.select(*names).coalesce(files).sortWithinPartitions("_event_time", "_event_id")
        sorted_rows.write.parquet(warehouse.files.url(path), compression="zstd")
    made = _described(warehouse, table, hour, path, count)
    if count and made.rows + lost != count:
        told = f"{hour} of {table.name} has {count} rows in its batches, of which {made.rows + lost} were read"
        raise RuntimeError(f"{told}: nothing is changed")
    return made


@contextmanager
def _counted(rows: Any) -> Iterator[tuple[Any, int]]:
    """Rows that are few as a rule, worked out and kept, and their number. They are joined with many, which need not be shuffled
    if each task can have all of these."""
    from pyspark.sql import functions as f

    kept = rows.persist()
    try:
        count = kept.count()
        yield (f.broadcast(kept) if count <= MOST_BROADCAST else kept), count
    finally:
        kept.unpersist()


def _hashed(rows: Any, kind: str) -> Any:
    from pyspark.sql import functions as f

    return rows.withColumn("_hash", f.xxhash64(_identity(kind)))


def _identity(kind: str) -> str:
    return "_key" if kind == "changes" else "_event_id"


def _twice(rows: Any, kind: str, tasks: int) -> Any:
    """Hashes of ids (of keys, in a table of changes) that several rows have."""
    from pyspark.sql import functions as f

    # Hardly any is there twice, so to count them before they are shuffled gains nothing. What is kept has as many tasks as its
    # shuffle: 200 where nothing is said, which take longer to start than to run.
    hashes = _hashed(rows, kind).select("_hash").repartition(tasks, "_hash")
    return hashes.groupBy("_hash").agg(f.count("*").alias("_count")).where("_count > 1").select("_hash")


def _losers(rows: Any, kind: str, twice: Any, tasks: int) -> Any:
    """Places of rows that stay behind: of each id all but the first, of each key all but the last."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    identity, order = _identity(kind), "desc" if kind == "changes" else "asc"
    places = [getattr(f.col(name), order)() for name in ("_batch", "_partition", "_offset")]
    rank = f.row_number().over(Window.partitionBy(identity).orderBy(*places))
    candidates = _hashed(rows, kind).join(twice, "_hash", "left_semi").repartition(tasks, identity)
    return candidates.withColumn("_rank", rank).where("_rank > 1").select("_partition", "_offset")


def _described(warehouse: Warehouse, table: TableDefinition, hour: Hour, path: str, count: int) -> HourGeneration:
    """What is in it, as it was written: its offsets are in a file beside the rows, too, for whoever finds the directory."""
    from pyspark.sql import functions as f

    written = warehouse.spark.read.parquet(warehouse.files.url(path))
    found = written.groupBy("_partition").agg(f.min("_offset"), f.max("_offset"), f.count("*")).collect()
    offsets = {table.topic: {row[0]: (row[1], row[2] + 1) for row in found}}
    rows = sum(row[3] for row in found)
    generation = HourGeneration(table.name, hour, path, rows, max(count - rows, 0), offsets)
    told = {"topic": table.topic, "offsets": {str(row[0]): [row[1], row[2] + 1] for row in found}, "rows": rows}
    warehouse.files.create(f"{path}/_offsets.json", json.dumps(told, sort_keys=True).encode())
    return generation


def hours_between(first: Hour, last: Hour) -> Iterable[Hour]:
    """Both included."""
    import numpy as np

    begin, end = (np.datetime64(f"{hour[:10]}T{hour[11:]}", "h") for hour in (first, last))
    for each in np.arange(begin, end + 1):
        yield str(each).replace("T", "-")
