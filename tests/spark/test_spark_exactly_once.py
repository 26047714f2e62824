"""The exactly-once sink, against a real broker: batches, streams, foreachBatch, tasks that fail and drivers that die."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkapy import KafkaProducer
from kafkapy.admin.types import TransactionState
from tests.spark.test_spark_batch import error_of, load

pytestmark = pytest.mark.integration


def committed(spark: Any, kafka: Any, topic: str) -> list[str]:
    frame = load(spark, kafka, subscribe=topic, **{"kafka.isolation.level": "read_committed"})
    return sorted(row.v for row in frame.selectExpr("cast(value as string) v").collect())


def open_transactions(kafka: Any) -> list[str]:
    with kafka.admin() as admin:
        listed = admin.list_transactions(states=[TransactionState.ONGOING]).values()
    names = [one.transactional_id for found in listed for one in found]
    return [name for name in names if "/sink-" not in name]  # those are other tests' (test_spark_decisions.py)


def sink(writer: Any, kafka: Any, topic: str, **options: Any) -> Any:
    writer = writer.format("kafkapy").option("kafka.bootstrap.servers", kafka.bootstrap).option("topic", topic)
    writer = writer.option("delivery", "exactly-once")
    for name, value in options.items():
        writer = writer.option(name.replace("__", "."), value)
    return writer


def test_a_batch_that_is_repeated_writes_nothing_again(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(2)
    frame = spark.range(100).selectExpr("cast(id as string) value").repartition(4)
    for batch in (1, 1, 2):
        sink(frame.write.mode("append"), kafka, topic, sinkName="job-a", batchId=batch).save()
    assert committed(spark, kafka, topic) == sorted(2 * [str(n) for n in range(100)])
    assert open_transactions(kafka) == []
    told = error_of(sink(frame.write.mode("append"), kafka, topic, sinkName="job-a", batchId=1).save)
    assert "Batch 1 of sink job-a is to be written, but batch 2 has been already" in told


def source(spark: Any, kafka: Any, topic: str, **options: Any) -> Any:
    reader = spark.readStream.format("kafkapy").option("kafka.bootstrap.servers", kafka.bootstrap)
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load().selectExpr("value")


def forget_last_commit(checkpoint: Path) -> None:
    """As if the driver had died before Spark wrote down that the batch was done."""
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)


def test_a_stream_that_repeats_its_last_batch(spark: Any, kafka: Any, tmp_path: Path) -> None:
    incoming, topic = kafka.topic(2), kafka.topic(2)
    kafka.fill(incoming, 0, 50)
    kafka.fill(incoming, 1, 50, first=50)
    for _ in range(2):
        frame = source(spark, kafka, incoming, maxOffsetsPerTrigger=60)
        writer = sink(frame.writeStream, kafka, topic).option("checkpointLocation", str(tmp_path))
        writer.trigger(availableNow=True).start().awaitTermination()
        forget_last_commit(tmp_path)
    assert committed(spark, kafka, topic) == sorted(str(n) for n in range(100))
    assert open_transactions(kafka) == []


def test_foreach_batch_with_two_sinks(spark: Any, kafka: Any, tmp_path: Path) -> None:
    incoming, topics = kafka.topic(1), [kafka.topic(1), kafka.topic(1)]
    kafka.fill(incoming, 0, 20)

    def write(frame: Any, batch_id: int) -> None:
        for topic in topics:
            sink(frame.write.mode("append"), kafka, topic, sinkName=topic).save()

    for _ in range(2):
        writer = source(spark, kafka, incoming).writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
        writer.start().awaitTermination()
        forget_last_commit(tmp_path)
    for topic in topics:
        assert committed(spark, kafka, topic) == sorted(str(n) for n in range(20))


def test_a_job_whose_task_fails_leaves_nothing(spark: Any, kafka: Any) -> None:
    topic = kafka.topic(2)
    frame = spark.range(0, 100, 1, 4).selectExpr("cast(id as string) value", "if(id = 99, 7, 0) partition")
    told = error_of(sink(frame.write.mode("append"), kafka, topic, sinkName="failing", batchId=0).save)
    assert "Unrecognized partition 7" in told
    assert committed(spark, kafka, topic) == []
    assert [name for name in open_transactions(kafka) if "/failing/" in name] == []
    sink(frame.select("value").write.mode("append"), kafka, topic, sinkName="failing", batchId=0).save()
    assert committed(spark, kafka, topic) == sorted(str(n) for n in range(100))


def test_the_source_reads_what_is_committed(spark: Any, kafka: Any, tmp_path: Path) -> None:
    """Markers and aborted records are gaps; what comes after the first open transaction is not there yet."""
    topic = kafka.topic(1)
    with KafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        for n, ends in enumerate((producer.commit_transaction, producer.abort_transaction) * 3):
            producer.begin_transaction()
            for value in range(5):
                producer.send(topic, b"%d" % (10 * n + value))
            producer.flush()
            ends()
        producer.begin_transaction()
        producer.send(topic, b"open")
        producer.flush()
        expected = sorted(str(10 * n + value) for n in (0, 2, 4) for value in range(5))
        assert committed(spark, kafka, topic) == expected
        assert load(spark, kafka, subscribe=topic).count() == 31
        frame = source(spark, kafka, topic, maxOffsetsPerTrigger=4, **{"kafka.isolation.level": "read_committed"})
        copied: list[str] = []
        writer = frame.selectExpr("cast(value as string) v").writeStream.foreachBatch(
            lambda batch, _: copied.extend(row.v for row in batch.collect())
        )
        writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
        assert sorted(copied) == expected
        producer.abort_transaction()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "needs the options sinkName"),
        ({"sinkName": "a/b", "batchId": 1}, "Option sinkName is made of letters"),
        ({"sinkName": "a", "batchId": 1, "kafka__acks": "1"}, "needs kafka.acks=all"),
        ({"sinkName": "a", "batchId": -1}, "batchId must not be negative"),
    ],
)
def test_refusals(spark: Any, kafka: Any, options: dict[str, Any], sentence: str) -> None:
    writer = sink(spark.range(1).selectExpr("'x' value").write.mode("append"), kafka, "refused", **options)
    assert sentence in error_of(writer.save)
