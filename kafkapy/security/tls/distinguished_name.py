"""Distinguished names in Java's text forms (`X500Principal`), which principals, mapping rules and ACLs contain."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from kafkapy.security.tls.der import SEQUENCE, SET, DerValue, expect, fields_of, read_value

_RFC2253_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.9": "STREET",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_OTHER_KEYWORDS = {
    "2.5.4.12": "T",
    "2.5.4.46": "DNQ",
    "2.5.4.4": "SURNAME",
    "2.5.4.42": "GIVENNAME",
    "2.5.4.43": "INITIALS",
    "2.5.4.44": "GENERATION",
    "2.5.4.5": "SERIALNUMBER",
    "1.2.840.113549.1.9.1": "EMAILADDRESS",
}
_SPECIAL = re.compile(r'^[ \n]|[ \n]$|[ \n]{2}|[,+=\n<>#;\\"]')
_PRINTABLE, _T61, _IA5, _GENERAL, _BMP, _UTF8 = 0x13, 0x14, 0x16, 0x1B, 0x1E, 0x0C
_ENCODINGS = {
    _UTF8: "utf-8",
    _PRINTABLE: "ascii",
    _IA5: "ascii",
    _T61: "latin-1",
    _GENERAL: "ascii",
    _BMP: "utf-16-be",
}
_STRINGS = {_PRINTABLE, _T61, _IA5, _GENERAL, _BMP, _UTF8}
_CANONICAL_STRINGS = {_PRINTABLE, _UTF8}
_ESCAPED = str.maketrans({each: f"\\{each}" for each in ',=+<>#;"\\'} | {"\0": "\\00"})
_WHITESPACE = " \r"


class DistinguishedName:
    """The name of a certificate's subject or issuer.

    Names are equal if their canonical forms are, as in Java's `X500Principal.equals`: case and repeated spaces are
    ignored.
    """

    __slots__ = ("_rdns", "encoded")

    def __init__(self, encoded: bytes) -> None:
        """`encoded`: the Name of RFC 5280 in DER. Raises DerError."""
        self.encoded = encoded
        self._rdns = [
            [_Attribute.of(each) for each in expect(rdn, SET).children()]
            for rdn in expect(read_value(encoded), SEQUENCE).children()
        ]

    def __str__(self) -> str:
        return self.java_name

    def __repr__(self) -> str:
        return f"DistinguishedName({self.java_name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DistinguishedName) and other.canonical == self.canonical

    def __hash__(self) -> int:
        return hash(self.canonical)

    @property
    def java_name(self) -> str:
        r"""`X500Principal.getName()`: RFC 2253, the last part first, `CN=kit\, 1,OU=teams`.

        Only nine attributes have keywords; others are printed as `1.2.840.113549.1.9.1=#1604...`, the value's DER in
        hex.
        """
        return ",".join("+".join(each.text() for each in rdn) for rdn in reversed(self._rdns))

    @property
    def java_text(self) -> str:
        """`X500Principal.toString()`, as in Kafka's errors: parts are separated by `, `, and more attributes have
        keywords."""
        return ", ".join(" + ".join(each.shown() for each in rdn) for rdn in reversed(self._rdns))

    @property
    def canonical(self) -> str:
        """`X500Principal.getName(CANONICAL)`, for comparisons."""
        return ",".join("+".join(sorted(each.canonical() for each in rdn)) for rdn in reversed(self._rdns))


class _Attribute(NamedTuple):
    """One attribute and its value (Java's `AVA`)."""

    oid: str
    value: DerValue

    @classmethod
    def of(cls, encoded: DerValue) -> _Attribute:
        fields = fields_of(encoded, 2)
        return cls(fields[0].as_oid(), fields[1])

    def text(self) -> str:
        keyword = _RFC2253_KEYWORDS.get(self.oid)
        if keyword is None or self.value.tag not in _STRINGS:
            return self._in_hex(keyword or self.oid)
        # Java decodes the bytes as UTF-8 whatever the string's type is.
        text = self.value.content.decode("utf-8", "replace").translate(_ESCAPED)
        inner = text.lstrip(_WHITESPACE)
        lead = len(text) - len(inner)
        inner = inner.rstrip(_WHITESPACE)
        leading, trailing = text[:lead], text[lead + len(inner) :]
        return f"{keyword}={_each_escaped(leading)}{inner}{_each_escaped(trailing)}"

    def shown(self) -> str:
        keyword = _RFC2253_KEYWORDS.get(self.oid) or _OTHER_KEYWORDS.get(self.oid) or f"OID.{self.oid}"
        encoding = _ENCODINGS.get(self.value.tag)
        if encoding is None:
            return self._in_hex(keyword)
        text = self.value.content.decode(encoding, "replace")
        quoted = _SPECIAL.search(text) is not None
        text = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'{keyword}="{text}"' if quoted else f"{keyword}={text}"

    def canonical(self) -> str:
        keyword = _RFC2253_KEYWORDS.get(self.oid)
        if keyword is None or self.value.tag not in _CANONICAL_STRINGS:
            return self._in_hex(keyword or self.oid)
        words = self.value.content.decode("utf-8", "replace").split()
        text = unicodedata.normalize("NFKD", " ".join(words).translate(_ESCAPED).upper().lower())
        return f"{keyword}={text}".lower()

    def _in_hex(self, keyword: str) -> str:
        return f"{keyword}=#{self.value.encoded.hex()}"


def _each_escaped(spaces: str) -> str:
    return "".join(f"\\{each}" for each in spaces)
