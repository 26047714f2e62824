"""Two controllers on threads of their own over a real ZooKeeper."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.time import SystemTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.controller.kafka_controller import KafkaController
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import BrokerInfo, TopicZNode
from tests.controller.controller_cluster import RecordingChannel, Request
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration


class AnsweringChannel(RecordingChannel):
    """Answers at once."""

    def send_request(
        self, broker_id: int, request: Request, version: int, callback: Callable[[Any, int], object]
    ) -> None:
        super().send_request(broker_id, request, version, callback)
        self.answer_all()


class Member:
    def __init__(self, connect: str, broker_id: int) -> None:
        self.zk = KafkaZkClient.connect(connect, session_timeout_ms=60_000)
        self.zk.create_top_level_paths()
        info = BrokerInfo(Broker(broker_id, (EndPoint("127.0.0.1", 9000 + broker_id, "PLAINTEXT", "PLAINTEXT"),)))
        epoch = self.zk.register_broker(info)
        self.channel = AnsweringChannel()
        self.controller = KafkaController(
            ControllerConfig(broker_id),
            self.zk,
            info,
            epoch,
            SystemTime(),
            self.channel,
        )
        self.controller.startup()

    def stop(self) -> None:
        self.controller.shutdown()
        self.zk.close()


@pytest.fixture
def members(zk_connect: str) -> Iterator[list[Member]]:
    members = [Member(zk_connect, 1)]
    wait_until(lambda: members[0].controller.is_active)
    members.append(Member(zk_connect, 2))
    yield members
    for member in members:
        member.stop()


def leader(member: Member, partition: TopicPartition) -> int | None:
    state = member.zk.get_topic_partition_states([partition]).get(partition)
    return None if state is None else state.leader_and_isr.leader


def test_topics_and_failover(members: list[Member]) -> None:
    first, second = members
    wait_until(lambda: second.controller.controller_id == 1)
    wait_until(lambda: len(first.controller.context.live_broker_epochs) == 2)
    second.zk.create_topic_assignment("t", b"t" * 16, {p: [1, 2] for p in range(50)})
    partition = TopicPartition("t", 49)
    wait_until(lambda: leader(first, partition) == 1)
    first.stop()
    wait_until(lambda: second.controller.is_active and leader(second, partition) == 2)
    assert second.controller.epoch == 2
    second.zk.create_delete_topic_paths(["t"])
    wait_until(lambda: 1 not in second.controller.context.live_broker_epochs)
    # Broker 1 is dead, so the deletion waits.
    wait_until(lambda: "t" in second.controller.context.topics_ineligible_for_deletion)
    assert second.zk.path_exists(TopicZNode.path("t"))


def test_expired_session(members: list[Member]) -> None:
    first, second = members
    wait_until(lambda: len(first.controller.context.live_broker_epochs) == 2)
    second.zk.create_topic_assignment("t", b"t" * 16, {0: [1, 2]})
    partition = TopicPartition("t", 0)
    wait_until(lambda: leader(first, partition) == 1)
    old_epoch = first.controller.broker_epoch
    expire(first)
    wait_until(lambda: second.controller.is_active and not first.controller.is_active)
    wait_until(lambda: first.controller.broker_epoch > old_epoch)
    wait_until(lambda: second.controller.context.live_broker_epochs.get(1) == first.controller.broker_epoch)
    wait_until(lambda: first.controller.controller_id == 2)
    wait_until(lambda: leader(second, partition) == 2)


def expire(member: Member) -> None:
    """Another connection takes the session up and closes it."""
    from kazoo.client import KazooClient

    client = member.zk._client
    other = KazooClient(hosts=client.connect, client_id=(client.session_id, client.session_password))
    other.start()
    other.stop()
    other.close()


def test_requests_from_many_threads(members: list[Member]) -> None:
    first, _ = members
    answers: list[object] = []
    done = threading.Semaphore(0)

    def answered(answer: object) -> None:
        answers.append(answer)
        done.release()

    def ask() -> None:
        for _ in range(20):
            first.controller.list_partition_reassignments(None, answered)

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        assert done.acquire(timeout=HANG_SECONDS)
    assert answers == [{}] * 100
