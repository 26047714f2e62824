"""The leader's work as a whole: shares of members, tasks that move in two steps, shutdown, versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.assignment_info import NO_REBALANCE
from kafkapy.streams.assignment.group_assignment import (
    SHUTDOWN_REQUESTED,
    GroupAssignment,
    PartitionRacks,
    StreamsMember,
    TaskShare,
)
from kafkapy.streams.assignment.high_availability import AssignmentConfigs
from kafkapy.streams.assignment.subscription_info import LATEST_OFFSET, SubscriptionInfo
from kafkapy.streams.assignment.task_id import ProcessId, TaskId

PARTITIONS = {TaskId(0, number): [TopicPartition("in", number)] for number in range(4)}


def info(process: int, *running: TaskId, version: int = 11, error: int = 0) -> SubscriptionInfo:
    return SubscriptionInfo(
        version, version, ProcessId(0, process), None, dict.fromkeys(running, LATEST_OFFSET), error_code=error
    )


def compute(members: Sequence[StreamsMember], lag: int | None = 0, **configs: Any) -> dict[str, TaskShare]:
    ends = None if lag is None else dict.fromkeys(PARTITIONS, lag)
    stateful = list(PARTITIONS)
    settings = AssignmentConfigs(**configs)
    return GroupAssignment(members, PARTITIONS, stateful, ends, settings, ProcessId(0, 1), 1000).compute()


def test_partitions_are_spread_over_instances_and_their_threads() -> None:
    members = [
        StreamsMember("a-1", info(1)),
        StreamsMember("a-2", info(1)),
        StreamsMember("b-1", info(2)),
        StreamsMember("b-2", info(2)),
    ]
    shares = compute(members)
    assert sorted(len(share.partitions) for share in shares.values()) == [1, 1, 1, 1]
    for share in shares.values():
        assert [TaskId(0, partition.partition) for partition in share.partitions] == list(share.info.active_tasks)
        assert share.info.next_rebalance_ms == NO_REBALANCE


def test_a_partition_that_another_member_has_is_given_up_first() -> None:
    everything = [partition for partitions in PARTITIONS.values() for partition in partitions]
    members = [StreamsMember("a", info(1, *PARTITIONS), everything), StreamsMember("b", info(2))]
    first = compute(members)
    assert len(first["a"].partitions) == 2
    assert first["b"].partitions == []
    assert first["b"].info.next_rebalance_ms == 0
    kept = first["a"].partitions
    members = [StreamsMember("a", info(1, *first["a"].info.active_tasks), kept), StreamsMember("b", info(2))]
    second = compute(members)
    assert second["a"].partitions == kept
    assert len(second["b"].partitions) == 2
    assert second["b"].info.next_rebalance_ms == NO_REBALANCE


def test_tasks_whose_state_is_elsewhere_are_warmed_up_and_probed() -> None:
    everything = [partition for partitions in PARTITIONS.values() for partition in partitions]
    members = [StreamsMember("a", info(1, *PARTITIONS), everything), StreamsMember("b", info(2))]
    shares = compute(members, lag=50_000)
    assert len(shares["a"].partitions) == 4
    assert len(shares["b"].info.standby_tasks) == 2
    assert shares["a"].info.next_rebalance_ms == 1000 + 600_000


def test_one_member_stops_the_whole_application() -> None:
    shares = compute([StreamsMember("a", info(1)), StreamsMember("b", info(2, error=SHUTDOWN_REQUESTED))])
    assert {share.info.error_code for share in shares.values()} == {SHUTDOWN_REQUESTED}
    assert not any(share.partitions for share in shares.values())


def test_the_lowest_version_of_the_group_is_written() -> None:
    shares = compute([StreamsMember("a", info(1, version=7)), StreamsMember("b", info(2))])
    assert {share.info.version for share in shares.values()} == {7}
    assert {share.info.commonly_supported_version for share in shares.values()} == {7}


def test_a_member_of_a_later_version_is_answered_in_ours() -> None:
    later = SubscriptionInfo(12, 12, ProcessId(0, 0))
    shares = compute([StreamsMember("a", info(1)), StreamsMember("b", later)])
    assert shares["b"].info.version == 11


def test_a_later_version_and_one_before_2_0_do_not_go_together() -> None:
    later = SubscriptionInfo(12, 12, ProcessId(0, 0))
    with pytest.raises(ValueError, match=r"before Kafka 2\.0"):
        compute([StreamsMember("a", info(1, version=2)), StreamsMember("b", later)])


def test_without_the_ends_of_changelogs_another_rebalance_follows() -> None:
    shares = compute([StreamsMember("a", info(1))], lag=None)
    assert shares["a"].info.next_rebalance_ms == 1000 + 600_000


def test_tasks_go_to_the_racks_of_their_partitions() -> None:
    """And each task once, if an instance has no rack."""
    stateless: list[TaskId] = []
    racks = PartitionRacks({TopicPartition("in", number): ["ba"[number % 2]] for number in range(4)}, {})
    configs = AssignmentConfigs(rack_aware_strategy="min_traffic")

    def shares(*of_members: str | None) -> list[list[int]]:
        members = [StreamsMember(f"m{number}", info(number), (), rack) for number, rack in enumerate(of_members)]
        assignment = GroupAssignment(members, PARTITIONS, stateless, {}, configs, ProcessId(0, 0), 0, racks).compute()
        return [[one.partition for one in assignment[member.member_id].partitions] for member in members]

    assert shares("a", "b") == [[1, 3], [0, 2]]
    assert shares("a", None) == [[0, 2], [1, 3]]
