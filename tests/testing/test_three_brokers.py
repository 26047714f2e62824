"""A cluster of three: leaders that move, brokers that die, and a reset that nothing comes back from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkapy.testing import KafkaCluster

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(3, topics="t:3") as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def as_new(kafka: KafkaCluster) -> None:
    kafka.reset()


def test_nothing_comes_back_from_followers(kafka: KafkaCluster) -> None:
    for turn in range(5):
        kafka.produce_many("t", [f"{turn}-{number}" for number in range(30)])
        kafka.reset()
        assert kafka.records("t") == []
        kafka.produce_many("t", [str(turn)], partition=0)
        assert [(record.offset, record.value) for record in kafka.records("t")] == [(0, str(turn).encode())]


def test_what_is_new_is_on_every_replica(kafka: KafkaCluster) -> None:
    kafka.produce_many("t", ["old"] * 30)
    kafka.reset()
    kafka.produce_many("t", ["a", "b"], partition=1)
    first = kafka.leader("t", 1)
    second = kafka.move_leader("t", 1)
    assert second != first
    assert [record.value for record in kafka.records("t")] == [b"a", b"b"]


def test_the_leader_dies(kafka: KafkaCluster) -> None:
    kafka.produce_many("t", ["before"], partition=2)
    leader = kafka.leader("t", 2)
    kafka.kill(leader)
    kafka.produce_many("t", ["after"], partition=2)
    assert kafka.leader("t", 2) != leader
    assert [record.value for record in kafka.records("t")] == [b"before", b"after"]
    kafka.restart(leader)
    kafka.wait_until_serving()


def test_a_leader_that_is_no_replica_is_refused(kafka: KafkaCluster) -> None:
    with pytest.raises(ValueError, match="broker 7 is no replica of t-0"):
        kafka.move_leader("t", 0, to=7)


def test_which_broker_must_be_said(kafka: KafkaCluster) -> None:
    with pytest.raises(ValueError, match="say which broker: 0 to 2"):
        kafka.pause()
    with pytest.raises(ValueError, match="there is no broker 3"):
        kafka.kill(3)
