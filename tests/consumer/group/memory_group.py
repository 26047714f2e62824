"""A consumer on a cluster in memory, whose coordinator does what a test tells it."""

from __future__ import annotations

from typing import Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.core import ConsumerCore
from kafkapy.consumer.group.consumer_protocol import encode_assignment
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatResponse
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse
from kafkapy.runtime.completion import spawn
from tests.memory_driver import SILENCE, MemoryCluster, MemoryDriver

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Group:
    """`errors`: what the next requests of an API are answered with. `share`: what the member gets. It is a follower
    unless `leads`. `offsets`: what is committed. With `leader` -1 nothing is fetched."""

    def __init__(
        self, brokers: int = 1, share: list[TopicPartition] | None = None, leader: int = 0, **options: Any
    ) -> None:
        self.cluster = MemoryCluster(brokers)
        self.cluster.add_topic("t", [leader, leader])
        self.coordinator = 0
        self.generation = 0
        self.share = [P0, P1] if share is None else share
        self.leads = False
        self.errors: dict[ApiKey, list[Errors]] = {}
        self.offsets: dict[TopicPartition, int] = {}
        self.offset_epochs: dict[TopicPartition, int] = {}
        for broker in self.cluster.brokers.values():
            broker.handlers |= {
                ApiKey.FIND_COORDINATOR: self._find,
                ApiKey.JOIN_GROUP: self._join,
                ApiKey.SYNC_GROUP: self._sync,
                ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=self._error(ApiKey.HEARTBEAT)),
                ApiKey.LEAVE_GROUP: lambda request: LeaveGroupResponse(error_code=self._error(ApiKey.LEAVE_GROUP)),
                ApiKey.OFFSET_COMMIT: self._commit,
                ApiKey.OFFSET_FETCH: self._fetch_offsets,
                ApiKey.LIST_OFFSETS: self._list_offsets,
                ApiKey.FETCH: lambda request: SILENCE,
            }
        self.driver = MemoryDriver(self.cluster)
        servers = [f"{broker.host}:{broker.port}" for broker in self.cluster.brokers.values()]
        config = ConsumerConfig(
            **{"bootstrap_servers": servers, "group_id": "g", "auto_offset_reset": "earliest", **options}
        )
        self.core = ConsumerCore(self.driver, config)

    # -- the user

    def poll(self, timeout_ms: int = 1000) -> list[str]:
        """Poll, and serve the calls; their names."""
        self.driver.result_of(spawn(self.core.poll(timeout_ms)), timeout_ms + 1)
        return self.serve()

    def serve(self) -> list[str]:
        names = []
        for call in self.core.take_calls():
            names.append(getattr(call.f, "__name__", "?"))
            call.completion.set_result(call.f(*call.args))
            self.driver.run()
        return names

    def join(self, listener: Any = None) -> Group:
        self.core.subscribe(["t"], None, listener)
        for _ in range(4):
            self.poll(100)
        assert self.state == "stable"
        return self

    @property
    def state(self) -> str:
        assert self.core.coordinator is not None
        return self.core.coordinator.member.membership.state.value

    @property
    def assignment(self) -> list[TopicPartition]:
        return sorted(self.core.subscriptions.assignment)

    def asked(self, api_key: ApiKey) -> list[Any]:
        return [request for broker in self.cluster.brokers.values() for request in broker.asked(api_key)]

    # -- the coordinator

    def _error(self, api_key: ApiKey) -> int:
        errors = self.errors.get(api_key)
        return errors.pop(0).code if errors else 0

    def _find(self, request: Any) -> FindCoordinatorResponse:
        found = FindCoordinatorResponse.Coordinator(key="g", node_id=self.coordinator, host="", port=0)
        return FindCoordinatorResponse(coordinators=[found])

    def _join(self, request: Any) -> JoinGroupResponse:
        error = self._error(ApiKey.JOIN_GROUP)
        if not error and not request.member_id:
            return JoinGroupResponse(
                error_code=Errors.MEMBER_ID_REQUIRED.code, member_id="me", protocol_name="", leader=""
            )
        if error:
            return JoinGroupResponse(error_code=error, protocol_name="", leader="", member_id="")
        self.generation += 1
        protocol = request.protocols[0]
        member = JoinGroupResponse.JoinGroupResponseMember(member_id="me", metadata=bytes(protocol.metadata))
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name=protocol.name,
            leader="me" if self.leads else "other",
            member_id=request.member_id,
            members=[member] if self.leads else [],
        )

    def _sync(self, request: Any) -> SyncGroupResponse:
        given = [bytes(a.assignment) for a in request.assignments]
        assignment = given[0] if given else encode_assignment(self.share)
        return SyncGroupResponse(error_code=self._error(ApiKey.SYNC_GROUP), assignment=assignment)

    def _commit(self, request: Any) -> OffsetCommitResponse:
        error = self._error(ApiKey.OFFSET_COMMIT)
        topics = []
        for topic in request.topics:
            partitions = []
            for p in topic.partitions:
                if not error:
                    self.offsets[TopicPartition(topic.name, p.partition_index)] = p.committed_offset
                entry = OffsetCommitResponse.OffsetCommitResponsePartition
                partitions.append(entry(partition_index=p.partition_index, error_code=error))
            topics.append(OffsetCommitResponse.OffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        return OffsetCommitResponse(topics=topics)

    def _fetch_offsets(self, request: Any) -> OffsetFetchResponse:
        partition, error = OffsetFetchResponse.OffsetFetchResponsePartitions, self._error(ApiKey.OFFSET_FETCH)
        topics = [
            OffsetFetchResponse.OffsetFetchResponseTopics(
                name=topic.name,
                partitions=[
                    partition(
                        partition_index=number,
                        committed_offset=self.offsets.get(TopicPartition(topic.name, number), -1),
                        committed_leader_epoch=self.offset_epochs.get(TopicPartition(topic.name, number), -1),
                        metadata="",
                        error_code=error,
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.groups[0].topics
        ]
        return OffsetFetchResponse(groups=[OffsetFetchResponse.OffsetFetchResponseGroup(group_id="g", topics=topics)])

    def _list_offsets(self, request: Any) -> ListOffsetsResponse:
        partition = ListOffsetsResponse.ListOffsetsPartitionResponse
        return ListOffsetsResponse(
            topics=[
                ListOffsetsResponse.ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        partition(partition_index=p.partition_index, offset=10, timestamp=-1) for p in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )
