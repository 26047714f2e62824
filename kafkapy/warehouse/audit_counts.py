"""Counts for the audit with Spark: matches records of the log with rows of the views by place.

The log is read independently of the sink's code, as committed records. A record is found if a row or the quarantine
has its place; one that is not found may be a duplicate event, which is then searched by its id.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kafkapy.warehouse.audited_fields import AUDITED_FIELDS, audited_fields
from kafkapy.warehouse.config import CHANGES, TableConfig
from kafkapy.warehouse.envelope import id_sql
from kafkapy.warehouse.plan import LogLook
from kafkapy.warehouse.snapshot import Hour, State, TableDefinition
from kafkapy.warehouse.view_sql import before, current_table, hours_table, in_current, literal, view_name
from kafkapy.warehouse.warehouse import Warehouse

QUARANTINE = "quarantine"


class AuditedRange(NamedTuple):
    """The offsets of a partition in the log. `read`: end of those in the ledger."""

    partition: int
    first: int
    read: int
    end: int


class MissingRecords(NamedTuple):
    """Missing records of an hour and a partition: count, first and last."""

    hour: Hour
    partition: int
    records: int
    first: int
    last: int


class TopicCounts(NamedTuple):
    """By hour. `records`: of the log. `again`: of those, events that came before. `waiting`: records that the ledger does not
    have yet. `strangers`: rows that no record of the log has made. `elsewhere`: rows in another hour than their record's."""

    records: Mapping[Hour, int]
    again: Mapping[Hour, int]
    waiting: Mapping[Hour, int]
    strangers: Mapping[Hour, int]
    elsewhere: Mapping[Hour, int]
    missing: tuple[MissingRecords, ...]


def audited_ranges(state: State, topic: str, look: LogLook) -> list[AuditedRange]:
    """Return the log's ranges from the ledger's beginning on. Nothing was read of a log that is not in the ledger
    yet."""
    log = state.log_of(topic)
    known = state.offsets.get(log.name, {}) if log.topic_id in ("", look.topic_id) else {}
    found = []
    for partition, bounds in sorted(look.partitions.items()):
        first, read = known.get(partition, (bounds.first, bounds.first))
        start = max(first, bounds.first)
        if bounds.stable > start:
            found.append(AuditedRange(partition, start, min(max(read, start), bounds.stable), bounds.stable))
    return found


def count_topic(
    warehouse: Warehouse, state: State, table: TableConfig, look: LogLook, is_compacted: bool
) -> TopicCounts:
    """Count a topic. `is_compacted`: rows may be of records that compaction has removed. Raises Spark's and the
    cluster's errors."""
    from pyspark.sql import functions as f

    ranges = audited_ranges(state, table.topic, look)
    log = _log(warehouse, table, look, ranges)
    rows = topic_rows(warehouse, state, table)
    current = state.log_of(table.topic)
    begun = current.batch if state.earlier_logs(table.topic) else 0
    placed = rows.where(f"_batch >= {begun}").groupBy("_partition", "_offset")
    placed = placed.agg(f.max("good").alias("good"), f.max("hour").alias("row_hour"))
    bounds = warehouse.spark.createDataFrame(
        [(each.partition, each.first, each.read) for each in ranges], "_partition int, first long, read long"
    )
    joined = log.join(placed, ["_partition", "_offset"], "full").join(f.broadcast(bounds), "_partition")
    kind = f.expr(
        "CASE WHEN hour IS NULL THEN IF(_offset >= first AND _offset < read AND good = 1, 'strangers', '') "
        "WHEN _offset >= read THEN 'waiting' WHEN good IS NULL THEN 'open' "
        "WHEN good = 1 AND row_hour <> hour THEN 'elsewhere' ELSE 'found' END"
    )
    kept = joined.select(
        "_partition", "_offset", "id", f.coalesce("hour", "row_hour").alias("hour"), kind.alias("kind")
    )
    kept = kept.where("kind <> ''").persist()
    try:
        counts: dict[str, dict[Hour, int]] = {}
        for name, hour, count in kept.groupBy("kind", "hour").count().collect():
            counts.setdefault(name, {})[hour] = count
        lost = _missing(kept.where("kind = 'open'"), rows) if "open" in counts else []
    finally:
        kept.unpersist()
    return _counts(counts, lost, is_compacted)


def _missing(records: Any, rows: Any) -> list[MissingRecords]:
    """Return those `records` without a row whose events have no other row."""
    from pyspark.sql import functions as f

    known = rows.where("good = 1").select("hour", "id").distinct()
    found = records.join(known, ["hour", "id"], "left_anti").groupBy("hour", "_partition")
    return [MissingRecords(*row) for row in found.agg(f.count("*"), f.min("_offset"), f.max("_offset")).collect()]


def _counts(kinds: Mapping[str, Mapping[Hour, int]], missing: list[MissingRecords], is_compacted: bool) -> TopicCounts:
    records: dict[Hour, int] = {}
    for kind in ("found", "elsewhere", "open"):
        for hour, count in kinds.get(kind, {}).items():
            records[hour] = records.get(hour, 0) + count
    again = dict(kinds.get("open", {}))
    for each in missing:
        again[each.hour] -= each.records
    strangers = {} if is_compacted else kinds.get("strangers", {})
    return TopicCounts(
        records,
        {hour: count for hour, count in again.items() if count},
        kinds.get("waiting", {}),
        strangers,
        kinds.get("elsewhere", {}),
        tuple(sorted(missing)),
    )


