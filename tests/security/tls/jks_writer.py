"""Writes JKS stores, for tests; as Java's `JavaKeyStore` does."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

from kafkapy.security.tls.der import OBJECT_IDENTIFIER, OCTET_STRING, SEQUENCE, encode

_KEY_PROTECTOR = encode(SEQUENCE, encode(OBJECT_IDENTIFIER, bytes.fromhex("2b060104012a02110101")) + b"\x05\x00")


def utf(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded


def protected(key: bytes, password: str, salt: bytes = b"s" * 20) -> bytes:
    """A PKCS#8 key behind Sun's key protector."""
    secret = password.encode("utf-16-be")
    stream, part = b"", salt
    while len(stream) < len(key):
        part = hashlib.sha1(secret + part).digest()
        stream += part
    sealed = bytes(a ^ b for a, b in zip(key, stream, strict=False))
    check = hashlib.sha1(secret + key).digest()
    return encode(SEQUENCE, _KEY_PROTECTOR + encode(OCTET_STRING, salt + sealed + check))


def jks(
    password: str,
    keys: Sequence[tuple[str, bytes, Sequence[bytes]]] = (),
    trusted: Sequence[tuple[str, bytes]] = (),
    key_password: str | None = None,
    version: int = 2,
) -> bytes:
    """A store of keys (alias, PKCS#8, chain) and trusted certificates (alias, DER)."""

    def certificate(encoded: bytes) -> bytes:
        return (utf("X.509") if version == 2 else b"") + struct.pack(">I", len(encoded)) + encoded

    body = struct.pack(">III", 0xFEEDFEED, version, len(keys) + len(trusted))
    for alias, key, chain in keys:
        sealed = protected(key, key_password or password)
        body += struct.pack(">I", 1) + utf(alias) + struct.pack(">qI", 1_600_000_000_000, len(sealed)) + sealed
        body += struct.pack(">I", len(chain)) + b"".join(map(certificate, chain))
    for alias, encoded in trusted:
        body += struct.pack(">I", 2) + utf(alias) + struct.pack(">q", 1_600_000_000_000) + certificate(encoded)
    return signed(body, password)


def signed(body: bytes, password: str) -> bytes:
    """The body with its integrity check."""
    return body + hashlib.sha1(password.encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()
