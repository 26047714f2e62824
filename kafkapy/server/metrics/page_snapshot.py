"""Values of partitions and groups' offsets that several metrics share: collected once for each page, in time slices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kafkapy.cluster.partition import Partition
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group import ClassicGroup
from kafkapy.log.log import Log
from kafkapy.runtime.chunks import chunks

Leader = tuple[Partition, Log]
Offset = tuple[str, TopicPartition, int, int | None]
"""Group, partition, committed offset, lag."""


class OfTopic:
    """Sums over a topic's partitions that this broker leads (`size`: over all local replicas)."""

    __slots__ = ("size", "under_min_isr", "under_replicated")

    def __init__(self) -> None:
        self.size = self.under_replicated = self.under_min_isr = 0


class PageSnapshot:
    """Invariant: sums cover all partitions; each list has at most `limit` entries, the most urgent ones for an
    operator, and a count of the others.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.leaders: list[Leader] = []
        """Partitions that this broker leads."""
        self.leaders_left_out = 0
        self.replicas: list[Leader] = []
        """Local replicas."""
        self.replicas_left_out = 0
        self.topics: dict[str, OfTopic] = {}
        self.hosted = 0
        """Partitions with a local replica."""
        self.led = self.under_replicated = self.under_min_isr = self.at_min_isr = 0
        self.reassigning = self.producer_ids = 0
        self.offsets: list[Offset] = []
        self.offsets_left_out = 0
        self.offset_sums: dict[tuple[str, str], int] = {}
        """By group and topic."""
        self.lag_sums: dict[tuple[str, str], int] = {}

    def of_partitions(self, partitions: list[Partition]) -> Iterator[None]:
        """Collect partitions, unhealthy ones first."""
        self.hosted = len(partitions)
        ill: list[Leader] = []
        healthy: list[Leader] = []
        others: list[Leader] = []
        for chunk in chunks(partitions):
            for partition in chunk:
                log = partition.log
                if log is None:
                    self.under_replicated += partition.is_under_replicated
                    continue
                topic = self.topics.setdefault(partition.topic_partition.topic, OfTopic())
                topic.size += log.size
                self.producer_ids += len(log.producers.producers)
                if not partition.is_leader:
                    others.append((partition, log))
                elif self._of_leader(partition, log, topic):
                    ill.append((partition, log))
                else:
                    healthy.append((partition, log))
            yield
        self.leaders = [*ill, *healthy][: self.limit]
        self.leaders_left_out = self.led - len(self.leaders)
        self.replicas = [*ill, *healthy, *others][: self.limit]
        self.replicas_left_out = self.led + len(others) - len(self.replicas)

    def _of_leader(self, partition: Partition, log: Log, topic: OfTopic) -> bool:
        """Return whether the partition is unhealthy."""
        self.led += 1
        in_sync, needed = len(partition.isr), partition.effective_min_isr(log)
        is_under_replicated = partition.is_under_replicated
        self.under_replicated += is_under_replicated
        self.under_min_isr += in_sync < needed
        self.at_min_isr += in_sync == needed
        self.reassigning += bool(partition.adding_replicas or partition.removing_replicas)
        topic.under_replicated += is_under_replicated
        topic.under_min_isr += in_sync < needed
        return is_under_replicated or in_sync < needed

    def of_offsets(
        self, groups: Iterable[ClassicGroup], end_of: Callable[[TopicPartition], int | None]
    ) -> Iterator[None]:
        """Collect committed offsets, those with a lag first."""
        behind: list[Offset] = []
        level: list[Offset] = []
        count = 0
        for chunk in chunks(committed(groups)):
            count += len(chunk)
            for group_id, partition, offset in chunk:
                by = group_id, partition.topic
                end = end_of(partition)
                # A follower's high watermark may be older than the commit.
                lag = None if end is None or offset < 0 else max(0, end - offset)
                self.offset_sums[by] = self.offset_sums.get(by, 0) + offset
                if lag is not None:
                    self.lag_sums[by] = self.lag_sums.get(by, 0) + lag
                told = behind if lag else level
                if len(told) < self.limit:
                    told.append((group_id, partition, offset, lag))
            yield
        self.offsets = [*behind, *level][: self.limit]
        self.offsets_left_out = count - len(self.offsets)


def committed(groups: Iterable[ClassicGroup]) -> Iterator[tuple[str, TopicPartition, int]]:
    """Yield group, partition and offset. Groups may change between two steps."""
    for group in groups:
        offsets = group.offsets.committed
        for partition in list(offsets):
            if (found := offsets.get(partition)) is not None:
                yield group.group_id, partition, found.value.offset
