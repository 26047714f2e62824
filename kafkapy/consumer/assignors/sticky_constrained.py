"""The sticky assignors' fast path: all members subscribe to the same topics, so only partition counts matter."""

from __future__ import annotations

from collections import deque

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import PartitionTable
from kafkapy.consumer.assignors.racks import RackInfo


class ConstrainedAssignment:
    """Every member gets `min_quota` or `max_quota` partitions; exactly `_expected_over` get more than `min_quota`.

    Members keep what they own up to their quota; the rest is assigned round robin to `_below` (members under
    `min_quota`) and then to `_at` (members at `min_quota`, while fewer than `_expected_over` exceed it).
    """

    def __init__(
        self,
        table: PartitionTable,
        racks: RackInfo,
        owned: dict[str, list[TopicPartition]],
        contested: set[TopicPartition],
    ) -> None:
        self.transferred: dict[TopicPartition, str] = {}
        self._racks = racks
        self._owned = owned
        self._contested = contested
        self._partitions = table.partitions
        self._min_quota, self._expected_over = divmod(len(self._partitions), len(owned))
        self._max_quota = self._min_quota + (self._expected_over > 0)
        self._over = 0
        self._assignment: dict[str, list[TopicPartition]] = {consumer: [] for consumer in owned}
        self._revoked: dict[TopicPartition, str] = {}
        self._below: list[str] = []
        self._at: list[str] = []

    def build(self) -> dict[str, list[TopicPartition]]:
        for consumer in sorted(self._owned):
            self._keep_owned(consumer)
        kept = {partition for assigned in self._assignment.values() for partition in assigned}
        unassigned = self._racks.rarest_first([p for p in self._partitions if p not in kept])
        self._below.sort()
        self._at.sort()
        if self._racks.consumer_racks:
            unassigned = self._assign_by_rack(unassigned)
        self._assign_round_robin(unassigned)
        return self._assignment

    def _keep_owned(self, consumer: str) -> None:
        owned = []
        for partition in sorted(self._owned[consumer], key=lambda p: (p.partition, p.topic)):
            if self._racks.mismatch(consumer, partition):
                self._revoked[partition] = consumer
            elif partition not in self._contested:
                owned.append(partition)
        if len(owned) < self._min_quota:
            self._assignment[consumer] += owned
            self._below.append(consumer)
            return
        quota = self._min_quota
        if len(owned) >= self._max_quota and self._over < self._expected_over:
            quota = self._max_quota
            self._count_over()
        elif self._over < self._expected_over:
            self._at.append(consumer)
        self._assignment[consumer] += owned[:quota]
        self._revoked |= dict.fromkeys(owned[quota:], consumer)

    def _count_over(self) -> None:
        self._over += 1
        if self._over == self._expected_over:
            self._at.clear()

    def _assign_by_rack(self, unassigned: list[TopicPartition]) -> list[TopicPartition]:
        left = []
        turn = 0
        for partition in unassigned:
            index = self._racks.next_near(partition, self._below, turn)
            if index is not None:
                consumer = self._below[index]
                count = len(self._assignment[consumer]) + 1
                if count >= self._min_quota:
                    self._below.remove(consumer)
                    if count < self._max_quota and self._over < self._expected_over:
                        self._at.append(consumer)
                else:
                    index += 1
                turn = index % len(self._below) if self._below else 0
                self._assign(partition, consumer)
                continue
            index = self._racks.next_near(partition, self._at, 0)
            if index is None:
                left.append(partition)
                continue
            consumer = self._at[index]
            if len(self._assignment[consumer]) + 1 == self._max_quota:
                del self._at[index]
                self._count_over()
            self._assign(partition, consumer)
        return left

    def _assign_round_robin(self, unassigned: list[TopicPartition]) -> None:
        below, at = deque(self._below), deque(self._at)
        for partition in unassigned:
            consumer = below.popleft() if below else at.popleft()
            count = self._assign(partition, consumer)
            if count < self._min_quota:
                below.append(consumer)
            elif count == self._min_quota:
                at.append(consumer)

    def _assign(self, partition: TopicPartition, consumer: str) -> int:
        self._assignment[consumer].append(partition)
        if partition in self._contested or self._revoked.get(partition, consumer) != consumer:
            self.transferred[partition] = consumer
        return len(self._assignment[consumer])
