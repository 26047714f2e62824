"""The order in which a broker's parts come and go, and how it says goodbye to the controller."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from kafkapy.runtime.clock import MockClock
from kafkapy.server import kafka_server
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.kafka_server import KafkaServer, Part
from kafkapy.zk.zk_data import ProducerIdsBlock


class StoppableClock(MockClock):
    def shutdown(self) -> None:
        """Nothing was scheduled."""


@pytest.fixture
def server() -> KafkaServer:
    properties = {
        "zookeeper.connect": "nowhere:2181",
        "broker.id": "0",
        "controlled.shutdown.max.retries": "3",
        "controlled.shutdown.retry.backoff.ms": "100",
    }
    made = KafkaServer(KafkaConfig(properties), Clock())
    clock: Any = StoppableClock()
    made._clock = clock
    return made


def run(work: Any) -> None:
    """Run a coroutine that waits for nothing."""
    results: list[Any] = []
    Deferred.fromCoroutine(work).addBoth(results.append)
    assert results == [None]


def test_parts_are_stopped_in_reverse_whatever_fails(server: KafkaServer) -> None:
    started: list[str] = []
    stopped: list[str] = []

    def fails() -> None:
        stopped.append("second")
        raise OSError("no")

    async def waits() -> None:
        await succeed(None)
        stopped.append("third")

    async def waits_to_start() -> None:
        await succeed(None)
        started.append("one")

    for part in (
        Part("first", None, lambda: stopped.append("first")),
        Part("second", lambda: None, fails),
        Part("not to be stopped", waits_to_start),
        Part("third", None, waits),
    ):
        run(server._start(part))
    assert started == ["one"]
    run(server.shutdown())
    assert stopped == ["third", "second", "first"]
    run(server.shutdown())
    assert len(stopped) == 3


def test_a_start_that_fails_stops_what_has_started(server: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[str] = []

    def fails() -> None:
        raise KafkaError(Errors.KAFKA_STORAGE_ERROR, "no directory")

    async def start() -> None:
        await server._start(Part("first", None, lambda: stopped.append("first")))
        await server._start(Part("second", fails, lambda: stopped.append("second")))

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
    assert server._clock.monotonic_ms() == waited_ms


class OwnController:
    """Answers at once."""

    is_active = True

    def __init__(self, answers: list[Any]) -> None:
        self.answers = answers

    def controlled_shutdown(self, broker_id: int, broker_epoch: int, callback: Callable[[Any], object]) -> None:
        assert (broker_id, broker_epoch) == (0, 7)
        callback(self.answers.pop(0))


def test_the_controller_of_this_broker_is_asked_without_the_network(server: KafkaServer) -> None:
    """Where advertised.listeners is wrong nobody reaches it."""
    server._broker_epoch = 7
    left = {TopicPartition("t", 0)}
    controller: Any = OwnController([left, KafkaError(Errors.STALE_BROKER_EPOCH), set()])
    server._controller = controller
    server._controlled_shutdown()
    assert controller.answers == []
    assert server._clock.monotonic_ms() == 200


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
    sockets: Any = SimpleNamespace(bound_port=lambda _: 9092)
    assert server._broker_info(sockets).version == version


def test_before_3_0_producer_ids_come_from_zookeeper(server: KafkaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.config.inter_broker_protocol_version = "2.8"
    zk_client: Any = "the client"
    server._zk_client = zk_client

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
    monkeypatch.setattr(os, "_exit", exits.append)
    monkeypatch.setattr(logging, "shutdown", lambda: None)
    monkeypatch.setattr(server, "_in_thread", lambda *call: told.append(call))
    part: Any = SimpleNamespace(
        live_log_dirs=live,
        fetchers=SimpleNamespace(remove=lambda partitions: None),
        dir_failed=lambda directory, partitions: None,
        mark_offline=lambda partitions: None,
        propagate_log_dir_event="the event",
    )
    core: Any = SimpleNamespace(log_manager=part, replica_manager=part, replication=part, log_dir_moves=part)
    server._log_dir_failed("/a", [], core, part)
    assert (exits, told) == (([1], []) if ends else ([], [("the event", 0)]))


def test_it_is_ready_from_opening_its_doors_until_it_stops(server: KafkaServer) -> None:
    zk_client: Any = SimpleNamespace(session_state="CONNECTED")
    cache: Any = SimpleNamespace(controller_id=None, has_alive_broker=lambda broker_id: broker_id == 0)
    assert server.unready() == "the broker is starting"
    server._zk_client, server._metadata_cache = zk_client, cache
    assert server.unready() == "the broker is starting"
    server._is_accepting = True
    assert server.unready() == "no controller has sent the broker the cluster's metadata yet"
    cache.controller_id = 1
    assert server.unready() == ""
    zk_client.session_state = "CONNECTING"
    assert server.unready() == ""
    zk_client.session_state = "EXPIRED"
    assert "not registered" in server.unready()
    zk_client.session_state = "CONNECTED"
    said: list[str] = []
    server._started.append(Part("listeners", None, lambda: said.append(server.unready())))
    server._metadata_cache = None
    run(server.shutdown())
    assert said == ["the broker is stopping"]
