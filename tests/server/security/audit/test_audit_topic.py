"""The audit in a topic: its own producer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.produce import ProduceResponse
from kafkapy.record.batches import batches
from kafkapy.server.security.audit import audit_topic
from kafkapy.server.security.audit.audit_log import AuditWriteError
from kafkapy.server.security.audit.audit_topic import AuditTopic


class Cluster:
    """Two partitions with a leader each, once the topic is made; answers with the errors that it is given first."""

    def __init__(self, *errors: Errors | KafkaError) -> None:
        self.created: list[str] = []
        self.errors = list(errors)
        self.written: dict[int, list[bytes]] = {}
        self.sent = 0

    def leader_of(self, topic: str, number: int) -> tuple[int, str, int] | None:
        return (number % 2, "leader", 9092 + number % 2) if self.created else None

    def create(self, topic: str) -> None:
        self.created.append(topic)

    def connect(self, host: str, port: int) -> BlockingClient:
        return cast(BlockingClient, self)

    def call(self, request: Any) -> ProduceResponse:
        self.sent += 1
        (topic,) = request.topic_data
        (partition,) = topic.partition_data
        error = self.errors.pop(0) if self.errors else Errors.NONE
        if isinstance(error, KafkaError):
            raise error
        if error is Errors.NONE:
            values = [bytes(r.value or b"") for batch in batches(partition.records) for r in batch.records()]
            self.written.setdefault(partition.index, []).extend(values)
        told = ProduceResponse.PartitionProduceResponse(index=partition.index, error_code=error.code)
        return ProduceResponse(
            responses=[ProduceResponse.TopicProduceResponse(name=topic.name, partition_responses=[told])]
        )

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_topic, "BACKOFF_SECONDS", 0.0)


def topic_of(cluster: Cluster, patience: float = 30.0) -> AuditTopic:
    return AuditTopic("audit", cluster, cluster.connect, patience)


def test_the_topic_is_made_and_batches_go_round() -> None:
    cluster = Cluster()
    topic = topic_of(cluster)
    for line in (b"1", b"2", b"3"):
        topic.write([line])
    assert cluster.created == ["audit"]
    assert cluster.written == {0: [b"1", b"3"], 1: [b"2"]}
    topic.close()


def test_a_batch_is_offered_again() -> None:
    cluster = Cluster(Errors.NOT_LEADER_OR_FOLLOWER, KafkaError(Errors.NETWORK_EXCEPTION, "gone"))
    topic_of(cluster).write([b"1", b"2"])
    assert cluster.written == {0: [b"1", b"2"]}
    assert cluster.sent == 3


def test_large_batches_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_topic, "MAX_BATCH_BYTES", 5)
    cluster = Cluster()
    topic_of(cluster).write([b"123", b"45", b"6", b"larger than that", b"7"])
    assert cluster.sent == 4
    assert cluster.written == {0: [b"123", b"45", b"larger than that"], 1: [b"6", b"7"]}


def test_it_gives_up_when_time_is_up() -> None:
    topic = topic_of(Cluster(*[Errors.TOPIC_AUTHORIZATION_FAILED] * 5), patience=0)
    topic.write([])
    with pytest.raises(AuditWriteError, match="topic audit: it does not exist, or has no leader"):
        topic.write([b"1"])
    with pytest.raises(AuditWriteError, match="topic audit: TOPIC_AUTHORIZATION_FAILED"):
        topic.write([b"1"])


def test_it_gives_up_when_the_broker_stops() -> None:
    topic = topic_of(Cluster(*[Errors.REQUEST_TIMED_OUT] * 5))
    topic.stopping()
    with pytest.raises(AuditWriteError):
        topic.write([b"1"])
