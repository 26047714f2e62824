"""Controllers of several brokers over one ZooKeeper in memory, driven by hand; what they send is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.leader_and_isr import LeaderAndIsr
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.channel_manager import ControllerChannelManager
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.kafka_controller import KafkaController
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import BrokerInfo, TopicPartitionStateZNode
from tests.controller.fake_zookeeper import FakeZooKeeper, FakeZooKeeperClient

Request = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest

FIRST_LEADER_AND_ISR_WITH_TOPIC_IDS = 5


class RecordingChannel(ControllerChannelManager):
    """Stands in for ControllerChannelManager; answers each request when the test says so."""

    def __init__(self) -> None:
        self.brokers: set[int] = set()
        self.sent: list[tuple[int, Request]] = []
        self.versions: dict[str, int] = {}
        """Kind of request -> the version it was last sent in."""
        self._pending: list[tuple[int, Request, int, Callable[[Any, int], object]]] = []
        self.storage_errors: set[tuple[int, TopicPartition]] = set()
        """Replicas for which a broker answers KAFKA_STORAGE_ERROR."""
        self.topic_names: Callable[[bytes], str] = lambda _: ""

    def startup(self, brokers: Iterable[Broker]) -> None:
        self.brokers = {broker.id for broker in brokers}

    def shutdown(self) -> None:
        self.brokers.clear()
        self._pending.clear()

    def add_broker(self, broker: Broker) -> None:
        self.brokers.add(broker.id)

    def remove_broker(self, broker_id: int) -> None:
        self.brokers.discard(broker_id)
        self._pending = [p for p in self._pending if p[0] != broker_id]

    def send_request(
        self, broker_id: int, request: Request, version: int, callback: Callable[[Any, int], object]
    ) -> None:
        request.encode(version)
        if broker_id in self.brokers:
            self.versions[_kind(request)] = version
            self.sent.append((broker_id, request))
            self._pending.append((broker_id, request, version, callback))

    def answer_all(self) -> bool:
        """Answer what was sent; says whether there was anything."""
        pending, self._pending = self._pending, []
        for broker_id, request, version, callback in pending:
            answer = self._answer(broker_id, request, version)
            answer.encode(version)
            callback(answer, broker_id)
        return bool(pending)

    def _answer(self, broker_id: int, request: Request, version: int) -> Any:
        if isinstance(request, UpdateMetadataRequest):
            return UpdateMetadataResponse()
        if isinstance(request, StopReplicaRequest):
            return StopReplicaResponse(
                partition_errors=[
                    StopReplicaResponse.StopReplicaPartitionError(
                        topic_name=topic, partition_index=index, error_code=self._error(broker_id, topic, index)
                    )
                    for topic, index in stopped_partitions(request)
                ]
            )
        if version < FIRST_LEADER_AND_ISR_WITH_TOPIC_IDS:
            return LeaderAndIsrResponse(
                partition_errors=[
                    LeaderAndIsrResponse.LeaderAndIsrPartitionError(
                        topic_name=topic, partition_index=index, error_code=self._error(broker_id, topic, index)
                    )
                    for topic, index in led_or_followed_partitions(request)
                ]
            )
        return LeaderAndIsrResponse(
            topics=[
                LeaderAndIsrResponse.LeaderAndIsrTopicError(
                    topic_id=topic.topic_id,
                    partition_errors=[
                        LeaderAndIsrResponse.LeaderAndIsrPartitionError(
                            partition_index=state.partition_index,
                            error_code=self._error(broker_id, topic.topic_name, state.partition_index),
                        )
                        for state in topic.partition_states
                    ],
                )
                for topic in request.topic_states
            ]
        )

    def _error(self, broker_id: int, topic: str, partition: int) -> int:
        failed = (broker_id, TopicPartition(topic, partition)) in self.storage_errors
        return (Errors.KAFKA_STORAGE_ERROR if failed else Errors.NONE).code

    def take_sent(self) -> list[tuple[int, Request]]:
        sent, self.sent = self.sent, []
        return sent

    def take_summary(self) -> list[str]:
        """What was sent, as `broker kind topic-partition:detail ...`, in order."""
        return [f"{broker_id} {summary(request)}".strip() for broker_id, request in self.take_sent()]


def led_or_followed_partitions(request: LeaderAndIsrRequest) -> list[tuple[str, int]]:
    """Topics and partitions, in whichever form the version has them."""
    grouped = [(t.topic_name, s.partition_index) for t in request.topic_states for s in t.partition_states]
    return grouped + [(s.topic_name, s.partition_index) for s in request.ungrouped_partition_states]


def stopped_partitions(request: StopReplicaRequest) -> list[tuple[str, int]]:
    """Topics and partitions, in whichever form the version has them."""
    grouped = [(t.topic_name, s.partition_index) for t in request.topic_states for s in t.partition_states]
    listed = [(t.name, index) for t in request.topics for index in t.partition_indexes]
    return grouped + listed + [(p.topic_name, p.partition_index) for p in request.ungrouped_partitions]


def _kind(request: Request) -> str:
    return type(request).__name__.removesuffix("Request")


def summary(request: Request) -> str:
    kind = _kind(request)
    details = []
    for topic in request.topic_states:
        for state in topic.partition_states:
            name = f"{topic.topic_name}-{state.partition_index}"
            if isinstance(state, StopReplicaRequest.StopReplicaPartitionState):
                details.append(f"{name}:{'delete' if state.delete_partition else 'stop'}@{state.leader_epoch}")
            else:
                isr = ",".join(map(str, state.isr))
                new = "+" if getattr(state, "is_new", False) else ""
                details.append(f"{name}{new}:{state.leader}[{isr}]@{state.leader_epoch}")
    return f"{kind} {' '.join(details)}".strip()


def zk_client(client: Any, time: MockTime) -> KafkaZkClient:
    """Over a `FakeZooKeeperClient`, which is no `ZooKeeperClient` but does what one is asked for."""
    return KafkaZkClient(client, time)


class Member:
    """One broker: its session and its controller."""

    def __init__(self, cluster: Cluster, broker_id: int, start: bool, **config: Any) -> None:
        self.id = broker_id
        self.client: FakeZooKeeperClient = cluster.zookeeper.client()
        self.zk = zk_client(self.client, cluster.time)
        end_points = (EndPoint("127.0.0.1", 9000 + broker_id, "PLAINTEXT", "PLAINTEXT"),)
        self.info = BrokerInfo(Broker(broker_id, end_points, rack=f"r{broker_id}"))
        self.epoch = self.zk.register_broker(self.info)
        self.channel = RecordingChannel()
        self.registered: list[int] = []
        self.controller = KafkaController(
            ControllerConfig(broker_id, **config),
            self.zk,
            self.info,
            self.epoch,
            cluster.time,
            self.channel,
            self.registered.append,
        )
        if start:
            self.controller.enqueue_startup()


class Cluster:
    """`settle` runs until nothing is left to do anywhere, the brokers' answers included."""

    def __init__(self, *broker_ids: int, **config: Any) -> None:
        self.zookeeper = FakeZooKeeper()
        self.time = MockTime()
        self.members: dict[int, Member] = {}
        self._config = config
        zk_client(self.zookeeper.client(), self.time).create_top_level_paths()
        self.zookeeper.take_writes()
        for broker_id in broker_ids:
            self.start(broker_id)
        self.settle()

    @property
    def active(self) -> Member:
        return next(member for member in self.members.values() if member.controller.is_active)

    @property
    def controller(self) -> KafkaController:
        return self.active.controller

    @property
    def channel(self) -> RecordingChannel:
        return self.active.channel

    def start(self, broker_id: int) -> Member:
        self.members[broker_id] = member = Member(self, broker_id, True, **self._config)
        return member

    def kill(self, broker_id: int) -> Member:
        """The process dies; its session has ended."""
        member = self.members.pop(broker_id)
        member.client.close()
        return member

    def settle(self) -> None:
        busy = True
        while busy:
            busy = False
            for member in list(self.members.values()):
                member.controller.events.process_all()
                busy |= member.channel.answer_all()

    def create_topic(self, topic: str, assignment: dict[int, list[int]], topic_id: bytes | None = None) -> None:
        """As CreateTopics and auto creation do: the topic's node, by any broker."""
        zk = next(iter(self.members.values())).zk
        zk.create_topic_assignment(topic, topic_id or topic.encode().ljust(16, b"."), assignment)
        self.settle()

    def forget(self) -> None:
        """Begin to look only from here on."""
        self.zookeeper.take_writes()
        for member in self.members.values():
            member.channel.take_sent()

    def state(self, topic: str, partition: int) -> LeaderAndIsr:
        """The partition's state in ZooKeeper."""
        node = self.zookeeper.node(TopicPartitionStateZNode.path(TopicPartition(topic, partition)))
        return TopicPartitionStateZNode.decode(node.data, node.version).leader_and_isr

    # --- what leaders do ---

    def alter_partition_request(
        self, topic: str, partition: int, isr: list[int], version: int = 3, **changes: Any
    ) -> AlterPartitionRequest:
        """What the partition's leader sends to get this ISR, with some fields of the partition changed."""
        state = self.state(topic, partition)
        leader = changes.pop("leader", state.leader)
        fields: dict[str, Any] = {
            "partition_index": partition,
            "leader_epoch": state.leader_epoch,
            "partition_epoch": state.partition_epoch,
        }
        if version < 3:
            fields["new_isr"] = isr
        else:
            fields["new_isr_with_epochs"] = [AlterPartitionRequest.BrokerState(broker_id=b) for b in isr]
        broker_epoch = changes.pop("broker_epoch", None) or self.members[leader].controller.broker_epoch
        topic_id = changes.pop("topic_id", self.controller.context.topic_ids[topic])
        return AlterPartitionRequest(
            broker_id=leader,
            broker_epoch=broker_epoch,
            topics=[
                AlterPartitionRequest.TopicData(
                    topic_name=topic,
                    topic_id=topic_id,
                    partitions=[AlterPartitionRequest.PartitionData(**{**fields, **changes})],
                )
            ],
        )

    def alter_isr(
        self, topic: str, partition: int, isr: list[int], version: int = 3, **changes: Any
    ) -> AlterPartitionResponse:
        answers: list[AlterPartitionResponse] = []
        request = self.alter_partition_request(topic, partition, isr, version, **changes)
        self.controller.alter_partition(request, version, answers.append)
        self.settle()
        (answer,) = answers
        answer.encode(version)
        return answer
