"""Writing, against a real broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.spark.test_spark_batch import error_of, load, places

pytestmark = pytest.mark.integration


def save(frame: Any, kafka: Any, **options: Any) -> None:
    writer = frame.write.format("kafkapy").option("kafka.bootstrap.servers", kafka.bootstrap).mode("append")
    for name, value in options.items():
        writer = writer.option(name.replace("__", "."), value)
    writer.save()


def test_rows(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(2)
    rows = [
        (b"k", b"v", 1, [("a", b"1"), ("a", None)]),
        (None, b"", 0, None),
        (b"only a key", None, 1, []),
        (None, None, 1, None),
    ]
    schema = "key binary, value binary, partition int, headers array<struct<key: string, value: binary>>"
    save(spark.createDataFrame(rows, schema).coalesce(1), kafka, topic=topic)
    found = load(spark, kafka, subscribe=topic, includeHeaders="true").orderBy("partition", "offset").collect()
    assert [(row.partition, row.key, row.value) for row in found] == [
        (0, None, b""),
        (1, b"k", b"v"),
        (1, b"only a key", None),
        (1, None, None),
    ]
    assert found[1].asDict(recursive=True)["headers"] == [{"key": "a", "value": b"1"}, {"key": "a", "value": None}]


def test_text_and_producer_configs(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(3)
    frame = spark.range(1000).selectExpr("cast(id as string) key", "concat('value ', id) value", "id unused")
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    for codec in codecs:
        configs = {"kafka__compression.type": codec, "kafka__acks": "1", "kafka__linger.ms": 5}
        save(frame, kafka, topic=topic, **configs)
    found = load(spark, kafka, subscribe=topic).selectExpr("cast(key as string)", "cast(value as string)")
    assert sorted(found.collect()) == sorted(frame.select("key", "value").collect() * len(codecs))


def test_topics_and_partitions_from_columns(spark: Any, kafka: Any) -> None:
    one, other = kafka.topic(2), kafka.topic(2)
    rows = [(one, "a", 0), (other, "b", 1), (one, "c", 1), (one, "d", None), (other, "e", 1)]
    frame = spark.createDataFrame(rows, "topic string, value string, partition int").coalesce(1)
    save(frame, kafka)
    found = load(spark, kafka, subscribe=f"{one},{other}").selectExpr("topic", "cast(value as string)", "partition")
    placed = {(row.topic, row.value): row.partition for row in found.collect()}
    assert placed.pop((one, "d")) in (0, 1)
    assert placed == {(topic, value): partition for topic, value, partition in rows if partition is not None}
    third = kafka.topic(2)
    save(frame, kafka, topic=third)  # the option goes before the column
    assert {topic for topic, _, _ in places(load(spark, kafka, subscribe=third))} == {third}


def test_keys_go_where_java_sends_them(spark: Any, kafka: Any) -> None:
    if "spark-sql-kafka" not in (spark.conf.get("spark.jars", "") or ""):
        pytest.skip("benchmarks/spark.py fetches Spark's own connector")
    ours, theirs = kafka.topic(7), kafka.topic(7)
    frame = spark.range(300).selectExpr("concat('key-', id) key", "cast(id as string) value")
    save(frame, kafka, topic=ours)
    frame.write.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap).option("topic", theirs).save()
    by_key = "cast(key as string) key", "partition"
    found = [sorted(load(spark, kafka, subscribe=topic).selectExpr(*by_key).collect()) for topic in (ours, theirs)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ("'x' value", {}, "topic option required when no 'topic' attribute is present. Use the topic option"),
        ("'x' key", {"topic": "t"}, "Required attribute 'value' not found"),
        ("1 value", {"topic": "t"}, "value attribute unsupported type int. value must be a(n) string or binary"),
        ("'x' value, 1.5D key", {"topic": "t"}, "key attribute unsupported type double. key must be a(n) string or"),
        ("'x' value, 1L partition", {"topic": "t"}, "partition attribute unsupported type bigint."),
        ("'x' value, 'h' headers", {"topic": "t"}, "headers attribute unsupported type string."),
        ("'x' value, 1 topic", {}, "topic attribute unsupported type int. topic must be a(n) string"),
        ("'x' value, cast(null as string) topic", {}, "contains a null topic. Use the `topic` option for setting"),
        ("'x' value", {"topic": "t", "acks": "1"}, "Unknown option 'acks'"),
    ],
)
def test_refusals(spark: Any, kafka: Any, columns: str, options: dict[str, str], sentence: str) -> None:
    frame = spark.range(1).selectExpr(*columns.split(", "))
    assert sentence in error_of(lambda: save(frame, kafka, **options))


def test_overwriting_is_refused(spark: Any, kafka: Any) -> None:
    writer = spark.range(1).selectExpr("'x' value").write.format("kafkapy").mode("overwrite")
    writer = writer.option("kafka.bootstrap.servers", kafka.bootstrap).option("topic", "t")
    told = error_of(writer.save)
    assert "Save mode Overwrite not allowed for Kafka" in told
    assert 'Write with .mode("append")' in told


def test_a_write_without_a_mode_is_told_which_to_give(spark: Any, kafka: Any) -> None:
    writer = spark.range(1).selectExpr("'x' value").write.format("kafkapy").option("topic", "t")
    assert '"Append"' in error_of(writer.option("kafka.bootstrap.servers", kafka.bootstrap).save)


def test_a_partition_that_is_not_there(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(1)
    frame = spark.range(1).selectExpr("'x' value", "5 partition")
    assert "Unrecognized partition 5" in error_of(lambda: save(frame, kafka, topic=topic))


def test_a_stream_is_written(spark: Any, kafka: Any, tmp_path: Path) -> None:
    source, target = kafka.topic(2), kafka.topic(2)
    kafka.fill(source, 0, 30)
    kafka.fill(source, 1, 30)
    reader = spark.readStream.format("kafkapy").option("kafka.bootstrap.servers", kafka.bootstrap)
    frame = reader.option("subscribe", source).option("startingOffsets", "earliest").load()
    writer = frame.select("key", "value").writeStream.format("kafkapy").option("topic", target)
    writer = writer.option("kafka.bootstrap.servers", kafka.bootstrap).option("checkpointLocation", str(tmp_path))
    query = writer.queryName("copy").trigger(availableNow=True).start()
    query.awaitTermination()
    read = [sorted(load(spark, kafka, subscribe=topic).select("value").collect()) for topic in (source, target)]
    assert read[0] == read[1]
