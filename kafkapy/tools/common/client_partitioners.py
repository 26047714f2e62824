"""Partitioners of the Java producer other than its default."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from kafkapy.partitioner.abc import Cluster, Partitioner
from kafkapy.partitioner.default import DefaultPartitioner
from kafkapy.partitioner.sticky import StickyPartitioner
from kafkapy.tools.common.command_line import ToolError

_PACKAGE = "org.apache.kafka.clients.producer"


class RoundRobinPartitioner(Partitioner):
    """One partition after the other, whatever the keys (Kafka's class of this name)."""

    def __init__(self) -> None:
        self._counters: dict[str, Iterator[int]] = defaultdict(lambda: itertools.count(random.randrange(1 << 16)))

    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: Cluster,
    ) -> int:
        usable = sorted(cluster.available_partitions_for_topic(topic) or cluster.partitions_for_topic(topic) or ())
        return usable[next(self._counters[topic]) % len(usable)]


class UniformStickyPartitioner(StickyPartitioner):
    """Sticky for all records, whatever the keys (Kafka's class of this name; KIP-480)."""

    def _choose(self, topic: str, serialized_key: bytes | None, cluster: Cluster) -> int:
        return super()._choose(topic, None, cluster)


_KNOWN: dict[str, Callable[[], Partitioner]] = {
    "RoundRobinPartitioner": RoundRobinPartitioner,
    "UniformStickyPartitioner": UniformStickyPartitioner,
    "internals.DefaultPartitioner": DefaultPartitioner,
}


def partitioner(class_name: str) -> Partitioner:
    """The partitioner of a Java class name, with or without its package. Raises ToolError."""
    found = _KNOWN.get(class_name.removeprefix(f"{_PACKAGE}."))
    if found is None:
        known = ", ".join(f"{_PACKAGE}.{name}" for name in _KNOWN)
        raise ToolError(f"Invalid value {class_name} for configuration partitioner.class: known here are {known}")
    return found()
