"""What was sent, what the log holds, what the tables hold: by topic and hour, each event counted once.

The log is read anew, without the sink's code for ids and hours of tables: from its records' headers and times. Only offsets that
the ledger has count, and only rows of those batches; so nothing is missing because it is on its way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from kafkapy.bus.audit_counters import AuditRecord
from kafkapy.warehouse.client_options import client_options
from kafkapy.warehouse.config import CHANGES
from kafkapy.warehouse.snapshot import Hour, State
from kafkapy.warehouse.view_sql import view_name
from kafkapy.warehouse.warehouse import Warehouse

RESULT = "_audit"
"""Directory of results, of which the newest is kept."""


@dataclass
class AuditedHour:
    """Of a topic. `sent`: acknowledged to producers of the bus, None if none has said so. `records`: of the log; `events`: of
    them, each id once (of changes: each key once). `rows`: of tables, `row_events`: of them each once. `quarantined`: records
    there. `found`: events that are in tables or in the quarantine. `trimmed`: the log does not have all of it any more."""

    topic: str
    hour: Hour
    sent: int | None = None
    records: int = 0
    events: int = 0
    rows: int = 0
    row_events: int = 0
    quarantined: int = 0
    found: int = 0
    trimmed: bool = False

    @property
    def problems(self) -> list[str]:
        told = []
        if self.rows > self.row_events:
            told.append(f"{self.rows - self.row_events} rows are there twice")
        if self.found < self.events:
            told.append(f"{self.events - self.found} events of the log are in no table")
        if self.found > self.events and not self.trimmed:
            told.append(f"{self.found - self.events} events of the tables are not in the log")
        if self.sent is not None and self.sent > self.records and not self.trimmed:
            told.append(f"{self.sent - self.records} events that producers have sent are not in the log")
        return told

    @property
    def completeness(self) -> float:
        """Of what should be in the tables or the quarantine, how much is; 1 is all."""
        expected = max(self.events, (self.sent or 0) if self.events == self.records else 0)
        return 1.0 if expected == 0 else min(self.found / expected, 1.0)


@dataclass
class AuditReport:
    """`waiting`: records behind the ledger's end, by topic: they are on their way."""

    at_ms: int
    hours: list[AuditedHour] = field(default_factory=list)
    waiting: dict[str, int] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        return not any(hour.problems for hour in self.hours)

    def to_json(self) -> dict[str, Any]:
        hours = [{**asdict(hour), "problems": hour.problems, "completeness": hour.completeness} for hour in self.hours]
        return {"at_ms": self.at_ms, "good": self.is_good, "waiting": self.waiting, "hours": hours}


def audit(warehouse: Warehouse) -> AuditReport:
    """Raises what Spark and the cluster raise. The result is kept for the page, too."""
    warehouse.reload()
    state = warehouse.state
    found: dict[tuple[str, Hour], AuditedHour] = {}

    def at(topic: str, hour: Hour) -> AuditedHour:
        return found.setdefault((topic, hour), AuditedHour(topic, hour))

    starts, ends = _log_bounds(warehouse, state)
    for topic, hour, records, events in _log_hours(warehouse, state, starts, ends):
        at(topic, hour).records, at(topic, hour).events = records, events
    for topic, hour, rows, row_events, quarantined, events in _table_hours(warehouse, state):
        counted = at(topic, hour)
        counted.rows, counted.row_events, counted.quarantined, counted.found = rows, row_events, quarantined, events
    for (topic, hour), sent in sent_by_hour(_counters(warehouse)).items():
        if topic in starts:
            at(topic, hour).sent = sent
    for each in found.values():
        first = {partition: bounds[0] for partition, bounds in state.offsets.get(each.topic, {}).items()}
        each.trimmed = any(starts[each.topic].get(partition, 0) > start for partition, start in first.items())
    waiting = {
        topic: sum(end - _end(state, topic, p) for p, end in partitions.items()) for topic, partitions in ends.items()
    }
    for each in found.values():  # what was sent a moment ago is not read yet: it is no loss
        if each.sent is not None and waiting.get(each.topic, 0) and each.sent > each.records:
            each.sent = max(each.records, each.sent - waiting[each.topic])
    hours = [found[key] for key in sorted(found)]
    report = AuditReport(warehouse.time.milliseconds(), hours, waiting)
    _keep(warehouse, report)
    return report


