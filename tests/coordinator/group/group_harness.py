"""A group coordinator with a clock and a log that a test moves by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.group import ClassicGroup
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkapy.record.batches import batches
from kafkapy.record.record_batch import RecordBatch
from kafkapy.runtime.clock import MockClock
from kafkapy.runtime.completion import Completion, spawn
from tests.coordinator.held_turns import HeldTurns

GROUP = "group"
CLIENT = "client"
HOST = "/127.0.0.1"
SESSION = 10_000
REBALANCE = 60_000
DELAY = 3_000

Protocols = list[tuple[str, bytes]]


def subscription(*topics: str) -> bytes:
    """A ConsumerProtocolSubscription v0."""
    names = b"".join(len(topic.encode()).to_bytes(2, "big") + topic.encode() for topic in topics)
    return b"\0\0" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


RANGE: Protocols = [("range", subscription("t"))]


class FakeLog:
    """`__consumer_offsets`, kept in memory; what happens to an append is the test's choice."""

    def __init__(self) -> None:
        self.logs: dict[TopicPartition, bytearray] = {}
        self.error = Errors.NONE
        self.read_error: Exception | None = None
        self.hold = False
        self.held: list[tuple[Callable[[Errors, int], None], int]] = []
        self.partitions: int | None = 50
        self.appended = 0
        self.max_batch: int | None = None

    def append(
        self, partition: TopicPartition, batch: bytes, done: Callable[[Errors, int], None], timeout_ms: int
    ) -> None:
        assert timeout_ms == 5_000
        if self.error is not Errors.NONE and not self.hold:
            done(self.error, -1)
            return
        view = RecordBatch(bytearray(batch))
        view.ensure_valid()
        base_offset = self.end(partition)
        view.set_offset_and_epoch(base_offset, 3)
        self.logs.setdefault(partition, bytearray()).extend(view.buffer)
        self.appended += 1
        if self.hold:
            self.held.append((done, base_offset))
        else:
            done(Errors.NONE, base_offset)

    def release(self, error: Errors = Errors.NONE) -> None:
        """Let the held appends be done."""
        held, self.held = self.held, []
        for done, base_offset in held:
            done(error, base_offset if error is Errors.NONE else -1)

    def end(self, partition: TopicPartition) -> int:
        return max((batch.next_offset for batch in batches(bytes(self.logs.get(partition, b"")))), default=0)

    def records(self, partition: TopicPartition) -> list[tuple[bytes | None, bytes | None]]:
        data = bytes(self.logs.get(partition, b""))
        return [(record.key, record.value) for batch in batches(data) for record in batch.records()]

    def max_batch_size(self, partition: TopicPartition) -> int | None:
        return self.max_batch

    def partition_count(self, topic: str) -> int | None:
        return self.partitions

    def read_batches(self, partition: TopicPartition) -> Iterator[memoryview]:
        if self.read_error is not None:
            raise self.read_error
        yield memoryview(bytes(self.logs.get(partition, b"")))


class Reply:
    """A reply that can be asked whether it came, and complains if it comes twice."""

    def __init__(self) -> None:
        self.response: Any = None

    @classmethod
    def of(cls, answer: Completion[Any]) -> Reply:
        reply = cls()
        answer.add_callback(lambda done: reply(done.result()))
        return reply

    def __call__(self, response: Any) -> None:
        assert self.response is None, f"answered twice: {self.response}, {response}"
        assert response is not None
        self.response = response

    @property
    def done(self) -> bool:
        return self.response is not None

    @property
    def error(self) -> Errors:
        assert self.response is not None, "not answered yet"
        return Errors.for_code(self.response.error_code)


