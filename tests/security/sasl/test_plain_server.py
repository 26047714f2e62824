"""The server's side of PLAIN."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.clients.sasl import Plain
from kafkapy.security.jaas import parse_jaas_config
from kafkapy.security.sasl.mechanism import SaslAuthenticationError, SaslExchangeError, SaslMechanism
from kafkapy.security.sasl.plain_server import PLAIN_LOGIN_MODULE, PlainServer, PlainUsers

USERS = PlainUsers.of(
    parse_jaas_config(f'{PLAIN_LOGIN_MODULE} required username="x" password="y" user_alice="secret" user_bob="p,=w ü";')
)


def server() -> PlainServer:
    return PlainServer(USERS)


@pytest.mark.parametrize(("user", "password"), [("alice", "secret"), ("bob", "p,=w ü")])
def test_a_client_comes_in(user: str, password: str) -> None:
    machine: SaslMechanism = server()
    assert machine.evaluate(Plain(user, password).first()) == b""
    assert machine.complete
    assert (machine.authorization_id, machine.session_lifetime_ms, machine.is_delegation_token) == (user, None, False)
    with pytest.raises(SaslExchangeError):
        machine.evaluate(b"\0bob\0p")


def test_the_own_authorization_id() -> None:
    machine = server()
    machine.evaluate(b"alice\0alice\0secret")
    assert machine.authorization_id == "alice"


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0" * 500_000, "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0alice\0\xff", "Authentication failed: Invalid username or password"),
        (
            b"\xff\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
        (b"\xff\xfe", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0mallory\0secret", "Authentication failed: Invalid username or password"),
        (b"\0username\0x", "Authentication failed: Invalid username or password"),
        (
            b"bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_refusals_that_the_peer_is_told(response: bytes, message: str) -> None:
    with pytest.raises(SaslAuthenticationError) as caught:
        server().evaluate(response)
    assert str(caught.value) == message
    assert not isinstance(caught.value, SaslExchangeError)


class Failing:
    def authenticate(self, username: str, password: str) -> bool:
        raise OSError(f"no connection for {username} {password}")


class Careless:
    def authenticate(self, username: str, password: str) -> bool:
        return "no"  # type: ignore[return-value]


def test_a_handler_that_fails_refuses() -> None:
    with pytest.raises(SaslAuthenticationError, match="credentials for user could not be verified") as caught:
        PlainServer(Failing()).evaluate(b"\0alice\0secret")
    assert "secret" not in repr(caught.value.__cause__)
    with pytest.raises(SaslAuthenticationError, match="Invalid username or password"):
        PlainServer(Careless()).evaluate(b"\0alice\0secret")


def test_repr_shows_no_password() -> None:
    assert repr(USERS) == "PlainUsers(2)"
    assert "secret" not in repr(server())


@given(st.binary(max_size=40) | st.text(alphabet="\0aé", max_size=10).map(str.encode))
def test_garbage_never_comes_in(response: bytes) -> None:
    machine = server()
    with pytest.raises(SaslAuthenticationError):
        machine.evaluate(response)
    assert not machine.complete
