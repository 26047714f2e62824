"""A task of a micro-batch: reads its ranges of offsets, decodes them by columns and writes Parquet files.

Files have hidden names until the driver renames them, so files of failed or repeated tasks are never data. The task
returns one row for each file (`FILES`): its table, its row counts by hour, and its bytes if only the JVM can write to
the tables' file system.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped, unused-ignore]
from pyspark import TaskContext

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.offset_ranges import OffsetRange
from kafkapy.spark.options import Mode, source_options
from kafkapy.spark.partition_reader import KafkaInputPartition, PartitionReader
from kafkapy.spark.worker import spare_collections
from kafkapy.warehouse import envelope
from kafkapy.warehouse.columns import QUARANTINE
from kafkapy.warehouse.decoding import DELETION, SchemaValues, ValueDecoder, value_decoder
from kafkapy.warehouse.event_fields import EventFields

FILES = "topic string, schema int, name string, rows long, hours string, told string, content binary"
QUARANTINED = -1
"""Used in place of a schema's id for files of the quarantine."""
_WRONG = -3
"""Used in place of a schema's id for records that are in the quarantine already."""
_ROWS_OF_A_GROUP = 256 * 1024
_BYTES_OF_A_GROUP = 256 << 20
_BYTES_OF_A_FILE = 128 << 20
_BYTES_THAT_COME_BACK = 32 << 20


class TopicSettings(NamedTuple):
    """`schema`, `schema_type`: of bare values, else empty. `fields`: with an event's id and time."""

    kind: str
    id_header: str
    schema: str = ""
    schema_type: str = ""
    fields: EventFields = EventFields()


@dataclass(frozen=True)
class IngestSettings:
    """Settings of tasks. `directory`: of the files; empty: their bytes are returned. `attempt`: a unique name.
    `options`: the source's."""

    topics: dict[str, TopicSettings]
    registry: str
    options: dict[str, str]
    directory: str
    attempt: str
    now_ms: int
    max_future_ms: int
    batches: dict[str, Any] = field(default_factory=dict)
    """For `backfill`: by "topic partition" the ends of batches, their numbers and times; rows get those as columns."""
    logs: dict[str, str] = field(default_factory=dict)
    """By topic the name of its log, which is part of a place; the topic itself where there is none."""
    refused: dict[tuple[str, int], str] = field(default_factory=dict)
    """(topic, schema) -> why no table can hold its values."""


