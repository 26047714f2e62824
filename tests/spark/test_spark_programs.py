"""The Spark programs of README.md and docs/spark.md, as they are but for the address."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from tests.pages.programs import all_programs
from tests.spark.conftest import Kafka

pytestmark = pytest.mark.integration

PROGRAMS = {program.name: program for program in all_programs()}


def run(name: str, spark: Any, kafka: Kafka) -> None:
    text = PROGRAMS[name].text.replace("localhost:9092", kafka.bootstrap)
    frame = spark.createDataFrame([("key", "value")], "key string, value string")
    exec(compile(text, name, "exec"), {"spark": spark, "df": frame})


def values(spark: Any, kafka: Kafka, topic: str) -> list[bytes]:
    frame = spark.read.format("kafkapy").option("kafka.bootstrap.servers", kafka.bootstrap).option("subscribe", topic)
    return sorted(bytes(row.value) for row in frame.load().select("value").collect())


def test_the_programs_of_the_pages(spark: Any, kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> None:
    with kafka.admin() as admin:
        for topic in ("events", "copies", "out"):
            values_of(admin.create_topics([NewTopic(topic, 1, 1)]))
    kafka.fill("events", 0, 3)
    run("README.md: Spark 1", spark, kafka)
    assert "|NULL|    2|" in capsys.readouterr().out
    assert values(spark, kafka, "copies") == [b"0", b"1", b"2"]
    run("spark.md: The Spark connector 1", spark, kafka)
    assert values(spark, kafka, "out") == [b"value"]
