"""What a query will read, as text.

Spark builds the text of `explain` in the JVM. For a Python source it only has a name and the pushed filters; the API
has no method for a description. Here topics, offsets and tasks are extracted from the plan.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafkapy.spark.offset_ranges import OffsetRange

_BATCH_SCAN = "org.apache.spark.sql.execution.datasources.v2.BatchScanExec"
_PYTHON_BATCH = "org.apache.spark.sql.execution.datasources.v2.python.PythonBatch"


def explain(frame: DataFrame, mode: str = "simple") -> str:
    """Return Spark's `explain` of a batch query, followed by each scan of this source: tasks, topics, offsets, pushed
    filters.

    Spark Connect is not supported, because its client has no access to the plan.
    """
    from pyspark.errors import PySparkNotImplementedError

    query = getattr(getattr(frame, "_jdf", None), "queryExecution", None)
    if query is None:
        raise PySparkNotImplementedError("kafkapy.spark.explain reads the plan in the JVM; Spark Connect hides it")
    execution = query()
    session: Any = frame.sparkSession
    jvm = session._jvm
    text = str(jvm.PythonSQLUtils.explainString(execution, mode))
    return "\n".join([text.rstrip(), *_scans(execution.executedPlan())])


def _scans(plan: Any) -> list[str]:
    """One line for the scan, one for each partition. An adaptive plan hides what it began with."""
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.initialPlan()
    leaves = plan.collectLeaves()
    found = []
    for i in range(leaves.size()):
        leaf = leaves.apply(i)
        if leaf.getClass().getName() == _BATCH_SCAN and leaf.batch().getClass().getName() == _PYTHON_BATCH:
            tasks = [pickle.loads(bytes(part.pickedPartition())).value for part in leaf.batch().planInputPartitions()]
            found += describe_scan(tasks, leaf.scan().getMetaData().apply("PushedFilters"))
    return found


def describe_scan(tasks: Sequence[tuple[OffsetRange, ...] | None], pushed: str) -> list[str]:
    """`tasks`: what each reads; None stands for nothing."""
    pieces = [piece for task in tasks for piece in task or ()]
    bounds: dict[TopicPartition, tuple[int, int]] = {}
    for piece in pieces:
        first, until = bounds.get(piece.partition, (piece.start, piece.until))
        bounds[piece.partition] = min(first, piece.start), max(until, piece.until)
    topics = ", ".join(sorted({partition.topic for partition in bounds}))
    lines = [f"Kafka scan of [{topics}]: {len(tasks) if pieces else 0} tasks, PushedFilters: {pushed}"]
    return lines + [
        f"  {partition}: offsets {first} to {until}" for partition, (first, until) in sorted(bounds.items())
    ]
