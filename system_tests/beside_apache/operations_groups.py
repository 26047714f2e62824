"""Groups: their members, their offsets, and what is told about them."""

from __future__ import annotations

from dataclasses import replace

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest
from system_tests.beside_apache.draw import SLOTS, Draw, Member, Phase
from system_tests.beside_apache.question import Question
from system_tests.beside_apache.side import Side

_SESSION_TIMEOUT_MS = 600_000
"""Longer than the test: whether a deadline passes between two questions would be chance."""
_Protocols = list[tuple[str, bytes]]
_PROTOCOLS: tuple[_Protocols, ...] = (
    [("range", b"r")],
    [("range", b"r"), ("roundrobin", b"q")],
    [("range", b"r3"), ("roundrobin", b"q")],
    [("range", b"r2")],
    [("range", b"")],
)
"""Whoever knows both prefers the first: of protocols with equally many votes Apache takes any, in a hash map's order."""
_RARE_PROTOCOLS: tuple[_Protocols, ...] = ([("roundrobin", b"z")], [("sticky", b"r")], [])


def next_step(draw: Draw) -> Question:
    """What a consumer in the place of some member would do next: join, sync, and then live and commit for a while."""
    member = draw.new_member()
    phase = draw.phases.get(member, Phase.OUTSIDE)
    if phase is Phase.OUTSIDE:
        return _join(draw, member, "itself")
    if phase is Phase.JOINED:
        return _sync(draw, member, 0)
    living = draw.one_of(*[_heartbeat] * 3, *[_commit] * 3, _leave, None)
    return _join(draw, member, "itself") if living is None else living(draw, member, 0)


def join_group(draw: Draw) -> Question:
    """With the member's own id, with none, with one that was never given, or with somebody else's."""
    as_whom = draw.one_of(*["itself"] * 12, "new", "bogus", "other")
    return _join(draw, draw.new_member(), as_whom)


def _join(draw: Draw, member: Member, as_whom: str) -> Question:
    version = draw.version(ApiKey.JOIN_GROUP)
    other = Member(draw.choice(SLOTS), member.group)
    static = version >= 5 and draw.chance(0.2)
    instance = f"i{draw.randrange(3)}" if static else None
    protocol_type = draw.one_of(*["consumer"] * 12, "connect", "")
    protocols = draw.choice(_PROTOCOLS if draw.chance(0.93) else _RARE_PROTOCOLS)
    session_timeout_ms = draw.one_of(*[_SESSION_TIMEOUT_MS] * 18, 1, 10**7)
    reason = draw.one_of(None, "because")

    def request(side: Side) -> Message:
        ids = {
            "itself": side.membership(member).member_id,
            "new": "",
            "bogus": "bogus",
            "other": side.membership(other).member_id,
        }
        return JoinGroupRequest(
            group_id=member.group,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=_SESSION_TIMEOUT_MS,
            member_id=ids[as_whom],
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name, metadata) for name, metadata in protocols],
            reason=reason,
        )

    return Question(ApiKey.JOIN_GROUP, version, request, member=member, may_wait=True)


def sync_group(draw: Draw) -> Question:
    return _sync(draw, draw.member(), draw.one_of(*[0] * 9, 1, -1))


def _sync(draw: Draw, member: Member, lag: int) -> Question:
    """The leader gives everybody something, mostly. `lag`: how far the generation is off."""
    bogus = draw.chance(0.05)
    instance = draw.one_of(*[None] * 6, "i0", "i1")
    protocol_type = draw.one_of(*["consumer"] * 6, None, "connect")
    protocol_name = draw.one_of(*["range"] * 6, None, "roundrobin")
    assigns = draw.chance(0.9)

    def request(side: Side) -> Message:
        membership = side.membership(member)
        assignees = sorted(membership.assignees, key=side.neutral_text) if assigns else []
        return SyncGroupRequest(
            group_id=member.group,
            generation_id=membership.generation + lag,
            member_id="bogus" if bogus else membership.member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequest.SyncGroupRequestAssignment(assignee, b"a%d" % number)
                for number, assignee in enumerate(assignees)
            ],
        )

    return Question(ApiKey.SYNC_GROUP, draw.version(ApiKey.SYNC_GROUP), request, member=member, may_wait=True)


def heartbeat(draw: Draw) -> Question:
    return _heartbeat(draw, draw.member(), draw.one_of(*[0] * 8, 1, -1))


def _heartbeat(draw: Draw, member: Member, lag: int) -> Question:
    bogus = draw.chance(0.05)
    instance = draw.one_of(*[None] * 6, "i0", "i1")

    def request(side: Side) -> Message:
        membership = side.membership(member)
        return HeartbeatRequest(
            group_id=member.group,
            generation_id=membership.generation + lag,
            member_id="bogus" if bogus else membership.member_id,
            group_instance_id=instance,
        )

    return Question(ApiKey.HEARTBEAT, draw.version(ApiKey.HEARTBEAT), request, about=member)


def leave_group(draw: Draw) -> Question:
    """Since version 3 several at once, who may be of other groups."""
    leaving = [
        (draw.member(), draw.chance(0.15), draw.one_of(None, None, None, "i0", "i1", "i9"))
        for _ in range(draw.one_of(1, 1, 2, 0))
    ]
    return _leaves(draw, draw.member(), leaving)


def _leave(draw: Draw, member: Member, _lag: int) -> Question:
    return replace(_leaves(draw, member, [(member, False, None)]), about=member)


