"""Distinguished names in Java's forms. The expected strings follow `sun.security.x509.AVA.toRFC2253String` of JDK 17."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.security.tls.der import DerError, encode
from kafkapy.security.tls.distinguished_name import DistinguishedName

OIDS = {
    "CN": "550403",
    "SERIALNUMBER": "550405",
    "C": "550406",
    "L": "550407",
    "ST": "550408",
    "STREET": "550409",
    "O": "55040a",
    "OU": "55040b",
    "T": "55040c",
    "DC": "0992268993f22c640119",
    "UID": "0992268993f22c640101",
    "EMAIL": "2a864886f70d010901",
}
PRINTABLE, T61, IA5, BMP, UTF8, UNIVERSAL, GENERAL = 0x13, 0x14, 0x16, 0x1E, 0x0C, 0x1C, 0x1B


def attribute(keyword: str, value: str | bytes, tag: int = UTF8) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return encode(0x30, encode(0x06, bytes.fromhex(OIDS[keyword])) + encode(tag, content))


def name(*rdns: list[bytes]) -> DistinguishedName:
    return DistinguishedName(encode(0x30, b"".join(encode(0x31, b"".join(rdn)) for rdn in rdns)))


def cn(value: str | bytes, tag: int = UTF8) -> str:
    text = str(name([attribute("CN", value, tag)]))
    assert text.startswith("CN=")
    return text[3:]


def test_many_attributes_last_first() -> None:
    given_name = name(
        [attribute("C", "DE", PRINTABLE)],
        [attribute("ST", "Bayern")],
        [attribute("L", "München")],
        [attribute("STREET", "Straße 1")],
        [attribute("O", "kit")],
        [attribute("OU", "teams")],
        [attribute("DC", "example", IA5)],
        [attribute("UID", "u1")],
        [attribute("CN", "kit-client")],
    )
    assert str(given_name) == (
        "CN=kit-client,UID=u1,DC=example,OU=teams,O=kit,STREET=Straße 1,L=München,ST=Bayern,C=DE"
    )


def test_attributes_without_a_keyword_are_hex() -> None:
    found = name(
        [attribute("EMAIL", "a@b", IA5)],
        [attribute("T", "Dr", PRINTABLE)],
        [attribute("SERIALNUMBER", "7", PRINTABLE)],
        [attribute("CN", "x")],
    )
    assert str(found) == "CN=x,2.5.4.5=#130137,2.5.4.12=#13024472,1.2.840.113549.1.9.1=#1603614062"


def test_several_attributes_in_one_part_stay_in_order() -> None:
    found = name([attribute("O", "kit")], [attribute("CN", "a"), attribute("UID", "7"), attribute("EMAIL", "x", IA5)])
    assert str(found) == "CN=a+UID=7+1.2.840.113549.1.9.1=#160178,O=kit"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("Lu\u010di\u0107", "Lu\u010di\u0107"),
        ("\U0001f600 日本", "\U0001f600 日本"),
        ('James "Jim" Smith, III', r"James \"Jim\" Smith\, III"),
        ("Before\rAfter", "Before\rAfter"),
        ("a+b=c<d>e;f\\g#h", r"a\+b\=c\<d\>e\;f\\g\#h"),
        ("#x", r"\#x"),
        (" x ", r"\ x\ "),
        ("  x  y  ", r"\ \ x  y\ \ "),
        ("   ", r"\ \ \ "),
        ("\r x\r", "\\\r\\ x\\\r"),
        (" ,", r"\ \,"),
        ("", ""),
        ("a\0b", r"a\00b"),
        ("tab\there", "tab\there"),
        ("a/b@c.d'e(f)?:!", "a/b@c.d'e(f)?:!"),
    ],
)
def test_escapes(value: str, shown: str) -> None:
    assert cn(value) == shown


def test_types_of_strings() -> None:
    assert cn("abc", PRINTABLE) == cn("abc", IA5) == cn("abc", GENERAL) == cn("abc", T61) == "abc"
    assert cn("aé".encode("latin-1"), T61) == "a\ufffd"  # Java reads it as UTF-8, too
    assert cn("ab".encode("utf-16-be"), BMP) == r"\00a\00b"
    assert cn("a".encode("utf-32-be"), UNIVERSAL) == "#1c0400000061"
    assert cn(b"\x07", 0x02) == "#020107"


def test_equality_is_that_of_java() -> None:
    one = name([attribute("O", "Kit  Inc", UTF8)], [attribute("CN", " Anna", UTF8)])
    other = name([attribute("O", "kit inc", PRINTABLE)], [attribute("CN", "anna ", PRINTABLE)])
    assert one == other
    assert hash(one) == hash(other)
    assert one != name([attribute("O", "kit inc")], [attribute("CN", "anne")])
    assert name([attribute("O", "a"), attribute("CN", "b")]) == name([attribute("CN", "b"), attribute("O", "a")])
    assert name([attribute("CN", "a", IA5)]) != name([attribute("CN", "a")])


def test_the_empty_name() -> None:
    assert str(name()) == ""


@given(st.binary(max_size=120))
def test_anything_is_a_name_or_a_der_error(data: bytes) -> None:
    try:
        str(DistinguishedName(data))
    except DerError:
        pass


@given(st.lists(st.tuples(st.sampled_from(["CN", "O", "OU", "L"]), st.text(min_size=1)), min_size=1, max_size=5))
def test_names_stay_apart(parts: list[tuple[str, str]]) -> None:
    """Without escapes two names could look alike, and one principal be taken for another."""
    printed = str(name(*([attribute(keyword, value)] for keyword, value in parts)))
    pieces, piece, escaped = [], "", False
    for character in printed:
        if character == "," and not escaped:
            pieces.append(piece)
            piece = ""
        else:
            piece += character
        escaped = character == "\\" and not escaped
    assert len([*pieces, piece]) == len(parts)


def test_the_text_in_errors_is_that_of_to_string() -> None:
    found = name(
        [attribute("O", "Kit, Inc")],
        [attribute("CN", "München"), attribute("EMAIL", "a@b", IA5)],
        [attribute("T", " x")],
        [attribute("CN", b"\x07", 0x02)],
    )
    assert found.java_text == 'CN=#020107, T=" x", CN=München + EMAILADDRESS=a@b, O="Kit, Inc"'
