"""A transactional producer never stands still: whatever brokers, lines and coordinators do, it goes on when they are back."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import ProducerFencedError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkapy.protocol.messages.metadata import MetadataResponse
from kafkapy.structs import OffsetAndMetadata
from tests.producer.test_transactions import Coordinator

BROKERS = 3
OF_THE_COORDINATOR = (
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
)
COORDINATOR_ERRORS = [
    Errors.CONCURRENT_TRANSACTIONS,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.COORDINATOR_NOT_AVAILABLE,
]


class Restarts(Coordinator):
    """A cluster with latency whose brokers are killed and come back, while leaders and coordinator move.

    A broker that has just come back knows neither brokers nor topics for a while; it answers, as brokers do.
    """

    def __init__(self, chance: random.Random, **options: Any) -> None:
        super().__init__(leaders=[0, 1, 2], **options)
        self.chance = chance
        self.coordinator_id = 0
        self.epoch = 0
        self.ignorant: set[int] = set()
        """Brokers that have heard nothing from the controller yet."""
        known = self.cluster.brokers[0].handlers
        for broker in self.cluster.brokers.values():
            broker.handlers = {key: partial(self.answer, broker.node_id, key, f) for key, f in known.items()}
            broker.latency_ms = lambda: chance.random() * 4

    def answer(self, node_id: int, key: ApiKey, handler: Callable[[Any], Any], request: Any) -> Any:
        if key is ApiKey.METADATA and node_id in self.ignorant:
            unknown = MetadataResponse.MetadataResponseTopic
            return MetadataResponse(topics=[unknown(error_code=3, name=topic.name) for topic in request.topics or []])
        if key is ApiKey.PRODUCE:
            self.fault = lambda tp, batch: self.refusal(node_id, tp)
        if key in OF_THE_COORDINATOR:
            if node_id != self.coordinator_id or node_id in self.ignorant:
                return error_response(request, 3, Errors.NOT_COORDINATOR)
            if self.chance.random() < 0.1:
                return error_response(request, 3, self.chance.choice(COORDINATOR_ERRORS))
        return handler(request)

    def refusal(self, node_id: int, topic_partition: TopicPartition) -> Errors | str | None:
        if node_id in self.ignorant:
            return Errors.UNKNOWN_TOPIC_OR_PARTITION
        if self.leaders[topic_partition.partition] != node_id:
            return Errors.NOT_LEADER_OR_FOLLOWER
        if self.chance.random() < 0.05:
            refusals: list[Errors | str] = [Errors.NOT_ENOUGH_REPLICAS, "lost", "unheard"]
            return self.chance.choice(refusals)
        return None

    def find(self, request: Any) -> FindCoordinatorResponse:
        (key,) = request.coordinator_keys
        found = FindCoordinatorResponse.Coordinator(key=key, node_id=self.coordinator_id, host="", port=0)
        return FindCoordinatorResponse(coordinators=[found])

    @property
    def leaders(self) -> list[int]:
        return [partition.leader_id for partition in self.cluster.topics["t"].partitions]

    # --- what happens to it

    def kill(self) -> None:
        """A broker dies; somewhat later others have what was its, and somewhat later it is back."""
        node_id = self.chance.randrange(BROKERS)
        self.cluster.down.add(node_id)
        self.cluster.brokers[node_id].cut()
        self.driver.call_later(self.chance.random() * 1000, partial(self.move, node_id))
        self.driver.call_later(self.chance.random() * 1000, partial(self.start, node_id))

    def move(self, node_id: int) -> None:
        others = [other for other in self.cluster.brokers if other != node_id]
        leaders = [self.chance.choice(others) if leader == node_id else leader for leader in self.leaders]
        if leaders != self.leaders:
            self.epoch += 1
            self.cluster.add_topic("t", leaders, self.epoch)
        if self.coordinator_id == node_id:
            self.coordinator_id = self.chance.choice(others)

    def start(self, node_id: int) -> None:
        self.cluster.down.discard(node_id)
        self.ignorant.add(node_id)
        self.driver.call_later(self.chance.random() * 500, lambda: self.ignorant.discard(node_id))


def test_a_handshake_that_ends_after_the_coordinators_answer_keeps_nobody_waiting() -> None:
    """The coordinator's answer comes while the leader's connection shakes hands. Batches waited for their time-out then."""
    setup = Coordinator(leaders=[0, 1], bootstrap_servers=["broker-0:9092"]).begun()
    setup.cluster.brokers[0].latency_ms = lambda: 8
    setup.cluster.brokers[1].latency_ms = lambda: 10
    future = setup.send(b"x", partition=1)
    setup.do(setup.transactions.commit(), 200)
    assert future.succeeded()


def test_a_retry_ends_when_the_producer_has_failed_for_good() -> None:
    setup = Coordinator(leaders=[0, 0], retry_backoff_ms=1000).begun()
    setup.fault = lambda *_: Errors.NOT_ENOUGH_REPLICAS
    retried = setup.send(b"x", partition=0)
    setup.driver.advance(10)
    setup.errors = {ApiKey.ADD_PARTITIONS_TO_TXN: [Errors.PRODUCER_FENCED]}
    setup.send(b"y", partition=1)
    with pytest.raises(ProducerFencedError):
        setup.do(setup.transactions.commit(), 100)
    assert isinstance(retried.exception, ProducerFencedError)


def test_partitions_are_added_after_a_transaction_that_failed_with_some_left_to_add() -> None:
    setup = Coordinator(leaders=[0, 0]).begun()

    def refuse(topic_partition: TopicPartition, _: object) -> Errors:
        """Another thread sends meanwhile, and the error comes before the driver's thread has heard of that."""
        setup.driver.call_soon_threadsafe = lambda f: setup.driver.call_later(1, f)  # type: ignore[method-assign,assignment]
        setup.send(b"y", partition=1)
        return Errors.TOPIC_AUTHORIZATION_FAILED

    setup.fault = refuse
    setup.send(b"x", partition=0)
    setup.driver.run()
    setup.do(setup.transactions.abort())
    setup.fault = lambda *_: None
    setup.transactions.begin()
    future = setup.send(b"z", partition=1)
    setup.do(setup.transactions.commit(), 100)
    assert future.succeeded()


@pytest.mark.parametrize("seed", range(20))
def test_no_transaction_takes_long_when_brokers_come_and_go(seed: int) -> None:
    chance = random.Random(seed)
    random.seed(seed)  # the jitter of back-offs
    setup = Restarts(chance, linger_ms=chance.choice([0, 5]), batch_size=chance.choice([50, 16384]))
    setup.do(setup.transactions.initialize())
    sent: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    for number in range(60):
        if chance.random() < 0.3:
            setup.kill()
        setup.transactions.begin()
        for partition in chance.sample(range(3), chance.randint(1, 3)):
            for i in range(chance.randint(1, 5)):
                value = b"%d-%d" % (number, i)
                setup.do(setup.core.wait_on_metadata("t"))
                setup.send(value, partition=partition)
                sent[partition].append(value)
            setup.driver.advance(chance.randrange(8))
        if chance.random() < 0.7:
            offsets = {TopicPartition("t", 0): OffsetAndMetadata(number, "", -1)}
            setup.do(setup.transactions.send_offsets(offsets, "group"), 8_000)
        setup.do(setup.transactions.commit(), 8_000)
        setup.driver.advance(chance.randrange(50))
    assert {partition: setup.log(partition).values for partition in sent} == sent
