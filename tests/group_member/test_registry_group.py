"""Registry instances in a group: the seam of `GroupMember` knows nothing of consumers."""

from __future__ import annotations

import itertools
from typing import Any

from kafkapy.errors import InconsistentGroupProtocolError
from kafkapy.group_member.membership import MembershipState
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatResponse
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse
from kafkapy.runtime.completion import spawn
from tests.group_member.registry_instance import RegistryInstance
from tests.memory_driver import MemoryCluster, MemoryDriver

ONE, TWO = "http://one:8081", "http://two:8081"


class SharedGroup:
    """A cluster with one group of many members. Whoever must wait for others is told to come back after a pause."""

    def __init__(self, protocol_type: str = "sr") -> None:
        self.cluster = MemoryCluster(1)
        self.driver = MemoryDriver(self.cluster)
        self.generation = 0
        self.metadata: dict[str, bytes] = {}
        self.joined: set[str] = set()
        self.answered: set[str] = set()
        self.assignments: dict[str, bytes] = {}
        self.reasons: list[str] = []
        self._protocol_type = protocol_type
        self._ids = (f"member-{number}" for number in itertools.count())
        self.broker = self.cluster.brokers[0]
        self.broker.handlers |= {
            ApiKey.FIND_COORDINATOR: self._find,
            ApiKey.JOIN_GROUP: self._join,
            ApiKey.SYNC_GROUP: self._sync,
            ApiKey.HEARTBEAT: self._heartbeat,
            ApiKey.LEAVE_GROUP: self._leave,
        }

    def instance(self, url: str, **options: Any) -> RegistryInstance:
        instance = RegistryInstance(self.driver, [f"{self.broker.host}:{self.broker.port}"], url, **options)
        instance.run()
        return instance

    def _find(self, request: Any) -> FindCoordinatorResponse:
        found = FindCoordinatorResponse.Coordinator
        return FindCoordinatorResponse(
            coordinators=[found(key=key, node_id=0, host="", port=0) for key in request.coordinator_keys]
        )

    def _join(self, request: Any) -> JoinGroupResponse:
        def refused(error: Errors, member_id: str = "") -> JoinGroupResponse:
            return JoinGroupResponse(error_code=error.code, member_id=member_id, protocol_name="", leader="")

        if request.protocol_type != self._protocol_type:
            return refused(Errors.INCONSISTENT_GROUP_PROTOCOL)
        member = request.member_id
        if not member:
            return refused(Errors.MEMBER_ID_REQUIRED, next(self._ids))
        self.reasons.append(request.reason)
        (protocol,) = request.protocols
        if member not in self.metadata or member in self.answered:
            self._new_generation()
        self.metadata[member] = bytes(protocol.metadata)
        self.joined.add(member)
        if self.joined != self.metadata.keys():
            return refused(Errors.REBALANCE_IN_PROGRESS, member)
        self.answered.add(member)
        leader = next(iter(self.metadata))
        entry = JoinGroupResponse.JoinGroupResponseMember
        members = [entry(member_id=name, metadata=metadata) for name, metadata in self.metadata.items()]
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self._protocol_type,
            protocol_name=protocol.name,
            leader=leader,
            member_id=member,
            members=members if member == leader else [],
        )

    def _sync(self, request: Any) -> SyncGroupResponse:
        if request.generation_id != self.generation:
            return SyncGroupResponse(error_code=Errors.ILLEGAL_GENERATION.code, assignment=b"")
        self.assignments |= {each.member_id: bytes(each.assignment) for each in request.assignments}
        if request.member_id not in self.assignments:
            return SyncGroupResponse(error_code=Errors.NOT_COORDINATOR.code, assignment=b"")
        return SyncGroupResponse(protocol_type="sr", protocol_name="v0", assignment=self.assignments[request.member_id])

    def _heartbeat(self, request: Any) -> HeartbeatResponse:
        current = request.generation_id == self.generation and request.member_id in self.metadata
        return HeartbeatResponse(error_code=0 if current else Errors.REBALANCE_IN_PROGRESS.code)

    def _leave(self, request: Any) -> LeaveGroupResponse:
        for member in request.members:
            self.metadata.pop(member.member_id, None)
        self._new_generation()
        return LeaveGroupResponse()

    def _new_generation(self) -> None:
        self.generation += 1
        self.joined = set()
        self.answered = set()
        self.assignments = {}


def test_two_instances_agree_on_a_primary() -> None:
    group = SharedGroup()
    one = group.instance(ONE)
    group.driver.advance(2_000)
    assert (one.primary, one.heard) == (ONE, ["join", f"primary {ONE}"])
    two = group.instance(TWO)
    group.driver.advance(10_000)
    assert (one.primary, two.primary) == (ONE, ONE)
    assert one.heard[2:4] == ["join", f"primary {ONE}"]
    assert {r.protocol_type for r in group.broker.asked(ApiKey.JOIN_GROUP)} == {"sr"}


def test_the_primary_leaves_and_another_takes_over() -> None:
    group = SharedGroup()
    one, two = group.instance(ONE), group.instance(TWO)
    group.driver.advance(10_000)
    assert two.primary == ONE
    group.driver.result_of(spawn(one.stop()), 5_000)
    assert one.heard[-1] == "leave"
    (left,) = group.broker.asked(ApiKey.LEAVE_GROUP)
    assert [member.reason for member in left.members] == ["the registry stops"]
    group.driver.advance(10_000)
    assert (two.primary, list(group.metadata.values())) == (TWO, [two.metadata()[0][1]])


def test_a_group_of_another_kind_refuses() -> None:
    group = SharedGroup("connect")
    one = group.instance(ONE)
    group.driver.advance(1_000)
    assert isinstance(one.error, InconsistentGroupProtocolError)


def test_a_user_that_hangs_leaves_and_says_why() -> None:
    group = SharedGroup()
    one = group.instance(ONE)
    group.driver.advance(2_000)
    one.run()
    one.polls = False
    group.driver.advance(6_000)
    (left,) = group.broker.asked(ApiKey.LEAVE_GROUP)
    assert [member.reason for member in left.members] == ["registry poll timeout has expired."]
    assert one.member.membership.state is MembershipState.UNJOINED
    one.polls = True
    one.run()
    group.driver.advance(2_000)
    assert (one.primary, group.reasons[-1]) == (ONE, "need to re-join with the given member-id: member-1")


def test_a_leader_that_cannot_assign_says_so_and_comes_back() -> None:
    group = SharedGroup()
    one = RegistryInstance(group.driver, ["broker-0:9092"], ONE)
    assign = one.perform_assignment

    async def fail(*args: Any) -> dict[str, bytes]:
        one.perform_assignment = assign  # type: ignore[method-assign]
        raise ValueError("mine")

    one.perform_assignment = fail  # type: ignore[method-assign, assignment]  # as a subclass would
    one.run()
    group.driver.advance(1_000)
    assert isinstance(one.error.__cause__ if one.error else None, ValueError)
    one.run()
    group.driver.advance(2_000)
    assert one.primary == ONE
