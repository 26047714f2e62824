"""The order in which a broker's parts come and go, and how it says goodbye to the controller."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from kafkapy.cluster.partition import Partition
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from kafkapy.server.kafka_config import KafkaConfig
from kafkapy.server.kafka_server import KafkaServer, _coordinate, _stop_coordinating

OFFSETS = "__consumer_offsets"


@pytest.fixture
def server() -> KafkaServer:
    properties = {
        "zookeeper.connect": "nowhere:2181",
        "broker.id": "0",
        "controlled.shutdown.max.retries": "2",
        "controlled.shutdown.retry.backoff.ms": "100",
    }
    made = KafkaServer(KafkaConfig(properties), Clock())
    made._time = MockTime()  # type: ignore[assignment]
    return made


def run(work: Any) -> None:
    """Run a coroutine that waits for nothing."""
    results: list[Any] = []
    Deferred.fromCoroutine(work).addBoth(results.append)
    assert results == [None]


def test_parts_are_stopped_in_reverse_whatever_fails(server: KafkaServer) -> None:
    stopped: list[str] = []

    def fails() -> None:
        stopped.append("second")
        raise OSError("no")

    async def waits() -> None:
        await succeed(None)
        stopped.append("third")

    server._undo += [("first", lambda: stopped.append("first")), ("second", fails), ("third", waits)]
    run(server.shutdown())
    assert stopped == ["third", "second", "first"]
    run(server.shutdown())
    assert len(stopped) == 3


def test_a_start_that_fails_stops_what_has_started(server: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []

    async def start() -> None:
        server._undo.append(("first", lambda: stopped.append("first")))
        raise KafkaError(Errors.KAFKA_STORAGE_ERROR, "no directory")

    monkeypatch.setattr(server, "_startup", start)
    failures: list[Any] = []
    Deferred.fromCoroutine(server.startup()).addErrback(failures.append)
    assert failures[0].value.error is Errors.KAFKA_STORAGE_ERROR
    assert stopped == ["first"]


def left(*partitions: int) -> ControlledShutdownResponse:
    return ControlledShutdownResponse(
        remaining_partitions=[
            ControlledShutdownResponse.RemainingPartition(topic_name="t", partition_index=p) for p in partitions
        ]
    )


@pytest.mark.parametrize(
    ("answers", "asked", "waited_ms"),
    [
        ([left()], 1, 0),
        ([left(0, 1), left(1), left()], 3, 200),
        ([KafkaError(Errors.NOT_CONTROLLER), left()], 2, 100),
        ([ControlledShutdownResponse(error_code=Errors.STALE_BROKER_EPOCH.code), left()], 2, 100),
        ([left(0)] * 9, 3, 200),
    ],
)
def test_controlled_shutdown_is_asked_for_until_nothing_is_led_here(
    server: KafkaServer, monkeypatch: pytest.MonkeyPatch, answers: list[Any], asked: int, waited_ms: int
) -> None:
    requests: list[Any] = []
    server._broker_epoch = 7

    def call(request: Any) -> Any:
        requests.append(request)
        answer = answers[len(requests) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(server, "_call_controller", call)
    server._controlled_shutdown()
    assert [(r.broker_id, r.broker_epoch) for r in requests] == [(0, 7)] * asked
    assert server._time.monotonic_ms() == waited_ms


class FakeCoordinator:
    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def on_election(self, partition: int, epoch: int) -> None:
        self.told.append(("election", partition, epoch))

    def on_resignation(self, partition: int, epoch: int | None) -> None:
        self.told.append(("resignation", partition, epoch))


def partition(topic: str, index: int, epoch: int) -> Partition:
    made = Partition(TopicPartition(topic, index), 0, MockTime(), host=None)  # type: ignore[arg-type]
    made.leader_epoch = epoch
    return made


def test_whoever_leads_an_offsets_partition_coordinates_its_groups() -> None:
    coordinator: Any = FakeCoordinator()
    _coordinate(
        coordinator,
        [partition(OFFSETS, 1, 5), partition("t", 2, 5)],
        [partition(OFFSETS, 3, 6), partition("t", 4, 6)],
    )
    _stop_coordinating(coordinator, [TopicPartition(OFFSETS, 7), TopicPartition("t", 8)])
    assert coordinator.told == [("election", 1, 5), ("resignation", 3, 6), ("resignation", 7, None)]
