"""Compares the events sent, those in the log and those in the tables, by topic and hour, each event counted once.

Only offsets in the ledger count, so events in transit and aborted transactions are not missing. For offsets that the
log has lost, the ledger has the expected rows, and what was lost before it was read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from kafkapy.bus.audit_counters import AuditRecord
from kafkapy.warehouse.audit_counts import TopicCounts, count_rows, count_topic, refresh, rows_without_files
from kafkapy.warehouse.client_options import client_options
from kafkapy.warehouse.cluster import TopicLogs
from kafkapy.warehouse.config import CONTINUE, EARLIEST
from kafkapy.warehouse.plan import Looks, PlanRules, plan_batch
from kafkapy.warehouse.snapshot import Batch, Hour, Loss, State
from kafkapy.warehouse.supervision import sentence
from kafkapy.warehouse.warehouse import Warehouse

RESULT = "_audit"
"""Directory of results, of which the newest is kept."""


class AuditError(Exception):
    """The audit has failed; the message says why."""


@dataclass
class AuditedHour:
    """Of a topic.

    | field | what |
    | --- | --- |
    | `sent` | events that producers of the bus were acknowledged; None if none has said so |
    | `records` | committed records of the log that the ledger has |
    | `again` | of those: events that came before |
    | `waiting` | records of the log that are on their way |
    | `rows`, `doubles` | rows of the views; of those: more than one of an event |
    | `quarantined`, `reasons` | records in the quarantine, and why |
    | `missing`, `gaps` | records that are neither in tables nor in the quarantine, and where they are in the log |
    | `strangers` | rows that no record of the log has made: of aborted transactions, for example |
    | `elsewhere` | rows in another hour than their record's |
    | `gone` | rows that the ledger has and no file |
    | `received` | records that came with all batches, by the ledger: the log may have fewer of them by now |
    """

    topic: str
    hour: Hour
    sent: int | None = None
    records: int = 0
    again: int = 0
    waiting: int = 0
    rows: int = 0
    doubles: int = 0
    quarantined: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    gaps: list[str] = field(default_factory=list)
    strangers: int = 0
    elsewhere: int = 0
    gone: int = 0
    received: int = 0

    @property
    def events(self) -> int:
        """Return the number of distinct events in the log."""
        return self.records - self.again

    @property
    def unseen(self) -> int:
        """Return the number of events that were sent and are neither in the log nor in a batch."""
        return 0 if self.sent is None else max(self.sent - max(self.records, self.received) - self.waiting, 0)

    @property
    def problems(self) -> list[str]:
        told = {
            "rows are there twice": self.doubles,
            f"events of the log are in no table ({'; '.join(self.gaps)})": self.missing,
            "rows of the tables are of no record that the log has": self.strangers,
            "rows are in another hour than their records": self.elsewhere,
            "rows of the ledger are in no file": self.gone,
            "events that producers have sent are not in the log": self.unseen,
        }
        return [f"{count} {what}" for what, count in told.items() if count]

    @property
    def completeness(self) -> float:
        """Return the fraction of events that are in the tables or the quarantine; 1: all."""
        return 1.0 if not self._expected else (self._expected - self._absent) / self._expected

    @property
    def readable(self) -> float:
        """Return the fraction of events that are rows of tables; 1: all."""
        return 1.0 if not self._expected else (self._expected - self._absent - self.quarantined) / self._expected

    @property
    def _absent(self) -> int:
        """What is missing may be so because its file is."""
        return max(self.missing, self.gone) + self.unseen

    @property
    def _expected(self) -> int:
        return self.rows - self.doubles + self.quarantined + self._absent


@dataclass
class AuditReport:
    """The result of an audit. `waiting`: records after the ledger's end, by topic. `losses`: offsets that were lost
    before they were read; `gaps`: offsets in no batch of the ledger."""

    at_ms: int
    hours: list[AuditedHour] = field(default_factory=list)
    waiting: dict[str, int] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not self.losses and not self.gaps and not any(hour.problems for hour in self.hours)

    def to_json(self) -> dict[str, Any]:
        derived = ("events", "problems", "completeness", "readable")
        hours = [{**asdict(hour), **{name: getattr(hour, name) for name in derived}} for hour in self.hours]
        return {**asdict(self), "good": self.is_good, "hours": hours}


class _Hours(dict[tuple[str, Hour], AuditedHour]):
    def at(self, topic: str, hour: Hour) -> AuditedHour:
        return self.setdefault((topic, hour), AuditedHour(topic, hour))


def audit(warehouse: Warehouse) -> AuditReport:
    """Run an audit; the result is also stored for the page. Raises Spark's and the cluster's errors, and
    AuditError."""
    # The counters are read first, so that counted events are in the log when it is read.
    sent = sent_by_hour(_counters(warehouse))
    warehouse.reload()
    state, cluster = warehouse.state, TopicLogs(warehouse.config)
    try:
        looks, compacted = cluster.look(), cluster.compacted()
        try:
            hours = _counted(warehouse, state, looks, compacted)
        except (PySparkException, Py4JError) as error:
            raise AuditError(f"The tables, or the log, cannot be read: {sentence(error)}") from error
        ids = {topic: look.topic_id for topic, look in looks.items()}
        if cluster.topic_ids() != ids:
            raise AuditError("A topic was made, deleted or made again during the audit: try again")
    finally:
        cluster.close()
    # Counters are by the records' timestamps.
    topics = {table.topic for table in warehouse.config.tables if not table.time_field}
    for (topic, hour), count in sent.items():
        if topic in topics - compacted:  # compaction removes records before they are read
            hours.at(topic, hour).sent = count
    now = warehouse.time.milliseconds()
    report = AuditReport(
        now,
        [hours[key] for key in sorted(hours)],
        waiting_records(state, looks),
        [str(loss) for loss in (*state.losses, *pending_losses(state, looks, now))],
        ledger_gaps(warehouse.ledger.history(state), state.losses),
    )
    _keep(warehouse, report)
    return report


def _counted(warehouse: Warehouse, state: State, looks: Looks, compacted: set[str]) -> _Hours:
    hours = _Hours()
    refresh(warehouse, state)
    topics = {table.name: table.topic or table.name for table in state.tables.values()}
    for config in warehouse.config.tables:
        if config.topic in looks:
            counts = count_topic(warehouse, state, config, looks[config.topic], config.topic in compacted)
            _add_counts(hours, config.topic, counts)
        for found in count_rows(warehouse, state, config):
            hour = hours.at(config.topic, found.hour)
            hour.rows, hour.doubles = found.rows, found.doubles
            hour.quarantined, hour.reasons = found.quarantined, dict(found.reasons)
            hour.received += found.quarantined
    for table, name, rows in rows_without_files(warehouse, state):
        hours.at(topics[table], name).gone += rows
    for (topic, name), rows in received_rows(state).items():
        hours.at(topic, name).received += rows
    return hours


def _add_counts(hours: _Hours, topic: str, counts: TopicCounts) -> None:
    for kind in ("records", "again", "waiting", "strangers", "elsewhere"):
        found: Mapping[Hour, int] = getattr(counts, kind)
        for hour, count in found.items():
            setattr(hours.at(topic, hour), kind, count)
    for each in counts.missing:
        at = hours.at(topic, each.hour)
        at.missing += each.records
        at.gaps.append(f"partition {each.partition}: {each.records} of offsets {each.first} to {each.last}")


def received_rows(state: State) -> dict[tuple[str, Hour], int]:
    """Return the rows of all batches by topic and hour, including duplicates."""
    found: dict[tuple[str, Hour], int] = {}
    for table in state.tables.values():
        if not table.topic:
            continue
        for hour, rows in state.current_rows(table.name).items():
            found[table.topic, hour] = found.get((table.topic, hour), 0) + rows
    for (name, hour), generation in state.generations.items():
        topic = state.tables[name].topic
        if topic:
            found[topic, hour] = found.get((topic, hour), 0) + generation.rows + generation.dropped
    return found


def waiting_records(state: State, looks: Looks) -> dict[str, int]:
    """Return the number of offsets of each topic that are not in the ledger yet."""
    from kafkapy.warehouse.lag import positions

    found = dict.fromkeys(looks, 0)
    for partition, position, end in positions(state, looks):
        found[partition.topic] += max(end - position, 0)
    return found


def pending_losses(state: State, looks: Looks, now_ms: int) -> tuple[Loss, ...]:
    """Return the losses that the next batch would record with on_data_loss = "continue"."""
    return plan_batch(state, looks, PlanRules(1, EARLIEST, CONTINUE), now_ms).losses


def ledger_gaps(history: Iterable[Batch], losses: Sequence[Loss]) -> list[str]:
    """Return offsets between batches that are in neither batch and not recorded as lost."""
    lost = {(loss.log, loss.partition, loss.first, loss.end) for loss in losses}
    ends: dict[tuple[str, int], int] = {}
    found = []
    for batch in history:
        for log, partitions in batch.offsets.items():
            for partition, (first, end) in partitions.items():
                before = ends.get((log, partition), first)
                if first > before and (log, partition, before, first) not in lost:
                    found.append(
                        f"{log} partition {partition}, offsets {before} to {first - 1}: no batch has read them"
                    )
                ends[log, partition] = max(end, before)
    return found


def _counters(warehouse: Warehouse) -> Iterator[AuditRecord]:
    """Read the counters of the bus's clients; empty without such a topic. Malformed counters are skipped."""
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
    """Sum counters by topic and hour. A counter only grows, so its largest value counts."""
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
    """Return the newest report as JSON."""
    names = warehouse.files.names(RESULT)
    found: dict[str, Any] | None = json.loads(warehouse.files.read(f"{RESULT}/{names[-1]}")) if names else None
    return found


def table_of(report: AuditReport) -> str:
    """Format a report as text: one line for each hour, and the losses."""
    lines = [f"{'topic':24} {'hour':13} {'sent':>10} {'log':>10} {'events':>10} {'rows':>10} {'quarantine':>10}"]
    for hour in report.hours:
        sent = "-" if hour.sent is None else f"{hour.sent}"
        problems = "; ".join(hour.problems)
        lines.append(
            f"{hour.topic:24} {hour.hour:13} {sent:>10} {hour.records:>10} {hour.events:>10} {hour.rows:>10} "
            f"{hour.quarantined:>10}  {problems or 'complete'}"
        )
        lines += [f"{'':24} {count} in the quarantine: {reason}" for reason, count in _most_frequent(hour.reasons)]
    lines += [f"LOST: {loss}" for loss in report.losses]
    lines += [f"NOT READ: {gap}" for gap in report.gaps]
    waiting = sum(report.waiting.values())
    lines.append(f"{waiting} records are on their way" if waiting else "nothing is on its way")
    return "\n".join(lines)


def _most_frequent(reasons: Mapping[str, int], most: int = 5) -> list[tuple[str, int]]:
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:most]
