"""Moves hours' rows from current into generations of their partitions, deduplicated within the hour.

Duplicates are few, so a hash of the id finds the candidates; only rows with equal hashes are compared by id, and
duplicates are excluded by their place. So the wide rows are read once, sorted within their partition, and written.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from kafkapy.warehouse.columns import HOUR, IN_BATCH, IN_SCHEMA, ORIGIN, own_columns
from kafkapy.warehouse.snapshot import Hour, HourGeneration, Move, Rollup, State, TableDefinition, joined_offsets
from kafkapy.warehouse.view_sql import current_table, in_current, in_hours, quoted
from kafkapy.warehouse.warehouse import Warehouse

_log = logging.getLogger("kafkapy.warehouse")

MOST_BROADCAST = 1_000_000
"""Limit of hashes or places to broadcast (about 100 bytes a row in each process). Above it Spark chooses the join."""
BYTES_OF_A_TASK = 16 << 20
"""Bytes of Parquet files for each task that searches for duplicate ids."""
SMALL_HOUR_BYTES = 16 << 20
"""Bytes of Parquet files. Hours smaller than that are written in a common job."""
JOB_BYTES = 1 << 30
"""Limit of the bytes of hours written in a common job."""
_HOUR_OF_PATH = "/ds=([^/]+)/hr=([^/]+)/([^/]+/)?[^/]+$"
"""Matches the path of a generation's file; older generations have a further directory."""
PLACE = ["_batch", "_partition", "_offset"]
"""Identifies a row of a table, since a batch reads one log of each topic."""


class OutrunError(RuntimeError):
    """Another process has rolled up at the same time: this rollup is discarded."""


def roll_up(warehouse: Warehouse, cutoff: Hour, at: Callable[[str], object] = lambda step: None) -> Rollup | None:
    """Roll up all hours below `cutoff` that have rows in current; None if there are none. `at`: called before each
    step (a hook for tests). Raises OutrunError, and Spark's errors."""
    with warehouse.lock:
        warehouse.reload()
        state = warehouse.state
    moves = state.moves(cutoff)
    if not moves:
        return None
    generations = []
    for together in _groups(warehouse, moves):
        generations += _generations(warehouse, state, together)
        at(f"wrote {together[0].table} {', '.join(move.hour for move in together)}")

    def record(now: State) -> Rollup:
        # Batches committed meanwhile stay in current: the boundary is the end read at the start.
        if now.rollups != state.rollups:
            raise OutrunError("Another process has rolled up at the same time: this rollup comes to nothing")
        done = max(cutoff, now.cutoff)
        return Rollup(now.rollups, state.end, done, tuple(generations), warehouse.time.milliseconds())

    rollup = warehouse.commit_rollup(record)
    _log.info("Rolled up %s", ", ".join(f"{each.table} {each.hour}: {each.rows} rows" for each in generations))
    return rollup


def _groups(warehouse: Warehouse, moves: Sequence[Move]) -> Iterator[list[Move]]:
    """Group a table's hours by job. A large hour has its own, so that its rows need no shuffle."""
    small: dict[str, list[tuple[Move, int]]] = {}
    for move in moves:
        size = _size(warehouse, move)
        if size > SMALL_HOUR_BYTES:
            yield [move]
        else:
            small.setdefault(move.table, []).append((move, size))
    for found in small.values():
        together: list[Move] = []
        total = 0
        for move, size in found:
            if together and total + size > JOB_BYTES:
                yield together
                together, total = [], 0
            together.append(move)
            total += size
        yield together


def _size(warehouse: Warehouse, move: Move) -> int:
    """Estimate the bytes of the hour's rows. Files of a batch may contain several hours."""
    size = warehouse.files.size(move.before.path)[1] if move.before is not None else 0
    for _, part in move.parts:
        whole = sum(part.hours.values())
        size += warehouse.files.size(part.path)[1] * part.hours[move.hour] // max(whole, 1)
    return size


