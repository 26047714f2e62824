"""What the broker remembers of the controller's updates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from kafkapy.common.leader_and_isr import LEADER_DURING_DELETE
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.runtime.clock import MockClock
from kafkapy.server.metadata.metadata_cache import MetadataCache
from tests.server.broker_core import live_broker

A, B = b"a" * 16, b"b" * 16


@pytest.fixture
def clock() -> MockClock:
    return MockClock()


@pytest.fixture
def cache(clock: MockClock) -> MetadataCache:
    return MetadataCache(0, clock)


def update(
    topic: str | None = None,
    partitions: Iterable[int] = (0,),
    *,
    leader: int = 0,
    topic_id: bytes = ZERO_UUID,
    brokers: Iterable[int] = (0,),
    controller: int = 0,
) -> UpdateMetadataRequest:
    states = [UpdateMetadataRequest.UpdateMetadataPartitionState(partition_index=p, leader=leader) for p in partitions]
    topics = []
    if topic is not None:
        topics.append(
            UpdateMetadataRequest.UpdateMetadataTopicState(topic_name=topic, topic_id=topic_id, partition_states=states)
        )
    return UpdateMetadataRequest(
        controller_id=controller, topic_states=topics, live_brokers=[live_broker(b) for b in brokers]
    )


def results(waiting: Any) -> list[bool]:
    """What `wait_for` comes to, once it does."""
    found: list[bool] = []
    waiting.add_callback(lambda done: found.append(done.result()))
    return found


def test_updates_add_up_but_brokers_are_replaced(cache: MetadataCache) -> None:
    cache.update(update("a", [2, 0], brokers=(0, 1)))
    cache.update(update("b", brokers=(1,)))
    assert cache.all_topics() == {"a", "b"}
    assert [p.partition_index for p in cache.partitions("a")] == [0, 2]
    assert cache.num_partitions("a") == 2
    assert cache.num_partitions("?") is None
    assert cache.alive_broker_ids() == {1}
    assert sorted(cache.all_partitions()) == [TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 0)]


def test_no_controller(cache: MetadataCache) -> None:
    assert cache.controller_id is None
    cache.update(update(controller=4))
    assert cache.controller_id == 4
    cache.update(update(controller=-1))
    assert cache.controller_id is None


def test_a_topic_that_comes_again_under_another_id(cache: MetadataCache) -> None:
    cache.update(update("t", topic_id=A))
    cache.update(update("t", topic_id=B))
    assert (cache.topic_id("t"), cache.topic_name(B), cache.topic_name(A)) == (B, "t", None)


def test_deletion_tells_what_was_there(cache: MetadataCache) -> None:
    cache.update(update("t", [0, 1], topic_id=A))
    assert cache.update(update("t", [0, 1, 2], leader=LEADER_DURING_DELETE, topic_id=A)) == [
        TopicPartition("t", 0),
        TopicPartition("t", 1),
    ]
    assert not cache.contains_topic("t")
    assert (cache.topic_id("t"), cache.topic_name(A)) == (ZERO_UUID, None)


def test_addresses_by_listener(cache: MetadataCache) -> None:
    request = update()
    request.live_brokers = [live_broker(0, ["PLAINTEXT", "INTERNAL"]), live_broker(1)]
    request.live_brokers[1].rack = "r"
    cache.update(request)
    assert [n.id for n in cache.alive_nodes("PLAINTEXT")] == [0, 1]
    assert [n.id for n in cache.alive_nodes("INTERNAL")] == [0]
    node = cache.alive_broker(1, "PLAINTEXT")
    assert node is not None
    assert (node.host, node.port, node.rack) == ("host-1", 9093, "r")
    assert cache.alive_broker(1, "INTERNAL") is None
    assert cache.alive_broker(2, "PLAINTEXT") is None


def test_waits_for_an_update_that_fulfils(cache: MetadataCache, clock: MockClock) -> None:
    waiting = results(cache.wait_for(lambda: cache.contains_topic("t"), 1000))
    cache.update(update("other"))
    assert waiting == []
    cache.update(update("t"))
    assert waiting == [True]
    clock.advance(2000)
    assert waiting == [True]
    assert results(cache.wait_for(lambda: cache.contains_topic("t"), 1000)) == [True]


def test_waits_no_longer_than_the_time(cache: MetadataCache, clock: MockClock) -> None:
    waiting = results(cache.wait_for(lambda: cache.contains_topic("t"), 1000))
    clock.advance(900)
    assert waiting == []
    clock.advance(200)
    assert waiting == [False]
    cache.update(update("t"))
    assert waiting == [False]


def test_does_not_wait_without_time(cache: MetadataCache, clock: MockClock) -> None:
    assert results(cache.wait_for(lambda: False, 0)) == [False]
    assert results(cache.wait_for(lambda: True, -1)) == [True]
    assert clock.pending == 0
