"""The interface of partitioners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol


class Cluster(Protocol):
    """What a partitioner can ask about the cluster."""

    def topics(self) -> set[str]: ...

    def partitions_for_topic(self, topic: str) -> set[int] | None: ...

    def available_partitions_for_topic(self, topic: str) -> set[int] | None: ...


class Partitioner(ABC):
    """Chooses a partition for each record that is sent without one.

    A partitioner may also have `on_new_batch(topic, cluster, prev_partition)`. It is called when a record without key
    would begin a new batch; then `partition` is called again.
    """

    @abstractmethod
    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: Cluster,
    ) -> int:
        """Return the partition's id. `send` raises what this raises."""
