"""The flow of SASL on a connection, request by request."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.clients.sasl import Scram
from kafkapy.common.time import MockTime
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.principal_builder import AuthenticationContext, DefaultPrincipalBuilder
from kafkapy.security.sasl.authenticator import SaslServerAuthenticator, SaslStep
from kafkapy.security.sasl.frames import encode_step, handle_frame
from kafkapy.security.sasl.mechanism import SaslMechanism
from kafkapy.security.sasl.plain_server import PlainServer, PlainUsers
from kafkapy.security.sasl.scram_server import DecoyCredentials, ScramServer
from kafkapy.security.scram import ScramCredential

USERS = PlainUsers({"alice": "secret", "bob": "secret"})
CREDENTIALS = {"alice": ScramCredential.of_password("sha256", "secret", b"salt", 4096)}
NONE, HANDSHAKE, AUTHENTICATE, VERSIONS = 0, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS


def codec(key: int, version: int) -> ApiCodec:
    return ApiCodec(ApiKey(key), version)


class Connection:
    """An authenticator and what its client does."""

    def __init__(self, max_reauth_ms: int = 0, lifetime_ms: int | None = None) -> None:
        self.time = MockTime()
        self.lifetime_ms = lifetime_ms
        self.authenticator = SaslServerAuthenticator(
            {
                "PLAIN": self.plain,
                "SCRAM-SHA-256": lambda: ScramServer(
                    "SCRAM-SHA-256", CREDENTIALS.get, None, DecoyCredentials(b"s"), lambda: "server", self.time
                ),
            },
            lambda mechanism: DefaultPrincipalBuilder().build(
                AuthenticationContext("SASL_PLAINTEXT", "127.0.0.1", "SASL", mechanism=mechanism)
            ),
            self.api_versions,
            {"PLAIN": max_reauth_ms, "SCRAM-SHA-256": max_reauth_ms},
            self.time,
        )

    def plain(self) -> SaslMechanism:
        lifetime_ms = self.lifetime_ms

        class WithLifetime(PlainServer):
            session_lifetime_ms = lifetime_ms

        return WithLifetime(USERS)

    def api_versions(self, request: ApiVersionsRequest | None, version: int) -> ApiVersionsResponse:
        if request is None:
            return ApiVersionsResponse(error_code=Errors.UNSUPPORTED_VERSION.code)
        wrong = request.client_software_name == "wrong!"
        return ApiVersionsResponse(error_code=Errors.INVALID_REQUEST.code if wrong else 0)

    def versions(self, name: str = "kit") -> SaslStep:
        return self.authenticator.on_request(VERSIONS, 3, ApiVersionsRequest(client_software_name=name))

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> SaslStep:
        return self.authenticator.on_request(HANDSHAKE, version, SaslHandshakeRequest(mechanism=mechanism))

    def authenticate(self, token: bytes = b"\0alice\0secret", version: int = 2) -> SaslAuthenticateResponse:
        step = self.authenticator.on_request(AUTHENTICATE, version, SaslAuthenticateRequest(auth_bytes=token))
        self.failure = step.failure
        assert isinstance(step.response, SaslAuthenticateResponse)
        return step.response

    def reauthenticate(self, mechanism: str = "PLAIN", version: int = 1) -> SaslStep | None:
        return self.authenticator.begin_reauthentication(version, SaslHandshakeRequest(mechanism=mechanism))


def connected(**options: Any) -> Connection:
    connection = Connection(**options)
    connection.handshake()
    assert connection.authenticate().error_code == NONE
    return connection


@pytest.mark.parametrize("asks_versions", [False, True])
def test_a_client_comes_in(asks_versions: bool) -> None:
    connection = Connection()
    authenticator = connection.authenticator
    if asks_versions:
        assert connection.versions() == SaslStep(ApiVersionsResponse())
    step = connection.handshake()
    assert step == SaslStep(SaslHandshakeResponse(mechanisms=["PLAIN", "SCRAM-SHA-256"]))
    assert not authenticator.complete and not authenticator.expects_token and authenticator.principal is None
    response = connection.authenticate()
    assert (response.error_code, response.auth_bytes, response.session_lifetime_ms) == (0, b"", 0)
    assert authenticator.complete and connection.failure is None
    assert authenticator.principal == KafkaPrincipal("User", "alice")
    assert authenticator.session_ends_ms is None and not authenticator.session_expired()
    assert authenticator.client_reauthenticates and not authenticator.is_delegation_token


def test_several_steps() -> None:
    connection = Connection()
    connection.handshake("SCRAM-SHA-256")
    client = Scram("SCRAM-SHA-256", "alice", "secret")
    challenge = connection.authenticate(client.first())
    assert not connection.authenticator.complete
    final = connection.authenticate(client.next(challenge.auth_bytes) or b"")
    client.next(final.auth_bytes)
    assert connection.authenticator.complete


def test_tokens_without_headers() -> None:
    connection = Connection(max_reauth_ms=100)
    connection.handshake(version=0)
    assert connection.authenticator.expects_token
    assert connection.authenticator.on_token(b"\0alice\0secret") == SaslStep(token=b"")
    assert connection.authenticator.complete and not connection.authenticator.client_reauthenticates
    connection.time.advance(100)
    assert connection.authenticator.session_expired()  # KAFKA-9241


@pytest.mark.parametrize("token", [b"\0alice\0wrong", b"garbage"])
def test_tokens_without_headers_that_are_refused(token: bytes) -> None:
    connection = Connection()
    connection.handshake(version=0)
    step = connection.authenticator.on_token(token)
    assert (step.response, step.token) == (None, None)
    assert step.failure is not None and step.failure.delayed
    assert not connection.authenticator.complete and not connection.authenticator.expects_token


def test_what_the_peer_is_told() -> None:
    connection = Connection()
    connection.handshake()
    response = connection.authenticate(b"\0alice\0wrong")
    assert (response.error_code, response.error_message) == (58, "Authentication failed: Invalid username or password")
    assert connection.failure is not None and connection.failure.delayed


def test_what_the_peer_is_not_told() -> None:
    connection = Connection()
    connection.handshake("SCRAM-SHA-256")
    response = connection.authenticate(b"garbage")
    sentence = (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )
    assert (response.error_code, response.error_message) == (58, sentence)
    assert connection.failure is not None
    assert connection.failure.reason == f"{sentence}: Invalid SCRAM client first message format"


def test_a_mechanism_that_is_not_enabled() -> None:
    step = Connection().handshake("GSSAPI")
    assert step.response == SaslHandshakeResponse(error_code=33, mechanisms=["PLAIN", "SCRAM-SHA-256"])
    assert step.failure is not None and step.failure.delayed


def test_versions_may_be_asked_for_again_after_an_error_only() -> None:
    connection = Connection()
    assert connection.authenticator.on_request(VERSIONS, 99, None) == SaslStep(ApiVersionsResponse(error_code=35), 0)
    assert connection.versions("wrong!") == SaslStep(ApiVersionsResponse(error_code=42))
    assert connection.versions() == SaslStep(ApiVersionsResponse())
    step = connection.versions()
    assert step.response is None and step.failure is not None and not step.failure.delayed


def test_other_requests_before_the_handshake_are_not_decoded() -> None:
    connection = Connection()
    authenticator = connection.authenticator
    assert [key for key in ApiKey if authenticator.accepts(key, 10)] == [HANDSHAKE, VERSIONS]
    step = authenticator.on_request(ApiKey.METADATA, 9, None)
    assert step.response is None and step.failure is not None and step.failure.delayed
    assert step.failure.reason == "Unexpected Kafka request of type METADATA during SASL handshake."
    later = Connection()
    later.versions()
    failure = later.authenticator.on_request(AUTHENTICATE, 2, None).failure
    assert failure is not None and failure.reason == (
        "Unexpected Kafka request of type SASL_AUTHENTICATE during SASL handshake."
    )


@pytest.mark.parametrize("api_key", list(ApiKey))
def test_other_requests_after_the_handshake(api_key: ApiKey) -> None:
    for version in range(api_key.min_version, api_key.max_version + 1):
        connection = Connection()
        connection.handshake()
        assert connection.authenticator.accepts(api_key, 4097) is (api_key is AUTHENTICATE)
        if api_key is not AUTHENTICATE:
            step = connection.authenticator.on_request(api_key, version, None)
            assert step.failure is not None and step.failure.delayed
            reply = encode_step(step, api_key, version, 7, codec)
            if api_key is ApiKey.PRODUCE:  # which nothing answers, as for all that is known
                assert reply.data == b""
                continue
            assert struct.unpack_from(">ii", reply.data) == (len(reply.data) - 4, 7)
            if any(f.name == "error_code" and f.versions.includes(version) for f in api_key.response.FIELDS):
                assert getattr(step.response, "error_code", 0) == Errors.ILLEGAL_SASL_STATE.code


def test_a_small_request_after_the_handshake_is_answered_item_by_item() -> None:
    connection = Connection()
    connection.handshake()
    assert connection.authenticator.accepts(ApiKey.METADATA, 4096)
    topic = MetadataRequest.MetadataRequestTopic(name="t")
    step = connection.authenticator.on_request(ApiKey.METADATA, 8, MetadataRequest(topics=[topic]))
    assert isinstance(step.response, MetadataResponse)
    assert [(t.name, t.error_code) for t in step.response.topics] == [("t", 34)]


def test_versions_that_are_not_known() -> None:
    connection = Connection()
    assert connection.authenticator.on_request(HANDSHAKE, 9, None).failure is not None
    connection = Connection()
    connection.handshake()
    step = connection.authenticator.on_request(AUTHENTICATE, 9, None)
    assert step.response is None and step.failure is not None and not step.failure.delayed
    connection = Connection()
    connection.handshake()
    step = connection.authenticator.on_request(ApiKey.METADATA, 99, None)
    assert step.response is None and step.failure is not None


@pytest.mark.parametrize(
    ("max_reauth_ms", "lifetime_ms", "session_ms"),
    [
        (0, None, None),
        (3000, None, 3000),
        (0, 5000, 5000),
        (3000, 5000, 3000),
        (5000, 3000, 3000),
        (0, 0, 0),
        (3000, 0, 0),
    ],
)
def test_the_session_ends_with_what_ends_first(
    max_reauth_ms: int, lifetime_ms: int | None, session_ms: int | None
) -> None:
    connection = Connection(max_reauth_ms, lifetime_ms)
    connection.handshake()
    assert connection.authenticate().session_lifetime_ms == (session_ms or 0)
    assert connection.authenticator.session_expired() is (session_ms == 0)
    connection.time.advance(10_000)
    assert connection.authenticator.session_expired() is (session_ms is not None)


def test_reauthentication() -> None:
    connection = connected(max_reauth_ms=3000)
    authenticator = connection.authenticator
    connection.time.advance(2500)
    step = connection.reauthenticate()
    assert step == SaslStep(SaslHandshakeResponse(mechanisms=["PLAIN", "SCRAM-SHA-256"]))
    assert not authenticator.complete and authenticator.is_reauthenticating
    assert authenticator.principal == KafkaPrincipal("User", "alice")
    assert connection.authenticate().session_lifetime_ms == 3000
    assert authenticator.complete and not authenticator.is_reauthenticating
    connection.time.advance(500)
    assert connection.reauthenticate() is None  # a second has not passed
    assert authenticator.complete
    connection.time.advance(600)
    assert not authenticator.session_expired()
    assert connection.reauthenticate() is not None


def test_without_an_end_of_the_session_there_is_no_reauthentication() -> None:
    connection = connected()
    assert connection.reauthenticate() is None
    assert connection.authenticator.complete


def test_an_expired_session_may_be_renewed() -> None:
    connection = connected(max_reauth_ms=3000)
    connection.time.advance(9000)
    connection.reauthenticate()
    connection.authenticate()
    assert not connection.authenticator.session_expired()


def test_the_principal_must_stay() -> None:
    connection = connected(max_reauth_ms=3000)
    connection.reauthenticate()
    response = connection.authenticate(b"\0bob\0secret")
    message = "Cannot change principals during re-authentication from User.alice: User.bob"
    assert (response.error_code, response.error_message) == (58, message)
    assert connection.failure is not None and connection.failure.delayed
    assert not connection.authenticator.complete


def test_the_mechanism_must_stay() -> None:
    """As in 3.9.1 the handshake is answered, and what comes next ends the connection without an answer."""
    connection = connected(max_reauth_ms=3000)
    step = connection.reauthenticate("SCRAM-SHA-256")
    assert step is not None and step.failure is None
    assert isinstance(step.response, SaslHandshakeResponse) and step.response.error_code == NONE
    step = connection.authenticator.on_request(AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=b"n,,n=alice,r=x"))
    assert step.response is None and step.failure is not None and step.failure.delayed
    assert step.failure.reason == (
        "SASL mechanism 'SCRAM-SHA-256' requested by client is not supported for re-authentication of mechanism 'PLAIN'"
    )


def test_a_wrong_password_at_reauthentication() -> None:
    connection = Connection(max_reauth_ms=3000)
    connection.handshake("SCRAM-SHA-256")
    client = Scram("SCRAM-SHA-256", "alice", "secret")
    connection.authenticate(client.next(connection.authenticate(client.first()).auth_bytes) or b"")
    assert connection.reauthenticate("SCRAM-SHA-256") is not None
    assert connection.authenticate(b"garbage").error_message == (
        "Authentication failed during re-authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )


def test_a_mechanism_not_enabled_at_reauthentication() -> None:
    connection = connected(max_reauth_ms=3000)
    step = connection.reauthenticate("GSSAPI")
    assert step is not None and step.failure is not None
    assert step.response is None and not step.failure.delayed


def test_after_a_failure_nothing_is_taken() -> None:
    connection = Connection()
    connection.handshake("X")
    step = connection.handshake()
    assert step.response is None and step.failure is not None
    assert not connection.authenticator.complete


def test_a_principal_builder_that_fails_refuses() -> None:
    def build(mechanism: SaslMechanism) -> KafkaPrincipal:
        raise RuntimeError("secret")

    connection = Connection()
    connection.authenticator._build_principal = build
    connection.handshake()
    assert connection.authenticate().error_code == 58
    assert connection.failure is not None and "RuntimeError" in connection.failure.reason
    assert "secret" not in connection.failure.reason


def test_oversized_frames() -> None:
    step = Connection().authenticator.on_oversized(2_000_000_000)
    assert step.response is None and step.failure is not None and step.failure.delayed


def test_without_mechanisms() -> None:
    connection = Connection()
    with pytest.raises(ValueError, match="No SASL mechanisms are enabled"):
        SaslServerAuthenticator({}, lambda m: KafkaPrincipal("User", "x"), connection.api_versions, {}, connection.time)


class Kerberos:
    """A mechanism of an extra, which the seam is for."""

    name = "GSSAPI"
    complete = True
    authorization_id = "alice/host@EXAMPLE.COM"
    session_lifetime_ms: int | None = None
    is_delegation_token = False

    def evaluate(self, response: bytes) -> bytes:
        return b""


def test_the_principal_of_a_kerberos_name() -> None:
    builder = DefaultPrincipalBuilder()
    builder.configure({"sasl.kerberos.principal.to.local.rules": ["RULE:[2:$1]/U"]})
    context = AuthenticationContext("SASL_SSL", "127.0.0.1", "SASL", mechanism=Kerberos())
    assert str(builder.build(context)) == "User:ALICE"


def request_frame(message: Any, api_key: ApiKey, version: int, client_id: str = "kit") -> bytes:
    header = struct.pack(">hhih", api_key, version, 7, len(client_id)) + client_id.encode()
    return header + (b"\0" if api_key.request_header_version(version) == 2 else b"") + bytes(message.encode(version))


def test_frames() -> None:
    connection = Connection()
    authenticator = connection.authenticator
    ids: list[str] = []

    def handle(frame: bytes) -> Any:
        return handle_frame(authenticator, memoryview(frame), codec, ids.append)

    assert handle(struct.pack(">hhihb", VERSIONS, 99, 7, -1, 0)) == (struct.pack(">iihi", 10, 7, 35, 0), None)
    assert handle(request_frame(ApiVersionsRequest(), VERSIONS, 3)).data[4:10] == struct.pack(">ih", 7, 0)
    answer = handle(request_frame(SaslHandshakeRequest(mechanism="PLAIN"), HANDSHAKE, 1))
    assert answer.data[4:14] == struct.pack(">ihi", 7, 0, 2)
    answer = handle(request_frame(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"), AUTHENTICATE, 2))
    assert answer == (struct.pack(">iibhbbqb", 18, 7, 0, 0, 1, 1, 0, 0), None)
    assert authenticator.complete
    assert ids == ["", "kit", "kit", "kit"]


def test_frames_of_raw_tokens() -> None:
    connection = Connection()
    handle_frame(connection.authenticator, request_frame(SaslHandshakeRequest(mechanism="PLAIN"), HANDSHAKE, 0), codec)
    assert handle_frame(connection.authenticator, b"\0alice\0secret", codec) == (b"\0\0\0\0", None)
    assert connection.authenticator.complete


@pytest.mark.parametrize(
    "frame", [b"", b"GET / HTTP/1.1\r\n\r\n", b"\x60\x82\x02", b"\x16\x03\x01\x02\0\x01", b"\0\x12\0\3"]
)
def test_frames_that_are_no_requests(frame: bytes) -> None:
    reply = handle_frame(Connection().authenticator, frame, codec)
    assert reply.data == b"" and reply.failure is not None and reply.failure.delayed
    assert "GSSAPI is not supported by server" in reply.failure.reason
    later = Connection()
    later.versions()
    reply = handle_frame(later.authenticator, frame, codec)
    assert reply.data == b"" and reply.failure is not None and not reply.failure.delayed


def test_a_request_that_ends_too_early() -> None:
    frame = request_frame(SaslHandshakeRequest(mechanism="PLAIN"), HANDSHAKE, 1)[:-2]
    reply = handle_frame(Connection().authenticator, frame, codec)
    assert reply.data == b"" and reply.failure is not None and not reply.failure.delayed


def test_a_client_of_kafka_0_9_begins_with_a_token() -> None:
    connection = Connection()
    connection.authenticator._mechanisms = {"GSSAPI": Kerberos}
    connection.authenticator._build_principal = lambda mechanism: KafkaPrincipal("User", "alice")
    assert handle_frame(connection.authenticator, b"\x60\x82\x02", codec) == (b"\0\0\0\0", None)
    assert connection.authenticator.complete


HANDSHAKES = [request_frame(SaslHandshakeRequest(mechanism="PLAIN"), HANDSHAKE, version) for version in (0, 1)]


@given(st.lists(st.binary(max_size=40) | st.sampled_from(HANDSHAKES), max_size=4))
def test_garbage_never_comes_in(frames: list[bytes]) -> None:
    connection = Connection()
    for frame in frames:
        reply = handle_frame(connection.authenticator, frame, codec)
        if reply.failure is not None:
            break
    assert not connection.authenticator.complete
