"""murmur2 for records with a key, any partition for those without."""

from __future__ import annotations

import random
from typing import Any

from kafkapy.partitioner.abc import Cluster, Partitioner
from kafkapy.partitioner.hashing import murmur2, partition_of

__all__ = ["DefaultPartitioner", "murmur2"]  # kafka-python has both here


class DefaultPartitioner(Partitioner):
    """Given to a `KafkaProducer` (it is the default) it stands for the producer's own choice, which is the Java
    client's: by the key's murmur2 hash, and for records without key one partition after the other, each for as long as
    it takes to fill a batch (KIP-480, KIP-794). Asked by itself it takes any available partition for those.
    """

    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: Cluster,
    ) -> int:
        return self._choose(topic, serialized_key, cluster)

    def __call__(self, key: bytes | None, all_partitions: list[int], available: list[int]) -> int:
        """The same as kafka-python 2 asks it."""
        if key is not None:
            return all_partitions[partition_of(key, len(all_partitions))]
        return random.choice(available or all_partitions)

    def _choose(self, topic: str, serialized_key: bytes | None, cluster: Cluster) -> int:
        everything = sorted(cluster.partitions_for_topic(topic) or ())
        if not everything:
            raise ValueError(f"Topic {topic} not found in ClusterMetadata")
        if serialized_key is not None:
            return everything[partition_of(serialized_key, len(everything))]
        return random.choice(sorted(cluster.available_partitions_for_topic(topic) or ()) or everything)
