"""A Spark program that copies a topic exactly once, in batches; its driver dies at a point of the commit that a file names.

    python -m system_tests.exactly_once_stream BOOTSTRAP INPUT OUTPUT DIRECTORY MASTER

DIRECTORY has the checkpoint, `driver.pid` with the processes of the driver, and `armed`, if the next commit is to be the last.
It ends with 0 when all records that were there at its start have been copied.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kafkapy.spark.data_source import KafkaDataSource
from kafkapy.spark.decision_store import Turn
from kafkapy.spark.sink_decision import Decision, Stage
from kafkapy.spark.sink_transactions import SinkTransactions
from kafkapy.spark.writer import KafkaStreamWriter

DIRECTORY = "KAFKAPY_TEST_DIRECTORY"
"""In the environment: by it the test knows the processes of its Spark, and they know where the files are."""
POINTS = ("before the decision", "after the decision", "between two commits", "before the end")
RECORDS_OF_A_BATCH = 5_000
SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""Options of JVMs that don't live long enough for what the better compiler makes."""


def die_at(point: str) -> None:
    directory = Path(os.environ[DIRECTORY])
    armed = directory / "armed"
    if not armed.exists() or armed.read_text() != point:
        return
    armed.unlink()
    for pid in (directory / "driver.pid").read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


class MortalWriter(KafkaStreamWriter):
    def commit(self, messages: Sequence[Any], batchId: int) -> None:
        decide: Callable[[Turn, Decision], None] = Turn.decide
        end = SinkTransactions.end

        def deciding(turn: Turn, decision: Decision) -> None:
            die_at("before the decision" if decision.stage is Stage.DECIDED else "before the end")
            decide(turn, decision)
            if decision.stage is Stage.DECIDED:
                die_at("after the decision")

        def ending(cluster: SinkTransactions, prepared: Any, committed: bool) -> Any:
            results: Any = {}
            for one in prepared:
                results |= end(cluster, [one], committed)
                die_at("between two commits")
            return results

        patched: Any = Turn, SinkTransactions
        patched[0].decide, patched[1].end = deciding, ending
        try:
            super().commit(list(messages), batchId)
        finally:
            patched[0].decide, patched[1].end = decide, end


class MortalDataSource(KafkaDataSource):
    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        return MortalWriter(super().streamWriter(schema, overwrite)._options)  # type: ignore[attr-defined]


def main(bootstrap: str, incoming: str, outgoing: str, directory: Path, master: str) -> None:
    from kafkapy.spark.java_home import prepare_environment

    prepare_environment(directory / "java")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("exactly once")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.executor.extraJavaOptions": SHORT_LIVED,
        "spark.sql.codegen.wholeStage": "false",
        "spark.local.dir": str(directory / "local"),
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "4",
        "spark.task.maxFailures": "20",
        "spark.speculation": "true",
        "spark.speculation.multiplier": "1.2",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "300ms",
        "spark.speculation.interval": "50ms",
        "spark.deploy.maxExecutorRetries": "-1",
    }.items():
        builder = builder.config(name, value)
    spark: Any = builder.getOrCreate()
    java = spark._jvm.java.lang.ProcessHandle.current().pid()
    (directory / "driver.pid").write_text(f"{java} {os.getpid()}")
    spark.dataSource.register(MortalDataSource)
    reader = spark.readStream.format("kafkapy").option("kafka.bootstrap.servers", bootstrap)
    reader = reader.option("subscribe", incoming).option("startingOffsets", "earliest")
    frame = reader.option("maxOffsetsPerTrigger", RECORDS_OF_A_BATCH).load().select("value").repartition(4)
    writer = frame.writeStream.format("kafkapy").option("kafka.bootstrap.servers", bootstrap).option("topic", outgoing)
    writer = writer.option("delivery", "exactly-once").option("checkpointLocation", str(directory / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]), sys.argv[5])