def _generations(warehouse: Warehouse, state: State, moves: Sequence[Move]) -> list[HourGeneration]:
    """Write the generations of one table's `moves`."""
    table = state.tables[moves[0].table]
    columns = _columns(table)
    numbers = sorted({number for move in moves for number, _ in move.parts})
    hours = in_hours("", [move.hour for move in moves])
    where = f"{in_current(state.snapshot(table.name))} AND {hours}"
    where += f" AND {IN_BATCH} IN ({', '.join(repr(f'{number:012}') for number in numbers)})"
    rows = warehouse.spark.table(current_table(warehouse.config.database, table)).where(where)
    rows = rows.withColumn("_batch", rows[IN_BATCH].cast("long")).withColumn("_schema", rows[IN_SCHEMA].cast("int"))
    rows = rows.selectExpr(*columns)
    counts = {move.hour: sum(part.hours[move.hour] for _, part in move.parts) for move in moves}
    before = [move.before for move in moves if move.before is not None]
    if before:
        rows = rows.unionByName(read_generations(warehouse, table, before).selectExpr(*columns))
        for each in before:
            counts[each.hour] += each.rows
    return write_generations(warehouse, table, rows, counts, max(1, sum(_size(warehouse, move) for move in moves)))


def _columns(table: TableDefinition) -> list[str]:
    """Return the columns as expressions, since a field's name may contain any character."""
    return [quoted(name) for name in (*own_columns(table.columns, table.kind).names, *ORIGIN.names, *HOUR.names)]


