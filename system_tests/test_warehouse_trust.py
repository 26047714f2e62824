"""What the tables hold is what was committed, whatever happens to topics and offsets; and the audit says so, in both directions.

Aborted transactions, topics that are made again, offsets that are trimmed before they are read, files that are deleted, a stream
that has failed.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("fastavro")

import fastavro

from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import TopicAlreadyExistsError
from kafkapy.producer.kafka_producer import KafkaProducer
from kafkapy.warehouse.audit import AuditReport, audit, table_of
from kafkapy.warehouse.backfill import BackfillError, backfill
from kafkapy.warehouse.compact import compact
from kafkapy.warehouse.config import WarehouseConfig
from kafkapy.warehouse.plan import RecordsLostError
from kafkapy.warehouse.reader import read_table
from kafkapy.warehouse.rollup import roll_up
from kafkapy.warehouse.session import session
from kafkapy.warehouse.stream import Stream, run
from kafkapy.warehouse.warehouse import Warehouse
from system_tests.services import KafkaService
from system_tests.warehouse_load import JVM_OPTIONS
from tests.warehouse.records import HOUR_MS

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

HOUR, NEXT = "2026-11-24-00", "2026-11-24-01"
SCHEMA = {"type": "record", "name": "Paid", "fields": [{"name": "n", "type": "long"}]}
TOPICS = ("transactions", "again", "trimmed", "damaged", "hours", "failing")


def paid(n: int) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMA), {"n": n})
    return out.getvalue()


class Pipeline:
    """Topics of one partition, with a table each."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self.bootstrap = bootstrap
        self._directory = directory
        (directory / "paid.avsc").write_text(json.dumps(SCHEMA))
        self.spark = session(self.config())
        for topic in TOPICS:
            self.create(topic)

    def config(self, topic: str = "", **more: Any) -> WarehouseConfig:
        topics = [topic] if topic else TOPICS
        found = {
            "root": f"tables-{topic}",
            "database": topic or "all_topics",
            "metastore_directory": "metastore",
            "kafka": {"bootstrap.servers": self.bootstrap},
            "grace_minutes": 0,
            "tables": [{"topic": each, "format": "avro", "schema": "paid.avsc"} for each in topics],
            "spark": {
                "spark.master": "local[2]",
                "spark.log.level": "ERROR",
                "spark.sql.shuffle.partitions": "2",
                "spark.driver.extraJavaOptions": f"{JVM_OPTIONS} -Dderby.system.home={self._directory}",
            },
            **more,
        }
        return WarehouseConfig.of(found, self._directory)

    def warehouse(self, topic: str, **more: Any) -> Warehouse:
        made = Warehouse(self.spark, self.config(topic, **more))
        made.start()
        return made

    @contextmanager
    def admin(self) -> Iterator[AdminClient]:
        with AdminClient(self.bootstrap) as admin:
            yield admin

    def create(self, topic: str) -> None:
        with self.admin() as admin:
            values_of(admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "-1"})]))

    def make_again(self, topic: str) -> None:
        with self.admin() as admin:
            values_of(admin.delete_topics([topic]))
            while True:
                try:
                    return self.create(topic)
                except TopicAlreadyExistsError:  # it is marked for deletion
                    time.sleep(0.1)

    def trim(self, topic: str, offset: int) -> None:
        with self.admin() as admin:
            values_of(admin.delete_records({TopicPartition(topic, 0): offset}))

    def send(self, topic: str, numbers: range, hours: int = 1, **options: Any) -> None:
        with KafkaProducer(bootstrap_servers=self.bootstrap, **options) as producer:
            if "transactional_id" in options:
                producer.init_transactions()
                producer.begin_transaction()
            for number in numbers:
                producer.send(topic, paid(number), timestamp_ms=HOUR_MS + number + number % hours * 3_600_000)
            producer.flush()
            if "transactional_id" in options:
                producer.commit_transaction() if options["transactional_id"] == "good" else producer.abort_transaction()


def read(warehouse: Warehouse) -> None:
    Stream(warehouse).start(available_now=True).awaitTermination()


def numbers(warehouse: Warehouse, topic: str) -> list[int]:
    return sorted(row.n for row in warehouse.spark.sql(f"SELECT n FROM {topic}.{topic}").collect())


def check(warehouse: Warehouse, *problems: str) -> AuditReport:
    """The audit names just these; none: all is complete."""
    report = audit(warehouse)
    found = [problem for hour in report.hours for problem in hour.problems] + report.losses + report.gaps
    assert report.is_good == (not problems), table_of(report)
    assert len(found) == len(problems), table_of(report)
    for problem, text in zip(problems, found, strict=True):
        assert problem in text, table_of(report)
    return report


def test_trust(broker: KafkaService, tmp_path: Path) -> None:
    """In a process of its own: a JVM has one embedded metastore."""
    process = get_context("spawn").Process(target=go_through, args=(broker.bootstrap, tmp_path))
    process.start()
    process.join()
    assert process.exitcode == 0


def go_through(bootstrap: str, directory: Path) -> None:
    pipeline = Pipeline(bootstrap, directory)
    steps: list[Callable[[Pipeline], None]] = [transactions, made_again, trimmed, damaged, many_hours, failing]
    try:
        for step in steps:
            step(pipeline)
    finally:
        pipeline.spark.stop()