class Harness:
    def __init__(
        self, log: FakeLog | None = None, config: GroupConfig | None = None, clock: MockClock | None = None
    ) -> None:
        self.clock = clock or MockClock()
        self.log = log or FakeLog()
        self.coordinator = GroupCoordinator(config or GroupConfig(), self.log, self.clock)
        self.coordinator.startup()
        for partition in range(50):
            self.coordinator.on_election(partition, 1)
        self.advance(0)

    def advance(self, ms: int) -> None:
        """What waits at checkpoints goes on to its end."""
        self.clock.advance(ms)
        while isinstance(self.clock, HeldTurns) and self.clock.waiting:
            self.clock.go_on()

    def group(self, group_id: str = GROUP) -> ClassicGroup:
        return self.coordinator.groups[group_id]

    def timers(self, name: str, group_id: str = GROUP) -> set[str]:
        """Whose timers of that name run in the group; "" is the group's own."""
        timers = self.coordinator._performer.timers
        return {of for machine, timer, of in timers if machine.key == group_id and timer == name}

    def state(self, group_id: str = GROUP) -> str:
        return self.coordinator.describe_group(group_id).group_state

    def log_of(self, group_id: str = GROUP) -> TopicPartition:
        return TopicPartition("__consumer_offsets", self.coordinator.partition_for(group_id))

    # ------------------------------------------------------------------------------------------------ requests

    def join(
        self,
        member_id: str = "",
        *,
        group_id: str = GROUP,
        version: int = 3,
        instance: str | None = None,
        protocols: Protocols = RANGE,
        protocol_type: str = "consumer",
        session: int = SESSION,
        rebalance: int = REBALANCE,
    ) -> Reply:
        """Version 3 takes a new member in at once."""
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session,
            rebalance_timeout_ms=rebalance,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name=n, metadata=m) for n, m in protocols],
        )
        return Reply.of(self.coordinator.join_group(request, version, CLIENT, HOST))

    def sync(
        self,
        member_id: str,
        generation: int = 1,
        assignment: dict[str, bytes] | None = None,
        *,
        group_id: str = GROUP,
        instance: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> Reply:
        request = SyncGroupRequest(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequest.SyncGroupRequestAssignment(member_id=name, assignment=value)
                for name, value in (assignment or {}).items()
            ],
        )
        return Reply.of(self.coordinator.sync_group(request))

    def heartbeat(
        self, member_id: str, generation: int = 1, *, group_id: str = GROUP, instance: str | None = None
    ) -> Errors:
        request = HeartbeatRequest(
            group_id=group_id, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        return Errors.for_code(self.coordinator.heartbeat(request).error_code)

    def leave(self, *members: str | tuple[str, str], group_id: str = GROUP) -> list[Errors]:
        """Members by id, or by (id, instance id)."""
        response = self.leave_group(*members, group_id=group_id)
        assert response.error_code == 0
        return [Errors.for_code(member.error_code) for member in response.members]

    def leave_group(self, *members: str | tuple[str, str], group_id: str = GROUP) -> LeaveGroupResponse:
        identities = [
            LeaveGroupRequest.MemberIdentity(member_id=member)
            if isinstance(member, str)
            else LeaveGroupRequest.MemberIdentity(member_id=member[0], group_instance_id=member[1])
            for member in members
        ]
        return self.coordinator.leave_group(LeaveGroupRequest(group_id=group_id, members=identities), 5)

    def start_commit(
        self,
        offsets: dict[tuple[str, int], int],
        member_id: str = "",
        generation: int = -1,
        *,
        group_id: str = GROUP,
        instance: str | None = None,
        metadata: str | None = "m",
        retention: int = -1,
        timestamp: int = -1,
    ) -> Reply:
        topics: dict[str, list[OffsetCommitRequest.OffsetCommitRequestPartition]] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, []).append(
                OffsetCommitRequest.OffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_metadata=metadata,
                    commit_timestamp=timestamp,
                )
            )
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance,
            retention_time_ms=retention,
            topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=n, partitions=p) for n, p in topics.items()],
        )
        return self.send_commit(request)

    def send_commit(self, request: OffsetCommitRequest) -> Reply:
        topics = [(topic.name, topic.partitions) for topic in request.topics]
        commit = self.coordinator.new_commit(request, topics)
        return Reply.of(self.coordinator.commit_offsets(request.group_id, commit))

    def commit(
        self, offsets: dict[tuple[str, int], int], member_id: str = "", generation: int = -1, **more: Any
    ) -> Errors:
        """The error of the first partition."""
        reply = self.start_commit(offsets, member_id, generation, **more)
        return commit_errors(reply)[0]

    def fetch_offsets(
        self, group_id: str = GROUP, partitions: list[TopicPartition] | None = None, require_stable: bool = False
    ) -> OffsetFetchResponse.OffsetFetchResponseGroup:
        return spawn(self.coordinator.fetch_offsets(group_id, partitions, require_stable)).result()

    def offsets(self, group_id: str = GROUP) -> dict[tuple[str, int], int]:
        """All that can be fetched."""
        response = self.fetch_offsets(group_id)
        assert response.error_code == 0
        return {(t.name, p.partition_index): p.committed_offset for t in response.topics for p in t.partitions}

    # ------------------------------------------------------------------------------------------------ whole phases

    def stable_group(
        self, size: int = 1, *, group_id: str = GROUP, protocols: Protocols = RANGE, instances: bool = False
    ) -> list[str]:
        """A Stable group at generation 1 of dynamic (or static) members, the leader first; each has its id as assignment."""
        joins = [
            self.join(group_id=group_id, protocols=protocols, instance=f"i{n}" if instances else None, version=5)
            if instances
            else self.join(group_id=group_id, protocols=protocols)
            for n in range(size)
        ]
        self.advance(2 * DELAY)
        responses: list[JoinGroupResponse] = [join.response for join in joins]
        assert all(response.generation_id == 1 for response in responses)
        members = [response.member_id for response in responses]
        members.sort(key=lambda member: member != responses[0].leader)
        assignment = {member: member.encode() for member in members}
        followers = [self.sync(member, group_id=group_id) for member in members[1:]]
        leader = self.sync(members[0], assignment=assignment, group_id=group_id)
        for member, reply in zip(members, [leader, *followers], strict=True):
            response: SyncGroupResponse = reply.response
            assert response.assignment == member.encode()
        assert self.state(group_id) == "Stable"
        return members


def commit_errors(reply: Reply) -> list[Errors]:
    assert reply.done, "not answered yet"
    return list(reply.response.values())


NOT_LEADER = KafkaError(Errors.NOT_LEADER_OR_FOLLOWER)
