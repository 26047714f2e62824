"""The server's side of SCRAM, beside the client of kafkapy and the example of RFC 7677."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.clients.sasl import Scram
from kafkapy.common.time import MockTime
from kafkapy.errors import SaslAuthenticationFailedError
from kafkapy.security import scram
from kafkapy.security.sasl.mechanism import SaslAuthenticationError, SaslExchangeError, SaslMechanism
from kafkapy.security.sasl.scram_server import DecoyCredentials, ScramServer, TokenLogin
from kafkapy.security.scram import ScramCredential

RFC_7677 = scram.parse_credential(
    "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
    "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
)
DECOYS = DecoyCredentials(b"secret of the cluster")
TIME = MockTime()


def server(mechanism: str = "SCRAM-SHA-256", nonce: str = "server", **options: Any) -> ScramServer:
    hash_name = scram.SCRAM_HASHES[mechanism]
    known = {name: ScramCredential.of_password(hash_name, "pencil", b"salt", 4096) for name in ("user", "a=b,c", "ü")}
    values: dict[str, Any] = {
        "credential_of": known.get,
        "token_login_of": None,
        "decoys": DECOYS,
        "make_nonce": lambda: nonce,
        "time": TIME,
    }
    return ScramServer(mechanism, **{**values, **options})


def converse(machine: ScramServer, client: Scram) -> None:
    client.next(machine.evaluate(client.next(machine.evaluate(client.first())) or b""))


def test_the_example_of_rfc_7677() -> None:
    machine = server(nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", credential_of={"user": RFC_7677}.get)
    checked: SaslMechanism = machine
    assert checked.evaluate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO") == (
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    assert not checked.complete
    final = (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert checked.evaluate(final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert checked.complete
    assert (checked.authorization_id, checked.session_lifetime_ms, checked.is_delegation_token) == ("user", None, False)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("user", ["user", "a=b,c"])
def test_a_client_comes_in(mechanism: str, user: str) -> None:
    machine = server(mechanism)
    converse(machine, Scram(mechanism, user, "pencil"))
    assert machine.authorization_id == user


def test_names_are_ascii() -> None:
    """As in Kafka, though such a user can be made."""
    with pytest.raises(SaslExchangeError, match="client first message format"):
        server().evaluate(Scram("SCRAM-SHA-256", "ü", "pencil").first())


@pytest.mark.parametrize("proved", ["known", "all"])
def test_extensions_of_the_final_message(proved: str) -> None:
    """The proof is made over them (RFC 5802), or not, as Kafka's broker expects it."""
    machine = server()
    client = Scram("SCRAM-SHA-256", "user", "pencil")
    challenge = machine.evaluate(client.first())
    bare = client.first().decode().removeprefix("n,,")
    known = f"c=biws,r={challenge.decode().split(',')[0].removeprefix('r=')}"
    auth_message = f"{bare},{challenge.decode()},{known}{',x=y' if proved == 'all' else ''}"
    salted = scram.salted_password("sha256", "pencil", b"salt", 4096)
    key = scram.client_key("sha256", salted)
    proof = scram.xor(key, scram.signature("sha256", scram.stored_key("sha256", key), auth_message))
    answer = machine.evaluate(f"{known},x=y,p={base64.b64encode(proof).decode()}".encode())
    signature = scram.signature("sha256", scram.server_key("sha256", salted), auth_message)
    assert answer == b"v=" + base64.b64encode(signature)
    assert machine.complete


@pytest.mark.parametrize("user", ["user", "mallory"])
def test_wrong_password_and_unknown_user_look_alike(user: str) -> None:
    """A made-up salt at the first message, the same refusal at the second (better than 3.9.1)."""
    machine = server()
    client = Scram("SCRAM-SHA-256", user, "wrong")
    answer = client.next(machine.evaluate(client.first()))
    with pytest.raises(SaslExchangeError, match=r"^Invalid client credentials$"):
        machine.evaluate(answer or b"")
    with pytest.raises(SaslExchangeError, match="Unexpected challenge"):
        machine.evaluate(answer or b"")


def test_a_decoy_lets_nothing_in_even_if_its_key_is_known() -> None:
    decoy = DECOYS.credential("sha256", "mallory")
    machine = server()
    first = b"n,,n=mallory,r=x"
    challenge = machine.evaluate(first).decode()
    said = f"n=mallory,r=x,{challenge},c=biws,r=xserver"
    proof = scram.signature("sha256", decoy.stored_key, said)
    with pytest.raises(SaslExchangeError, match="Invalid client credentials"):
        machine.evaluate(b"c=biws,r=xserver,p=" + base64.b64encode(proof))


def test_decoys_depend_on_name_hash_and_secret_alone() -> None:
    decoy = DECOYS.credential("sha256", "mallory")
    assert decoy == DecoyCredentials(b"secret of the cluster").credential("sha256", "mallory")
    assert decoy.iterations == 4096
    assert decoy.salt.isalnum() and 20 <= len(decoy.salt) <= 26
    others = [
        DECOYS.credential("sha256", "mallorY"),
        DECOYS.credential("sha512", "mallory"),
        DecoyCredentials(b"another").credential("sha256", "mallory"),
    ]
    assert len({other.salt for other in [*others, decoy]}) == 4
    counts = {DecoyCredentials(b"s", (4096, 8192)).credential("sha256", str(i)).iterations for i in range(50)}
    assert counts == {4096, 8192}
    assert "cluster" not in repr(DECOYS)
    with pytest.raises(ValueError, match="empty"):
        DecoyCredentials(b"")


