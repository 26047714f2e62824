"""Thousands of topics in one request: what they cost ZooKeeper, what collides, and a ZooKeeper that is away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.server.admin.zk_admin_manager import ZkAdminManager
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.zk.errors import ConnectionLossError, ZooKeeperClientTimeoutError
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.requests import Request, Response
from kafkapy.zk.zk_data import BrokerInfo
from tests.controller.fake_zookeeper import FakeZooKeeper, FakeZooKeeperClient

BROKERS: dict[int, str | None] = {1: None}


class CountingClient(FakeZooKeeperClient):
    """`sent` has the number of requests of each round trip."""

    def __init__(self, server: FakeZooKeeper) -> None:
        super().__init__(server)
        self.sent: list[int] = []

    def handle_requests(self, requests: Sequence[Request]) -> list[Response]:
        if any(request.path.endswith("/..") for request in requests if hasattr(request, "path")):
            raise ValueError("relative paths not allowed")
        if requests:
            self.sent.append(len(requests))
        return super().handle_requests(requests)


class AbsentClient:
    """The connection is lost, and does not come back."""

    def __init__(self) -> None:
        self.waited_ms: list[int | None] = []

    def has_znode_change_handler(self, path: str) -> bool:
        return False

    def handle_requests(self, requests: Sequence[Request]) -> list[Response]:
        return [Response(ConnectionLossError()) for _ in requests]

    def wait_until_connected(self, timeout_ms: int | None = None) -> None:
        self.waited_ms.append(timeout_ms)
        raise ZooKeeperClientTimeoutError("away")


def manager(client: Any) -> ZkAdminManager:
    return ZkAdminManager(KafkaConfig.from_properties({"zookeeper.connect": "unused:1"}), KafkaZkClient(client))


def topics(count: int, prefix: str = "t") -> list[CreateTopicsRequest.CreatableTopic]:
    return [topic(f"{prefix}{index}") for index in range(count)]


def topic(name: str) -> CreateTopicsRequest.CreatableTopic:
    return CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)


def cluster() -> tuple[FakeZooKeeper, CountingClient, ZkAdminManager]:
    server = FakeZooKeeper()
    client = CountingClient(server)
    zk = KafkaZkClient(client)  # type: ignore[arg-type]  # has what it uses of a client
    zk.create_top_level_paths()
    zk.register_controller_and_increment_controller_epoch(1)
    client.sent.clear()
    server.take_writes()
    return server, client, manager(client)


def test_many_topics_are_made_in_three_round_trips() -> None:
    server, client, admin = cluster()
    changes = admin.create_topics(topics(1000), BROKERS)
    assert all(change.succeeded for change in changes)
    assert client.sent == [40, 1, 40], "a look, the controller, and 25 topics in each multi"
    writes = [write.split()[1] for write in server.take_writes()]
    assert writes[:4] == ["/config/topics/t0", "/brokers/topics/t0", "/config/topics/t1", "/brokers/topics/t1"]


def test_one_that_cannot_be_written_takes_nobody_with_it() -> None:
    server, _, admin = cluster()
    leftover = KafkaZkClient(server.client())  # type: ignore[arg-type]
    leftover.set_or_create_entity_configs("topics", "t1", {"retention.ms": "1"})
    changes = admin.create_topics(topics(3), BROKERS)
    assert [change.error.error for change in changes] == [Errors.NONE] * 3
    assert leftover.get_entity_configs("topics", "t1") == {}, "configs of an earlier topic are replaced"


def test_a_topic_that_came_in_between_exists() -> None:
    server, _, admin = cluster()
    other = KafkaZkClient(server.client())  # type: ignore[arg-type]

    def come_first(path: str) -> None:
        server.before_write = lambda path: None
        other.create_topic_assignment("t1", b"x" * 16, {0: [1]})

    server.before_write = come_first
    changes = admin.create_topics(topics(3), BROKERS)
    assert [change.error.error for change in changes] == [Errors.NONE, Errors.TOPIC_ALREADY_EXISTS, Errors.NONE]
    assert other.get_topic_ids_for_topics(["t1"]) == {"t1": b"x" * 16}
    assert set(other.get_full_replica_assignment_for_topics(["t0"])) == {TopicPartition("t0", 0)}


def test_names_of_one_request_collide() -> None:
    _, _, admin = cluster()
    changes = admin.create_topics([topic("a.b"), topic("a_b"), topic("c")], BROKERS)
    assert [change.error.error for change in changes] == [Errors.NONE, Errors.INVALID_TOPIC_EXCEPTION, Errors.NONE]
    assert changes[1].error.message == "Topic 'a_b' collides with existing topics: a.b"


def test_many_topics_are_deleted_in_two_round_trips() -> None:
    _, client, admin = cluster()
    admin.create_topics(topics(100), BROKERS)
    client.sent.clear()
    names = [f"t{index}" for index in range(100)]
    assert admin.delete_topics([*names, "none"]) == {
        **dict.fromkeys(names, Errors.NONE),
        "none": Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert len(client.sent) == 2


def test_while_zookeeper_is_away_the_time_is_kept() -> None:
    client = AbsentClient()
    admin = manager(client)
    changes = admin.with_time_limit(5000, lambda: admin.create_topics(topics(2), BROKERS))
    assert [change.error.error for change in changes] == [Errors.REQUEST_TIMED_OUT] * 2
    deleted = admin.with_time_limit(5000, lambda: admin.delete_topics(["t"]))
    assert deleted == {"t": Errors.REQUEST_TIMED_OUT}
    grown = CreatePartitionsRequest.CreatePartitionsTopic(name="t", count=2, assignments=None)
    assert (
        admin.with_time_limit(5000, lambda: admin.create_partitions([grown]))[0].error.error is Errors.REQUEST_TIMED_OUT
    )
    assert len(client.waited_ms) == 3
    assert all(waited is not None and 4000 < waited <= 5000 for waited in client.waited_ms)


def test_topics_that_grow_are_read_together_and_an_impossible_name_has_its_own_error() -> None:
    _, client, admin = cluster()
    zk = KafkaZkClient(client)  # type: ignore[arg-type]
    zk.register_broker(BrokerInfo(Broker(1, (EndPoint("h", 1, "PLAINTEXT", "PLAINTEXT"),))))
    admin.create_topics(topics(40), {1: None})
    wanted = [f"t{index}" for index in range(40)]
    grown = [CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=2, assignments=None) for name in wanted]
    client.sent.clear()
    changes = admin.create_partitions(grown, validate_only=True)
    assert [change.error.error for change in changes] == [Errors.NONE] * 40
    assert len(client.sent) <= 4
    impossible = CreatePartitionsRequest.CreatePartitionsTopic(name="..", count=2, assignments=None)
    unknown = CreatePartitionsRequest.CreatePartitionsTopic(name="none", count=2, assignments=None)
    changes = admin.create_partitions([grown[0], impossible, unknown], validate_only=True)
    assert [change.error.error for change in changes] == [
        Errors.NONE,
        Errors.UNKNOWN_SERVER_ERROR,
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
    ]
