"""Java's key store format JKS, versions 1 and 2 (`sun.security.provider.JavaKeyStore`)."""

from __future__ import annotations

import hashlib
import hmac
import struct
from typing import Final

from kafkapy.common.java_hash_order import hashtable_order
from kafkapy.security.tls.der import OCTET_STRING, DerError, expect, fields_of, read_value
from kafkapy.security.tls.key_store import KeyEntry, KeyStore, PrivateKey, StoreError, TrustedEntry
from kafkapy.security.tls.pem import to_pem

JKS_MAGIC: Final = b"\xfe\xed\xfe\xed"
JCEKS_MAGIC: Final = b"\xce\xce\xce\xce"
_DIGEST_BYTES = 20
_WHITENER = b"Mighty Aphrodite"
_KEY_PROTECTOR = "1.3.6.1.4.1.42.2.17.1.1"
_KEY, _TRUSTED = 1, 2


def jks_store(data: bytes, password: str | None, key_password: str | None, origin: str) -> KeyStore:
    """The entries of a store.

    Parameters:
        data: The file.
        password: Of the store; None leaves its integrity unchecked, as Java does for a truststore.
        key_password: Of the keys, which may be another; None leaves keys closed: their own certificates are trusted ones,
            as of a store that Java uses as a truststore.
        origin: What to call it in a sentence.

    Raises:
        StoreError: It is damaged, or a password is wrong.
    """
    if len(data) < 12 + _DIGEST_BYTES or data[:4] != JKS_MAGIC:
        raise StoreError(f"{origin} is no JKS store")
    content, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if password is not None and not hmac.compare_digest(_integrity(content, password), digest):
        raise StoreError(
            f"{origin} was tampered with, or its password is wrong; check ssl.*.password, or restore the file"
        )
    try:
        return _JksReader(content, key_password, origin).store()
    except (struct.error, IndexError, DerError, UnicodeDecodeError):
        raise StoreError(f"{origin} is damaged: it ends within an entry, or has none where one should be") from None


def _integrity(content: bytes, password: str) -> bytes:
    return hashlib.sha1(_password_bytes(password) + _WHITENER + content, usedforsecurity=False).digest()


def _password_bytes(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")


class _JksReader:
    """Iterates over the entries. Counts and lengths are checked by reading: a slice is never longer than the file."""

    def __init__(self, content: bytes, key_password: str | None, origin: str) -> None:
        self._content = content
        self._key_password = key_password
        self._origin = origin
        self._at = 4
        self._version = self._int()
        if self._version not in (1, 2):
            raise StoreError(f"{origin} is a JKS store of version {self._version}, which is not known; 1 and 2 are")

    def store(self) -> KeyStore:
        keys: dict[str, KeyEntry] = {}
        trusted: dict[str, TrustedEntry] = {}
        for _ in range(self._int()):
            tag, alias = self._int(), self._text()
            self._take(8)  # the time of creation
            if tag == _KEY:
                protected, chain = self._take(self._int()), self._chain()
                if not chain:
                    raise StoreError(f"{self._origin}: the key {alias} has no certificate; import it with keytool")
                if self._key_password is None:
                    trusted[alias] = TrustedEntry(alias, chain[0])
                else:
                    key = self._unprotected(protected, alias, self._key_password)
                    keys[alias] = KeyEntry(alias, key, tuple(chain))
            elif tag == _TRUSTED:
                trusted[alias] = TrustedEntry(alias, self._certificate())
            else:
                raise StoreError(f"{self._origin} is damaged: an entry of kind {tag}")
        if self._at != len(self._content):
            raise StoreError(f"{self._origin} is damaged: bytes follow its last entry")
        aliases = hashtable_order([*keys, *trusted])
        return KeyStore(self._origin, tuple(keys.values()), tuple(trusted.values()), tuple(aliases))

    def _chain(self) -> list[bytes]:
        count = self._int()
        # A loop instead of a list of that size, because the count is not trusted.
        chain: list[bytes] = []
        while len(chain) < count:
            chain.append(self._certificate())
        return chain

    def _unprotected(self, protected: bytes, alias: str, password: str) -> PrivateKey:
        """Decrypt a key of Sun's key protector: a key stream of SHA-1, and a check."""
        algorithm, value = fields_of(read_value(protected), 2)[:2]
        name = fields_of(algorithm, 1)[0].as_oid()
        if name != _KEY_PROTECTOR:
            raise StoreError(f"{self._origin}: the key {alias} is protected by an algorithm that is not known ({name})")
        data = expect(value, OCTET_STRING).content
        if len(data) < 2 * _DIGEST_BYTES:
            raise StoreError(f"{self._origin} is damaged: the key {alias} is too short")
        secret = _password_bytes(password)
        salt, sealed, check = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
        stream, part = bytearray(), salt
        while len(stream) < len(sealed):
            part = hashlib.sha1(secret + part, usedforsecurity=False).digest()
            stream += part
        size = len(sealed)
        plain = (int.from_bytes(sealed, "big") ^ int.from_bytes(stream[:size], "big")).to_bytes(size, "big")
        if not hmac.compare_digest(hashlib.sha1(secret + plain, usedforsecurity=False).digest(), check):
            raise StoreError(f"{self._origin}: the key {alias} cannot be recovered; check ssl.key.password")
        return PrivateKey(to_pem("PRIVATE KEY", plain))

    def _certificate(self) -> bytes:
        if self._version == 2:
            kind = self._text()
            if kind not in ("X.509", "X509"):
                raise StoreError(f"{self._origin}: a certificate of type {kind!r}; X.509 is the one that is known")
        return self._take(self._int())

    def _int(self) -> int:
        (value,) = struct.unpack_from(">I", self._content, self._at)
        self._at += 4
        return int(value)

    def _text(self) -> str:
        (size,) = struct.unpack_from(">H", self._content, self._at)
        self._at += 2
        # Java's modified UTF-8: NUL as two bytes, characters beyond the BMP as two surrogates of three bytes.
        encoded = self._take(size).replace(b"\xc0\x80", b"\0")
        return encoded.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _take(self, size: int) -> bytes:
        if size > len(self._content) - self._at:
            raise IndexError(size)
        self._at += size
        return self._content[self._at - size : self._at]