def read_generations(warehouse: Warehouse, table: TableDefinition, generations: Sequence[HourGeneration]) -> Any:
    """Read the generations' rows, with columns for the hour."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    schema = StructType([*own_columns(table.columns, table.kind).fields, *ORIGIN.fields])
    rows = warehouse.spark.read.schema(schema).parquet(*(warehouse.files.url(each.path) for each in generations))
    place = f.col("_metadata.file_path")
    return rows.select(
        "*",
        *(f.regexp_extract(place, _HOUR_OF_PATH, group).alias(name) for group, name in enumerate(HOUR.names, 1)),
    )


def write_generations(
    warehouse: Warehouse, table: TableDefinition, rows: Any, counts: Mapping[Hour, int], size: int
) -> list[HourGeneration]:
    """Write new generations of a table's hours.

    Args:
        rows: The hours' rows with `ds` and `hr`, duplicates included.
        counts: Number of rows by hour; 0: not known.
        size: Estimated bytes of their files.
    """
    tasks = max(warehouse.spark.sparkContext.defaultParallelism, size // BYTES_OF_A_TASK)
    with (
        _counted(_twice(rows, table.kind, tasks)) as (twice, _),
        _counted(_losers(rows, table.kind, twice, tasks)) as (losers, lost),
    ):
        if lost:
            rows = rows.join(losers, PLACE, "left_anti")
        directory = f"hours/{table.name}/g{warehouse.state.rollups:09}-{uuid4().hex[:8]}"
        files = max(math.ceil(size / (warehouse.config.file_mib << 20)), 1)
        if files > 1 or size > 32 << 20:
            files = max(files, min(warehouse.spark.sparkContext.defaultParallelism, size >> 24))
        rows = rows.selectExpr(*_columns(table))
        # A job of several hours has small ones: each hour's rows go to one task, which writes one file.
        rows = rows.coalesce(files) if len(counts) == 1 else rows.repartition(files, *HOUR.names)
        ordered = rows.sortWithinPartitions(*HOUR.names, "_event_time", "_event_id")
        ordered.write.partitionBy(*HOUR.names).parquet(warehouse.files.url(directory), compression="zstd")
    made = _described(warehouse, table, directory, counts)
    expected, found = sum(counts.values()), sum(each.rows for each in made) + lost
    if all(counts.values()) and found != expected:
        hours = ", ".join(counts)
        raise RuntimeError(
            f"{hours} of {table.name}: batches and hours have {expected} rows by the ledger, and {found} were read. Files "
            "are missing, or damaged: nothing is changed. `audit` says which; `backfill` builds an hour again from its topic"
        )
    return made


@contextmanager
def _counted(rows: Any) -> Iterator[tuple[Any, int]]:
    """Persist rows that are usually few, and return them with their number; a small number is broadcast, so that the
    large side of the join is not shuffled."""
    from pyspark.sql import functions as f

    kept = rows.persist()
    try:
        count = kept.count()
        yield (f.broadcast(kept) if count <= MOST_BROADCAST else kept), count
    finally:
        kept.unpersist()


def _hashed(rows: Any, kind: str) -> Any:
    from pyspark.sql import functions as f

    return rows.withColumn("_hash", f.xxhash64(*HOUR.names, _identity(kind)))


def _identity(kind: str) -> str:
    return "_key" if kind == "changes" else "_event_id"


def _twice(rows: Any, kind: str, tasks: int) -> Any:
    """Return the hashes of hour and id (of hour and key, in a table of changes) that several rows have."""
    from pyspark.sql import functions as f

    # Duplicates are rare, so a partial aggregation before the shuffle gains nothing. The number of tasks is given,
    # since # Spark's default of 200 take longer to start than to run.
    hashes = _hashed(rows, kind).select("_hash").repartition(tasks, "_hash")
    return hashes.groupBy("_hash").agg(f.count("*").alias("_count")).where("_count > 1").select("_hash")


def _losers(rows: Any, kind: str, twice: Any, tasks: int) -> Any:
    """Return the places of superseded rows: in each hour all but the first of an id, and all but the last of a key."""
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    identity, order = _identity(kind), "desc" if kind == "changes" else "asc"
    places = [getattr(f.col(name), order)() for name in PLACE]
    rank = f.row_number().over(Window.partitionBy(*HOUR.names, identity).orderBy(*places))
    candidates = _hashed(rows, kind).join(twice, "_hash", "left_semi").repartition(tasks, *HOUR.names, identity)
    return candidates.withColumn("_rank", rank).where("_rank > 1").select(*PLACE)


def _described(
    warehouse: Warehouse, table: TableDefinition, directory: str, counts: Mapping[Hour, int]
) -> list[HourGeneration]:
    """Describe the written generations, and write the offsets of each hour's rows to a file in its directory, for
    readers that find the directory."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    schema = StructType([*own_columns(table.columns, table.kind).fields, *ORIGIN.fields, *HOUR.fields])
    written = warehouse.spark.read.schema(schema).parquet(warehouse.files.url(directory))
    topic = f.lit(table.topic) if table.topic else f.col("topic")
    groups = written.groupBy(*HOUR.names, topic.alias("_topic"), "_batch", "_partition")
    found: dict[Hour, list[Any]] = {hour: [] for hour in counts}
    for row in groups.agg(f.min("_offset"), f.max("_offset"), f.count("*")).collect():
        found[f"{row[0]}-{row[1]}"].append(row[2:])
    return [_generation(warehouse, table.name, hour, directory, found[hour], counts[hour]) for hour in counts]


def _generation(
    warehouse: Warehouse, table: str, hour: Hour, directory: str, groups: Sequence[Any], count: int
) -> HourGeneration:
    """Build the ledger's entry. `groups`: topic, batch and partition, with first and last offset and number of
    rows."""
    logs = {(topic, batch): warehouse.state.log_of(topic, batch) for topic, batch, *_ in groups}
    offsets = joined_offsets(
        [{logs[topic, batch].name: {part: (first, last + 1)}} for topic, batch, part, first, last, _ in groups]
    )
    rows = sum(group[-1] for group in groups)
    path = f"{directory}/ds={hour[:10]}/hr={hour[11:]}"
    ids = {log.name: log for log in logs.values()}
    told = {
        "rows": rows,
        "logs": [
            {
                "topic": ids[name].topic,
                "topic_id": ids[name].topic_id,
                "offsets": {str(partition): list(bounds) for partition, bounds in sorted(partitions.items())},
            }
            for name, partitions in sorted(offsets.items())
        ],
    }
    warehouse.files.create(f"{path}/_offsets.json", json.dumps(told, sort_keys=True).encode())
    return HourGeneration(table, hour, path, rows, max(count - rows, 0), offsets)
