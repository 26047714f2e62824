"""A broker's core without sockets, ZooKeeper and controller: real logs in a directory, real handlers, clocks moved by hand.

Requests go in as encoded frames through a `KafkaChannel`; responses are decoded from what it sends.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, cast

from twisted.internet.task import Clock

from kafkapy.cluster.partition import Partition
from kafkapy.common.leader_and_isr import LeaderAndIsr
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.log_types import WouldBlock
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.network.channel import KafkaChannel
from kafkapy.network.connection_quotas import ConnectionLimits
from kafkapy.network.large_requests import LargeRequests
from kafkapy.network.request import Request, RequestContext
from kafkapy.network.send_queue import Part, SendQueue
from kafkapy.network.socket_server import SocketServer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.headers import ResponseHeader, encode_request
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.record.file_records import FileRecords
from kafkapy.record.lazy_records import LazyRecords
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.runtime.clock import MockClock, P, R
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.admin.controller import Controller
from kafkapy.server.build import Environment, build_core, build_guards, build_handlers, build_sockets
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.producer_ids import ProducerIdManager
from kafkapy.server.kafka_apis import KafkaApis
from kafkapy.server.replication.log_threads import BackgroundAppends
from kafkapy.server.replication.replica_fetcher_manager import InitialFetch
from kafkapy.zk.kafka_zk_client import KafkaZkClient

_NUMBERS = count(1)
"""Of connections."""
BROKER_ID = 0
CONTROLLER_EPOCH = 1
BROKER_EPOCH = 7
TOPIC = "t"


class FakeTransport:
    """A socket that takes everything at once."""

    def __init__(self) -> None:
        self.sent = bytearray()
        self.closed = False
        self.is_left = False
        """The client has gone, and that is still to be noticed."""
        self.outgoing = SendQueue(socket.socket())

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Nothing to set."""

    def send(self, data: bytes) -> None:
        self.send_parts([data])

    def send_parts(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if isinstance(part, LazyRecords):
                while len(part):
                    self.sent += spawn(part.next_piece()).result()
            else:
                self.sent += part.read() if isinstance(part, FileRecords) else part

    def has_peer(self) -> bool:
        return not self.is_left

    def resume_reading(self) -> None:
        """Nothing was stopped."""

    def close(self) -> None:
        self.closed = True


class Client:
    """One connection. Several requests may be sent before the first is answered."""

    def __init__(self, sockets: SocketServer, apis: KafkaApis, client_id: str, listener: str) -> None:
        self.client_id = client_id
        self.transport = FakeTransport()
        self.channel = KafkaChannel(
            sockets, RequestContext("c", "/127.0.0.1", listener, number=next(_NUMBERS)), apis.handle
        )
        self.channel.makeConnection(self.transport)  # type: ignore[arg-type]  # has what a channel uses
        self._sent: list[tuple[ApiKey, int]] = []
        self._answered = 0

    @property
    def closed(self) -> bool:
        return self.transport.closed

    def send(self, request: Message, version: int) -> None:
        api_key = ApiKey(request.API_KEY)
        correlation_id = len(self._sent)
        self._sent.append((api_key, version))
        self.channel.dataReceived(encode_request(api_key, version, correlation_id, self.client_id, request))

    def response(self) -> Any:
        """The next response, decoded; None if there is none yet."""
        sent = self.transport.sent
        if not sent:
            return None
        (size,) = struct.unpack_from(">i", sent)
        frame = bytes(sent[4 : 4 + size])
        assert len(frame) == size
        del sent[: 4 + size]
        (correlation_id,) = struct.unpack_from(">i", frame)
        api_key, version = self._sent[correlation_id]
        _, position = ResponseHeader.decode(frame, api_key, version)
        return api_key.response.decode(frame, version, position)

    def call(self, request: Message, version: int) -> Any:
        """The response of a request that is answered at once."""
        self.send(request, version)
        response = self.response()
        assert response is not None, "not answered yet"
        return response


class RecordedFetchers:
    """In the place of `ReplicaFetcherManager`: whom would this broker follow?"""

    def __init__(self) -> None:
        self.following: dict[TopicPartition, InitialFetch] = {}
        self.work: dict[TopicPartition, Completion[None]] = {}

    def add(self, partitions: Mapping[TopicPartition, InitialFetch]) -> None:
        self.following.update(partitions)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self.following.pop(partition, None)

    def stop_idle_fetchers(self) -> None:
        """There are none."""

    def work_on(self, partition: TopicPartition) -> Completion[None] | None:
        return self.work.get(partition)


class RecordedRoles:
    """What the broker's coordinators would hear."""

    def __init__(self) -> None:
        self.changes: list[tuple[list[TopicPartition], list[TopicPartition]]] = []
        self.removed: list[TopicPartition] = []
        self.deleted: list[TopicPartition] = []

    def roles_changed(self, leaders: list[Partition], followers: list[Partition]) -> None:
        self.changes.append(([p.topic_partition for p in leaders], [p.topic_partition for p in followers]))

    def replicas_removed(self, partitions: list[TopicPartition]) -> None:
        self.removed += partitions

    def partitions_deleted(self, partitions: list[TopicPartition]) -> None:
        self.deleted += partitions


class TopicConfigs:
    """In the place of ZooKeeper: the broker asks for nothing else here."""

    def __init__(self) -> None:
        self.of: dict[str, dict[str, str]] = {}

    def get_entities_configs(self, kind: str, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        return {topic: self.of.get(topic, {}) for topic in topics}


class NoController:
    """This broker's is not active."""

    is_active = False


class HeldThreads(MockClock):
    """Work for a pool of threads runs at once, or waits in `held` for the test."""

    def __init__(self) -> None:
        super().__init__()
        self.holds = False
        self.held: list[tuple[partial[Any], Completion[Any]]] = []

    async def in_thread(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        if not self.holds:
            return function(*args, **kwargs)
        done: Completion[R] = Completion()
        self.held.append((partial(function, *args, **kwargs), done))
        return await done

    def work(self) -> None:
        """What has waited longest."""
        work, done = self.held.pop(0)
        try:
            result = work()
        except Exception as error:
            done.set_exception(error)
        else:
            done.set_result(result)


class BrokerCore:
    """Broker 0 and its clients. `others` are brokers that are alive without doing anything."""

    def __init__(self, directory: Path, others: Sequence[int] = (), **config: str) -> None:
        self.directory = directory
        self.time = HeldThreads()
        self.cold_reads = HeldThreads()
        self.records = HeldThreads()
        self.clock = Clock()
        self.config = KafkaConfig(
            {
                "zookeeper.connect": "nowhere:2181",
                "broker.id": str(BROKER_ID),
                "log.dirs": str(directory / "logs"),
                **{name.replace("_", "."): value for name, value in config.items()},
            }
        )
        self.log_manager = LogManager(self.config.log_dirs, self.config.log_config_defaults(), {}, self.time, self.time)
        self.log_manager.startup()
        zookeeper = TopicConfigs()
        self.topic_configs = zookeeper.of
        environment = Environment(
            self.clock,
            self.time,
            MockClock().in_thread,
            self.records.in_thread,
            self.cold_reads.in_thread,
            cast(KafkaZkClient, zookeeper),
            lambda: BROKER_EPOCH,
        )
        self.roles = RecordedRoles()
        self.fetchers = RecordedFetchers()
        core = build_core(self.config, environment, self.log_manager, fetchers=self.fetchers, listeners=[self.roles])
        self.cache, self.replicas, self.leadership = core.metadata_cache, core.replica_manager, core.leadership
        self.high_watermarks, self.log_dir_moves = core.high_watermarks, core.log_dir_moves
        self.fetch_sessions = core.fetch_sessions
        self.throttles = core.replication.throttles
        self.groups, self.transactions = core.group_coordinator, core.transactions
        self.isr_proposals: list[tuple[TopicPartition, LeaderAndIsr, Callable[[Any], None]]] = []
        self.replicas.submit_alter_partition = lambda name, topic_id, proposed, epochs, done: self.isr_proposals.append(
            (name, proposed, done)
        )
        self.producer_ids = ProducerIdManager(_block_of_ids, self.time.monotonic_ms)
        guards = build_guards(self.config, environment)
        self.handlers = build_handlers(
            self.config,
            environment,
            core,
            "a-cluster",
            cast(Controller, NoController()),
            self.producer_ids,
            DynamicBrokerConfig(self.config),
            guards,
        )
        self.created: list[str] = []
        self.handlers.metadata.create_topics = self._create_topics
        self.by_api = self.handlers.by_api()
        self.sockets = build_sockets(self.config, environment, guards, ConnectionLimits())
        self.quotas = guards.quotas
        self._apis = KafkaApis(self.by_api, environment.clock, LargeRequests(environment.records), guards.quotas)
        self.controller = self.connect("controller")
        self.brokers = [BROKER_ID, *others]
        self.update_metadata()

    def connect(self, client_id: str = "test", listener: str = "PLAINTEXT") -> Client:
        return Client(self.sockets, self._apis, client_id, listener)

    def advance(self, ms: int) -> None:
        """Time passes, for all clocks."""
        self.time.advance(ms)
        self.clock.advance(ms / 1000)

    def close(self) -> None:
        self.log_manager.shutdown()

    # -- what a controller would say

    def create_topic(
        self,
        name: str = TOPIC,
        partitions: int = 1,
        *,
        replicas: Sequence[int] = (BROKER_ID,),
        isr: Sequence[int] | None = None,
        leader: int = BROKER_ID,
        epoch: int = 0,
        topic_id: bytes | None = None,
        **configs: str,
    ) -> bytes:
        """LeaderAndIsr and UpdateMetadata; the topic's id."""
        if topic_id is None:
            topic_id = topic_id_of(name)
        self.topic_configs[name] = {key.replace("_", "."): value for key, value in configs.items()}
        members = list(replicas) if isr is None else list(isr)
        self.leader_and_isr(name, range(partitions), topic_id, leader, epoch, members, replicas)
        self.update_metadata(name, range(partitions), topic_id, leader, epoch, members, replicas)
        return topic_id

    def leader_and_isr(
        self,
        name: str,
        partitions: Iterable[int],
        topic_id: bytes,
        leader: int,
        epoch: int,
        isr: Sequence[int],
        replicas: Sequence[int],
    ) -> Any:
        states = [
            LeaderAndIsrRequest.LeaderAndIsrPartitionState(
                partition_index=index,
                controller_epoch=CONTROLLER_EPOCH,
                leader=leader,
                leader_epoch=epoch,
                isr=list(isr),
                partition_epoch=epoch,
                replicas=list(replicas),
                is_new=epoch == 0,
            )
            for index in partitions
        ]
        topic = LeaderAndIsrRequest.LeaderAndIsrTopicState(topic_name=name, topic_id=topic_id, partition_states=states)
        return self.controller.call(
            LeaderAndIsrRequest(
                controller_epoch=CONTROLLER_EPOCH, broker_epoch=BROKER_EPOCH, topic_states=[topic], type=1
            ),
            7,
        )

    def update_metadata(
        self,
        name: str | None = None,
        partitions: Iterable[int] = (),
        topic_id: bytes = ZERO_UUID,
        leader: int = BROKER_ID,
        epoch: int = 0,
        isr: Sequence[int] = (),
        replicas: Sequence[int] = (),
    ) -> Any:
        """What the controller says of one topic, and of the live brokers: all of `self.brokers`."""
        states = [
            UpdateMetadataRequest.UpdateMetadataPartitionState(
                partition_index=index,
                controller_epoch=CONTROLLER_EPOCH,
                leader=leader,
                leader_epoch=epoch,
                isr=list(isr),
                zk_version=epoch,
                replicas=list(replicas),
            )
            for index in partitions
        ]
        topics = []
        if name is not None:
            topics.append(
                UpdateMetadataRequest.UpdateMetadataTopicState(
                    topic_name=name, topic_id=topic_id, partition_states=states
                )
            )
        return self.controller.call(
            UpdateMetadataRequest(
                controller_id=BROKER_ID,
                controller_epoch=CONTROLLER_EPOCH,
                broker_epoch=BROKER_EPOCH,
                topic_states=topics,
                live_brokers=[live_broker(broker) for broker in self.brokers],
            ),
            8,
        )

    # -- looking inside

    def partition(self, name: str = TOPIC, index: int = 0) -> Partition:
        return self.replicas.get_partition(TopicPartition(name, index))

    def append(self, *values: bytes, topic: str = TOPIC, index: int = 0, timestamp: int | None = None) -> int:
        """Append one batch as a producer with acks=1 would; its base offset."""
        name = TopicPartition(topic, index)
        when = self.time.milliseconds() if timestamp is None else timestamp
        records = bytearray(batch(*values, timestamp=when))
        try:
            info = self.replicas.append_to_local_log(name, records, 1)
        except WouldBlock:  # a segment begins
            info = spawn(BackgroundAppends(self.replicas, MockClock().in_thread).append(name, records, 1, 11)).result()
        self.replicas.appended(name)
        return info.first_offset

    # -- fakes

    def copy(self) -> None:
        """One chunk of a move."""
        self.time.work()

    async def _create_topics(self, names: Iterable[str], request: Request) -> dict[str, Errors]:
        names = list(names)
        self.created += names
        return dict.fromkeys(names, Errors.LEADER_NOT_AVAILABLE)


async def _block_of_ids() -> tuple[int, int]:
    return 1000, 1000


def topic_id_of(name: str) -> bytes:
    return name.encode().ljust(16, b"\1")[:16]


def live_broker(broker_id: int, listeners: Sequence[str] = ("PLAINTEXT",)) -> Any:
    endpoints = [
        UpdateMetadataRequest.UpdateMetadataEndpoint(
            port=9092 + broker_id, host=f"host-{broker_id}", listener=name, security_protocol=0
        )
        for name in listeners
    ]
    return UpdateMetadataRequest.UpdateMetadataBroker(id=broker_id, endpoints=endpoints, rack=None)


def batch(
    *values: bytes,
    timestamp: int = 1_700_000_000_000,
    producer: tuple[int, int, int] = (-1, -1, -1),
    key: bytes | None = b"key",
    **builder: Any,
) -> bytes:
    """A batch as clients send it; `producer` is (id, epoch, first sequence)."""
    producer_id, producer_epoch, sequence = producer
    records = MemoryRecordsBuilder(
        producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=sequence, **builder
    )
    for value in values or (b"value",):
        records.append(timestamp, key, value)
    return records.build()


MakeCore = Callable[..., BrokerCore]