@pytest.mark.parametrize("user", ["user", "mallory"])
def test_another_authorization_id(user: str) -> None:
    message = "^Authentication failed: Client requested an authorization id that is different from username$"
    with pytest.raises(SaslAuthenticationError, match=message):
        server().evaluate(f"n,a=admin,n={user},r=x".encode())


def test_the_own_authorization_id() -> None:
    """CVE-2017-12610; the id is compared as it was sent."""
    machine = server()
    challenge = machine.evaluate(b"n,a=user,n=user,r=x").decode()
    credential = ScramCredential.of_password("sha256", "pencil", b"salt", 4096)
    salted = scram.salted_password("sha256", "pencil", b"salt", 4096)
    final = f"c={base64.b64encode(b'n,a=user,').decode()},r=xserver"
    signature = scram.signature("sha256", credential.stored_key, f"n=user,r=x,{challenge},{final}")
    proof = base64.b64encode(scram.xor(scram.client_key("sha256", salted), signature)).decode()
    machine.evaluate(f"{final},p={proof}".encode())
    assert machine.authorization_id == "user"
    with pytest.raises(SaslAuthenticationError, match="different from username"):
        server().evaluate(b"n,a=a=2Cb,n=a=2Cb,r=x")


@pytest.mark.parametrize(
    ("final", "cause"),
    [
        (b"c=biws,r=x,p=AA==", "Invalid client nonce"),
        (b"c=biws,r=xserver2,p=AA==", "Invalid client nonce"),
        (b"c=biws,r=xserver,p=AA==", "Invalid client credentials"),
        (b"c=biws,r=xserver,p=", "Invalid client credentials"),
        (b"c=biws,r=xserver,p=" + b"AAAA" * 100, "Invalid client credentials"),
        (b"garbage", "Invalid SCRAM client final message format"),
    ],
)
def test_wrong_final_messages(final: bytes, cause: str) -> None:
    """The nonce: CVE-2024-56128."""
    machine = server()
    machine.evaluate(b"n,,n=user,r=x")
    with pytest.raises(SaslExchangeError, match=cause):
        machine.evaluate(final)
    assert not machine.complete


def test_a_credential_with_too_few_iterations_lets_nothing_in() -> None:
    weak = ScramCredential.of_password("sha256", "pencil", b"salt", 100)
    with pytest.raises(SaslExchangeError, match="Iterations 100 is less than the minimum 4096 for SCRAM-SHA-256"):
        server(credential_of={"user": weak}.get).evaluate(b"n,,n=user,r=x")


class TokenScram(Scram):
    """A client with a delegation token."""

    def first(self) -> bytes:
        self._bare += ",tokenauth=true"
        return super().first()


def test_a_delegation_token() -> None:
    login = TokenLogin(
        "alice", TIME.milliseconds() + 5000, ScramCredential.of_password("sha512", "hmac", b"salt", 4096)
    )
    machine = server("SCRAM-SHA-512", token_login_of={"id": login}.get)
    converse(machine, TokenScram("SCRAM-SHA-512", "id", "hmac"))
    assert (machine.authorization_id, machine.session_lifetime_ms, machine.is_delegation_token) == ("alice", 5000, True)
    assert "hmac" not in repr(login)


def test_an_expired_token_comes_in_for_no_time() -> None:
    """Measured on 3.9.1: it is closed at its first request."""
    login = TokenLogin("alice", TIME.milliseconds() - 1, ScramCredential.of_password("sha512", "hmac", b"salt", 4096))
    machine = server("SCRAM-SHA-512", token_login_of={"id": login}.get)
    converse(machine, TokenScram("SCRAM-SHA-512", "id", "hmac"))
    assert machine.session_lifetime_ms == 0


@pytest.mark.parametrize("tokens", [None, {}.get])
def test_an_unknown_token_looks_like_a_wrong_one(tokens: Any) -> None:
    machine = server(token_login_of=tokens)
    with pytest.raises(SaslExchangeError, match="Invalid client credentials"):
        converse(machine, TokenScram("SCRAM-SHA-256", "user", "pencil"))  # a user of that name does not matter


def test_a_token_is_no_user() -> None:
    login = TokenLogin("alice", 1, ScramCredential.of_password("sha256", "hmac", b"salt", 4096))
    with pytest.raises((SaslExchangeError, SaslAuthenticationFailedError)):
        converse(server(token_login_of={"id": login}.get), Scram("SCRAM-SHA-256", "id", "hmac"))


@settings(max_examples=200)
@given(st.lists(st.binary(max_size=60) | st.sampled_from([b"n,,n=user,r=x", b"c=biws,r=xserver,p=AA=="]), max_size=3))
def test_garbage_never_comes_in(messages: list[bytes]) -> None:
    machine = ScramServer("SCRAM-SHA-256", {"user": RFC_7677}.get, None, DECOYS, lambda: "server", TIME)
    try:
        for message in messages:
            machine.evaluate(message)
    except SaslAuthenticationError:
        pass
    assert not machine.complete
