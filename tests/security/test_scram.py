"""SCRAM credentials, messages and formulas; the examples of RFC 5802's successor, RFC 7677."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.security import scram
from kafkapy.security.scram import ScramCredential, ScramFormatError

SALT = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
TEXT = (
    "salt=W22ZaJ0SNY7soEsUEjb6gQ==,stored_key=WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=,"
    "server_key=wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=,iterations=4096"
)


def test_a_credential_as_zookeeper_has_it() -> None:
    credential = ScramCredential.of_password("sha256", "pencil", SALT, 4096)
    assert scram.credential_text(credential) == TEXT
    assert scram.parse_credential(TEXT) == credential
    assert scram.parse_credential(",".join(reversed(TEXT.split(",")))) == credential


def test_repr_shows_no_key() -> None:
    assert repr(scram.parse_credential(TEXT)) == "ScramCredential(iterations=4096)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "salt",
        "salt=AA==",
        TEXT + ",more=1",
        TEXT.replace("4096", "x"),
        TEXT.replace("4096", "-1"),
        TEXT.replace("4096", "0"),
        TEXT.replace("4096", "\u0664"),
        TEXT.replace("4096", "9999999999"),
        TEXT.replace("4096", "9" * 5000),
        TEXT.replace("WG5d8", "*"),
        TEXT.replace("salt=", "salt=" + "A" * 20000),
    ],
)
def test_malformed_credentials(text: str) -> None:
    with pytest.raises(ScramFormatError) as caught:
        scram.parse_credential(text)
    assert "wfPLw" not in str(caught.value)


def test_client_first() -> None:
    first = scram.parse_client_first(b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL")
    assert first == ("n,,", "", "user", "fyko+d2lbbFgONRv9qkxdawL", {}, "n=user,r=fyko+d2lbbFgONRv9qkxdawL")
    escaped = scram.parse_client_first(b"n,a=a=3Db=2Cc,n=a=3Db=2Cu,r=x,tokenauth=TRUE,other=a=b")
    assert (escaped.authorization_id, escaped.user) == ("a=3Db=2Cc", "a=b,u")
    assert escaped.extensions == {"tokenauth": "TRUE", "other": "a=b"}
    assert escaped.token_authenticated
    assert escaped.gs2_header + escaped.bare == "n,a=a=3Db=2Cc,n=a=3Db=2Cu,r=x,tokenauth=TRUE,other=a=b"
    reserved = scram.parse_client_first(b"n,,m=x,n=user,r=x")  # as Kafka, which passes over it
    assert (reserved.user, reserved.bare) == ("user", "n=user,r=x")


@pytest.mark.parametrize("escaped", ["=2D", "=3d", "=", "==3D", "a=2Xb"])
def test_wrong_escapes(escaped: str) -> None:
    with pytest.raises(ScramFormatError):
        scram.parse_client_first(f"n,,n={escaped},r=x".encode())


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,",
        b"y,,n=user,r=x",
        b"p=tls-unique,,n=user,r=x",
        b"n,,n=,r=x",
        b"n,,n=user,r=",
        b"n,,n=user",
        b"n,,n=user,r=a b",
        b"n,,n=us\0er,r=x",
        b"n,,n=user,r=x,1=y",
        b"n,,n=user,r=x,e=",
        b"n,,n=user,r=x\n",
        b"n,,n=\xff,r=x",
        b"x,,n=user,r=x",
        b"n,a=,n=user,r=x",
        b"n,,n=" + b"u" * scram.MAX_MESSAGE_BYTES + b",r=x",
    ],
)
def test_malformed_client_first(message: bytes) -> None:
    with pytest.raises(ScramFormatError, match=r"Invalid SCRAM client first message format$"):
        scram.parse_client_first(message)


def test_client_final() -> None:
    final = scram.parse_client_final(b"c=biws,r=abc,x=y,p=AAEC")
    assert final == (b"n,,", "abc", b"\0\1\2", "c=biws,r=abc,x=y", "c=biws,r=abc")


@pytest.mark.parametrize(
    "message", [b"", b"c=biws,r=abc", b"c=b*s,r=abc,p=AA==", b"c=biws,r=abc,p=A", b"c=biws,r=a,p=AA==\n"]
)
def test_malformed_client_final(message: bytes) -> None:
    with pytest.raises(ScramFormatError):
        scram.parse_client_final(message)


def test_a_client_bounds_what_a_server_asks_for() -> None:
    assert scram.parse_server_first(b"r=abc,s=AA==,i=4096,x=y") == ("abc", b"\0", 4096)
    with pytest.raises(ScramFormatError, match="Requested iterations 4095 is less than the minimum 4096"):
        scram.parse_server_first(b"r=abc,s=AA==,i=4095")
    with pytest.raises(ScramFormatError, match="Requested iterations 2000000000 is more than the maximum 1000000"):
        scram.parse_server_first(b"r=abc,s=AA==,i=2000000000")
    with pytest.raises(ScramFormatError, match="format"):
        scram.parse_server_first(b"r=abc,s=AA==,i=" + b"9" * 5000)


def test_server_final() -> None:
    assert scram.parse_server_final(b"v=AAE=") == (None, b"\0\1")
    assert scram.parse_server_final(b"e=invalid-proof,x=y") == ("invalid-proof", b"")
    with pytest.raises(ScramFormatError):
        scram.parse_server_final(b"x=invalid-proof")


@given(st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1, max_size=40))
def test_names_come_through(user: str) -> None:
    assert scram.parse_client_first(f"n,,n={scram.sasl_name(user)},r=x".encode()).user == user


@given(st.binary(max_size=80) | st.text(alphabet="nyprscv=,a23CD+/x", max_size=60).map(str.encode))
def test_garbage_is_read_or_refused(message: bytes) -> None:
    for parse in (
        scram.parse_client_first,
        scram.parse_client_final,
        scram.parse_server_first,
        scram.parse_server_final,
    ):
        try:
            parse(message)
        except ScramFormatError:
            pass


def test_random_text_is_130_bits_in_base_36() -> None:
    assert scram.random_text(b"\0" * 17) == "0"
    assert int(scram.random_text(b"\xff" * 17), 36) == 2**130 - 1
    assert len(scram.random_text(b"\xff" * 17)) == 26
