"""Delegation tokens (KIP-48, owners: KIP-373): values, rules, HMACs, and JSON in ZooKeeper. No I/O.

A token is its id and an HMAC of the id, which is its password. Only `delegation.token.secret.key` is secret; no stored
token is. Kafka's `DelegationTokenManager`, `DelegationTokenCache` and `TokenInformation`.
"""

from __future__ import annotations

import base64
import hmac
import json
import threading
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

from kafkapy.common import strict_json
from kafkapy.common.sanitizer import desanitize, sanitize
from kafkapy.protocol.errors import Errors
from kafkapy.security import scram
from kafkapy.security.principal import ANONYMOUS, KafkaPrincipal
from kafkapy.security.sasl.scram_server import TokenLogin
from kafkapy.security.scram import ScramCredential

_VERSION: Final = 3
_MAX_INT64: Final = 2**63 - 1


class TokenInformation(NamedTuple):
    """A token without its HMAC. Times are ms since the epoch.

    Attributes:
        token_id: Id of the token; the user's name for SCRAM.
        owner: Principal that the token stands for.
        token_requester: Principal that has asked for the token.
        renewers: Principals that may renew it.
        issue_timestamp: When it was created.
        max_timestamp: The latest time to which it can be renewed.
        expiry_timestamp: When it expires.

    Example:
        >>> alice = KafkaPrincipal("User", "alice")
        >>> TokenInformation("id", alice, alice, (), 0, 1000, 500).is_expired(501)
        True
    """

    token_id: str
    owner: KafkaPrincipal
    token_requester: KafkaPrincipal
    renewers: tuple[KafkaPrincipal, ...]
    issue_timestamp: int
    max_timestamp: int
    """The latest time to which it can be renewed."""
    expiry_timestamp: int

    def is_expired(self, now_ms: int) -> bool:
        """Return whether the token is not valid any more.

        Args:
            now_ms: The time, in ms since the epoch.
        """
        return self.max_timestamp < now_ms or self.expiry_timestamp < now_ms

    def may_be_renewed_by(self, principal: KafkaPrincipal) -> bool:
        """Return whether the principal may renew and expire the token: its owner and its renewers may.

        Args:
            principal: The principal.
        """
        return _is_one_of(principal, (self.owner, *self.renewers))

    def concerns(self, principal: KafkaPrincipal) -> bool:
        """Return whether the principal may see the token, as its owner, requester or renewer (Kafka's
        `ownerOrRenewer`).

        Args:
            principal: The principal.
        """
        return _is_one_of(principal, (self.owner, self.token_requester, *self.renewers))


class DelegationToken(NamedTuple):
    """A token with its HMAC (Kafka's `DelegationToken`). `repr` does not show the HMAC.

    Attributes:
        token_info: Id, owner, requester, renewers and times.
        hmac: The secret.

    Example:
        >>> alice = KafkaPrincipal("User", "alice")
        >>> DelegationToken(TokenInformation("id", alice, alice, (), 0, 1000, 500), b"hmac").hmac_as_base64
        'aG1hYw=='
    """

    token_info: TokenInformation
    hmac: bytes

    @property
    def hmac_as_base64(self) -> str:
        """Return the password for SCRAM; the user is the token's id."""
        return base64.b64encode(self.hmac).decode()

    def __repr__(self) -> str:
        return f"DelegationToken({self.token_info})"


def token_bytes(token: TokenInformation) -> bytes:
    """Encode the token for ZooKeeper, with its fields in Kafka's order."""
    value = {
        "issueTimestamp": token.issue_timestamp,
        "renewers": [sanitize(str(renewer)) for renewer in token.renewers],
        "tokenRequester": sanitize(str(token.token_requester)),
        "tokenId": token.token_id,
        "owner": sanitize(str(token.owner)),
        "expiryTimestamp": token.expiry_timestamp,
        "maxTimestamp": token.max_timestamp,
        "version": _VERSION,
    }
    return json.dumps(value, separators=(",", ":")).encode()