def _end(state: State, topic: str, partition: int) -> int:
    return state.offsets.get(topic, {}).get(partition, (0, 0))[1]


def _log_bounds(warehouse: Warehouse, state: State) -> tuple[dict[str, dict[int, int]], dict[str, dict[int, int]]]:
    """Of each topic's partitions, first offset and the one after the last. A topic that is not there is empty."""
    from kafkapy import KafkaConsumer
    from kafkapy.structs import TopicPartition

    starts: dict[str, dict[int, int]] = {}
    ends: dict[str, dict[int, int]] = {}
    with KafkaConsumer(**client_options(warehouse.config.kafka)) as consumer:
        for table in warehouse.config.tables:
            partitions = [
                TopicPartition(table.topic, each) for each in consumer.partitions_for_topic(table.topic) or ()
            ]
            starts[table.topic] = {
                tp.partition: offset for tp, offset in consumer.beginning_offsets(partitions).items()
            }
            ends[table.topic] = {tp.partition: offset for tp, offset in consumer.end_offsets(partitions).items()}
    return starts, ends


def _log_hours(
    warehouse: Warehouse, state: State, starts: Mapping[str, Mapping[int, int]], ends: Mapping[str, Mapping[int, int]]
) -> Iterator[tuple[str, Hour, int, int]]:
    """Topic, hour, records, events."""
    for table in warehouse.config.tables:
        of_topic = state.offsets.get(table.topic, {})
        until = {str(p): min(end, ends[table.topic].get(p, 0)) for p, (_, end) in of_topic.items()}
        first = {
            str(p): min(max(starts[table.topic].get(p, 0), start), until[str(p)]) for p, (start, _) in of_topic.items()
        }
        if not until or first == until:
            continue
        reader = (
            warehouse.spark.read.format("kafkapy").option("subscribe", table.topic).option("includeHeaders", "true")
        )
        for name, value in warehouse.config.kafka.items():
            reader = reader.option(f"kafka.{name}", value)
        for name, offsets in (("startingOffsets", first), ("endingOffsets", until)):
            whole = {str(p): offsets.get(str(p), 0) for p in ends[table.topic]}
            reader = reader.option(name, json.dumps({table.topic: whole}))
        header = table.id_header.replace("'", "\\'")
        place = "concat_ws('-', topic, partition, offset)"
        given = f"element_at(filter(headers, h -> h.key = '{header}' AND h.value IS NOT NULL), -1).value"
        identity = f"coalesce(cast({given} AS string), {place})"
        if table.kind == CHANGES:
            identity = f"coalesce(hex(key), {place})"
        records = reader.load().selectExpr("date_format(timestamp, 'yyyy-MM-dd-HH') AS hour", f"{identity} AS id")
        records.createOrReplaceTempView("_audited_log")
        text = "SELECT hour, count(*), count(DISTINCT id) FROM _audited_log GROUP BY hour"
        for hour, count, events in warehouse.spark.sql(text).collect():
            yield table.topic, hour, count, events


