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

    Example:
        >>> class First(Partitioner):
        ...     def partition(self, topic, key, serialized_key, value, serialized_value, cluster):
        ...         return 0
        >>> First().partition("clicks", None, None, b"home", b"home", None)
        0
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
        """Return the partition's number. `send` raises what this raises.

        Args:
            topic: Name of the topic.
            key: The key as it was given to `send`.
            serialized_key: The key's bytes; None: no key.
            value: The value as it was given to `send`.
            serialized_value: The value's bytes.
            cluster: Partitions and brokers, as in the producer's metadata.
        """
