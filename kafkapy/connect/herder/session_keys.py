"""Keys and signatures of requests between workers (KIP-507)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import NamedTuple

from kafkapy.connect.errors import BadRequestException, ConnectException
from kafkapy.connect.storage import SessionKey

SIGNATURE_HEADER = "X-Connect-Authorization"
ALGORITHM_HEADER = "X-Connect-Request-Signature-Algorithm"

_DIGESTS = {
    "hmacmd5": "md5",
    "hmacsha1": "sha1",
    "hmacsha224": "sha224",
    "hmacsha256": "sha256",
    "hmacsha384": "sha384",
    "hmacsha512": "sha512",
}
_KEY_SIZES = {"hmacmd5": 64, "hmacsha1": 64, "hmacsha224": 28, "hmacsha256": 32, "hmacsha384": 48, "hmacsha512": 64}
"""Key sizes in bytes of the JDK's key generators."""


def is_known(algorithm: str) -> bool:
    """Return whether this algorithm is supported for signatures and keys.

    Example:
        >>> is_known("HmacSHA256")
        True
    """
    return algorithm.lower() in _DIGESTS


def _key_bytes(algorithm: str, size_bits: int | None) -> int:
    return _KEY_SIZES[algorithm.lower()] if size_bits is None else (size_bits + 7) // 8


class SessionKeyRotation:
    """The workers' key, and when the leader replaces it. The caller holds the herder's lock.

    Invariant: `expires_ms` is None while a new key is written, and if keys are valid without end.

    Args:
        algorithm: Of new keys, for example HmacSHA256.
        size_bits: Their size; None: that of the algorithm.
        ttl_ms: How long a key is valid; 0: without end.

    Example:
        >>> keys = SessionKeyRotation("HmacSHA256", None, 1000)
        >>> keys.is_due(0)
        True
        >>> keys.replace_by(keys.new_key(0))
        >>> keys.is_due(999), keys.is_due(1000)
        (False, True)
    """

    def __init__(self, algorithm: str, size_bits: int | None, ttl_ms: int) -> None:
        self._algorithm, self._size_bits, self._ttl_ms = algorithm, size_bits, ttl_ms
        self.current: SessionKey | None = None
        self.expires_ms: int | None = None

    def replace_by(self, key: SessionKey) -> None:
        """Use a key that was read from the configs topic."""
        self.current = key
        if self._ttl_ms > 0:
            self.expires_ms = key.creation_timestamp + self._ttl_ms

    def is_due(self, now_ms: int) -> bool:
        """Return whether there is no key yet, or it has expired, or is not as the worker's configs want it."""
        key = self.current
        if key is None or (self.expires_ms is not None and self.expires_ms <= now_ms):
            return True
        return key.algorithm != self._algorithm or len(key.key) != _key_bytes(self._algorithm, self._size_bits)

    def new_key(self, now_ms: int) -> SessionKey:
        """Return the next key, which is to be written to the configs topic."""
        self.expires_ms = None
        return SessionKey(secrets.token_bytes(_key_bytes(self._algorithm, self._size_bits)), self._algorithm, now_ms)


def signature_headers(key: bytes, algorithm: str, body: bytes) -> dict[str, str]:
    """Return the headers of a signed request. Raises ConnectException."""
    signature = base64.b64encode(_sign(key, algorithm, body)).decode()
    return {SIGNATURE_HEADER: signature, ALGORITHM_HEADER: algorithm}


class RequestSignature(NamedTuple):
    """The signature of a received request (Kafka's `InternalRequestSignature`)."""

    body: bytes
    algorithm: str
    signature: bytes

    @classmethod
    def from_headers(cls, body: bytes, headers: Mapping[str, str]) -> RequestSignature | None:
        """Read it.

        Args:
            body: The request's.
            headers: Headers with lower-case names.

        Returns:
            None: the request is not signed.

        Raises:
            BadRequestException: The algorithm is unknown, or the signature is not in base 64.
        """
        algorithm = headers.get(ALGORITHM_HEADER.lower())
        encoded = headers.get(SIGNATURE_HEADER.lower())
        if algorithm is None or encoded is None:
            return None
        if not is_known(algorithm):
            raise BadRequestException(f"Algorithm {algorithm} not available")
        try:
            return cls(body, algorithm, base64.b64decode(encoded, validate=True))
        except (binascii.Error, ValueError) as error:
            raise BadRequestException(f"Illegal base64 character: {error}") from None

    def is_valid(self, key: bytes) -> bool:
        return hmac.compare_digest(_sign(key, self.algorithm, self.body), self.signature)


def _sign(key: bytes, algorithm: str, body: bytes) -> bytes:
    digest = _DIGESTS.get(algorithm.lower())
    if digest is None:
        raise ConnectException(f"Algorithm {algorithm} not available")
    return hmac.new(key, body, getattr(hashlib, digest)).digest()
