"""The default partitioner: murmur2 for records with a key, any partition for others."""

from __future__ import annotations

import random
from typing import Any

from kafkapy.partitioner.abc import Cluster, Partitioner
from kafkapy.partitioner.hashing import murmur2, partition_of

__all__ = ["DefaultPartitioner", "murmur2"]  # kafka-python has both here


class DefaultPartitioner(Partitioner):
    """The default of a `KafkaProducer`, which stands for the Java client's behaviour.

    The producer hashes keys with murmur2. Records without key fill a batch for one partition, then one for the next
    (KIP-480, KIP-794). When it is called directly, it chooses any available partition for records without key.

    Example:
        >>> from kafkapy import KafkaProducer
        >>> with KafkaProducer(bootstrap_servers="localhost:9092", partitioner=DefaultPartitioner()) as producer:
        ...     producer.send("example-partitioner", b"hello", key=b"greeting").get(timeout=10).partition
        0
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
        """Choose by the key's hash; without a key, any available partition.

        Args:
            topic: Name of the topic.
            key: Not used.
            serialized_key: The key's bytes; None: no key.
            value: Not used.
            serialized_value: Not used.
            cluster: Partitions and brokers, as in the producer's metadata.
        """
        return self._choose(topic, serialized_key, cluster)

    def __call__(self, key: bytes | None, all_partitions: list[int], available: list[int]) -> int:
        """Choose a partition; the signature of kafka-python 2."""
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
