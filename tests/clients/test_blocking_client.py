from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.clients.config import ClientConfig
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from tests.fake_broker import FakeBroker
from tests.waiting import HANG_SECONDS


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker({ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=request.generation_id)}) as broker:
        yield broker


def client_of(broker: FakeBroker, **options: Any) -> BlockingClient:
    return BlockingClient("127.0.0.1", broker.port, ClientConfig(client_id="tester"), **options)


def test_a_call_negotiates_once_and_takes_the_highest_common_version(broker: FakeBroker) -> None:
    broker.ranges[ApiKey.HEARTBEAT] = (0, 2)
    with client_of(broker) as client:
        for _ in range(2):
            assert client.call(HeartbeatRequest(generation_id=3)).error_code == 3
    assert [(key, version) for key, version, _ in broker.requests] == [
        (ApiKey.API_VERSIONS, 4),
        (ApiKey.HEARTBEAT, 2),
        (ApiKey.HEARTBEAT, 2),
    ]


def test_a_fixed_version_needs_no_negotiation(broker: FakeBroker) -> None:
    with client_of(broker, negotiate=False) as client:
        assert client.call(HeartbeatRequest(generation_id=3), version=1).error_code == 3
    assert [(key, version) for key, version, _ in broker.requests] == [(ApiKey.HEARTBEAT, 1)]


def test_an_api_the_broker_does_not_have(broker: FakeBroker) -> None:
    del broker.ranges[ApiKey.HEARTBEAT]
    with client_of(broker) as client, pytest.raises(KafkaError, match="does not support HEARTBEAT") as caught:
        client.call(HeartbeatRequest())
    assert caught.value.error is Errors.UNSUPPORTED_VERSION


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    client = BlockingClient("127.0.0.1", port)
    sentence = f"Connection to 127.0.0.1:{port} could not be established: Connection refused"
    with pytest.raises(KafkaError, match=sentence) as caught:
        client.call(HeartbeatRequest())
    assert caught.value.error is Errors.NETWORK_EXCEPTION
    assert not client.connected


def test_unknown_host() -> None:
    with pytest.raises(KafkaError, match=r"Connection to no\.such\.host\.invalid:9092 could not be established"):
        BlockingClient("no.such.host.invalid", 9092).connect()


def test_the_broker_hangs_up_and_the_next_call_connects_again(broker: FakeBroker) -> None:
    answers = iter([None, HeartbeatResponse()])
    broker.handlers[ApiKey.HEARTBEAT] = lambda request: next(answers)
    with client_of(broker) as client:
        sentence = f"Connection to {broker.address} was disconnected before the response was received"
        with pytest.raises(KafkaError, match=sentence) as caught:
            client.call(HeartbeatRequest())
        assert caught.value.error is Errors.NETWORK_EXCEPTION
        assert not client.connected
        assert client.call(HeartbeatRequest()).error_code == 0
    assert len(broker.asked(ApiKey.API_VERSIONS)) == 2


def test_no_answer_in_time(broker: FakeBroker) -> None:
    release = threading.Event()
    with client_of(broker) as client:
        broker.handlers[ApiKey.HEARTBEAT] = lambda request: HeartbeatResponse()
        client.call(HeartbeatRequest())
        broker.handlers[ApiKey.HEARTBEAT] = lambda request: release.wait(HANG_SECONDS) and None
        sentence = f"{broker.address} did not answer Heartbeat within"
        with pytest.raises(KafkaError, match=sentence) as caught:
            client.call(HeartbeatRequest(), timeout_ms=50)
        assert caught.value.error is Errors.REQUEST_TIMED_OUT
        assert not client.connected
    release.set()


def test_close_ends_a_wait_in_another_thread(broker: FakeBroker) -> None:
    client = client_of(broker)
    asked = threading.Event()
    release = threading.Event()

    def wait(request: HeartbeatRequest) -> None:
        asked.set()
        release.wait(HANG_SECONDS)

    broker.handlers[ApiKey.HEARTBEAT] = wait
    failures: list[KafkaError] = []

    def call() -> None:
        try:
            client.call(HeartbeatRequest())
        except KafkaError as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert asked.wait(HANG_SECONDS)
    client.close()
    thread.join(HANG_SECONDS)
    release.set()
    assert [failure.error for failure in failures] == [Errors.NETWORK_EXCEPTION]


def test_something_that_is_no_kafka() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        client = BlockingClient("127.0.0.1", server.getsockname()[1])
        with pytest.raises(KafkaError, match="answers in HTTP") as caught:
            client.call(MetadataRequest())
        thread.join(HANG_SECONDS)
    assert caught.value.error is Errors.UNKNOWN_SERVER_ERROR
    assert not client.connected


def test_produce_without_acks_returns_at_once(broker: FakeBroker) -> None:
    broker.handlers[ApiKey.PRODUCE] = lambda request: b""
    with client_of(broker) as client:
        assert client.call(ProduceRequest(acks=0), version=3) is None
        assert client.call(HeartbeatRequest()).error_code == 0


def test_ipv6_addresses_are_written_in_brackets() -> None:
    assert repr(BlockingClient("::1", 9092)) == "<BlockingClient [::1]:9092 closed>"
