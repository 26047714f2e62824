"""Which of a broker's roles make it a coordinator."""

from __future__ import annotations

from typing import Any

from kafkapy.cluster.partition import Partition
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.server.coordinators.elections import CoordinatorElections

OFFSETS = "__consumer_offsets"


class FakeCoordinator:
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def on_election(self, partition: int, epoch: int) -> None:
        self.told.append(("election", partition, epoch))

    def on_resignation(self, partition: int, epoch: int | None) -> None:
        self.told.append(("resignation", partition, epoch))


def partition(topic: str, index: int, epoch: int) -> Partition:
    nobody: Any = None
    made = Partition(TopicPartition(topic, index), 0, MockTime(), host=nobody)
    made.leader_epoch = epoch
    return made


def test_whoever_leads_an_offsets_partition_coordinates_its_groups() -> None:
    coordinator: Any = FakeCoordinator()
    elections = CoordinatorElections(OFFSETS, coordinator)
    elections.roles_changed(
        [partition(OFFSETS, 1, 5), partition("t", 2, 5)],
        [partition(OFFSETS, 3, 6), partition("t", 4, 6)],
    )
    elections.replicas_removed([TopicPartition(OFFSETS, 7), TopicPartition("t", 8)])
    assert coordinator.told == [("election", 1, 5), ("resignation", 3, 6), ("resignation", 7, None)]
