"""Parses the needed fields of X.509 certificates: subject, issuer, names, key type; without a package for X.509."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from kafkapy.security.tls.der import OCTET_STRING, DerError, DerValue, expect, fields_of, read_first, read_value
from kafkapy.security.tls.distinguished_name import DistinguishedName

_SUBJECT_ALT_NAME = "2.5.29.17"
_EXTENSIONS = 0xA3
_KEY_TYPES = {
    "1.2.840.113549.1.1.1": "RSA",
    "1.2.840.113549.1.1.10": "RSASSA-PSS",
    "1.2.840.10045.2.1": "EC",
    "1.2.840.10040.4.1": "DSA",
    "1.3.101.112": "Ed25519",
    "1.3.101.113": "Ed448",
}


class SubjectAltName(NamedTuple):
    """One subject alternative name: the number of its type (2: DNS, 7: IP address; RFC 5280) and its text."""

    kind: int
    value: str

    def __str__(self) -> str:
        return f"[{self.kind}, {self.value}]"


class CertificateFields(NamedTuple):
    """Fields of a certificate."""

    subject: DistinguishedName
    issuer: DistinguishedName
    key_type: str
    """`RSA`, `EC`, `DSA`, ... as in Java, or the algorithm's object identifier."""
    subject_alt_names: tuple[SubjectAltName, ...]


def certificate_fields(certificate: bytes) -> CertificateFields:
    """Return the fields of a certificate in DER. Raises DerError."""
    fields = _to_be_signed(certificate)
    key = fields_of(fields[5], 2)[0]
    algorithm = fields_of(key, 1)[0].as_oid()
    return CertificateFields(
        DistinguishedName(fields[4].encoded),
        DistinguishedName(fields[2].encoded),
        _KEY_TYPES.get(algorithm, algorithm),
        _subject_alt_names(fields[6:]),
    )


def subject_of(certificate: bytes) -> DistinguishedName:
    """Return the subject of a certificate in DER. Raises DerError."""
    return DistinguishedName(_to_be_signed(certificate)[4].encoded)


def _to_be_signed(certificate: bytes) -> list[DerValue]:
    """Return serial number, signature, issuer, validity, subject, key, then optional fields."""
    fields = fields_of(fields_of(read_value(certificate), 3)[0], 6)
    if fields[0].tag == 0xA0:  # the version
        fields = fields[1:]
    if len(fields) < 6:
        raise DerError("a certificate lacks fields")
    return fields


def _subject_alt_names(optional: list[DerValue]) -> tuple[SubjectAltName, ...]:
    for field in optional:
        if field.tag == _EXTENSIONS:
            for extension in fields_of(read_value(field.content), 0):
                parts = fields_of(extension, 2)
                if parts[0].as_oid() == _SUBJECT_ALT_NAME:
                    names = fields_of(read_value(expect(parts[-1], OCTET_STRING).content), 0)
                    return tuple(map(_alt_name, names))
    return ()


def _alt_name(name: DerValue) -> SubjectAltName:
    kind = name.tag & 0x1F
    if kind in (1, 2, 6):
        return SubjectAltName(kind, name.content.decode("latin-1"))
    if kind == 4:
        return SubjectAltName(kind, str(DistinguishedName(read_first(name.content).encoded)))
    if kind == 7 and len(name.content) in (4, 16):
        return SubjectAltName(kind, str(ipaddress.ip_address(name.content)))
    return SubjectAltName(kind, name.content.hex())
