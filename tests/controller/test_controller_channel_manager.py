"""One sender for each broker: in order, one at a time, until answered."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from kafkapy.common.broker import Broker, EndPoint
from kafkapy.controller import channel_manager
from kafkapy.controller.channel_manager import ControllerChannelManager
from kafkapy.controller.controller_config import ControllerConfig
from kafkapy.protocol.errors import Errors, KafkaError
from tests.waiting import HANG_SECONDS

LISTENERS = (
    EndPoint("h", 1, "CLIENTS", "PLAINTEXT"),
    EndPoint("h", 2, "INTERNAL", "PLAINTEXT"),
    EndPoint("h", 3, "CONTROL", "PLAINTEXT"),
)
BROKER = Broker(7, LISTENERS)


class FakeClient:
    """Answers with what is in `answers`, an exception is raised."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, int]] = []
        self.answers: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.closed = threading.Event()
        self.called = threading.Semaphore(0)
        self.connected = False

    def call(self, request: object, version: int) -> object:
        self.connected = True
        self.calls.append((request, version))
        self.called.release()
        answer = self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self.connected = False
        self.closed.set()


Connected = tuple[ControllerChannelManager, FakeClient, list[tuple[int, str, int]]]


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connected]:
    monkeypatch.setattr(channel_manager, "RETRY_BACKOFF_SECONDS", 0)
    client = FakeClient()
    addresses: list[tuple[int, str, int]] = []

    def new_client(broker: Broker, host: str, port: int) -> FakeClient:
        addresses.append((broker.id, host, port))
        return client

    config = ControllerConfig(1, inter_broker_listener_name="INTERNAL")
    manager = ControllerChannelManager(config, new_client)
    manager.startup([BROKER])
    yield manager, client, addresses
    manager.shutdown()
    client.answers.put(KafkaError(Errors.NETWORK_EXCEPTION))


def test_in_order_one_at_a_time_and_repeated_until_answered(connected: Connected) -> None:
    manager, client, _ = connected
    answers: queue.SimpleQueue[object] = queue.SimpleQueue()
    manager.send_request(7, "first", 7, lambda response, broker: answers.put((response, broker)))
    manager.send_request(7, "second", 8, lambda response, broker: answers.put((response, broker)))
    assert client.called.acquire(timeout=HANG_SECONDS)
    assert client.calls == [("first", 7)]
    client.answers.put(KafkaError(Errors.NETWORK_EXCEPTION, "refused"))
    client.answers.put("first answer")
    assert answers.get(timeout=HANG_SECONDS) == ("first answer", 7)
    client.answers.put("second answer")
    assert answers.get(timeout=HANG_SECONDS) == ("second answer", 7)
    assert client.calls == [("first", 7), ("first", 7), ("second", 8)]


def test_removed_broker_gets_nothing_more(connected: Connected) -> None:
    manager, client, _ = connected
    answers: list[tuple[object, int]] = []
    manager.send_request(7, "first", 7, lambda *answer: answers.append(answer))
    manager.send_request(7, "second", 7, lambda *answer: answers.append(answer))
    assert client.called.acquire(timeout=HANG_SECONDS)
    sender = manager._senders[7]
    manager.remove_broker(7)
    assert client.closed.is_set()
    client.answers.put(KafkaError(Errors.NETWORK_EXCEPTION, "closed"))
    sender.join(HANG_SECONDS)
    assert not sender.is_alive()
    manager.send_request(7, "third", 7, lambda *answer: answers.append(answer))
    assert client.calls == [("first", 7)]
    assert answers == []


def test_listener_for_control_requests(connected: Connected) -> None:
    _, _, addresses = connected
    assert addresses == [(7, "h", 2)]
    assert ControllerConfig(1, control_plane_listener_name="CONTROL").control_listener_name == "CONTROL"


def test_broker_without_the_listener_is_reported_and_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    manager = ControllerChannelManager(ControllerConfig(1, inter_broker_listener_name="OTHER"))
    manager.startup([BROKER])
    manager.send_request(7, "request", 7, lambda *answer: None)
    assert "no listener OTHER" in caplog.text


def test_an_idle_connection_that_the_broker_closed_is_not_worth_a_word(
    connected: Connected, caplog: pytest.LogCaptureFixture
) -> None:
    manager, client, _ = connected
    answers: queue.SimpleQueue[object] = queue.SimpleQueue()
    client.answers.put("first answer")
    manager.send_request(7, "first", 7, lambda response, _: answers.put(response))
    assert answers.get(timeout=HANG_SECONDS) == "first answer"
    client.answers.put(KafkaError(Errors.NETWORK_EXCEPTION, "closed by the broker"))
    client.answers.put("second answer")
    manager.send_request(7, "second", 7, lambda response, _: answers.put(response))
    assert answers.get(timeout=HANG_SECONDS) == "second answer"
    assert client.calls == [("first", 7), ("second", 7), ("second", 7)]
    assert not caplog.records
