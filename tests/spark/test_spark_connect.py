"""The data source through Spark Connect: the client sends the class, the server's Python workers do the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkapy.spark.java_home import prepare_environment
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.integration

PROGRAM = """
import sys

from pyspark.sql import SparkSession

from kafkapy.spark import KafkaDataSource

bootstrap, source, target = sys.argv[1:]
spark = SparkSession.builder.remote("local[1]").getOrCreate()
assert "connect" in type(spark).__module__
spark.dataSource.register(KafkaDataSource)


def read(topic):
    reader = spark.read.format("kafkapy").option("kafka.bootstrap.servers", bootstrap)
    return reader.option("subscribe", topic).load()


writer = read(source).select("key", "value").write.format("kafkapy").option("kafka.bootstrap.servers", bootstrap)
writer.option("topic", target).mode("append").save()
print("READ", sorted(int(row.value) for row in read(target).collect()))
spark.stop()
"""


def test_a_topic_is_copied(kafka: Any, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="pip install 'pyspark[connect]'")
    source, target = kafka.topic(2), kafka.topic(2)
    kafka.fill(source, 0, 5)
    kafka.fill(source, 1, 5, first=5)
    environment = dict(os.environ)
    prepare_environment(tmp_path / "java", environment)
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", PROGRAM, kafka.bootstrap, source, target]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert f"READ {list(range(10))}" in done.stdout, done.stdout + done.stderr