def ingest(
    settings: IngestSettings, tasks: Sequence[Sequence[OffsetRange]]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` over rows with indices into `tasks`, which runs these tasks."""

    def run(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        ranges = [each for batch in numbers for number in batch.column(0).to_pylist() for each in tasks[number]]
        if ranges:
            rows = [(*each.partition, each.start, each.until) for each in ranges]
            yield from rows_of_files(IngestTask(settings).run(rows))
        spare_collections()

    return run


def rows_of_files(files: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    """Of `FILES`."""
    types = [pa.string(), pa.int32(), pa.string(), pa.int64(), pa.string(), pa.string(), pa.binary()]
    names = [column.split()[0] for column in FILES.split(", ")]
    schema = pa.schema(list(zip(names, types, strict=True)))
    for file in files:
        yield pa.RecordBatch.from_pylist([file], schema)


class IngestTask:
    def __init__(self, settings: IngestSettings) -> None:
        self._settings = settings
        options = source_options({**settings.options, "includeHeaders": "true"}, Mode.STREAM)
        self._reader = PartitionReader(options)
        self._writers: dict[tuple[str, int], FileWriter] = {}
        self._done: list[dict[str, Any]] = []
        self._told: dict[str, Any] = {"no_id": 0, "oldest_ms": None, "newest_ms": None}
        """`no_id`: records without an id. `oldest_ms`, `newest_ms`: of the events' times."""

    def run(self, ranges: list[tuple[str, int, int, int]]) -> list[dict[str, Any]]:
        """Yield rows of FILES. The last has no file, but the ranges and statistics."""
        # Bytes that come back may be computed twice, and have the same names then; files are written under names of their own.
        self._seed = uuid4().hex if self._settings.directory else f"{self._settings.attempt} {ranges}"
        for topic, partition, start, until in ranges:
            wanted = OffsetRange(TopicPartition(topic, partition), start, until)
            for records in _grouped(self._reader.read(KafkaInputPartition((wanted,)))):
                self._take(records, self._settings.topics[topic])
        return self._finished(ranges)

    def run_again(self, batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
        """As `run`, with records out of the quarantine. Each batch is of one topic, and has, beside a record's columns, `id` and
        `batch`, the number of the batch that the record came with."""
        self._seed = uuid4().hex if self._settings.directory else _seed_of_task(self._settings)
        for topic in self._settings.topics.values():
            value_decoder(self._settings.registry, topic.schema, topic.schema_type).ask_again()
        for records in batches:
            now = np.full(len(records), self._settings.now_ms * 1000, np.int64)
            origin = records.column("batch").to_numpy(), now
            self._read(records, self._settings.topics[_topic_of(records)], records.column("id"), origin)
        return self._finished([])

    def _finished(self, ranges: list[tuple[str, int, int, int]]) -> list[dict[str, Any]]:
        for writer in self._writers.values():
            self._done += writer.close()
        self._done.append({**_file("", 0, "", 0, {}), "told": json.dumps({"ranges": ranges, **self._told})})
        return self._done

    def _take(self, records: pa.RecordBatch, topic: TopicSettings) -> None:
        if topic.fields.id:  # known when the value is
            ids, missing = envelope.places(records, self._log(_topic_of(records))), 0
        else:
            ids, missing = envelope.event_ids(records, topic.id_header, self._log(_topic_of(records)))
        self._tell(records, missing)
        self._read(records, topic, ids, self._origin(records))

    def _read(self, records: pa.RecordBatch, topic: TopicSettings, ids: pa.Array, origin: Any) -> None:
        name = _topic_of(records)
        hours = envelope.hours_of(records.column("timestamp"))
        decoder = value_decoder(self._settings.registry, topic.schema, topic.schema_type)
        rows = Rows(records, ids, hours, origin)
        schemas = decoder.ids(records.column("value"))
        for reason, wrong in self._wrong(rows, topic, schemas):
            self._quarantine(rows, wrong, reason)
            schemas[wrong] = _WRONG
        for schema in np.unique(schemas).tolist():
            if schema != _WRONG:
                self._decoded(name, topic, rows, np.flatnonzero(schemas == schema), schema, decoder)

    def _log(self, topic: str) -> str:
        return self._settings.logs.get(topic, topic)

    def _tell(self, records: pa.RecordBatch, missing: int) -> None:
        times = records.column("timestamp").cast(pa.int64()).to_numpy() // 1000
        told = self._told
        told["no_id"] += missing
        for name, choose, found in (("oldest_ms", min, times.min()), ("newest_ms", max, times.max())):
            told[name] = int(found) if told[name] is None else choose(told[name], int(found))

    def _wrong(self, rows: Rows, topic: TopicSettings, schemas: Any) -> Iterator[tuple[str, Any]]:
        """Return the reasons for the quarantine that need no decoding, with their rows."""
        records = rows.records
        times = records.column("timestamp").cast(pa.int64()).to_numpy()
        told = np.arange(len(times)) if not topic.fields.time else np.flatnonzero(schemas == -1)
        yield "the record has no time", told[times[told] == envelope.NO_TIME_US]
        for reason, wrong in self._wrong_times(times[told], self._now_us(rows)[told]):
            yield reason, told[wrong]
        if topic.kind == "changes":
            without_key = records.column("key").is_null().to_numpy(zero_copy_only=False)
            yield "the record has no key", np.flatnonzero(without_key & (schemas != _WRONG))
        else:
            yield "the record has no value", np.flatnonzero(schemas == -1)
        yield "the value is not in the registry's wire format", np.flatnonzero(schemas == -2)

    def _wrong_times(self, times: Any, now: Any) -> Iterator[tuple[str, Any]]:
        yield "its time is before the year 1", times < envelope.FIRST_TIME_US
        ahead = times > now + self._settings.max_future_ms * 1000
        yield f"its time is more than {self._settings.max_future_ms // 60_000} minutes ahead", ahead

    def _decoded(
        self, name: str, topic: TopicSettings, rows: Rows, chosen: Any, schema: int, decoder: ValueDecoder
    ) -> None:
        if schema == -1:  # a deletion
            self._write(
                name,
                DELETION,
                rows.meta(chosen) | {"_deleted": pa.array(np.ones(len(chosen), np.bool_))},
                rows,
                chosen,
            )
            return
        values = self._settings.refused.get((name, schema)) or decoder.of(schema)
        if not isinstance(values, str):
            values = self._without_fields(topic, values, schema) or values
        if isinstance(values, str):
            self._quarantine(rows, chosen, values)
            return
        whole = len(chosen) == len(rows)
        column = rows.records.column("value")
        found = values.read(column if whole else column.take(pa.array(chosen)))
        if found.reasons:
            self._quarantine(rows, chosen[list(found.reasons)], *found.reasons.values())
        self._write_events(name, topic, rows, chosen[found.places], schema, found.rows)

    def _without_fields(self, topic: TopicSettings, values: SchemaValues, schema: int) -> str | None:
        objection = topic.fields.objection(values.type)
        return None if objection is None else f"schema {schema} has no rows: {objection}"

    def _write_events(
        self, name: str, topic: TopicSettings, rows: Rows, chosen: Any, schema: int, events: pa.StructArray
    ) -> None:
        """`events`: what was read of the chosen ones."""
        hours = rows.hours[chosen]
        meta = rows.meta(chosen)
        if topic.fields.id:
            ids = topic.fields.ids(events)
            self._told["no_id"] += ids.null_count
            meta["_event_id"] = pc.coalesce(ids, meta["_event_id"])
        if topic.fields.time:
            times, reasons = topic.fields.times(events)
            now = self._now_us(rows)[chosen]
            for reason, wrong in self._wrong_times(times, now):
                reasons |= {row: reason for row in np.flatnonzero(wrong).tolist() if row not in reasons}
            if reasons:
                self._quarantine(
                    rows, chosen[list(reasons)], *reasons.values(), ids=meta["_event_id"].take(list(reasons))
                )
                good = np.setdiff1d(np.arange(len(chosen)), list(reasons))
                events, chosen, times = events.take(pa.array(good)), chosen[good], times[good]
                meta = {column: array.take(pa.array(good)) for column, array in meta.items()}
            meta["_event_time"] = pa.array(times, pa.timestamp("us", "UTC"))
            hours = times // envelope.HOUR_US
        columns = dict(zip([each.name for each in events.type], events.flatten(), strict=True))
        if topic.kind == "changes":
            columns["_deleted"] = pa.array(np.zeros(len(chosen), np.bool_))
        self._write(name, schema, columns | meta, rows, chosen, hours)

    def _quarantine(self, rows: Rows, chosen: Any, *reasons: str, ids: pa.Array | None = None) -> None:
        """Write rows to the quarantine, with their place as id and the current hour, because their own may be wrong.


        Args:
            reasons: Of each record its own, or the one that all have.
            ids: The events' own; by default those of `rows`.
        """
        if len(chosen) == 0:
            return
        picked = pa.array(chosen)
        records = rows.records
        now = self._now_us(rows)[chosen]
        columns = rows.meta(chosen) | {
            "_event_id": envelope.places(records, self._log(_topic_of(records))).take(picked),
            "_event_time": pa.array(now, pa.timestamp("us", "UTC")),
            "topic": records.column("topic").take(picked),
            "event_id": rows.ids.take(picked) if ids is None else ids,
            "reason": pa.array(reasons * (len(chosen) // len(reasons)), pa.string()),
            "value": records.column("value").take(picked),
            "record_time": records.column("timestamp").take(picked),
        }
        assert set(QUARANTINE.names) < set(columns)
        self._write("", QUARANTINED, columns, rows, chosen, now // envelope.HOUR_US)

    def _write(
        self, topic: str, schema: int, columns: dict[str, Any], rows: Rows, chosen: Any, hours: Any = None
    ) -> None:
        if len(chosen) == 0:
            return
        hours = rows.hours[chosen] if hours is None else hours
        columns["ds"], columns["hr"] = envelope.hour_columns(hours)
        if rows.origin is not None:
            columns["_batch"] = pa.array(rows.origin[0][chosen])
            columns["_schema"] = pa.array(np.full(len(chosen), schema, np.int32))
        writer = self._writers.get((topic, schema))
        if writer is None:
            writer = self._writers[topic, schema] = FileWriter(topic, schema, self._settings.directory, self._seed)
        writer.add(pa.table(columns), envelope.hour_counts(hours))

    def _origin(self, records: pa.RecordBatch) -> Any:
        """Of a backfill: of each record number and time (us) of the batch that it came with."""
        if not self._settings.batches:
            return None
        place = f"{_topic_of(records)} {records.column('partition')[0].as_py()}"
        ends, numbers, times = (np.array(each, np.int64) for each in self._settings.batches[place])
        index = np.searchsorted(ends, records.column("offset").to_numpy(), side="right")
        return numbers[index], times[index] * 1000

    def _now_us(self, rows: Rows) -> Any:
        return rows.origin[1] if rows.origin is not None else np.full(len(rows), self._settings.now_ms * 1000, np.int64)


def _seed_of_task(settings: IngestSettings) -> str:
    context = TaskContext.get()
    return f"{settings.attempt} {context.partitionId() if context is not None else 0}"


def _topic_of(records: pa.RecordBatch) -> str:
    name: str = records.column("topic")[0].as_py()
    return name


@dataclass
class Rows:
    """Records, with what is known of each. `origin`: see `IngestTask._origin`."""

    records: pa.RecordBatch
    ids: pa.Array
    hours: Any
    origin: Any

    def __len__(self) -> int:
        return len(self.records)

    def meta(self, chosen: Any) -> dict[str, Any]:
        """The columns of every table, of some rows."""
        found = {
            "_event_id": self.ids,
            "_event_time": self.records.column("timestamp"),
            "_key": self.records.column("key"),
            "_partition": self.records.column("partition"),
            "_offset": self.records.column("offset"),
        }
        if len(chosen) == len(self):
            return found
        picked = pa.array(chosen)
        return {name: column.take(picked) for name, column in found.items()}


class FileWriter:
    """Writes a topic's rows of one schema to a Parquet file, or to several if it grows too large."""

    def __init__(self, topic: str, schema: int, directory: str, seed: str) -> None:
        self._topic, self._schema, self._directory, self._seed = topic, schema, directory, seed
        self._tables: list[Any] = []
        self._waiting = 0
        self._writer: Any = None
        self._closed: list[dict[str, Any]] = []

    def add(self, table: Any, hours: dict[str, int]) -> None:
        if self._writer is None:
            self._open(table)
        self._tables.append(table)
        self._waiting += len(table)
        for hour, rows in hours.items():
            self._hours[hour] = self._hours.get(hour, 0) + rows
        if self._waiting >= _ROWS_OF_A_GROUP:
            self._write()
            if self._out.tell() >= (_BYTES_OF_A_FILE if self._directory else _BYTES_THAT_COME_BACK):
                self._finish()

    def close(self) -> list[dict[str, Any]]:
        if self._writer is not None:
            self._finish()
        return self._closed

    def _open(self, table: Any) -> None:
        place = f"{self._seed} {self._topic} {self._schema} {len(self._closed)}"
        self._name = f"{hashlib.blake2b(place.encode(), digest_size=16).hexdigest()}.parquet"
        self._hours: dict[str, int] = {}
        if self._directory:
            target = Path(self._directory) / (
                f"s={self._schema}" if self._topic == "" else f"{self._topic}/s={self._schema}"
            )
            target.mkdir(parents=True, exist_ok=True)
            self._out: Any = pa.OSFile(str(target / f"_{self._name}"), "wb")
        else:
            self._out = pa.BufferOutputStream()
        # Dictionaries are only used for repeated values: for unique ones they would double the time.
        repeated = [each.name for each in table.schema if _may_repeat(each)] or False
        self._writer = pq.ParquetWriter(
            self._out, table.schema, compression="snappy", store_schema=False, use_dictionary=repeated
        )

    def _write(self) -> None:
        if self._tables:
            table = pa.concat_tables([each.cast(self._writer.schema) for each in self._tables]).unify_dictionaries()
            self._writer.write_table(table, row_group_size=_ROWS_OF_A_GROUP)
            self._tables, self._waiting = [], 0

    def _finish(self) -> None:
        self._write()
        self._writer.close()
        content = None if self._directory else self._out.getvalue().to_pybytes()
        self._out.close()
        self._writer = None
        self._closed.append(
            _file(self._topic, self._schema, self._name, sum(self._hours.values()), self._hours, content)
        )


def _may_repeat(field: pa.Field) -> bool:
    is_text: bool = pa.types.is_string(field.type) or pa.types.is_dictionary(field.type)
    return is_text and field.name != "_event_id"


def _file(
    topic: str, schema: int, name: str, rows: int, hours: dict[str, int], content: bytes | None = None
) -> dict[str, Any]:
    return {
        "topic": topic,
        "schema": schema,
        "name": name,
        "rows": rows,
        "hours": json.dumps(hours),
        "told": None,
        "content": content,
    }


def _grouped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combine batches of one partition to about ten thousand records, to reduce the overhead for each batch.

    Fewer if records are large, because a column holds at most 2 GiB.
    """
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows += len(batch)
        size += batch.nbytes
        if rows >= 50_000 or size >= _BYTES_OF_A_GROUP:
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.concat_batches(waiting)
