"""Batch queries against a real broker, option by option."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from kafkapy.admin.results import values_of
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.record.compression import CompressionType

pytestmark = pytest.mark.integration


def load(spark: Any, kafka: Any, **options: Any) -> Any:
    reader = spark.read.format("kafkapy").option("kafka.bootstrap.servers", kafka.bootstrap)
    for name, value in options.items():
        reader = reader.option(name.replace("__", "."), value)
    return reader.load()


def values(frame: Any) -> list[int]:
    return sorted(int(row.value) for row in frame.select("value").collect())


def places(frame: Any) -> list[tuple[str, int, int]]:
    return sorted(
        (row.topic, row.partition, row.offset) for row in frame.select("topic", "partition", "offset").collect()
    )


def error_of(action: Any) -> str:
    with pytest.raises(Exception) as raised:
        action()
    return str(raised.value)


def test_rows(spark: Any, kafka: Any) -> None:
    topic = kafka.topic()
    headers = [(b"a", b"1"), (b"a", None), ("ü".encode(), b"")]
    kafka.produce(topic, 0, [(1_700_000_000_123, b"key", b"value", headers), (5, None, None, ()), (6, b"", b"", ())])
    rows = load(spark, kafka, subscribe=topic, includeHeaders="true").orderBy("offset").collect()
    first = rows[0].asDict(recursive=True)
    assert first.pop("timestamp").astimezone(UTC) == datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)
    assert first == {
        "key": b"key",
        "value": b"value",
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestampType": 0,
        "headers": [{"key": "a", "value": b"1"}, {"key": "a", "value": None}, {"key": "ü", "value": b""}],
    }
    assert [(row.key, row.value, row.headers) for row in rows[1:]] == [(None, None, None), (b"", b"", None)]
    assert "headers" not in load(spark, kafka, subscribe=topic).columns


def test_schema_is_that_of_sparks_source(spark: Any, kafka: Any) -> None:
    topic = kafka.topic()
    assert load(spark, kafka, subscribe=topic).schema.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,timestampType:int>"
    )
    assert load(spark, kafka, subscribe=topic).count() == 0
    reader = spark.read.format("kafkapy").schema("x int").option("kafka.bootstrap.servers", kafka.bootstrap)
    assert "Kafka source has a fixed schema" in error_of(lambda: reader.option("subscribe", topic).load().count())


def test_codecs(spark: Any, kafka: Any) -> None:
    topic = kafka.topic()
    for codec in CompressionType:
        kafka.produce(topic, 0, [(n, b"%d" % n, b"x" * 200, ()) for n in range(50)], codec)
    assert load(spark, kafka, subscribe=topic).where("length(value) = 200").count() == 50 * len(CompressionType)


def test_strategies(spark: Any, kafka: Any) -> None:
    one, other = kafka.topic(2, "strategy-a"), kafka.topic(1, "strategy-b")
    kafka.fill(one, 0, 1)
    kafka.fill(one, 1, 1)
    kafka.fill(other, 0, 1)
    both = [(one, 0, 0), (one, 1, 0), (other, 0, 0)]
    assert places(load(spark, kafka, subscribe=f"{one}, {other}")) == both
    assert places(load(spark, kafka, subscribePattern="gy-[ab]")) == both
    assert places(load(spark, kafka, subscribePattern=".*-b")) == [(other, 0, 0)]
    assert places(load(spark, kafka, assign=json.dumps({one: [1], other: [0]}))) == both[1:]
    assert load(spark, kafka, subscribePattern="no such").count() == 0


def test_many_small_partitions_share_tasks(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(200)
    for partition in range(200):
        kafka.fill(topic, partition, 3, first=3 * partition)
    frame = load(spark, kafka, subscribe=topic)
    assert values(frame) == list(range(600))
    assert frame.rdd.getNumPartitions() == 8
    assert load(spark, kafka, subscribe=topic, minPartitions="200").rdd.getNumPartitions() == 200


def test_internal_topics_are_left_out(spark: Any, kafka: Any) -> None:
    with kafka.admin() as admin:
        from kafkapy.structs import OffsetAndMetadata

        topic = kafka.topic()
        values_of(admin.alter_group_offsets("makes-the-topic", {TopicPartition(topic, 0): OffsetAndMetadata(0)}))
    assert load(spark, kafka, subscribePattern="^__").count() == 0


def test_a_missing_topic_is_named(spark: Any, kafka: Any) -> None:
    frame = load(spark, kafka, subscribe="nowhere", fetchOffset__numRetries=1)
    assert "Topic nowhere" in error_of(frame.count)


def test_wrong_options_show_when_the_frame_is_made(spark: Any, kafka: Any) -> None:
    assert "Unknown option 'startingofset'" in error_of(lambda: load(spark, kafka, subscribe="x", startingOfset="x"))
    assert "minPartitions must be positive" in error_of(lambda: load(spark, kafka, subscribe="x", minPartitions=0))
    latest = load(spark, kafka, subscribe="x", startingOffsets="latest")
    assert "starting offset can't be latest for batch queries on Kafka" in error_of(latest.count)


def test_offsets(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(2)
    kafka.fill(topic, 0, 10)
    kafka.fill(topic, 1, 10, 100)
    start, end = json.dumps({topic: {"0": 3, "1": -2}}), json.dumps({topic: {"0": -1, "1": 2}})
    frame = load(spark, kafka, subscribe=topic, startingOffsets=start, endingOffsets=end)
    assert values(frame) == [3, 4, 5, 6, 7, 8, 9, 100, 101]
    frame = load(spark, kafka, subscribe=topic, startingOffsets="earliest", endingOffsets="latest")
    assert frame.count() == 20
    some = load(spark, kafka, subscribe=topic, startingOffsets=json.dumps({topic: {"0": 3}}))
    assert "Partitions specified for Kafka start offsets don't match what are assigned" in error_of(some.count)
    beyond = load(spark, kafka, subscribe=topic, startingOffsets=json.dumps({topic: {"0": 0, "1": 99}}))
    assert "The resolved start offset 99 is greater than the resolved end offset 10" in error_of(beyond.count)


def test_timestamps(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(2)
    kafka.fill(topic, 0, 10)
    kafka.fill(topic, 1, 5)
    frame = load(spark, kafka, subscribe=topic, startingTimestamp=2000, endingTimestamp=4000)
    assert values(frame) == [2, 2, 3, 3]
    start, end = json.dumps({topic: {"0": 7001, "1": 4000}}), json.dumps({topic: {"0": 9000, "1": 99_000}})
    frame = load(spark, kafka, subscribe=topic, startingOffsetsByTimestamp=start, endingOffsetsByTimestamp=end)
    assert values(frame) == [4, 8]
    too_young = load(spark, kafka, subscribe=topic, startingTimestamp=6000)
    assert f"No offset matched from request of topic-partition {topic}-1 and timestamp 6000." in error_of(
        too_young.count
    )
    latest = {"startingTimestamp": 6000, "startingOffsetsByTimestampStrategy": "latest"}
    assert values(load(spark, kafka, subscribe=topic, **latest)) == [6, 7, 8, 9]


def test_tasks(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(2)
    kafka.fill(topic, 0, 100)
    kafka.fill(topic, 1, 20)
    frames = [
        load(spark, kafka, subscribe=topic),
        load(spark, kafka, subscribe=topic, minPartitions=6),
        load(spark, kafka, subscribe=topic, maxRecordsPerPartition=30),
    ]
    assert [frame.rdd.getNumPartitions() for frame in frames] == [2, 6, 5]
    assert [frame.distinct().count() for frame in frames] == [120] * 3


def test_data_loss(spark: Any, kafka: Any) -> None:
    topic = kafka.topic()
    kafka.fill(topic, 0, 10)
    with kafka.admin() as admin:
        values_of(admin.delete_records({TopicPartition(topic, 0): 4}))
    options = {"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 1}})}
    told = error_of(load(spark, kafka, **options).count)
    assert f"Could not read records in offset [1, 10) for topic partition {topic}-0 with consumer group" in told
    assert values(load(spark, kafka, **options, failOnDataLoss="false")) == [4, 5, 6, 7, 8, 9]
    gone = {**options, "endingOffsets": json.dumps({topic: {"0": 3}}), "failOnDataLoss": "false"}
    assert load(spark, kafka, **gone).count() == 0


def test_group_names(spark: Any, kafka: Any) -> None:
    """Readers join no group; messages and client ids bear its name."""
    topic = kafka.topic()
    kafka.fill(topic, 0, 10)
    with kafka.admin() as admin:
        values_of(admin.delete_records({TopicPartition(topic, 0): 4}))
    options = {"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 1}})}
    for given, name in (
        ({}, "consumer group spark-kafka-relation-"),
        ({"groupIdPrefix": "mine"}, "consumer group mine-"),
        ({"kafka__group.id": "ours", "groupIdPrefix": "mine"}, "consumer group ours."),
    ):
        assert name in error_of(load(spark, kafka, **options, **given).count)


def test_patience(spark: Any, kafka: Any) -> None:
    topic = kafka.topic()
    kafka.fill(topic, 0, 10)
    beyond = {"subscribe": topic, "endingOffsets": json.dumps({topic: {"0": 99}})}
    told = error_of(load(spark, kafka, **beyond, kafkaConsumer__pollTimeoutMs=2000).count)
    assert f"{topic}-0 has no records at offset 10 (to 99 were asked for) after 2000 ms" in told
    begin = time.monotonic()
    missing = {"subscribe": "nowhere", "fetchOffset__numRetries": 3, "fetchOffset__retryIntervalMs": 600}
    assert "Topic nowhere" in error_of(load(spark, kafka, **missing).count)
    assert time.monotonic() - begin >= 1.2


def test_read_committed(spark: Any, kafka: Any) -> None:
    topic = kafka.topic()
    kafka.fill(topic, 0, 5)
    assert values(load(spark, kafka, subscribe=topic, **{"kafka.isolation.level": "read_committed"})) == [0, 1, 2, 3, 4]


def test_filters_are_pushed_down(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(3)
    for partition in range(3):
        kafka.fill(topic, partition, 50)
    frame = load(spark, kafka, subscribe=topic)
    filters = {
        "partition = 1": (50, 1),
        "partition in (0, 2) and offset >= 40": (20, 2),
        "offset between 10 and 12": (9, 3),
        "timestamp >= timestamp_millis(45000)": (15, 3),
        "timestamp > timestamp_millis(10000) and timestamp < timestamp_millis(13000) and partition != 0": (4, 2),
        f"topic = '{topic}' and cast(value as string) = '7'": (3, 3),
    }
    plain = {text: frame.where(text).count() for text in filters}
    assert plain == {text: rows for text, (rows, _) in filters.items()}
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        for text, (rows, tasks) in filters.items():
            pushed = load(spark, kafka, subscribe=topic).where(text)
            assert (text, pushed.count(), pushed.rdd.getNumPartitions()) == (text, rows, tasks)
        assert load(spark, kafka, subscribe=topic).count() == 150
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_sparks_own_connector(spark: Any, kafka: Any) -> None:
    """It reads and writes our broker unchanged, and sees what we see."""
    if "spark-sql-kafka" not in (spark.conf.get("spark.jars", "") or ""):
        pytest.skip("benchmarks/spark.py fetches Spark's own connector")
    topic = kafka.topic(2)
    frame = spark.range(1000).selectExpr("cast(id as string) key", "concat('value ', id) value")
    frame.write.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap).option("topic", topic).save()
    theirs = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap)
    rows = theirs.option("subscribe", topic).option("includeHeaders", "true").load()
    ours = load(spark, kafka, subscribe=topic, includeHeaders="true")
    assert ours.count() == 1000
    assert sorted(ours.collect(), key=str) == sorted(rows.collect(), key=str)
