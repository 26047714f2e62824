"""Completes a stream's progress.

Spark builds it in the JVM. For a Python source it lacks the metrics of Spark's own Kafka source, and the description
is a Java object's name; the Python API has no method for either. They are derived from the offsets of both ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.offset_limits import end_and_start


def with_metrics(progress: Mapping[str, Any]) -> dict[str, Any]:
    """A stream's progress with description and metrics of sources as Spark's own Kafka source has them.

    `progress`: `query.lastProgress`, one of `query.recentProgress`, or the JSON of a listener's event as a dict.
    """
    return {**progress, "sources": [_source(source) for source in progress["sources"]]}


def _source(source: Mapping[str, Any]) -> dict[str, Any]:
    latest, end = _offsets(source.get("latestOffset")), _offsets(source.get("endOffset"))
    if "PythonMicroBatchStream" not in source["description"] or end is None:
        return dict(source)
    described = {**source, "description": f"kafkapy[{', '.join(sorted({p.topic for p in end}))}]"}
    if latest is not None:
        behind = [offset - end.get(partition, 0) for partition, offset in latest.items()]
        described["metrics"] = {**source.get("metrics", {}), **_behind_latest(behind)}
    return described


def _behind_latest(behind: list[int]) -> dict[str, str]:
    if not behind:
        return {}
    return {
        "minOffsetsBehindLatest": str(min(behind)),
        "maxOffsetsBehindLatest": str(max(behind)),
        "avgOffsetsBehindLatest": str(sum(behind) / len(behind)),
    }


def _offsets(shown: Any) -> dict[TopicPartition, int] | None:
    """Of a progress: JSON, as text or read; None if they are not a topic's offsets."""
    try:
        return end_and_start(json.loads(shown) if isinstance(shown, str) else shown)[0]
    except (AttributeError, TypeError, ValueError):
        return None