def _table_hours(warehouse: Warehouse, state: State) -> Iterator[tuple[str, Hour, int, int, int, int]]:
    """Topic, hour, rows, events among them, quarantined records, events of either."""
    database = warehouse.config.database
    for table in warehouse.config.tables:
        changes = table.kind == CHANGES
        identity = "hex(_key)" if changes else "_event_id"
        parts = [
            f"SELECT concat(ds, '-', hr) AS hour, {identity} AS id, 1 AS good FROM {view_name(database, each.name)} "
            f"WHERE _batch < {state.end}"
            for each in state.tables.values()
            if each.topic == table.topic
        ]
        if "quarantine" in state.tables:
            broken = "coalesce(hex(_key), event_id)" if changes else "event_id"
            parts.append(
                f"SELECT date_format(record_time, 'yyyy-MM-dd-HH'), {broken}, 0 FROM {view_name(database, 'quarantine')} "
                f"WHERE _batch < {state.end} AND topic = '{table.topic}'"
            )
        if parts:
            text = (
                "SELECT hour, sum(good), count(DISTINCT CASE WHEN good = 1 THEN id END), sum(1 - good), count(DISTINCT id) "
                f"FROM ({' UNION ALL '.join(parts)}) GROUP BY hour"
            )
            for hour, rows, row_events, quarantined, events in warehouse.spark.sql(text).collect():
                yield table.topic, hour, rows, row_events, quarantined, events


def _counters(warehouse: Warehouse) -> Iterator[AuditRecord]:
    """What the bus's clients have said so far; nothing if there is no such topic. Counters that make no sense are passed over."""
    from kafkapy import KafkaConsumer
    from kafkapy.structs import TopicPartition

    topic = warehouse.config.audit_topic
    with KafkaConsumer(**client_options(warehouse.config.kafka), auto_offset_reset="earliest") as consumer:
        if topic not in consumer.topics():
            return
        partitions = [TopicPartition(topic, each) for each in consumer.partitions_for_topic(topic) or ()]
        ends = consumer.end_offsets(partitions)
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        while any((consumer.position(each) or 0) < ends[each] for each in partitions):
            for records in consumer.poll(timeout_ms=500).values():
                for record in records:
                    try:
                        if record.value:
                            yield AuditRecord.decode(record.value)
                    except ValueError:
                        continue


def sent_by_hour(counters: Iterable[AuditRecord]) -> dict[tuple[str, Hour], int]:
    """By topic and hour. A counter only grows: of several the largest counts."""
    largest: dict[tuple[str, str, str], int] = {}
    for each in counters:
        key = each.producer, each.topic, each.hour
        largest[key] = max(largest.get(key, 0), each.sent)
    total: dict[tuple[str, Hour], int] = {}
    for (_, topic, hour), sent in largest.items():
        name = hour.replace("T", "-")
        total[topic, name] = total.get((topic, name), 0) + sent
    return total


def _keep(warehouse: Warehouse, report: AuditReport) -> None:
    files = warehouse.files
    name = f"{RESULT}/{report.at_ms:015}.json"
    files.create(name, json.dumps(report.to_json()).encode())
    for old in files.names(RESULT):
        if f"{RESULT}/{old}" != name:
            files.delete(f"{RESULT}/{old}")


def kept_report(warehouse: Warehouse) -> dict[str, Any] | None:
    """The newest, as JSON."""
    names = warehouse.files.names(RESULT)
    found: dict[str, Any] | None = json.loads(warehouse.files.read(f"{RESULT}/{names[-1]}")) if names else None
    return found


def table_of(report: AuditReport) -> str:
    """For people: a line an hour."""
    lines = [f"{'topic':24} {'hour':13} {'sent':>10} {'log':>10} {'events':>10} {'rows':>10} {'quarantine':>10}"]
    for hour in report.hours:
        sent = "-" if hour.sent is None else f"{hour.sent}"
        problems = "; ".join(hour.problems)
        lines.append(
            f"{hour.topic:24} {hour.hour:13} {sent:>10} {hour.records:>10} {hour.events:>10} {hour.rows:>10} "
            f"{hour.quarantined:>10}  {problems or 'complete'}"
        )
    waiting = sum(report.waiting.values())
    lines.append(f"{waiting} records are on their way" if waiting else "nothing is on its way")
    return "\n".join(lines)
