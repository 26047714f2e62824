from __future__ import annotations

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.records import group_key, offset_key
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.runtime.completion import spawn
from tests.coordinator.group.group_harness import DELAY, GROUP, HOST, Harness, subscription


@pytest.fixture
def h() -> Harness:
    return Harness()


def listed(h: Harness, *states: str, types: tuple[str, ...] = ()) -> dict[str, tuple[str, str]]:
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    response = spawn(h.coordinator.list_groups(request)).result()
    assert response.error_code == 0
    assert {group.group_type for group in response.groups} <= {"classic"}
    return {group.group_id: (group.group_state, group.protocol_type) for group in response.groups}


def test_list_groups(h: Harness) -> None:
    h.stable_group(group_id="stable")
    h.commit({("t", 0): 1}, group_id="simple")
    h.join(group_id="preparing", protocol_type="connect")
    everything = {
        "stable": ("Stable", "consumer"),
        "simple": ("Empty", ""),
        "preparing": ("PreparingRebalance", "connect"),
    }
    assert listed(h) == everything
    assert listed(h, "STABLE", "emptY").keys() == {"stable", "simple"}
    assert listed(h, "Nonsense") == {}
    assert listed(h, types=("Classic", "consumer")) == everything
    assert listed(h, types=("consumer",)) == {}


def test_describe_a_stable_group(h: Harness) -> None:
    [leader] = h.stable_group(instances=True)
    group = h.coordinator.describe_group(GROUP)
    assert (group.error_code, group.group_state) == (0, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    [member] = group.members
    assert (member.member_id, member.group_instance_id, member.client_id, member.client_host) == (
        leader,
        "i0",
        "client",
        HOST,
    )
    assert (member.member_metadata, member.member_assignment) == (subscription("t"), leader.encode())
    assert group.authorized_operations == -(2**31)


def test_describe_a_group_that_rebalances_shows_no_metadata(h: Harness) -> None:
    h.join()
    h.advance(DELAY)
    group = h.coordinator.describe_group(GROUP)
    assert (group.group_state, group.protocol_data) == ("CompletingRebalance", "")
    assert (group.members[0].member_metadata, group.members[0].member_assignment) == (b"", b"")


def test_describe_a_group_that_is_not_there(h: Harness) -> None:
    group = h.coordinator.describe_group("nobody")
    assert (group.error_code, group.group_state, group.protocol_type) == (0, "Dead", "")
    assert h.coordinator.describe_group("").group_state == "Dead"


def delete(h: Harness, *groups: str) -> dict[str, Errors]:
    results = spawn(h.coordinator.delete_groups(groups)).result()
    return {result.group_id: Errors.for_code(result.error_code) for result in results}


def test_delete_groups(h: Harness) -> None:
    h.stable_group(group_id="live")
    h.commit({("t", 0): 1}, group_id="simple")
    [leader] = h.stable_group(group_id="left")
    h.commit({("t", 0): 1}, leader, 1, group_id="left")
    h.leave(leader, group_id="left")
    assert delete(h, "live", "simple", "left", "nobody", "") == {
        "live": Errors.NON_EMPTY_GROUP,
        "simple": Errors.NONE,
        "left": Errors.NONE,
        "nobody": Errors.GROUP_ID_NOT_FOUND,
        "": Errors.GROUP_ID_NOT_FOUND,
    }
    assert listed(h).keys() == {"live"}
    assert h.offsets("left") == {}
    offset = offset_key("left", TopicPartition("t", 0))
    assert h.log.records(h.log_of("left"))[-2:] == [(offset, None), (group_key("left"), None)]


def test_a_deleted_group_can_begin_anew(h: Harness) -> None:
    [leader] = h.stable_group()
    h.leave(leader)
    delete(h, GROUP)
    assert h.stable_group() != [leader]


def test_an_id_given_out_for_a_deleted_group_is_worth_nothing(h: Harness) -> None:
    member_id = h.join(version=4).response.member_id
    assert h.state() == "Empty"
    assert delete(h, GROUP) == {GROUP: Errors.NONE}
    assert h.join(member_id, version=4).error is Errors.UNKNOWN_MEMBER_ID
