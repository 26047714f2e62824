"""DIGEST-MD5, beside the example of RFC 2831 and a token of Java's client."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.security.sasl import digest_md5
from kafkapy.security.sasl.digest_md5 import DigestError, DigestMd5Client, DigestMd5Server

USERS = {"kafka": 'pw "x\\', "käthe€": "geheim"}


def server() -> DigestMd5Server:
    return DigestMd5Server(USERS.get)


def test_the_digests_of_the_rfc() -> None:
    """RFC 2831, section 4: user chris, elwood.innosoft.com."""
    nonce, cnonce, uri = "OA6MG9tEQGm2hh", "OA6MHXh6VqTrRk", "imap/elwood.innosoft.com"
    secret = digest_md5._secret("chris", "elwood.innosoft.com", "secret", nonce, cnonce, None)
    assert digest_md5._digest(secret, nonce, cnonce, "AUTHENTICATE", uri) == "d388dad90d4bbd760a152321f2143af7"
    assert digest_md5._digest(secret, nonce, cnonce, "", uri) == "ea40f60335c427b5527b84dbabcdfffd"


@pytest.mark.parametrize("user", USERS)
def test_both_sides_prove_that_they_know_the_password(user: str) -> None:
    of_server, client = server(), DigestMd5Client(user, USERS[user])
    client.check_proof(of_server.proof(client.response(of_server.challenge())))
    assert of_server.username == user
    assert USERS[user] not in repr(client)


@pytest.mark.parametrize(("user", "password"), [("kafka", "wrong"), ("nobody", "wrong")])
def test_a_wrong_password_is_not_told_from_an_unknown_user(user: str, password: str) -> None:
    of_server = server()
    with pytest.raises(DigestError, match="the user does not exist, or the password is wrong"):
        of_server.proof(DigestMd5Client(user, password).response(of_server.challenge()))
    assert of_server.username is None


def test_a_challenge_takes_one_response() -> None:
    of_server, client = server(), DigestMd5Client("kafka", USERS["kafka"])
    response = client.response(of_server.challenge())
    of_server.proof(response)
    with pytest.raises(DigestError, match="does not belong"):
        of_server.proof(response)


def test_a_response_to_another_challenge_or_service_is_refused() -> None:
    client = DigestMd5Client("kafka", USERS["kafka"])
    response = client.response(server().challenge())
    with pytest.raises(DigestError, match="does not belong"):
        other = server()
        other.challenge()
        other.proof(response)
    of_server = server()
    elsewhere = client.response(of_server.challenge()).replace(b"zookeeper/", b"ldap/")
    with pytest.raises(DigestError, match="another service"):
        of_server.proof(elsewhere)


def test_a_false_server_is_noticed() -> None:
    client = DigestMd5Client("kafka", USERS["kafka"])
    client.response(server().challenge())
    with pytest.raises(DigestError, match="does not know this user's password"):
        client.check_proof(b"rspauth=" + b"0" * 32)


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (b'realm="x"', "no nonce"),
        (b'nonce="x",algorithm=md5', "md5-sess"),
        (b'nonce="x",qop="auth-conf"', "integrity or privacy"),
        (b'nonce="x",nonce="y"', "twice"),
        (b"nonce", "malformed"),
        (b"\xff", "UTF-8"),
        (b'nonce="' + b"x" * 5000 + b'"', "too many"),
    ],
)
def test_challenges_that_make_no_sense(challenge: bytes, why: str) -> None:
    with pytest.raises(DigestError, match=why):
        DigestMd5Client("kafka", "x").response(challenge)


@given(st.binary(max_size=200))
def test_no_token_breaks_the_server(token: bytes) -> None:
    of_server = server()
    of_server.challenge()
    with pytest.raises(DigestError):
        of_server.proof(token)
