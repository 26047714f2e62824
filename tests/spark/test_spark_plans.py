"""Texts and figures that Spark's own source gives, for queries of this one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.offset_ranges import OffsetRange
from kafkapy.spark.plans import describe_scan, explain
from kafkapy.spark.progress import with_metrics
from tests.spark.test_spark_batch import load

P0, P1 = TopicPartition("events", 0), TopicPartition("events", 1)
DESCRIPTION = "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStreamWithAdmissionControl@1b2c"


def source(**changes: Any) -> dict[str, Any]:
    offsets = {"endOffset": {"events": {"0": 5, "1": 7}}, "latestOffset": {"events": {"0": 5, "1": 17, "2": 3}}}
    return {"description": DESCRIPTION, "startOffset": None, **offsets, "metrics": {}, **changes}


def test_a_scan_is_described_by_partition() -> None:
    tasks = [(OffsetRange(P0, 2, 5), OffsetRange(P1, 0, 3)), (OffsetRange(P0, 5, 9),)]
    assert describe_scan(tasks, "[EqualTo(topic,events)]") == [
        "Kafka scan of [events]: 2 tasks, PushedFilters: [EqualTo(topic,events)]",
        "  events-0: offsets 2 to 9",
        "  events-1: offsets 0 to 3",
    ]
    assert describe_scan([None], "[]") == ["Kafka scan of []: 0 tasks, PushedFilters: []"]


def test_offsets_behind_latest() -> None:
    found = with_metrics({"batchId": 3, "sources": [source()]})
    assert found["batchId"] == 3
    assert found["sources"][0]["description"] == "kafkapy[events]"
    assert found["sources"][0]["metrics"] == {
        "minOffsetsBehindLatest": "0",
        "maxOffsetsBehindLatest": "10",
        "avgOffsetsBehindLatest": str(13 / 3),
    }


def test_offsets_may_be_json() -> None:
    end = {"@start": {"events": {"0": 0}}, "events": {"0": 4}}
    shown = source(endOffset=json.dumps(end), latestOffset=json.dumps({"events": {"0": 9}}))
    assert with_metrics({"sources": [shown]})["sources"][0]["metrics"]["maxOffsetsBehindLatest"] == "5"


@pytest.mark.parametrize(
    "changes", [{"description": "KafkaV2[Subscribe[events]]"}, {"endOffset": "null"}, {"endOffset": '{"n": 5}'}]
)
def test_other_sources_stay_as_they_are(changes: dict[str, Any]) -> None:
    shown = source(**changes)
    assert with_metrics({"sources": [shown]})["sources"] == [shown]


@pytest.mark.integration
def test_a_query_is_explained(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(3)
    for partition in range(3):
        kafka.fill(topic, partition, 4 + partition)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        frame = load(spark, kafka, subscribe=topic).where("partition > 0 and offset >= 2").groupBy("partition").count()
        lines = explain(frame).splitlines()
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
    assert lines[0] == "== Physical Plan =="
    told, *partitions = lines[-3:]
    assert told.startswith(f"Kafka scan of [{topic}]: 2 tasks, PushedFilters: [")
    assert "GreaterThan(partition,0), GreaterThanOrEqual(offset,2)]" in told
    assert partitions == [f"  {topic}-1: offsets 2 to 5", f"  {topic}-2: offsets 2 to 6"]


@pytest.mark.integration
def test_a_stream_says_how_far_behind_it_is(spark: Any, kafka: Any, tmp_path: Path) -> None:
    topic = kafka.topic()
    kafka.fill(topic, 0, 9)
    reader = spark.readStream.format("kafkapy").option("kafka.bootstrap.servers", kafka.bootstrap)
    for name, text in {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "6"}.items():
        reader = reader.option(name, text)
    writer = reader.load().writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    shown = [with_metrics(progress)["sources"][0] for progress in query.recentProgress]
    assert {found["description"] for found in shown} == {f"kafkapy[{topic}]"}
    assert [found["metrics"]["maxOffsetsBehindLatest"] for found in shown][:2] == ["3", "0"]
