"""A Spark program that copies a topic exactly once, in batches; tasks, executors and the driver die at points that a file names.

    python -m system_tests.exactly_once_stream BOOTSTRAP INPUT OUTPUT DIRECTORY MASTER

DIRECTORY has the checkpoint, `driver.pid` with the processes of the driver, and `armed`, if one is to die: "task", "executor"
or one of the `POINTS` of the driver's commit. Who dies of it removes it.
It ends with 0 when all records that were there at its start have been copied.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
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


def is_turn_of(*victims: str) -> bool:
    """Is one of them to die, and no other process has taken that upon itself?"""
    armed = Path(os.environ[DIRECTORY]) / "armed"
    try:
        if armed.read_text() not in victims:
            return False
        armed.unlink()
    except FileNotFoundError:
        return False
    return True


def die_at(point: str) -> None:
    if not is_turn_of(point):
        return
    for pid in (Path(os.environ[DIRECTORY]) / "driver.pid").read_text().split():
        os.kill(int(pid), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def die_in_task() -> None:
    """A task's Python worker dies, or its executor: the worker then goes on until it sees that nobody listens."""
    if is_turn_of("task"):
        os.kill(os.getpid(), signal.SIGKILL)
    if is_turn_of("executor"):
        os.kill(_executor(), signal.SIGKILL)


def _executor() -> int:
    """The JVM whose daemon has forked this worker; the worker where executor and driver are one."""
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
    java = int(daemon.rpartition(")")[2].split()[1])
    return java if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{java}/cmdline").read_bytes() else os.getpid()


class MortalWriter(KafkaStreamWriter):
    def write(self, iterator: Iterator[Any]) -> Any:
        """With victims before a task has sent anything, and when its transaction is complete and open."""
        is_early = random.random() < 0.5
        if is_early:
            die_in_task()
        done = super().write(iterator)
        if not is_early:
            die_in_task()
        return done

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