def _log(warehouse: Warehouse, table: TableConfig, look: LogLook, ranges: list[AuditedRange]) -> Any:
    """Its records: `_partition`, `_offset`, `hour`, `id` (null: it has none)."""
    spark = warehouse.spark
    if not ranges:
        return spark.createDataFrame([], "_partition int, _offset long, hour string, id string")
    reader = spark.read.format("kafkapy").option("subscribe", table.topic).option("includeHeaders", "true")
    for name, value in warehouse.config.kafka.items():
        reader = reader.option(f"kafka.{name}", value)
    first = {each.partition: each.first for each in ranges}
    end = {each.partition: each.end for each in ranges}
    for name, offsets in (("startingOffsets", first), ("endingOffsets", end)):
        whole = {str(p): offsets.get(p, bounds.stable) for p, bounds in look.partitions.items()}
        reader = reader.option(name, json.dumps({table.topic: whole}))
    records = reader.load()
    identity = id_sql(f"element_at(filter(headers, h -> h.key = {literal(table.id_header)}), -1).value")
    if table.id_field or table.time_field:
        records = records.mapInArrow(audited_fields(*warehouse.reading(table.topic)), AUDITED_FIELDS)
        identity = "id"
    if table.kind == CHANGES:
        identity = "nullif(hex(key), '')"
    return records.selectExpr(
        "partition AS _partition",
        "offset AS _offset",
        "date_format(timestamp, 'yyyy-MM-dd-HH') AS hour",
        f"{identity} AS id",
    )


def topic_rows(warehouse: Warehouse, state: State, table: TableConfig) -> Any:
    """Rows of a topic's views, and what the quarantine has of it: `hour`, `id`, `_partition`, `_offset`, `_batch`, `good` (0: in
    the quarantine), `reason`."""
    database = warehouse.config.database
    identity = "hex(_key)" if table.kind == CHANGES else "_event_id"
    place = "_partition, _offset, _batch"
    parts = [
        f"SELECT concat(ds, '-', hr) AS hour, {identity} AS id, {place}, 1 AS good, '' AS reason "
        f"FROM {view_name(database, each.view)}"
        for each in state.tables.values()
        if each.topic == table.topic
    ]
    if QUARANTINE in state.tables:
        parts.append(
            f"SELECT date_format(record_time, 'yyyy-MM-dd-HH') AS hour, event_id AS id, {place}, 0 AS good, reason "
            f"FROM {view_name(database, QUARANTINE)} WHERE topic = {literal(table.topic)}"
        )
    if not parts:
        columns = "hour string, id string, _partition int, _offset long, _batch long, good int, reason string"
        return warehouse.spark.createDataFrame([], columns)
    return warehouse.spark.sql(" UNION ALL ".join(parts))


class RowCounts(NamedTuple):
    """Of a topic's tables in an hour. `doubles`: rows beyond the first of an event. `quarantined`, `reasons`: of records with
    times in that hour."""

    hour: Hour
    rows: int
    doubles: int
    quarantined: int
    reasons: Mapping[str, int]


def count_rows(warehouse: Warehouse, state: State, table: TableConfig) -> Iterator[RowCounts]:
    from pyspark.sql import functions as f

    rows = topic_rows(warehouse, state, table).where(f"_batch < {state.end}")
    events = rows.where("good = 1").groupBy("hour", "id").count()
    found = {
        hour: (whole, whole - once)
        for hour, whole, once in events.groupBy("hour").agg(f.sum("count"), f.count("*")).collect()
    }
    reasons: dict[Hour, dict[str, int]] = {}
    if QUARANTINE in state.tables:
        for hour, reason, count in rows.where("good = 0").groupBy("hour", "reason").count().collect():
            reasons.setdefault(hour, {})[reason] = count
    for hour in found.keys() | reasons.keys():
        of_hour = reasons.get(hour, {})
        yield RowCounts(hour, *found.get(hour, (0, 0)), sum(of_hour.values()), of_hour)


def rows_without_files(warehouse: Warehouse, state: State) -> Iterator[tuple[str, Hour, int]]:
    """Table, hour, rows that the ledger has and no file: of directories that were deleted, or partitions that were dropped. Files
    that are there are counted, whatever the views make of them."""
    if not state.tables:
        return
    text = " UNION ALL ".join(_rows_of_files(warehouse, state, table) for table in state.tables.values())
    counted = warehouse.spark.sql(text).groupBy("name", "ds", "hr").count()
    found = {(name, f"{ds}-{hr}"): count for name, ds, hr, count in counted.collect()}
    for table in state.tables.values():
        if table.kind == CHANGES and warehouse.ledger.has_more_than(state):
            continue  # a later state of a key has replaced an earlier one meanwhile
        for hour, rows in sorted(rows_of_ledger(state, table.name).items()):
            if found.get((table.name, hour), 0) < rows:
                yield table.name, hour, rows - found.get((table.name, hour), 0)


def _rows_of_files(warehouse: Warehouse, state: State, table: TableDefinition) -> str:
    snapshot, database, name = state.snapshot(table.name), warehouse.config.database, literal(table.name)
    return (
        f"SELECT {name} AS name, ds, hr FROM {current_table(database, table)} WHERE {in_current(snapshot)} "
        f"UNION ALL SELECT {name} AS name, ds, hr FROM {hours_table(database, table)} "
        f"WHERE _batch < {snapshot.boundary} AND {before('', snapshot.cutoff)}"
    )


def rows_of_ledger(state: State, table: str) -> dict[Hour, int]:
    """Rows that files of a table must have, by hour; in current those that came twice are there twice."""
    found = dict(state.current_rows(table))
    for (name, hour), generation in state.generations.items():
        if name == table:
            found[hour] = found.get(hour, 0) + generation.rows
    return found


def refresh(warehouse: Warehouse, state: State) -> None:
    """Make Spark list the directories again, because a session caches their contents."""
    for table in state.tables.values():
        for place in (current_table, hours_table):
            warehouse.spark.sql(f"REFRESH TABLE {place(warehouse.config.database, table)}")
