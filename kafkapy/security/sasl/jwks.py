"""The keys of an identity provider (JWKS, RFC 7517), and the schedule of their refreshes (Kafka's
`RefreshingHttpsJwks`; KIP-768). No I/O.

Only keys that verify signatures are used: RSA of 2048 bits or more, P-256, P-384, P-521, Ed25519. Symmetric keys are
ignored, because a public key of that kind could be used to forge signatures.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from kafkapy.common import strict_json
from kafkapy.common.time import Time
from kafkapy.security.sasl.oauth_token import OAuthTokenError, base64url

log = logging.getLogger("kafkapy.security.sasl.RefreshingJwks")

MAX_DOCUMENT_BYTES: Final = 1024 * 1024
"""Limit of a key set; a fetch should not read more."""

MAX_KEY_ID_CHARACTERS: Final = 1000
"""A longer `kid` in a token triggers no fetch (Kafka's `MISSING_KEY_ID_MAX_KEY_LENGTH`)."""

_MAX_KEYS = 100
_MIN_RSA_BITS, _MAX_RSA_BITS = 2048, 16384
_MISSING_KEY_IDS = 16
_MISSING_KEY_ID_MS = 60_000
_MIN_BETWEEN_FETCHES_MS = 5_000

_HASHES: Final[Mapping[str, Callable[[], hashes.HashAlgorithm]]] = {
    "256": hashes.SHA256,
    "384": hashes.SHA384,
    "512": hashes.SHA512,
}
_CURVES: Final[Mapping[str, tuple[Callable[[], ec.EllipticCurve], str]]] = {
    "P-256": (ec.SECP256R1, "ES256"),
    "P-384": (ec.SECP384R1, "ES384"),
    "P-521": (ec.SECP521R1, "ES512"),
}
_RSA_ALGORITHMS = frozenset(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey


class JwksError(ValueError):
    """A document is not a key set."""


class VerificationKey(NamedTuple):
    """A key and the algorithms for which it may be used."""

    key_id: str | None
    algorithms: frozenset[str]
    key: PublicKey

    def verifies(self, algorithm: str, message: bytes, signature: bytes) -> bool:
        """Return whether this is the signature of the message by this key."""
        if algorithm not in self.algorithms:
            return False
        try:
            _verify(self.key, algorithm, message, signature)
        except (InvalidSignature, ValueError):
            return False
        return True


def parse_jwks(document: bytes) -> tuple[VerificationKey, ...]:
    """Return the keys of a set that verify signatures; others are ignored and logged.

    Raises:
        JwksError: It is too large, or not a key set.
    """
    if len(document) > MAX_DOCUMENT_BYTES:
        raise JwksError(f"the key set has {len(document)} bytes, more than {MAX_DOCUMENT_BYTES}")
    try:
        value = strict_json.loads(document)
    except (ValueError, RecursionError) as error:
        raise JwksError(f"the key set is no JSON: {error}") from error
    entries = value.get("keys") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise JwksError('the key set has no list "keys"')
    if len(entries) > _MAX_KEYS:
        raise JwksError(f"the key set has {len(entries)} keys, more than {_MAX_KEYS}")
    keys = []
    for index, entry in enumerate(entries):
        try:
            keys.append(_key(entry))
        except (OAuthTokenError, KeyError, TypeError, ValueError) as error:
            log.info("Key %d of the JWKS is not used: %s", index, _reason(error))
    return tuple(keys)


def split_jwks_url(url: str) -> tuple[str, str]:
    """Return kind and location of `sasl.oauthbearer.jwks.endpoint.url`: `("file", path)`, or `("url", url)` for http
    and https.

    Raises:
        ValueError: It is neither.

    Example:
        >>> split_jwks_url("file:///etc/kafka/jwks.json")
        ('file', '/etc/kafka/jwks.json')
    """
    parts = urlsplit(url.strip())
    if parts.scheme == "file" and parts.path:
        return "file", unquote(parts.path)
    if parts.scheme in ("http", "https") and parts.hostname:
        return "url", url.strip()
    raise ValueError("sasl.oauthbearer.jwks.endpoint.url must be a URL of file, http or https")


class RefreshingJwks:
    """The keys of an identity provider, and the time of the next fetch. For one thread; fetches may be done in another.

    Invariant: `_keys` are those of the last valid document: failures of the provider remove none. `_due_ms` (monotonic)
    is the time of the next fetch: after the refresh interval following a success, after a growing backoff following a
    failure, immediately if a token has an unknown key id. The latter happens at most once a minute for each of the last
    16 key ids, and never within 5 s of the last fetch, whatever tokens contain.

    Args:
        time: The clock.
        refresh_ms: `sasl.oauthbearer.jwks.endpoint.refresh.ms`.
        retry_backoff_ms: `sasl.oauthbearer.jwks.endpoint.retry.backoff.ms`.
        retry_backoff_max_ms: `sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms`.
        on_due_earlier: Called when the next fetch becomes due earlier than the last result of `due_in_ms`.
    """

    def __init__(
        self,
        time: Time,
        refresh_ms: int = 3_600_000,
        retry_backoff_ms: int = 100,
        retry_backoff_max_ms: int = 10_000,
        on_due_earlier: Callable[[], None] = lambda: None,
    ) -> None:
        self._time = time
        self._refresh_ms = refresh_ms
        self._backoff_ms = retry_backoff_ms
        self._backoff_max_ms = retry_backoff_max_ms
        self.on_due_earlier = on_due_earlier
        """May be set later, by the owner of the timer."""
        self._keys: tuple[VerificationKey, ...] = ()
        self._due_ms = time.monotonic_ms()
        self._fetched_ms: int | None = None
        self._failures = 0
        self._missing: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._keys)

    def due_in_ms(self) -> int:
        """Return when the document should be fetched (0: now); then call `loaded` or `failed`."""
        return max(0, self._due_ms - self._time.monotonic_ms())

    def loaded(self, document: bytes) -> None:
        """Process a fetched document. An invalid one counts as a failure."""
        try:
            keys = parse_jwks(document)
        except JwksError as error:
            self.failed(str(error))
            return
        self._keys = keys
        self._failures = 0
        for key in keys:
            if key.key_id is not None:
                self._missing.pop(key.key_id, None)
        self._fetched(self._refresh_ms)

    def failed(self, reason: str) -> None:
        """Record a failed fetch: the keys remain, and it is retried."""
        self._failures += 1
        backoff = min(self._backoff_ms * 2 ** min(self._failures - 1, 30), self._backoff_max_ms)
        self._fetched(min(backoff, self._refresh_ms))
        log.warning(
            "JWKS could not be refreshed, attempt %d; %d keys stay: %s", self._failures, len(self._keys), reason
        )

    def refresh(self, fetch: Callable[[], bytes]) -> None:
        """Fetch and process the document, where blocking is allowed: at start-up, for files."""
        try:
            document = fetch()
        except Exception as error:
            self.failed(f"{type(error).__name__}: {error}")
        else:
            self.loaded(document)

    def select(self, key_id: str | None, algorithm: str) -> list[VerificationKey]:
        """Return the keys that may have signed a token with this header; an unknown `kid` makes the next fetch due.

        A token without `kid` may be signed by any key that fits its algorithm.
        """
        fitting = [key for key in self._keys if algorithm in key.algorithms]
        if key_id is None:
            return fitting
        named = [key for key in fitting if key.key_id == key_id]
        if not named and all(key.key_id != key_id for key in self._keys):
            self._want(key_id)
        return named

    def _want(self, key_id: str) -> None:
        now = self._time.monotonic_ms()
        if len(key_id) > MAX_KEY_ID_CHARACTERS or self._missing.get(key_id, now) > now:
            return
        self._missing[key_id] = now + _MISSING_KEY_ID_MS
        self._missing.move_to_end(key_id)
        if len(self._missing) > _MISSING_KEY_IDS:
            self._missing.popitem(last=False)
        due = now if self._fetched_ms is None else max(now, self._fetched_ms + _MIN_BETWEEN_FETCHES_MS)
        if due < self._due_ms:
            self._due_ms = due
            self.on_due_earlier()

    def _fetched(self, next_in_ms: int) -> None:
        self._fetched_ms = self._time.monotonic_ms()
        self._due_ms = self._fetched_ms + next_in_ms


def _key(entry: Any) -> VerificationKey:
    """Errors are those that `parse_jwks` catches."""
    if not isinstance(entry, dict):
        raise JwksError("it is no object")
    if entry.get("use", "sig") != "sig" or "verify" not in entry.get("key_ops", ["verify"]):
        raise JwksError("it is not for signatures")
    key, algorithms = _public_key(entry)
    if "alg" in entry:
        algorithms &= {entry["alg"]}
        if not algorithms:
            raise JwksError("its algorithm does not fit its type, or is not known")
    key_id = entry.get("kid")
    if key_id is not None and not isinstance(key_id, str):
        raise JwksError("its kid is no text")
    return VerificationKey(key_id, algorithms, key)


def _public_key(entry: Mapping[str, Any]) -> tuple[PublicKey, frozenset[str]]:
    kind = entry["kty"]
    if kind == "RSA":
        key = rsa.RSAPublicNumbers(_number(entry["e"]), _number(entry["n"])).public_key()
        if not _MIN_RSA_BITS <= key.key_size <= _MAX_RSA_BITS:
            raise JwksError(f"an RSA key must have {_MIN_RSA_BITS} to {_MAX_RSA_BITS} bits, it has {key.key_size}")
        return key, _RSA_ALGORITHMS
    if kind == "EC":
        curve, algorithm = _CURVES[entry["crv"]]
        point = ec.EllipticCurvePublicNumbers(_number(entry["x"]), _number(entry["y"]), curve())
        return point.public_key(), frozenset([algorithm])
    if kind == "OKP" and entry["crv"] == "Ed25519":
        return ed25519.Ed25519PublicKey.from_public_bytes(base64url(entry["x"])), frozenset(["EdDSA"])
    raise JwksError("keys of its type are not used")


def _number(text: str) -> int:
    return int.from_bytes(base64url(text), "big")


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing or not known"
    return str(error) if isinstance(error, JwksError | OAuthTokenError) else f"malformed ({type(error).__name__})"


def _verify(key: PublicKey, algorithm: str, message: bytes, signature: bytes) -> None:
    """Raise InvalidSignature or ValueError. `algorithm` fits the key."""
    if isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signature, message)
        return
    hash_ = _HASHES[algorithm[2:]]()
    if isinstance(key, rsa.RSAPublicKey):
        pad: padding.AsymmetricPadding = padding.PKCS1v15()
        if algorithm.startswith("PS"):
            pad = padding.PSS(padding.MGF1(hash_), hash_.digest_size)
        key.verify(signature, message, pad, hash_)
        return
    size = (key.curve.key_size + 7) // 8
    if len(signature) != 2 * size:
        raise InvalidSignature
    r, s = int.from_bytes(signature[:size], "big"), int.from_bytes(signature[size:], "big")
    key.verify(encode_dss_signature(r, s), message, ec.ECDSA(hash_))