def transactions(pipeline: Pipeline) -> None:
    """Aborted records are no rows, those of an open transaction are none yet, and neither is missing."""
    topic = "transactions"
    warehouse = pipeline.warehouse(topic, max_events_per_batch=7)
    for first in range(0, 40, 10):
        pipeline.send(topic, range(first, first + 10), transactional_id="good" if first % 20 == 0 else "bad")
    read(warehouse)
    committed = [*range(10), *range(20, 30)]
    assert numbers(warehouse, topic) == committed
    assert check(warehouse).waiting == {topic: 0}
    with KafkaProducer(bootstrap_servers=pipeline.bootstrap, transactional_id="slow") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, paid(99), timestamp_ms=HOUR_MS).get(30)
        read(warehouse)
        assert numbers(warehouse, topic) == committed
        assert check(warehouse).waiting == {topic: 1}
        producer.commit_transaction()
    read(warehouse)
    roll_up(warehouse, NEXT)
    assert numbers(warehouse, topic) == [*committed, 99]
    check(warehouse)


def made_again(pipeline: Pipeline) -> None:
    """Events have no ids, so their places stand for them: those of the second topic are others."""
    topic = "again"
    warehouse = pipeline.warehouse(topic)
    pipeline.send(topic, range(100))
    read(warehouse)
    pipeline.make_again(topic)
    pipeline.send(topic, range(100, 150))
    read(warehouse)
    assert numbers(warehouse, topic) == [*range(150)]
    check(warehouse)
    pipeline.make_again(topic)
    pipeline.send(topic, range(150, 300))
    again = pipeline.warehouse(topic)
    read(again)
    roll_up(again, NEXT)
    assert numbers(again, topic) == [*range(300)]
    check(again)
    with pytest.raises(BackfillError, match="it was deleted and made again"):
        backfill(again, [HOUR])
    pipeline.send(topic, range(300, 305))
    stream = Stream(again)
    stream._cluster.look()
    pipeline.make_again(topic)
    pipeline.send(topic, range(305, 310))
    stream.start(available_now=True).awaitTermination()
    assert numbers(again, topic) == [*range(300), *range(305, 310)]
    check(again, "partition 0, offsets 150 to 154: the topic was deleted before they were read")


def trimmed(pipeline: Pipeline) -> None:
    topic = "trimmed"
    warehouse = pipeline.warehouse(topic)
    pipeline.send(topic, range(100))
    read(warehouse)
    pipeline.send(topic, range(100, 160))
    pipeline.trim(topic, 150)
    with pytest.raises(RecordsLostError, match=r'offsets 100 to 149: .* set on_data_loss = "continue"'):
        read(warehouse)
    assert numbers(warehouse, topic) == [*range(100)]
    lost = "trimmed partition 0, offsets 100 to 149: they were deleted from the log"
    check(warehouse, lost)
    warehouse = pipeline.warehouse(topic, on_data_loss="continue")
    read(warehouse)
    assert numbers(warehouse, topic) == [*range(100), *range(150, 160)]
    check(warehouse, lost)
    pipeline.trim(topic, 155)
    check(pipeline.warehouse(topic), lost)


def damaged(pipeline: Pipeline) -> None:
    """Of two batches, one is rolled up. Files are deleted where the log has their records, and where it does not."""
    topic = "damaged"
    warehouse = pipeline.warehouse(topic)
    pipeline.send(topic, range(30))
    read(warehouse)
    roll_up(warehouse, NEXT)
    pipeline.send(topic, range(30, 40))
    read(warehouse)
    check(warehouse)
    root = Path(warehouse.files.url("").removeprefix("file://"))
    current = root / warehouse.state.batches[max(warehouse.state.batches)].parts[0].path
    kept = current.rename(root / "kept")
    gaps = (
        "10 events of the log are in no table (partition 0: 10 of offsets 30 to 39)",
        "10 rows of the ledger are in no",
    )
    check(warehouse, *gaps)
    kept.rename(current)
    check(warehouse)
    (generation,) = warehouse.state.generations.values()
    for file in root.joinpath(generation.path).glob("*.parquet"):
        file.unlink()
    pipeline.trim(topic, 40)
    check(warehouse, "30 rows of the ledger are in no file")


def many_hours(pipeline: Pipeline) -> None:
    """Small hours are written together, late rows of all of them, too; readers without Spark find the same rows."""
    topic = "hours"
    warehouse = pipeline.warehouse(topic)
    view = f"SELECT ds, hr, n, _event_id, _batch FROM {topic}.{topic} ORDER BY n"
    for first in (0, 300):
        pipeline.send(topic, range(first, first + 300), hours=30)
        read(warehouse)
        steps: list[str] = []
        rollup = roll_up(warehouse, "2026-11-25-05", steps.append)
        assert rollup is not None
        assert (len(rollup.generations), len(steps)) == (29, 1), "the last hour is not over"
        rows = [tuple(row) for row in warehouse.spark.sql(view).collect()]
        assert [row[2] for row in rows] == [*range(first + 300)]
        found = read_table(warehouse.config.root, topic, ["ds", "hr", "n", "_event_id", "_batch"]).sort_by("n")
        assert [tuple(row.values()) for row in found.to_pylist()] == rows
        check(warehouse)
    backfill(warehouse, [HOUR, NEXT])
    warehouse.sweep()
    compact(warehouse)
    assert [tuple(row) for row in warehouse.spark.sql(view).collect()] == rows
    check(warehouse)


def failing(pipeline: Pipeline) -> None:
    """A stream that fails for good ends `run`, whatever else it does; one that can go on does."""
    topic = "failing"
    warehouse = pipeline.warehouse(topic, trigger_seconds=1)
    pipeline.send(topic, range(10))
    stopped = threading.Event()
    batches: list[int] = []

    def trim() -> None:
        if batches and warehouse.state.offsets[topic][0] == (0, 10):
            pipeline.send(topic, range(10, 12))
            pipeline.trim(topic, 12)
            batches.clear()

    with pytest.raises(RecordsLostError, match="offsets 10 to 11"):
        run(warehouse, stopped, on_batch=lambda batch: batches.append(batch.number), on_round=trim)
    assert numbers(warehouse, topic) == [*range(10)]
