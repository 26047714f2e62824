"""The sticky partitioner (KIP-480)."""

from __future__ import annotations

import random
import threading

from kafkapy.partitioner.abc import Cluster
from kafkapy.partitioner.default import DefaultPartitioner


class StickyPartitioner(DefaultPartitioner):
    """A partitioner that sends records without key to one partition until a batch is full; keys as
    `DefaultPartitioner`.

    Example:
        >>> from kafkapy import KafkaProducer
        >>> with KafkaProducer(bootstrap_servers="localhost:9092", partitioner=StickyPartitioner()) as producer:
        ...     producer.send("example-sticky", b"hello").get(timeout=10).partition
        0
    """

    def __init__(self) -> None:
        self._sticky: dict[str, int] = {}
        self._lock = threading.Lock()

    def _choose(self, topic: str, serialized_key: bytes | None, cluster: Cluster) -> int:
        if serialized_key is not None:
            return super()._choose(topic, serialized_key, cluster)
        with self._lock:
            usable = self._usable(topic, cluster)
            chosen = self._sticky.get(topic)
            if chosen not in usable:
                chosen = self._sticky[topic] = random.choice(usable)
            return chosen

    def on_new_batch(self, topic: str, cluster: Cluster, prev_partition: int) -> None:
        """Choose another partition, unless another thread has done so.

        Args:
            topic: Name of the topic.
            cluster: Partitions and brokers, as in the producer's metadata.
            prev_partition: Partition of the batch that is full.
        """
        with self._lock:
            if self._sticky.get(topic) == prev_partition:
                usable = self._usable(topic, cluster)
                self._sticky[topic] = random.choice([p for p in usable if p != prev_partition] or usable)

    def _usable(self, topic: str, cluster: Cluster) -> list[int]:
        usable = sorted(cluster.available_partitions_for_topic(topic) or cluster.partitions_for_topic(topic) or ())
        if not usable:
            raise ValueError(f"Topic {topic} not found in ClusterMetadata")
        return usable
