"""Records the sticky assignor's moves, so that it does not exchange partitions of a topic between two consumers."""

from __future__ import annotations

from typing import NamedTuple

from kafkapy.common.topic_partition import TopicPartition


class _Pair(NamedTuple):
    source: str
    target: str


class PartitionMovements:
    """Invariant: `_by_topic` groups `_pairs` by topic and by (source, target); no group is empty."""

    def __init__(self) -> None:
        self._pairs: dict[TopicPartition, _Pair] = {}
        self._by_topic: dict[str, dict[_Pair, dict[TopicPartition, None]]] = {}

    def move(self, partition: TopicPartition, source: str, target: str) -> None:
        """Record a move. A second move of a partition is merged with the first; a move back cancels it."""
        first = self._forget(partition)
        source = source if first is None else first.source
        if source != target:
            pair = self._pairs[partition] = _Pair(source, target)
            self._by_topic.setdefault(partition.topic, {}).setdefault(pair, {})[partition] = None

    def actual_partition(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Return the partition to move: one of the same topic that moved from `target` to `source` before, else
        `partition`."""
        moves = self._by_topic.get(partition.topic)
        if moves is None:
            return partition
        if partition in self._pairs:
            source = self._pairs[partition].source
        opposite = moves.get(_Pair(target, source))
        return next(iter(opposite)) if opposite else partition

    def _forget(self, partition: TopicPartition) -> _Pair | None:
        pair = self._pairs.pop(partition, None)
        if pair is not None:
            moves = self._by_topic[partition.topic]
            del moves[pair][partition]
            if not moves[pair]:
                del moves[pair]
            if not moves:
                del self._by_topic[partition.topic]
        return pair
