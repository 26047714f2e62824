"""The start of a log of a worker's topic; a consumer in memory."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.connect.errors import ConnectException, StartCancelled
from kafkapy.connect.topics.topic_log import KafkaBasedLog
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import TopicPartition


class Clients:
    """All clients of a topic whose end is never reached, since a transaction is open. `partitions`: of the topic."""

    def __init__(self, *partitions: int, outcome: Any = None) -> None:
        self.partitions = set(partitions)
        self.outcome = outcome
        self.closed = 0

    def admin(self) -> Any:
        return self

    consumer = producer = admin

    def describe_topics(self, topics: Iterable[str]) -> dict[str, Any]:
        return dict.fromkeys(topics, self.outcome)

    def partitions_for_topic(self, topic: str) -> set[int]:
        return self.partitions

    def assign(self, partitions: list[TopicPartition]) -> None: ...

    def seek_to_beginning(self, *partitions: TopicPartition) -> None: ...

    def list_offsets(self, wanted: dict[TopicPartition, Any]) -> dict[TopicPartition, Any]:
        return {partition: SimpleNamespace(offset=5) for partition in wanted}

    def position(self, partition: TopicPartition) -> int:
        return 4

    def poll(self, timeout_ms: float) -> dict[TopicPartition, list[Any]]:
        return {}

    def close(self) -> None:
        self.closed += 1


def test_a_start_can_be_cancelled() -> None:
    asked = iter([False, False, True])
    clients = Clients(0)
    log = KafkaBasedLog("t", clients, lambda record: None, is_cancelled=lambda: next(asked))
    with pytest.raises(StartCancelled, match="Topic t was not read to its end"):
        log.start()
    log.stop()
    assert clients.closed == 3


def test_a_topic_that_may_not_be_read_is_not_waited_for() -> None:
    clients = Clients(outcome=KafkaError(Errors.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(ConnectException, match="Not authorized to access topic 't': allow the worker's user"):
        KafkaBasedLog("t", clients, lambda record: None).start()


def test_a_topic_that_is_not_there_yet_is_waited_for() -> None:
    clients = Clients(outcome=KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION))
    asked = iter([False, True])
    with pytest.raises(StartCancelled):
        KafkaBasedLog("t", clients, lambda record: None, is_cancelled=lambda: next(asked)).start()
