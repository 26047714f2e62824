"""Requests about the cluster wait for the first UpdateMetadata."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.runtime.clock import MockClock
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.metadata.metadata_gate import MAX_WAIT_MS, MetadataGate


class Broker:
    """A broker's door, and what has passed it."""

    def __init__(self, has_logs: bool) -> None:
        self.clock = MockClock()
        self.cache = MetadataCache(0, self.clock)
        self.passed: list[Any] = []
        self.metadata_gate = MetadataGate(self.passed.append, self.cache, has_logs)

    def request(self, api_key: ApiKey) -> Any:
        request: Any = SimpleNamespace(api_key=api_key, cancelled=False)
        self.metadata_gate.handle(request)
        return request

    def update(self, topic: str | None = None) -> None:
        update = UpdateMetadataRequest(controller_id=0)
        update.live_brokers = [UpdateMetadataRequest.UpdateMetadataBroker(id=0)]
        if topic is not None:
            state = UpdateMetadataRequest.UpdateMetadataPartitionState(topic_name=topic)
            update.topic_states = [
                UpdateMetadataRequest.UpdateMetadataTopicState(topic_name=topic, partition_states=[state])
            ]
        self.cache.update(update)


@pytest.mark.parametrize("api_key", [ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.CREATE_TOPICS])
def test_waits_for_the_live_brokers(api_key: ApiKey) -> None:
    broker = Broker(has_logs=False)
    early = broker.request(api_key)
    assert broker.passed == []
    broker.update()
    assert broker.passed == [early]
    late = broker.request(api_key)
    assert broker.passed == [early, late]


def test_waits_for_topics_if_there_are_logs() -> None:
    broker = Broker(has_logs=True)
    early = broker.request(ApiKey.METADATA)
    broker.update()
    assert broker.passed == []
    broker.update("t")
    assert broker.passed == [early]


def test_others_pass_at_once() -> None:
    broker = Broker(has_logs=True)
    passed = [broker.request(key) for key in (ApiKey.UPDATE_METADATA, ApiKey.PRODUCE, ApiKey.API_VERSIONS)]
    assert broker.passed == passed


def test_does_not_wait_for_ever() -> None:
    broker = Broker(has_logs=False)
    early = broker.request(ApiKey.METADATA)
    broker.clock.advance(MAX_WAIT_MS)
    assert broker.passed == [early]


def test_who_has_gone_is_forgotten() -> None:
    broker = Broker(has_logs=False)
    broker.request(ApiKey.METADATA).cancelled = True
    broker.update()
    assert broker.passed == []
