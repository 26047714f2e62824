"""Brokers before 0.10.1, which ListOffsets 0 is all that is known of: by the option `api_version`."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.timestamps import EARLIEST_TIMESTAMP
from kafkapy.errors import IncompatibleBrokerVersion
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse
from kafkapy.runtime.completion import spawn
from tests.consumer.group.memory_group import P0, P1, Group


def _old_offsets(request: Any) -> ListOffsetsResponse:
    """One offset at most is asked for; there is none in the second partition."""
    part = ListOffsetsResponse.ListOffsetsPartitionResponse
    answers = []
    for topic in request.topics:
        assert {wanted.max_num_offsets for wanted in topic.partitions} == {1}
        offsets = [
            [3 if wanted.timestamp == EARLIEST_TIMESTAMP else 7][wanted.partition_index :]
            for wanted in topic.partitions
        ]
        parts = [
            part(partition_index=wanted.partition_index, old_style_offsets=found)
            for wanted, found in zip(topic.partitions, offsets, strict=True)
        ]
        answers.append(ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name, partitions=parts))
    return ListOffsetsResponse(topics=answers)


@pytest.mark.parametrize("release", [(0, 8, 2), (0, 9), (0, 10, 0)])
def test_the_ends_are_known_and_times_are_not(release: tuple[int, ...]) -> None:
    group = Group(group_id=None, api_version=release)
    group.cluster.brokers[0].handlers[ApiKey.LIST_OFFSETS] = _old_offsets
    fetcher = group.core.fetcher
    assert group.driver.result_of(spawn(fetcher.beginning_offsets([P0, P1])), 1_000) == {P0: 3}
    assert group.driver.result_of(spawn(fetcher.end_offsets([P0])), 1_000) == {P0: 7}
    with pytest.raises(IncompatibleBrokerVersion, match="LIST_OFFSETS"):
        group.driver.result_of(spawn(fetcher.offsets_for_times({P0: 5})), 1_000)


def test_a_position_is_reset() -> None:
    group = Group(group_id=None, api_version=(0, 9))
    group.cluster.brokers[0].handlers[ApiKey.LIST_OFFSETS] = _old_offsets
    group.core.assign([P0])
    group.poll()
    assert group.driver.result_of(spawn(group.core.position(P0, 1_000)), 1_000) == 3
    assert [version for key, version, _ in group.cluster.brokers[0].requests if key is ApiKey.FETCH][:1] == [1]
