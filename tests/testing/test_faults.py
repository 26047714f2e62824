"""Faults that a test orders of one broker, as clients meet them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from kafkapy import KafkaConsumer, KafkaProducer
from kafkapy.errors import KafkaTimeoutError, TopicAuthorizationFailedError
from kafkapy.testing import ClusterError, KafkaCluster
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(topics="t", config={"log_retention_check_interval_ms": 60_000}) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def as_new(kafka: KafkaCluster) -> Iterator[None]:
    kafka.reset()
    yield
    kafka.heal()


@pytest.fixture
def producer(kafka: KafkaCluster) -> Iterator[KafkaProducer]:
    made = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, retry_backoff_ms=20, reconnect_backoff_ms=20)
    made.send("t", b"first").get(HANG_SECONDS)
    yield made
    made.close(timeout=0)


def values(kafka: KafkaCluster) -> list[bytes | None]:
    return [record.value for record in kafka.records("t")]


def test_an_error_that_is_to_be_retried(kafka: KafkaCluster, producer: KafkaProducer) -> None:
    kafka.answer_with("PRODUCE", "NOT_LEADER_OR_FOLLOWER", times=2)
    producer.send("t", b"second").get(HANG_SECONDS)
    assert values(kafka) == [b"first", b"second"]


def test_an_error_that_is_final(kafka: KafkaCluster, producer: KafkaProducer) -> None:
    kafka.answer_with("produce", "topic_authorization_failed")
    with pytest.raises(TopicAuthorizationFailedError):
        producer.send("t", b"second").get(HANG_SECONDS)
    assert values(kafka) == [b"first"]


def test_a_wrong_name_is_refused(kafka: KafkaCluster) -> None:
    with pytest.raises(ClusterError, match="there is no API 'PRODUZE'; there are PRODUCE, FETCH"):
        kafka.answer_with("PRODUZE", "NOT_LEADER_OR_FOLLOWER")
    with pytest.raises(ClusterError, match="there is no error 'NOPE'"):
        kafka.answer_with("PRODUCE", "NOPE")


def test_late_answers_come_when_the_clock_is_moved_on(kafka: KafkaCluster, producer: KafkaProducer) -> None:
    kafka.delay(3600, "PRODUCE", times=1)
    future = producer.send("t", b"late")
    with pytest.raises(KafkaTimeoutError):
        future.get(0.2)

    def is_sent() -> bool:
        kafka.clock.advance(3600)
        return bool(future.is_done)

    wait_until(is_sent)  # the request may come later than the first step of the clock
    assert future.get(0).offset == 1
    assert values(kafka) == [b"first", b"late"]


def test_what_is_cut_off_comes_back(kafka: KafkaCluster, producer: KafkaProducer) -> None:
    with kafka.cut():
        future = producer.send("t", b"meanwhile")
        with pytest.raises(KafkaTimeoutError):
            future.get(0.2)
    future.get(HANG_SECONDS)
    assert values(kafka) == [b"first", b"meanwhile"]
    assert kafka.cut_once() >= 1


def test_a_pause(kafka: KafkaCluster, producer: KafkaProducer) -> None:
    with kafka.paused():
        future = producer.send("t", b"paused")
        with pytest.raises(KafkaTimeoutError):
            future.get(0.2)
        with pytest.raises(ClusterError, match="broker 0 is paused"):
            kafka.clock.advance(1)
    future.get(HANG_SECONDS)


def test_kill_and_restart(kafka: KafkaCluster, producer: KafkaProducer) -> None:
    kafka.kill()
    future = producer.send("t", b"while it is dead")
    kafka.restart()
    future.get(HANG_SECONDS)
    assert values(kafka) == [b"first", b"while it is dead"]


def test_a_full_disk_ends_the_broker(kafka: KafkaCluster, producer: KafkaProducer) -> None:
    kafka.fill_disk()
    future = producer.send("t", b"no room")
    kafka.brokers[0].wait_until_ended(HANG_SECONDS)
    assert "No space left on device" in kafka.brokers[0].log()
    kafka.empty_disk()
    future.get(HANG_SECONDS)
    assert values(kafka) == [b"first", b"no room"]


def test_retention_without_waiting(kafka: KafkaCluster) -> None:
    topic = kafka.create_topic("short-lived", config={"retention.ms": 3_600_000})
    kafka.produce_many(topic, ["old"])
    kafka.clock.advance(2 * 3600)
    kafka.clock.advance(60)
    assert kafka.records(topic) == []


def test_a_session_that_expires(kafka: KafkaCluster, producer: KafkaProducer) -> None:
    before = kafka.brokers[0].session
    kafka.expire_session()

    def has_session() -> bool:
        kafka.brokers[0].take_news()
        return kafka.brokers[0].session is not None

    wait_until(has_session)
    assert kafka.brokers[0].session is not None and kafka.brokers[0].session is not before
    producer.send("t", b"after").get(HANG_SECONDS)


def test_members_are_told_to_join_again(kafka: KafkaCluster) -> None:
    with KafkaConsumer(
        "t", bootstrap_servers=kafka.bootstrap_servers, group_id="readers", heartbeat_interval_ms=50
    ) as consumer:
        _poll_until(consumer, lambda: bool(consumer.assignment()))
        with pytest.raises(ClusterError, match="group 'strangers' can't rebalance: GROUP_ID_NOT_FOUND"):
            kafka.rebalance("strangers")
        before = kafka.brokers[0].log_size()
        kafka.rebalance("readers")
        _poll_until(consumer, lambda: "generation 2" in kafka.brokers[0].log(before))


def test_a_member_times_out_when_the_clock_is_moved_on(kafka: KafkaCluster) -> None:
    with KafkaConsumer(
        "t", bootstrap_servers=kafka.bootstrap_servers, group_id="sleepers", session_timeout_ms=30_000
    ) as consumer:
        _poll_until(consumer, lambda: bool(consumer.assignment()))
        before = kafka.brokers[0].log_size()
        kafka.clock.advance(31)
        assert "in group sleepers has failed, removing it from the group" in kafka.brokers[0].log(before)


def _poll_until(consumer: KafkaConsumer, wanted: object) -> None:
    assert callable(wanted)
    deadline = time.monotonic() + HANG_SECONDS
    while not wanted():
        assert time.monotonic() < deadline
        consumer.poll(timeout_ms=20)