def _leaves(draw: Draw, member: Member, leaving: list[tuple[Member, bool, str | None]]) -> Question:
    """`member` says, or is, who leaves; for the others whether they are named by their instance alone, and that."""

    def request(side: Side) -> Message:
        members = [
            LeaveGroupRequest.MemberIdentity(
                member_id="" if nameless else side.membership(who).member_id or "bogus", group_instance_id=instance
            )
            for who, nameless, instance in leaving
        ]
        return LeaveGroupRequest(
            group_id=member.group, member_id=side.membership(member).member_id or "bogus", members=members
        )

    return Question(ApiKey.LEAVE_GROUP, draw.version(ApiKey.LEAVE_GROUP), request)


def describe_groups(draw: Draw) -> Question:
    request = DescribeGroupsRequest(
        groups=[draw.group() for _ in range(draw.one_of(1, 2, 0))], include_authorized_operations=draw.chance(0.3)
    )
    return Question(ApiKey.DESCRIBE_GROUPS, draw.version(ApiKey.DESCRIBE_GROUPS), request, repeats=True)


def list_groups(draw: Draw) -> Question:
    states: tuple[list[str], ...] = (
        [],
        [],
        ["Stable"],
        ["Empty", "stable"],
        ["Foo"],
        ["Dead"],
        ["PreparingRebalance"],
        ["CompletingRebalance"],
    )
    types: tuple[list[str], ...] = ([], [], ["classic"], ["Consumer"], ["foo"])
    request = ListGroupsRequest(states_filter=draw.choice(states), types_filter=draw.choice(types))
    return Question(ApiKey.LIST_GROUPS, draw.version(ApiKey.LIST_GROUPS), request, repeats=True)


def delete_groups(draw: Draw) -> Question:
    request = DeleteGroupsRequest(groups_names=[draw.group() for _ in range(draw.one_of(1, 1, 2))])
    return Question(ApiKey.DELETE_GROUPS, draw.version(ApiKey.DELETE_GROUPS), request)


def find_coordinator(draw: Draw) -> Question:
    request = FindCoordinatorRequest(
        key=draw.group(),
        key_type=draw.one_of(0, 0, 0, 0, 2, 7, -1),
        coordinator_keys=[draw.group() for _ in range(draw.one_of(1, 2, 0))],
    )
    return Question(ApiKey.FIND_COORDINATOR, draw.version(ApiKey.FIND_COORDINATOR), request, repeats=True)


# -------------------------------------------------------------------------------------------------------- offsets


def offset_commit(draw: Draw) -> Question:
    """By a member of the group, or by somebody who has no part in it ("simple" consumers)."""
    simple, lag = draw.chance(0.3), draw.one_of(0, 0, 0, 0, 1)
    return _commit(draw, draw.member(), lag, simple)


def _commit(draw: Draw, member: Member, lag: int, simple: bool = False) -> Question:
    instance = draw.one_of(*[None] * 7, "i0")
    retention_time_ms = draw.one_of(-1, -1, 100_000)
    topics = []
    for name in draw.topics():
        partitions = [
            OffsetCommitRequest.OffsetCommitRequestPartition(
                partition_index=partition,
                committed_offset=draw.one_of(0, 5, 10, -1, 2**40),
                committed_leader_epoch=draw.one_of(-1, 0, 1),
                committed_metadata=draw.one_of("", "meta", None, "x" * 5000, "é"),
            )
            for partition in draw.partitions()
        ]
        topics.append(OffsetCommitRequest.OffsetCommitRequestTopic(name, partitions))

    def request(side: Side) -> Message:
        membership = side.membership(member)
        return OffsetCommitRequest(
            group_id=member.group,
            generation_id_or_member_epoch=-1 if simple else membership.generation + lag,
            member_id="" if simple else membership.member_id or "bogus",
            group_instance_id=instance,
            retention_time_ms=retention_time_ms,
            topics=topics,
        )

    return Question(ApiKey.OFFSET_COMMIT, draw.version(ApiKey.OFFSET_COMMIT), request)


def offset_fetch(draw: Draw) -> Question:
    """Since version 8 for one or two groups: to none Apache gives no answer at all."""
    version = draw.version(ApiKey.OFFSET_FETCH)
    everything = draw.chance(0.3) and version >= 2
    wanted = [] if draw.chance(0.3) else [(name, draw.partitions()) for name in draw.topics()]
    member_id, member_epoch = draw.one_of(None, None, "m"), draw.one_of(-1, -1, 3)
    topics = [OffsetFetchRequest.OffsetFetchRequestTopic(name, partitions) for name, partitions in wanted]
    request = OffsetFetchRequest(
        group_id=draw.group(), topics=None if everything else topics, require_stable=draw.chance(0.3)
    )
    for group in sorted({draw.group() for _ in range(draw.one_of(1, 2))}):
        of_group = [OffsetFetchRequest.OffsetFetchRequestTopics(name, partitions) for name, partitions in wanted]
        request.groups.append(
            OffsetFetchRequest.OffsetFetchRequestGroup(
                group_id=group,
                member_id=member_id,
                member_epoch=member_epoch,
                topics=None if everything else of_group,
            )
        )
    return Question(ApiKey.OFFSET_FETCH, version, request, repeats=True)


def offset_delete(draw: Draw) -> Question:
    request = OffsetDeleteRequest(group_id=draw.group())
    for name in [] if draw.chance(0.2) else draw.topics():
        partitions = [OffsetDeleteRequest.OffsetDeleteRequestPartition(index) for index in draw.partitions()]
        request.topics.append(OffsetDeleteRequest.OffsetDeleteRequestTopic(name, partitions))
    return Question(ApiKey.OFFSET_DELETE, 0, request)
