"""The connector with a secured Kafka: batch and stream, read and written, by Java's names behind `kafka.`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkapy.testing import KafkaCluster
from kafkapy.testing.cluster_security import JAVA

pytestmark = pytest.mark.integration


def test_batch_and_stream(spark: Any, tmp_path: Path) -> None:
    with KafkaCluster(topics="orders:2,copies:1", secured=True) as kafka:
        for topic in ("orders", "copies"):
            kafka.allow("alice", ["READ", "WRITE"], topic=topic)
        kafka.allow("alice", "READ", group="spark", prefixed=True)

        def options(user: str) -> dict[str, str]:
            return {f"kafka.{name}": value for name, value in kafka.client_options(user, JAVA).items()}

        frame = spark.range(100).selectExpr("CAST(id AS STRING) AS key", "CAST(id AS STRING) AS value")
        frame.write.mode("append").format("kafkapy").options(**options("alice"), topic="orders").save()
        reader = spark.read.format("kafkapy").options(**options("alice"), subscribe="orders")
        assert sorted(int(row.value) for row in reader.load().collect()) == list(range(100))

        stream = spark.readStream.format("kafkapy").options(**options("alice"), subscribe="orders")
        query = (
            stream.option("startingOffsets", "earliest")
            .load()
            .select("key", "value")
            .writeStream.format("kafkapy")
            .options(**options("alice"), topic="copies", checkpointLocation=str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert sorted(int(record.value or b"") for record in kafka.records("copies")) == list(range(100))

        with pytest.raises(Exception, match=r"(?i)authorization failed"):
            spark.read.format("kafkapy").options(**options("bob"), subscribe="orders").load().collect()
