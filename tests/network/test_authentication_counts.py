"""Authentications are counted by listener, and expired sessions, as Kafka's metrics have them."""

from __future__ import annotations

from kafkapy.common.time import MockTime
from kafkapy.network.authentication_counts import AuthenticationCounter
from kafkapy.network.request import RequestContext
from kafkapy.network.sasl_connection import SaslConnection
from kafkapy.protocol.api_codecs import ApiCodecs
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import encode_request
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.api_versions import ApiVersionsResponse
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafkapy.security.authentication import AuthenticationOutcome
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.sasl.authenticator import SaslServerAuthenticator
from kafkapy.security.sasl.plain_server import PlainServer, PlainUsers

USERS = PlainUsers({"alice": "secret"})


class Channel:
    """Takes what SASL does with a connection: `send_raw` and the ends are of no interest here."""

    def send_raw(self, data: bytes) -> None: ...
    def close(self, reason: str) -> None: ...
    def close_later(self, data: bytes, reason: str) -> None: ...


class Client:
    """A connection of the listener SASL, whose sessions end after two seconds."""

    def __init__(self, counter: AuthenticationCounter) -> None:
        self.time = MockTime()
        authenticator = SaslServerAuthenticator(
            {"PLAIN": lambda: PlainServer(USERS)},
            lambda mechanism: KafkaPrincipal("User", mechanism.authorization_id or ""),
            lambda request, version: ApiVersionsResponse(),
            {"PLAIN": 2000},
            self.time,
        )
        context = RequestContext("1", "/127.0.0.1", "SASL", "SASL_PLAINTEXT")
        self._connection = SaslConnection(authenticator, context, ApiCodecs(list(ApiKey)), 10_000, counter)

    def send(self, api_key: ApiKey, version: int, request: Message) -> None:
        self.send_frame(encode_request(api_key, version, 1, "client", request)[4:])

    def send_frame(self, frame: bytes) -> None:
        self._connection.handle_auth_frame(Channel(), memoryview(frame))

    def log_in(self, password: bytes = b"secret", version: int = 2) -> None:
        self.send(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism="PLAIN"))
        self.send(ApiKey.SASL_AUTHENTICATE, version, SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + password))


def counter() -> AuthenticationCounter:
    return AuthenticationCounter(lambda context, outcome: None)


def test_first_and_later_authentications_are_counted_apart() -> None:
    counts = counter()
    client = Client(counts)
    client.log_in()
    client.time.advance(1500)
    client.log_in()
    client.time.advance(1500)
    client.log_in(b"wrong")
    Client(counts).log_in(b"wrong")
    of_listener = counts.by_listener["SASL"]
    assert (of_listener.successful, of_listener.successful_again) == (1, 1)
    assert (of_listener.failed, of_listener.failed_again) == (1, 1)
    assert of_listener.without_reauthentication == of_listener.expired == 0


def test_clients_that_would_not_authenticate_again_are_counted_and_what_their_expired_sessions_cost() -> None:
    counts = counter()
    client = Client(counts)
    client.log_in(version=0)
    client.time.advance(2000)
    client.send(ApiKey.METADATA, 1, MetadataRequest())
    of_listener = counts.by_listener["SASL"]
    assert (of_listener.successful, of_listener.without_reauthentication, of_listener.expired) == (1, 1, 1)


def test_a_client_that_does_not_keep_to_the_protocol_is_not_refused() -> None:
    counts = counter()
    Client(counts).send_frame(
        encode_request(ApiKey.SASL_HANDSHAKE, 1, 1, "", SaslHandshakeRequest(mechanism="PLAIN"))[4:-2]
    )
    assert counts.by_listener["SASL"].failed == 0


def test_the_audit_hears_of_all_but_anonymous_clients() -> None:
    heard: list[str | None] = []
    counts = AuthenticationCounter(lambda context, outcome: heard.append(outcome.failure))
    context = RequestContext("1", "/127.0.0.1", "SSL", "SSL")
    counts.ended(context, AuthenticationOutcome())
    assert heard == []
    counts.ended(context, AuthenticationOutcome("no certificate"))
    context.principal = KafkaPrincipal("User", "alice")
    counts.ended(context, AuthenticationOutcome())
    assert heard == ["no certificate", None]
    assert counts.by_listener["SSL"].successful == 2
