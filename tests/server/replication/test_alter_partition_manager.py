"""How wishes for other ISRs get to the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from twisted.internet.task import Clock

from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.cluster.in_sync_replicas import AlterPartitionOutcome
from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.errors import KafkaConnectionError
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kafkapy.runtime.completion import Completion
from kafkapy.server.inter_broker.controller_channel import ControllerChannel
from kafkapy.server.replication.alter_partition_manager import (
    RETRY_BACKOFF_MS,
    AlterPartitionManager,
    ZkAlterPartitionManager,
)
from kafkapy.zk.kafka_zk_client import UpdateLeaderAndIsrResult

TOPIC_ID = b"t" * 16
ME = 0


class Controllers:
    """The network: requests are kept, the test answers them."""

    def __init__(self) -> None:
        self.active: int | None = 5
        self.sent: list[tuple[int | None, Any, int]] = []
        self.waiting: list[Completion[Any]] = []
        self.closed = 0

    def call(self, request: Any, version: int) -> Completion[Any]:
        self.sent.append((self.active, request.build(version), version))
        self.waiting.append(Completion())
        return self.waiting[-1]

    def close(self) -> None:
        self.closed += 1


class Bench:
    def __init__(self) -> None:
        self.clock = Clock()
        self.driver = TwistedDriver(self.clock)
        self.controllers = Controllers()
        controllers: Any = self.controllers
        channel = ControllerChannel(self.driver, controllers, lambda: self.controllers.active)
        self.manager = AlterPartitionManager(channel, self.driver, ME, lambda: 77)
        self.outcomes: list[tuple[int, AlterPartitionOutcome]] = []

    def submit(self, index: int, topic_id: bytes = TOPIC_ID, isr: tuple[int, ...] = (0, 1)) -> None:
        proposed = LeaderAndIsr(ME, isr, 3, partition_epoch=9)
        self.manager.submit(
            TopicPartition("t", index), topic_id, proposed, {1: 88}, lambda o: self.outcomes.append((index, o))
        )
        self.clock.advance(0)

    def answer(self, *partitions: AlterPartitionResponse.PartitionData, error: Errors = Errors.NONE) -> None:
        topic = AlterPartitionResponse.TopicData(topic_id=TOPIC_ID, partitions=list(partitions))
        response = AlterPartitionResponse(error_code=error.code, topics=[topic] if partitions else [])
        self.controllers.waiting.pop(0).set_result(response)

    @property
    def last(self) -> AlterPartitionRequest:
        request = self.controllers.sent[-1][1]
        assert isinstance(request, AlterPartitionRequest)
        return request


@pytest.fixture
def bench() -> Bench:
    return Bench()


def done(index: int, isr: tuple[int, ...] = (0, 1), epoch: int = 10) -> AlterPartitionResponse.PartitionData:
    return AlterPartitionResponse.PartitionData(
        partition_index=index, leader_id=ME, leader_epoch=3, isr=list(isr), partition_epoch=epoch
    )


def indexes(request: AlterPartitionRequest) -> list[int]:
    return [partition.partition_index for topic in request.topics for partition in topic.partitions]


def test_says_what_it_wants_and_hears_what_holds(bench: Bench) -> None:
    bench.submit(0)
    (topic,) = bench.last.topics
    (wish,) = topic.partitions
    assert (bench.last.broker_id, bench.last.broker_epoch, topic.topic_id) == (ME, 77, TOPIC_ID)
    assert (wish.leader_epoch, wish.partition_epoch, wish.new_isr) == (3, 9, [])
    assert [(b.broker_id, b.broker_epoch) for b in wish.new_isr_with_epochs] == [(0, 77), (1, 88)]
    bench.answer(done(0))
    assert bench.outcomes == [(0, LeaderAndIsr(ME, (0, 1), 3, partition_epoch=10))]


def test_what_comes_meanwhile_goes_together(bench: Bench) -> None:
    bench.submit(0)
    bench.submit(1)
    bench.submit(2)
    assert len(bench.controllers.sent) == 1
    bench.answer(done(0))
    assert indexes(bench.last) == [1, 2]
    bench.answer(done(1), done(2))
    assert [index for index, _ in bench.outcomes] == [0, 1, 2]


def test_each_partition_gets_its_own_error(bench: Bench) -> None:
    bench.submit(0)
    bench.answer(AlterPartitionResponse.PartitionData(partition_index=0, error_code=Errors.FENCED_LEADER_EPOCH.code))
    assert bench.outcomes == [(0, Errors.FENCED_LEADER_EPOCH)]


def test_by_name_while_an_id_is_not_known(bench: Bench) -> None:
    bench.submit(0, ZERO_UUID)
    assert bench.controllers.sent[-1][2] == 1
    assert bench.last.topics[0].partitions[0].new_isr == [0, 1]
    topic = AlterPartitionResponse.TopicData(topic_name="t", partitions=[done(0)])
    bench.controllers.waiting.pop(0).set_result(AlterPartitionResponse(topics=[topic]))
    assert len(bench.outcomes) == 1


def test_an_error_of_the_whole_is_no_answer(bench: Bench) -> None:
    bench.submit(0)
    bench.answer(error=Errors.STALE_BROKER_EPOCH)
    assert not bench.outcomes
    bench.clock.advance(RETRY_BACKOFF_MS / 1000)
    bench.answer(done(0))
    assert len(bench.outcomes) == 1


def test_looks_for_the_controller(bench: Bench) -> None:
    bench.submit(0)
    bench.answer(error=Errors.NOT_CONTROLLER)
    bench.controllers.active = 6
    bench.clock.advance(0.05)
    assert bench.controllers.sent[-1][0] == 6
    bench.controllers.waiting.pop(0).set_exception(KafkaConnectionError("gone"))
    bench.clock.advance(0.05)
    bench.answer(done(0))
    assert len(bench.outcomes) == 1


def test_a_newer_wish_takes_the_place_of_an_older_one(bench: Bench) -> None:
    bench.submit(0)
    bench.submit(0, isr=(0,))
    bench.answer(done(0))
    assert not bench.outcomes, "the answer is for the older one"
    bench.answer(done(0, (0,)))
    assert bench.outcomes == [(0, LeaderAndIsr(ME, (0,), 3, partition_epoch=10))]


# -- through ZooKeeper


class ZooKeeper:
    def __init__(self) -> None:
        self.result: LeaderAndIsr | None = None
        self.found: LeaderAndIsr | None = None
        self.notified: list[set[TopicPartition]] = []

    def update_leader_and_isr(self, states: dict[TopicPartition, LeaderAndIsr], epoch: int, version: int) -> Any:
        ((partition, _state),) = states.items()
        if self.result is None:
            return UpdateLeaderAndIsrResult({}, [partition])
        return UpdateLeaderAndIsrResult({partition: self.result}, [])

    def get_topic_partition_states(self, partitions: list[TopicPartition]) -> Any:
        return {} if self.found is None else {partitions[0]: LeaderIsrAndControllerEpoch(self.found, 1)}

    def propagate_isr_changes(self, partitions: set[TopicPartition]) -> None:
        self.notified.append(partitions)


class DirectDriver(TwistedDriver):
    def run_in_thread(self, f: Callable[[], Any]) -> Completion[Any]:
        try:
            return Completion.of(f())
        except Exception as error:
            return Completion.failed(error)


def test_old_brokers_about_the_leader_writes_itself_and_tells_the_controller_later() -> None:
    zookeeper, time = ZooKeeper(), MockTime()
    zk_client: Any = zookeeper
    scheduler = MockScheduler(time)
    manager = ZkAlterPartitionManager(zk_client, scheduler, time, DirectDriver(Clock()), lambda: 4)
    manager.startup()
    name = TopicPartition("t", 0)
    outcomes: list[LeaderAndIsr | Errors] = []
    proposed = LeaderAndIsr(ME, (0, 1), 3, partition_epoch=9)
    manager.submit(name, TOPIC_ID, proposed, {}, outcomes.append)
    assert outcomes == [Errors.INVALID_UPDATE_VERSION], "somebody else has written"
    zookeeper.found = proposed.with_partition_epoch(10)
    manager.submit(name, TOPIC_ID, proposed, {}, outcomes.append)
    assert outcomes[-1] == zookeeper.found, "it was our own write"
    zookeeper.result = proposed.with_partition_epoch(11)
    manager.submit(name, TOPIC_ID, proposed, {}, outcomes.append)
    assert outcomes[-1] == zookeeper.result
    scheduler.advance(5_000)
    assert not zookeeper.notified
    scheduler.advance(2_500)
    assert zookeeper.notified == [{name}]
