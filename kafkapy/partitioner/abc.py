"""The interface of partitioners."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol


class Cluster(Protocol):
    """What a partitioner may ask of the cluster."""

    def topics(self) -> set[str]: ...

    def partitions_for_topic(self, topic: str) -> set[int] | None: ...

    def available_partitions_for_topic(self, topic: str) -> set[int] | None: ...


class Partitioner(ABC):
    """Chooses a partition for each record that is sent without one.

    A partitioner may also have `on_new_batch(topic, cluster, prev_partition)`, called when a record without key would
    begin a new batch; it is asked again afterwards.
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
        """The partition's id. What it raises comes out of `send`."""
