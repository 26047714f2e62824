"""Requests for new keys (RFC 8446, 4.6.3), which Python's `ssl` cannot make: as many as one likes, answered or not."""

from __future__ import annotations

import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256, SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

_KEY_UPDATE_REQUESTED = b"\x18\0\0\1\1"
_HANDSHAKE = b"\x16"


class KeyUpdates:
    """Makes the records of a client that has sent no application data yet.

    Invariant: `_secret` is the client's application traffic secret after as many updates as were made.
    """

    def __init__(self, key_log: str, cipher: str) -> None:
        """
        Args:
            key_log: What `SSLContext.keylog_filename` has got.
            cipher: OpenSSL's name of a suite with AES in GCM.
        """
        lines = dict(line.rsplit(" ", 1) for line in key_log.splitlines() if line.startswith("CLIENT_TRAFFIC"))
        (self._secret,) = map(bytes.fromhex, lines.values())
        self._hash = SHA384() if cipher.endswith("SHA384") else SHA256()
        self._key_bytes = 32 if "256_GCM" in cipher else 16

    def record(self) -> bytes:
        """The next one, encrypted."""
        key = self._expand("key", self._key_bytes)
        iv = self._expand("iv", 12)
        plain = _KEY_UPDATE_REQUESTED + _HANDSHAKE
        header = b"\x17\3\3" + struct.pack(">H", len(plain) + 16)
        self._secret = self._expand("traffic upd", self._hash.digest_size)
        return header + AESGCM(key).encrypt(iv, plain, header)

    def _expand(self, label: str, length: int) -> bytes:
        name = b"tls13 " + label.encode()
        info = struct.pack(">HB", length, len(name)) + name + b"\0"
        return HKDFExpand(self._hash, length, info).derive(self._secret)
