"""The machine of one connection: bytes and time in, bytes and completions out. No driver, no socket."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.clients import software
from kafkapy.clients.client_apis import api_of
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.connection import NO_DEADLINE, Connection, ConnectionState
from kafkapy.clients.frames import ReceiveBuffer
from kafkapy.common.time import MockTime
from kafkapy.errors import DisconnectError, KafkaConnectionError, KafkaTimeoutError, SaslAuthenticationFailedError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.headers import RequestHeader
from kafkapy.protocol.messages.api_versions import ApiVersionsResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafkapy.runtime.completion import Completion

ALL = [
    ApiVersionsResponse.ApiVersion(api_key=key, min_version=key.min_version, max_version=key.max_version)
    for key in ApiKey
]
SASL = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "user",
    "sasl_plain_password": "pencil",
}


class Line:
    """A connection and what came out of it."""

    def __init__(self, **options: Any) -> None:
        self.time = MockTime()
        receiver = ReceiveBuffer(memoryview(bytearray(1000)))
        self.connection = Connection(ClientConfig(client_id="me", **options), "there:9092", self.time, receiver)
        self.connection.connecting()
        self.connection.connected()

    def asked(self) -> list[tuple[ApiKey, int, int, Any]]:
        """(API, version, correlation id, message) of each request that it wants to send."""
        data = b"".join(self.connection.out)
        self.connection.out.clear()
        found = []
        while data:
            (size,) = struct.unpack_from(">i", data)
            header, position = RequestHeader.decode(data[4 : 4 + size])
            api_key, version = ApiKey(header.api_key), header.api_version
            message = api_key.request.decode(data[4 : 4 + size], version, position)
            found.append((api_key, version, header.correlation_id, message))
            data = data[4 + size :]
        return found

    def answer(self, *responses: Any) -> None:
        """Answers to all that it asks, in order."""
        asked = self.asked()
        assert len(asked) == len(responses), asked
        for (api_key, version, correlation_id, _), response in zip(asked, responses, strict=True):
            self.receive(encode(api_key, version, correlation_id, response))

    def receive(self, data: bytes, piece: int = 1000) -> None:
        while data:
            buffer = self.connection.receive_buffer()
            count = min(len(buffer), len(data), piece)
            buffer[:count] = data[:count]
            data = data[count:]
            self.connection.receive(count)

    def heartbeat(self, timeout_ms: float = 30_000) -> Completion[Any]:
        message = HeartbeatRequest()
        return self.connection.send(message, api_of(message.API_KEY), 0, 32767, timeout_ms)

    def state(self) -> ConnectionState:
        return self.connection.state

    def wait(self, ms: int) -> None:
        self.time.advance(ms)
        if self.connection.deadline_ms <= self.time.monotonic_ms():
            self.connection.check()


def encode(api_key: ApiKey, version: int, correlation_id: int, response: Any) -> bytes:
    tags = b"\0" if api_key.response_header_version(version) else b""
    body: bytes = struct.pack(">i", correlation_id) + tags + response.encode(version)
    return struct.pack(">i", len(body)) + body


def ready(**options: Any) -> Line:
    line = Line(**options)
    line.answer(ApiVersionsResponse(api_keys=ALL))
    return line


def test_versions_first_then_what_waited() -> None:
    line = Line()
    answer = line.heartbeat()
    ((api_key, version, correlation_id, request),) = line.asked()
    assert (api_key, version) == (ApiKey.API_VERSIONS, ApiKey.API_VERSIONS.max_version)
    assert (request.client_software_name, request.client_software_version) == (software.NAME, software.VERSION)
    assert line.state() is ConnectionState.CONNECTING
    served = [ApiVersionsResponse.ApiVersion(api_key=ApiKey.HEARTBEAT, min_version=0, max_version=2)]
    line.receive(encode(api_key, version, correlation_id, ApiVersionsResponse(api_keys=served)), piece=3)
    assert line.connection.established.result().ranges == {ApiKey.HEARTBEAT: (0, 2)}
    assert line.state() is ConnectionState.READY
    ((api_key, version, correlation_id, _),) = line.asked()
    assert (api_key, version) == (ApiKey.HEARTBEAT, 2)
    line.receive(encode(api_key, version, correlation_id, HeartbeatResponse(error_code=27)))
    assert answer.result().error_code == 27


@pytest.mark.parametrize(("named", "version"), [([(0, 2)], 2), ([], 0)])
def test_an_older_broker_answers_in_version_0_and_is_asked_again(named: list[tuple[int, int]], version: int) -> None:
    """Before KIP-511 the refusal names no versions."""
    line = Line()
    ((api_key, _, correlation_id, _),) = line.asked()
    served = [ApiVersionsResponse.ApiVersion(api_key=18, min_version=low, max_version=high) for low, high in named]
    refusal = ApiVersionsResponse(error_code=Errors.UNSUPPORTED_VERSION.code, api_keys=served)
    line.receive(encode(api_key, 0, correlation_id, refusal))
    ((api_key, again, correlation_id, _),) = line.asked()
    assert (api_key, again) == (ApiKey.API_VERSIONS, version)
    line.receive(encode(api_key, again, correlation_id, refusal))
    assert line.connection.failure is not None  # a second refusal is final
    assert line.connection.failure.error is Errors.UNSUPPORTED_VERSION
    assert line.connection.authentication_error is not None


def test_requests_wait_for_those_in_flight() -> None:
    line = ready(max_in_flight_requests_per_connection=2)
    answers = [line.heartbeat() for _ in range(3)]
    assert line.connection.pending == 3
    assert not line.connection.can_send
    line.answer(HeartbeatResponse(), HeartbeatResponse())
    assert [answer.done for answer in answers] == [True, True, False]
    line.answer(HeartbeatResponse())
    assert answers[2].done
    assert line.connection.pending == 0


def test_who_does_not_answer_in_time_is_given_up() -> None:
    line = ready(max_in_flight_requests_per_connection=1)
    overdue, waiting = line.heartbeat(100), line.heartbeat(50)
    line.wait(50)
    with pytest.raises(KafkaTimeoutError, match=r"Heartbeat could not be sent to there:9092 within 50 ms: ready"):
        waiting.result()
    assert line.connection.failure is None
    line.wait(50)
    with pytest.raises(KafkaTimeoutError, match="there:9092 did not answer Heartbeat within 100 ms"):
        overdue.result()
    assert line.connection.failure is overdue.exception()


def test_it_waits_when_the_broker_throttles() -> None:
    line = ready()
    line.heartbeat()
    line.answer(HeartbeatResponse(throttle_time_ms=40))
    answer = line.heartbeat()
    assert not line.asked()
    line.wait(39)
    assert not line.asked()
    line.wait(1)
    line.answer(HeartbeatResponse())
    assert answer.done


def test_produce_without_acks_is_done_when_it_is_sent() -> None:
    line = ready()
    assert line.connection.send(ProduceRequest(acks=0), ApiKey.PRODUCE, 0, 3, 100).result() is None
    assert line.connection.pending == 0


def test_what_is_not_answered_fails_with_the_connection() -> None:
    line = ready(max_in_flight_requests_per_connection=1)
    sent, waiting = line.heartbeat(), line.heartbeat()
    line.connection.close()("ended: the peer closed it", None)
    with pytest.raises(DisconnectError, match="The connection to there:9092 ended: the peer closed it"):
        sent.result()
    with pytest.raises(KafkaConnectionError):
        waiting.result()
    with pytest.raises(KafkaConnectionError, match="is closed"):
        line.heartbeat().result()
    assert line.connection.deadline_ms == NO_DEADLINE


def test_bytes_that_make_no_sense() -> None:
    line = Line()
    line.receive(b"HTTP/1.1 400 Bad Request\r\n")
    assert line.connection.failure is not None
    assert "answers in HTTP; give the port of a Kafka listener" in line.connection.reason
    assert line.connection.authentication_error is None


def test_a_state_follows_only_where_the_table_says_so() -> None:
    line = ready()
    with pytest.raises(AssertionError):
        line.connection.connecting()


# --- SASL


def do_work(line: Line, work: Callable[[Callable[[], bytes]], Any] = lambda f: f()) -> None:
    f, line.connection.work = line.connection.work, None
    assert f is not None
    outcome: Completion[bytes] = Completion()
    try:
        outcome.set_result(work(f))
    except Exception as error:
        outcome.set_exception(error)
    line.connection.work_done(outcome)


def sign_in(line: Line, lifetime_ms: int = 0) -> None:
    line.answer(SaslHandshakeResponse())
    do_work(line)
    ((api_key, version, correlation_id, request),) = line.asked()
    assert request.auth_bytes == b"\0user\0pencil"
    response = SaslAuthenticateResponse(session_lifetime_ms=lifetime_ms)
    line.receive(encode(api_key, version, correlation_id, response))


def test_sasl_comes_after_the_versions() -> None:
    line = ready(**SASL)
    answer = line.heartbeat()
    sign_in(line)
    line.answer(HeartbeatResponse())
    assert answer.done


def test_a_refusal_is_final() -> None:
    line = ready(**SASL)
    line.answer(SaslHandshakeResponse())
    do_work(line)
    line.answer(SaslAuthenticateResponse(error_code=58, error_message="no"))
    assert isinstance(line.connection.authentication_error, SaslAuthenticationFailedError)
    assert line.connection.reason.endswith("SaslAuthenticationFailedError: no")


def test_a_listener_without_sasl() -> None:
    line = ready(**SASL)
    line.answer(SaslHandshakeResponse(error_code=Errors.ILLEGAL_SASL_STATE.code))
    assert line.connection.reason.endswith(
        "The listener does not ask for SASL: check port and security_protocol (SASL_PLAINTEXT)"
    )


def test_a_provider_that_fails() -> None:
    def fail(f: Any) -> bytes:
        raise OSError("no token today")

    line = ready(**SASL)
    line.answer(SaslHandshakeResponse())
    do_work(line, fail)
    assert "no token today" in str(line.connection.authentication_error)


def test_a_session_is_renewed_between_requests() -> None:
    line = ready(**SASL)
    sign_in(line, lifetime_ms=10_000)
    before = line.heartbeat()
    line.wait(8_500)
    assert line.connection.state is ConnectionState.AUTHENTICATING
    after = line.heartbeat()
    line.answer(HeartbeatResponse())
    assert before.done
    sign_in(line, lifetime_ms=10_000)
    line.answer(HeartbeatResponse())
    assert after.done
    line.wait(8_500)
    line.answer(SaslHandshakeResponse(error_code=Errors.ILLEGAL_SASL_STATE.code))
    assert line.connection.reason.startswith("authenticating again failed: ")
    assert line.connection.authentication_error is None


def test_errors_of_the_request_itself_are_its_own() -> None:
    line = ready()
    message = HeartbeatRequest()
    answer = line.connection.send(message, api_of(message.API_KEY), 99, 99, 100)
    with pytest.raises(KafkaError, match="does not support HEARTBEAT with version"):
        answer.result()
    assert line.connection.failure is None
