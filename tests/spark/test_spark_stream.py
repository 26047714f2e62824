"""Streams against a real broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewPartitions
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.offset_limits import START
from kafkapy.spark.options import Mode, source_options
from kafkapy.spark.stream_reader import KafkaStreamReader
from tests.spark.test_spark_batch import error_of

pytestmark = pytest.mark.integration


def start(spark: Any, kafka: Any, directory: Path, once: bool = False, **options: Any) -> Any:
    """A query that appends to a Parquet table and goes on at its checkpoint."""
    reader = spark.readStream.format("kafkapy").option("kafka.bootstrap.servers", kafka.bootstrap)
    for name, value in {"startingOffsets": "earliest", **options}.items():
        reader = reader.option(name.replace("__", "."), value)
    frame = reader.load().selectExpr("topic", "partition", "offset", "cast(value as string) value")
    writer = frame.writeStream.format("parquet").option("checkpointLocation", str(directory / "checkpoint"))
    trigger: dict[str, Any] = {"once": True} if once else {"availableNow": True}
    return writer.trigger(**trigger).start(str(directory / "table"))


def run(spark: Any, kafka: Any, directory: Path, **options: Any) -> list[int]:
    """Rows of each batch of a query that reads what there is."""
    query = start(spark, kafka, directory, **options)
    query.awaitTermination()
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


def table(spark: Any, directory: Path) -> list[int]:
    return sorted(int(row.value) for row in spark.read.parquet(str(directory / "table")).collect())


def test_micro_batches_share_a_limit_by_lag(spark: Any, kafka: Any, tmp_path: Path) -> None:
    topic = kafka.topic(2)
    kafka.fill(topic, 0, 90)
    kafka.fill(topic, 1, 30, 1000)
    assert run(spark, kafka, tmp_path, subscribe=topic, maxOffsetsPerTrigger=40) == [40, 40, 40]
    assert table(spark, tmp_path) == [*range(90), *range(1000, 1030)]
    logged = [(tmp_path / "checkpoint" / "offsets" / n).read_text().splitlines()[-1] for n in "01"]
    first, second = map(json.loads, logged)
    assert first.pop(START) == {topic: {"0": 0, "1": 0}}
    assert (first, second) == ({topic: {"0": 30, "1": 10}}, {topic: {"0": 60, "1": 20}})


def test_twenty_batches_with_the_job_killed_between(spark: Any, kafka: Any, tmp_path: Path) -> None:
    """Restarts go on at the checkpoint: each record is there once, also those that came meanwhile."""
    topic = kafka.topic(2)
    total = 0
    for round_ in range(4):
        kafka.fill(topic, 0, 50, total)
        kafka.fill(topic, 1, 50, total + 50)
        total += 100
        # Killed: the query's end is not awaited, and the last batch may be half done.
        query = start(spark, kafka, tmp_path, subscribe=topic, maxOffsetsPerTrigger=20)
        while query.isActive and len(query.recentProgress) < 2 + round_ % 3:
            query.processAllAvailable() if round_ == 3 else query.awaitTermination(0.05)
        query.stop()
    run(spark, kafka, tmp_path, subscribe=topic, maxOffsetsPerTrigger=20)
    assert table(spark, tmp_path) == list(range(total))
    assert len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))) >= 20


def test_a_first_batch_that_fails_is_run_again(spark: Any, kafka: Any, tmp_path: Path) -> None:
    """Also by a stream that begins at the latest offsets, which have moved on meanwhile."""
    topic = kafka.topic()
    kafka.fill(topic, 0, 5)
    reader = spark.readStream.format("kafkapy").option("kafka.bootstrap.servers", kafka.bootstrap)
    frame = reader.option("subscribe", topic).load().selectExpr("cast(value as string) value")
    seen: list[int] = []
    failing = True

    def take(batch: Any, _: int) -> None:
        if failing:
            raise RuntimeError("killed")
        seen.extend(int(row.value) for row in batch.collect())

    def begin() -> Any:
        writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path))
        return writer.trigger(availableNow=True).start()

    told = error_of(lambda: begin().awaitTermination())
    assert "killed" in told
    kafka.fill(topic, 0, 5, 5)
    failing = False
    begin().awaitTermination()
    begin().awaitTermination()
    assert seen == [5, 6, 7, 8, 9]


def test_once_ignores_the_limit(spark: Any, kafka: Any, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.fill(topic, 0, 30)
    assert run(spark, kafka, tmp_path, subscribe=topic, maxOffsetsPerTrigger=10, once=True) == [30]


def test_new_partitions_are_found(spark: Any, kafka: Any, tmp_path: Path) -> None:
    topic = kafka.topic(1)
    kafka.fill(topic, 0, 5)
    run(spark, kafka, tmp_path, subscribe=topic)
    with kafka.admin() as admin:
        values_of(admin.create_partitions({topic: NewPartitions(2)}))
    kafka.fill(topic, 1, 5, 100)
    run(spark, kafka, tmp_path, subscribe=topic)
    assert table(spark, tmp_path) == [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]


def test_progress_is_committed_to_a_group(spark: Any, kafka: Any, tmp_path: Path) -> None:
    topic = kafka.topic(2)
    kafka.fill(topic, 0, 7)
    run(spark, kafka, tmp_path, subscribe=topic, maxOffsetsPerTrigger=3, commitOffsetsToGroup="spark-progress")
    with kafka.admin() as admin:
        committed = admin.list_group_offsets("spark-progress")
    assert {p: entry.offset for p, entry in committed.items() if entry} == {
        TopicPartition(topic, 0): 7,
        TopicPartition(topic, 1): 0,
    }


def test_data_loss_between_runs(spark: Any, kafka: Any, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.fill(topic, 0, 10)
    run(spark, kafka, tmp_path, subscribe=topic)
    kafka.fill(topic, 0, 10, 10)
    with kafka.admin() as admin:
        values_of(admin.delete_records({TopicPartition(topic, 0): 15}))
    told = error_of(lambda: run(spark, kafka, tmp_path, subscribe=topic))
    assert "set the source option failOnDataLoss to false" in told
    run(spark, kafka, tmp_path, subscribe=topic, failOnDataLoss="false")
    assert table(spark, tmp_path) == [*range(10), *range(15, 20)]


def test_a_stream_has_no_end(spark: Any, kafka: Any, tmp_path: Path) -> None:
    options = {"subscribe": kafka.topic(), "endingOffsets": "latest"}
    told = error_of(lambda: run(spark, kafka, tmp_path, **options))
    assert "ending offset not valid in streaming queries" in told


def reader_of(kafka: Any, topic: str, time: MockTime, **options: str) -> KafkaStreamReader:
    given = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, **options}
    return KafkaStreamReader(source_options(given, Mode.STREAM), time)


def test_fewer_offsets_than_the_minimum_wait(kafka: Any) -> None:
    topic, time = kafka.topic(), MockTime()
    options = {"minOffsetsPerTrigger": "10", "maxOffsetsPerTrigger": "15", "maxTriggerDelay": "1m"}
    reader = reader_of(kafka, topic, time, **options)
    limit = reader.getDefaultReadLimit()
    begin = reader.initialOffset()
    assert begin == {topic: {"0": 0}}
    kafka.fill(topic, 0, 5)
    first = reader.latestOffset(begin, limit)
    assert first == {START: begin, topic: {"0": 5}}  # the first batch of a query never waits
    kafka.fill(topic, 0, 5)
    assert reader.latestOffset(first, limit) == first
    assert reader.reportLatestOffset() == {topic: {"0": 10}}
    time.advance(60_000)
    second = reader.latestOffset(first, limit)
    assert second == {topic: {"0": 10}}
    kafka.fill(topic, 0, 20)
    assert reader.latestOffset(second, limit) == {topic: {"0": 25}}
    assert reader.partitions(second, second) == []
    reader.stop()


def test_a_first_batch_begins_where_it_began(kafka: Any) -> None:
    """Spark asks for the initial offsets again, also after a restart."""
    topic = kafka.topic()
    kafka.fill(topic, 0, 5)
    options = {"startingOffsets": "latest"}
    reader = reader_of(kafka, topic, MockTime(), **options)
    begin = reader.initialOffset()
    kafka.fill(topic, 0, 5)
    assert reader.initialOffset() == begin == {topic: {"0": 5}}
    end = reader.latestOffset(begin, reader.getDefaultReadLimit())
    assert end == {START: begin, topic: {"0": 10}}
    assert reader.latestOffset(end, reader.getDefaultReadLimit()) == end
    kafka.fill(topic, 0, 5)
    again = reader_of(kafka, topic, MockTime(), **options)
    later = again.initialOffset()
    assert later == {topic: {"0": 15}}
    assert [sum(r.size for r in task.value) for task in again.partitions(later, end)] == [5]
    assert again.latestOffset(end, again.getDefaultReadLimit()) == {topic: {"0": 15}}
    reader.stop()
    again.stop()


def test_available_now_ends_where_it_began(kafka: Any) -> None:
    topic, time = kafka.topic(), MockTime()
    kafka.fill(topic, 0, 5)
    options = {"startingOffsets": "earliest", "minOffsetsPerTrigger": "3", "maxOffsetsPerTrigger": "3"}
    reader = reader_of(kafka, topic, time, **options)
    reader.prepareForTriggerAvailableNow()
    first = reader.latestOffset(reader.initialOffset(), reader.getDefaultReadLimit())
    kafka.fill(topic, 0, 5)
    second = reader.latestOffset(first, reader.getDefaultReadLimit())
    assert (first.pop(START), first, second) == ({topic: {"0": 0}}, {topic: {"0": 3}}, {topic: {"0": 5}})
    assert reader.latestOffset(second, reader.getDefaultReadLimit()) == second
    with kafka.admin() as admin:
        values_of(admin.delete_topics([topic]))
    told = error_of(lambda: reader.partitions(first, second))
    assert topic in told
    reader.stop()
