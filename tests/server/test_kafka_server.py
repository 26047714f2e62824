"""The order in which a broker's parts come and go, and how it says goodbye to the controller."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from kafkapy.cluster.partition import Partition
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from kafkapy.server import kafka_server
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.kafka_server import KafkaServer, _coordinate, _stop_coordinating
from kafkapy.zk.zk_data import ProducerIdsBlock

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

    def call(request: Any, version: int) -> Any:
        assert version == 3
        requests.append(request)
        answer = answers[len(requests) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(server, "_call_controller", call)
    server._controlled_shutdown()
    assert [(r.broker_id, r.broker_epoch) for r in requests] == [(0, 7)] * asked
    assert server._time.monotonic_ms() == waited_ms


@pytest.mark.parametrize(
    ("protocol", "expected"), [("2.4-IV1", 3), ("2.4-IV0", 2), ("2.2", 2), ("2.1", 1), ("0.9.0", 1), ("0.8.2", 0)]
)
def test_controlled_shutdown_of_an_older_protocol(
    server: KafkaServer, monkeypatch: pytest.MonkeyPatch, protocol: str, expected: int
) -> None:
    server.config.inter_broker_protocol_version = protocol
    versions: list[int] = []

    def call(request: Any, version: int) -> Any:
        request.encode(version)
        versions.append(version)
        return left()

    monkeypatch.setattr(server, "_call_controller", call)
    server._controlled_shutdown()
    assert versions == [expected]


@pytest.mark.parametrize(("protocol", "version"), [("2.7", 5), ("2.6", 4), ("0.10.0", 4), ("0.10.0-IV0", 2)])
def test_registration_that_older_brokers_read(server: KafkaServer, protocol: str, version: int) -> None:
    server.config.inter_broker_protocol_version = protocol
    assert server._broker_info(SimpleNamespace(bound_port=lambda _: 9092)).version == version  # type: ignore[arg-type]


def test_before_3_0_producer_ids_come_from_zookeeper(server: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.config.inter_broker_protocol_version = "2.8"
    server.services = SimpleNamespace(zk_client="the client")  # type: ignore[assignment]
    monkeypatch.setattr(server, "_in_thread", lambda function, *args: succeed(function(*args)))

    def take(broker_id: int, zk_client: object) -> ProducerIdsBlock:
        assert zk_client == "the client"
        return ProducerIdsBlock(broker_id, 3000, 1000)

    monkeypatch.setattr(kafka_server, "new_producer_ids_block", take)
    blocks: list[Any] = []
    Deferred.fromCoroutine(server._request_producer_ids()).addBoth(blocks.append)
    assert blocks == [(3000, 1000)]


@pytest.mark.parametrize(
    ("protocol", "live", "ends"), [("1.0-IV0", ["/b"], False), ("1.0-IV0", [], True), ("0.11.0", ["/b"], True)]
)
def test_the_broker_ends_with_its_last_log_directory_and_in_an_older_cluster_with_the_first(
    server: KafkaServer, monkeypatch: pytest.MonkeyPatch, protocol: str, live: list[str], ends: bool
) -> None:
    server.config.inter_broker_protocol_version = protocol
    exits: list[int] = []
    told: list[Any] = []
    monkeypatch.setattr(kafka_server.os, "_exit", exits.append)
    monkeypatch.setattr(kafka_server.logging, "shutdown", lambda: None)
    monkeypatch.setattr(server, "_in_thread", lambda *call: told.append(call))
    part: Any = SimpleNamespace(
        live_log_dirs=live,
        fetchers=SimpleNamespace(remove=lambda partitions: None),
        dir_failed=lambda directory, partitions: None,
        mark_offline=lambda partitions: None,
        propagate_log_dir_event="the event",
    )
    server._log_dir_failed("/a", [], part, part, part, part, part)
    assert (exits, told) == (([1], []) if ends else ([], [("the event", 0)]))


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
