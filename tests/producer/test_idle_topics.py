"""Topics to which nothing is sent are forgotten (metadata.max.idle.ms, as in Kafka's `ProducerMetadata`)."""

from __future__ import annotations

import pytest

from kafkapy.errors import KafkaConfigurationError
from kafkapy.producer.config import ProducerConfig
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.runtime.completion import spawn
from tests.producer.producer_setup import Setup

IDLE_MS = 10_000
AGE_MS = 4_000


def setup_of(**options: object) -> Setup:
    return Setup(metadata_max_idle_ms=IDLE_MS, metadata_max_age_ms=AGE_MS, **options)  # type: ignore[arg-type]


def topics_asked_for(setup: Setup) -> list[list[str]]:
    requests = setup.cluster.brokers[0].asked(ApiKey.METADATA)
    return [[topic.name for topic in request.topics or ()] for request in requests]


def test_a_topic_that_nothing_is_sent_to_is_no_longer_asked_for_and_comes_back() -> None:
    setup = setup_of()
    setup.send(b"1")
    setup.flush()
    setup.driver.advance(IDLE_MS - 2)
    assert topics_asked_for(setup)[-1] == ["t"]
    setup.driver.advance(AGE_MS)
    assert topics_asked_for(setup)[-1] == []
    assert setup.core.topic_view("t") is None
    setup.driver.result_of(spawn(setup.core.wait_on_metadata("t")), 100)
    future = setup.send(b"2")
    setup.flush()
    assert future.get(0).offset == 1


def test_what_is_sent_or_asked_for_keeps_a_topic() -> None:
    setup = setup_of()
    for use in range(6):
        if use % 2:
            setup.send(b"1")
            setup.flush()
        else:
            setup.driver.result_of(spawn(setup.core.wait_on_metadata("t")), 100)
        setup.driver.advance(IDLE_MS - 1000)
        assert topics_asked_for(setup)[-1] == ["t"]


def test_a_topic_is_kept_while_records_wait_for_it() -> None:
    setup = setup_of(linger_ms=5 * IDLE_MS)
    future = setup.send(b"1")
    setup.driver.advance(4 * IDLE_MS)
    assert topics_asked_for(setup)[-1] == ["t"]
    setup.driver.advance(IDLE_MS + 100)
    assert future.succeeded()


def test_a_topic_that_is_forgotten_just_when_a_record_comes_is_asked_for_again() -> None:
    setup = setup_of(linger_ms=200)
    setup.driver.advance(IDLE_MS - 100)
    setup.cluster.brokers[0].latency_ms = lambda: 50
    while topics_asked_for(setup)[-1]:
        setup.driver.advance(10)
    future = setup.send(b"1")
    setup.driver.advance(100)
    assert setup.core.topic_view("t") is None, "the answer to what was asked before"
    setup.driver.advance(1000)
    assert future.get(0).offset == 0


def test_a_topic_that_somebody_waits_for_is_asked_for_however_long_it_takes() -> None:
    setup = setup_of()
    waiting = spawn(setup.core.wait_on_metadata("later"))
    setup.driver.advance(3 * IDLE_MS)
    assert not waiting.done
    setup.cluster.add_topic("later", [0])
    setup.driver.result_of(waiting, 2000)


def test_at_least_five_seconds() -> None:
    with pytest.raises(KafkaConfigurationError, match=r"metadata_max_idle_ms must be .* at least 5000"):
        ProducerConfig.from_options({"metadata_max_idle_ms": 4999})