def parse_token(data: bytes) -> TokenInformation:
    """Decode a token from ZooKeeper: versions 1 to 3; before 3 the owner is the requester.

    Raises:
        ValueError: It is malformed.
    """
    value = strict_json.loads(data)
    try:
        version = _whole(value["version"])
        if not 0 < version <= _VERSION:
            raise ValueError(f"a delegation token of version {version} is not known")
        owner = _stored_principal(desanitize(value["owner"]))
        return TokenInformation(
            token_id=str(value["tokenId"]),
            owner=owner,
            token_requester=_stored_principal(desanitize(value["tokenRequester"])) if version >= 3 else owner,
            renewers=tuple(_stored_principal(desanitize(renewer)) for renewer in value["renewers"]),
            issue_timestamp=_whole(value["issueTimestamp"]),
            max_timestamp=_whole(value["maxTimestamp"]),
            expiry_timestamp=_whole(value["expiryTimestamp"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a delegation token is malformed: {type(error).__name__} {error}") from None


def new_token_id(random_bytes: bytes) -> str:
    """Return a UUID of version 4 in base64url, from 16 random bytes (Kafka's `generateUuidAsBase64`)."""
    value = bytearray(random_bytes[:16])
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


class TokenLifetimes(NamedTuple):
    """The broker's limits.

    Attributes:
        max_lifetime_ms: `delegation.token.max.lifetime.ms`.
        expiry_time_ms: `delegation.token.expiry.time.ms`: the time from a renewal to the expiry.
    """

    max_lifetime_ms: int = 604_800_000
    expiry_time_ms: int = 86_400_000


def create_token(
    token_id: str,
    owner: KafkaPrincipal,
    requester: KafkaPrincipal,
    renewers: Sequence[KafkaPrincipal],
    max_lifetime_ms: int,
    limits: TokenLifetimes,
    now_ms: int,
) -> TokenInformation:
    """Create a token. `max_lifetime_ms` of 0 or less means the broker's, which is also the upper limit."""
    lifetime_ms = limits.max_lifetime_ms if max_lifetime_ms <= 0 else min(max_lifetime_ms, limits.max_lifetime_ms)
    max_timestamp = min(now_ms + lifetime_ms, _MAX_INT64)
    expiry_timestamp = min(max_timestamp, now_ms + limits.expiry_time_ms)
    return TokenInformation(token_id, owner, requester, tuple(renewers), now_ms, max_timestamp, expiry_timestamp)


class TokenChange(NamedTuple):
    """The result of RenewDelegationToken or ExpireDelegationToken."""

    error: Errors
    expiry_timestamp: int = -1
    """For the response; ms since the epoch."""
    token: TokenInformation | None = None
    """The token to store; None without an error: the token is to be removed."""


def renew_token(
    token: TokenInformation | None, principal: KafkaPrincipal, renew_period_ms: int, limits: TokenLifetimes, now_ms: int
) -> TokenChange:
    """Renew a token; None: there is no token with the HMAC. A negative period means the broker's."""
    refusal = _refusal(token, principal)
    if token is None or refusal is not None:
        return TokenChange(refusal or Errors.DELEGATION_TOKEN_NOT_FOUND)
    if token.is_expired(now_ms):
        return TokenChange(Errors.DELEGATION_TOKEN_EXPIRED)
    return _until(token, now_ms + (limits.expiry_time_ms if renew_period_ms < 0 else renew_period_ms))


def expire_token(
    token: TokenInformation | None, principal: KafkaPrincipal, expiry_period_ms: int, now_ms: int
) -> TokenChange:
    """Set a token's expiry after this time; None: there is no token with the HMAC. A negative time removes it
    immediately.
    """
    refusal = _refusal(token, principal)
    if token is None or refusal is not None:
        return TokenChange(refusal or Errors.DELEGATION_TOKEN_NOT_FOUND)
    if expiry_period_ms < 0:
        return TokenChange(Errors.NONE, now_ms)
    if token.is_expired(now_ms):
        return TokenChange(Errors.DELEGATION_TOKEN_EXPIRED)
    return _until(token, now_ms + expiry_period_ms)


def token_requests_allowed(security_protocol: str, principal: KafkaPrincipal, is_delegation_token: bool) -> bool:
    """Return whether a connection may send token requests: it must be authenticated, and not by a delegation token."""
    anonymous = (principal.principal_type, principal.name) == (ANONYMOUS.principal_type, ANONYMOUS.name)
    return not (is_delegation_token or security_protocol == "PLAINTEXT" or (security_protocol == "SSL" and anonymous))


def is_described_to(
    token: TokenInformation,
    principal: KafkaPrincipal,
    owners: AbstractSet[KafkaPrincipal] | None,
    may_describe_token: Callable[[str], bool],
    may_describe_tokens_of: Callable[[KafkaPrincipal], bool],
) -> bool:
    """Return whether DescribeDelegationToken includes this token (Kafka's `filterToken`).

    Args:
        token: The token.
        principal: The requesting principal.
        owners: The requested owners; None: all. There may be many, so it is a set.
        may_describe_token: Whether the principal may DESCRIBE the DelegationToken of this id.
        may_describe_tokens_of: Whether it may DESCRIBE_TOKENS of this User.
    """
    if owners is not None and owners.isdisjoint((token.owner, token.token_requester, *token.renewers)):
        return False
    return token.concerns(principal) or may_describe_token(token.token_id) or may_describe_tokens_of(token.owner)


class DelegationTokens:
    """The tokens that a broker has loaded, and their HMACs (Kafka's `DelegationTokenCache`). `repr` shows no HMAC.

    Invariant: `_ids` has the HMAC of each token in `_tokens`, and `_credentials` only those of such tokens; they change
    under `_lock`, and are read without it. A credential is computed at the first login with the token (2 ms each).
    Including its salt it depends only on the key and the id, so it is the same on all brokers.

    Args:
        secret_key: `delegation.token.secret.key`.
    """

    def __init__(self, secret_key: str) -> None:
        self._key = secret_key.encode()
        self._lock = threading.Lock()
        self._tokens: dict[str, TokenInformation] = {}
        self._ids: dict[bytes, str] = {}
        self._credentials: dict[tuple[str, str], ScramCredential] = {}

    def __repr__(self) -> str:
        return f"DelegationTokens({len(self._tokens)})"

    def __len__(self) -> int:
        return len(self._tokens)

    def put(self, token: TokenInformation) -> None:
        """Add or replace a token."""
        value = self.hmac(token.token_id)
        with self._lock:
            self._tokens[token.token_id] = token
            self._ids[value] = token.token_id

    def remove(self, token_id: str) -> None:
        """Remove a token; unknown ones are ignored."""
        value = self.hmac(token_id)
        with self._lock:
            if self._tokens.pop(token_id, None) is not None:
                del self._ids[value]
                for mechanism in scram.SCRAM_HASHES:
                    self._credentials.pop((mechanism, token_id), None)

    def all(self) -> list[TokenInformation]:
        return list(self._tokens.values())

    def get(self, token_id: str) -> TokenInformation | None:
        return self._tokens.get(token_id)

    def of_hmac(self, value: bytes) -> TokenInformation | None:
        """Return the token with this HMAC; None if there is none."""
        token_id = self._ids.get(bytes(value))
        return None if token_id is None else self._tokens.get(token_id)

    def expired(self, now_ms: int) -> list[TokenInformation]:
        """Return the expired tokens."""
        return [token for token in self.all() if token.is_expired(now_ms)]

    def hmac(self, token_id: str) -> bytes:
        """Return the token's secret for its owner (HMAC-SHA-512)."""
        return hmac.digest(self._key, token_id.encode(), "sha512")

    def login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        """Return the SCRAM login with this token, expired or not; None: there is none. See `ScramServer`."""
        token = self._tokens.get(token_id)
        if token is None:
            return None
        credential = self._credentials.get((mechanism, token_id))
        if credential is None:
            password = base64.b64encode(self.hmac(token_id)).decode()
            salt = scram.random_text(
                hmac.digest(self._key, f"salt\0{mechanism}\0{token_id}".encode(), "sha512")
            ).encode()
            credential = ScramCredential.of_password(
                scram.SCRAM_HASHES[mechanism], password, salt, scram.MIN_ITERATIONS
            )
            with self._lock:
                if token_id in self._tokens:
                    self._credentials[mechanism, token_id] = credential
        return TokenLogin(token.owner.name, token.expiry_timestamp, credential)


def _refusal(token: TokenInformation | None, principal: KafkaPrincipal) -> Errors | None:
    if token is None:
        return Errors.DELEGATION_TOKEN_NOT_FOUND
    return None if token.may_be_renewed_by(principal) else Errors.DELEGATION_TOKEN_OWNER_MISMATCH


def _until(token: TokenInformation, timestamp: int) -> TokenChange:
    expiry = min(token.max_timestamp, timestamp)
    return TokenChange(Errors.NONE, expiry, token._replace(expiry_timestamp=expiry))


def _is_one_of(principal: KafkaPrincipal, others: Collection[KafkaPrincipal]) -> bool:
    """Compare by type and name, as Kafka does."""
    return any((other.principal_type, other.name) == (principal.principal_type, principal.name) for other in others)


def _stored_principal(text: str) -> KafkaPrincipal:
    """Type or name may be empty: those of renewers are unvalidated input."""
    principal_type, colon, name = text.partition(":")
    if not colon:
        raise ValueError("a principal of a delegation token has no type")
    return KafkaPrincipal(principal_type, name)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MAX_INT64:
        raise TypeError("a number is expected")
    return value
