"""Delegation tokens (KIP-48, owners: KIP-373): their values, rules, HMACs, and JSON in ZooKeeper. No I/O.

A token is its id and an HMAC of it, which is its password: nothing secret is stored, only `delegation.token.secret.key` is.
Kafka's `DelegationTokenManager`, `DelegationTokenCache` and `TokenInformation`.
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
    """All of a token but its HMAC. Times are ms since the epoch."""

    token_id: str
    owner: KafkaPrincipal
    token_requester: KafkaPrincipal
    renewers: tuple[KafkaPrincipal, ...]
    issue_timestamp: int
    max_timestamp: int
    """It cannot be renewed beyond."""
    expiry_timestamp: int

    def is_expired(self, now_ms: int) -> bool:
        return self.max_timestamp < now_ms or self.expiry_timestamp < now_ms

    def may_be_renewed_by(self, principal: KafkaPrincipal) -> bool:
        """And expired: by its owner and its renewers."""
        return _is_one_of(principal, (self.owner, *self.renewers))

    def concerns(self, principal: KafkaPrincipal) -> bool:
        """The principal is its owner, requester or one of its renewers, and sees it (Kafka's `ownerOrRenewer`)."""
        return _is_one_of(principal, (self.owner, self.token_requester, *self.renewers))


class DelegationToken(NamedTuple):
    """A token, and what its owner logs in with (Kafka's `DelegationToken`). `repr` does not show that.

    Attributes:
        token_info: Id, owner, requester, renewers and times.
        hmac: The secret.
    """

    token_info: TokenInformation
    hmac: bytes

    @property
    def hmac_as_base64(self) -> str:
        """The password for SCRAM; the user is the token's id."""
        return base64.b64encode(self.hmac).decode()

    def __repr__(self) -> str:
        return f"DelegationToken({self.token_info})"


def token_bytes(token: TokenInformation) -> bytes:
    """The token as ZooKeeper has it, its fields in Kafka's order."""
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
    """Read a token of ZooKeeper: versions 1 to 3; before 3 the owner is the requester.

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
    """A UUID of version 4 in base64url, from 16 random bytes (Kafka's `generateUuidAsBase64`)."""
    value = bytearray(random_bytes[:16])
    value[6] = value[6] & 0x0F | 0x40
    value[8] = value[8] & 0x3F | 0x80
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


class TokenLifetimes(NamedTuple):
    """The broker's limits.

    Attributes:
        max_lifetime_ms: `delegation.token.max.lifetime.ms`.
        expiry_time_ms: `delegation.token.expiry.time.ms`: for how long a token is good until it is renewed.
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
    """A new token. `max_lifetime_ms` of 0 or less is the broker's, which no other exceeds."""
    lifetime_ms = limits.max_lifetime_ms if max_lifetime_ms <= 0 else min(max_lifetime_ms, limits.max_lifetime_ms)
    max_timestamp = min(now_ms + lifetime_ms, _MAX_INT64)
    expiry_timestamp = min(max_timestamp, now_ms + limits.expiry_time_ms)
    return TokenInformation(token_id, owner, requester, tuple(renewers), now_ms, max_timestamp, expiry_timestamp)


class TokenChange(NamedTuple):
    """What RenewDelegationToken or ExpireDelegationToken comes to."""

    error: Errors
    expiry_timestamp: int = -1
    """For the response."""
    token: TokenInformation | None = None
    """To be stored; None without an error: the token is to be removed."""


def renew_token(
    token: TokenInformation | None, principal: KafkaPrincipal, renew_period_ms: int, limits: TokenLifetimes, now_ms: int
) -> TokenChange:
    """Renew a token; None: there is none of the HMAC. A negative period is the broker's."""
    refusal = _refusal(token, principal)
    if token is None or refusal is not None:
        return TokenChange(refusal or Errors.DELEGATION_TOKEN_NOT_FOUND)
    if token.is_expired(now_ms):
        return TokenChange(Errors.DELEGATION_TOKEN_EXPIRED)
    return _until(token, now_ms + (limits.expiry_time_ms if renew_period_ms < 0 else renew_period_ms))


def expire_token(
    token: TokenInformation | None, principal: KafkaPrincipal, expiry_period_ms: int, now_ms: int
) -> TokenChange:
    """Let a token expire after this time; None: there is none of the HMAC. With a negative time it is removed at once."""
    refusal = _refusal(token, principal)
    if token is None or refusal is not None:
        return TokenChange(refusal or Errors.DELEGATION_TOKEN_NOT_FOUND)
    if expiry_period_ms < 0:
        return TokenChange(Errors.NONE, now_ms)
    if token.is_expired(now_ms):
        return TokenChange(Errors.DELEGATION_TOKEN_EXPIRED)
    return _until(token, now_ms + expiry_period_ms)


def token_requests_allowed(security_protocol: str, principal: KafkaPrincipal, is_delegation_token: bool) -> bool:
    """Whether a connection may ask for tokens at all: not if it has shown one itself, nor if the client is not authenticated."""
    anonymous = (principal.principal_type, principal.name) == (ANONYMOUS.principal_type, ANONYMOUS.name)
    return not (is_delegation_token or security_protocol == "PLAINTEXT" or (security_protocol == "SSL" and anonymous))


def is_described_to(
    token: TokenInformation,
    principal: KafkaPrincipal,
    owners: AbstractSet[KafkaPrincipal] | None,
    may_describe_token: Callable[[str], bool],
    may_describe_tokens_of: Callable[[KafkaPrincipal], bool],
) -> bool:
    """Whether DescribeDelegationToken has this token in its answer (Kafka's `filterToken`).

    Args:
        token: The token.
        principal: Asks.
        owners: Whose tokens were asked for; None: those of all. There may be many: a set.
        may_describe_token: Whether the principal may DESCRIBE the DelegationToken of this id.
        may_describe_tokens_of: Whether it may DESCRIBE_TOKENS of this User.
    """
    if owners is not None and owners.isdisjoint((token.owner, token.token_requester, *token.renewers)):
        return False
    return token.concerns(principal) or may_describe_token(token.token_id) or may_describe_tokens_of(token.owner)


class DelegationTokens:
    """The tokens that a broker knows, and their HMACs (Kafka's `DelegationTokenCache`). `repr` shows no HMAC.

    Invariant: `_ids` has the HMAC of each token in `_tokens`, and `_credentials` only those of such tokens; they change under
    `_lock`, and are read without. A credential is made when a client first logs in with the token (2 ms each): with its salt it
    depends on the key and the id alone, so it is the same on all brokers.

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
        """A token is new or has changed."""
        value = self.hmac(token.token_id)
        with self._lock:
            self._tokens[token.token_id] = token
            self._ids[value] = token.token_id

    def remove(self, token_id: str) -> None:
        """A token is gone; one that is not known is left alone."""
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
        """The token that a request names by its HMAC."""
        token_id = self._ids.get(bytes(value))
        return None if token_id is None else self._tokens.get(token_id)

    def expired(self, now_ms: int) -> list[TokenInformation]:
        """Those to be removed."""
        return [token for token in self.all() if token.is_expired(now_ms)]

    def hmac(self, token_id: str) -> bytes:
        """What the owner of the token is given (HMAC-SHA-512)."""
        return hmac.digest(self._key, token_id.encode(), "sha512")

    def login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        """What SCRAM lets in with this token, expired or not; None: there is none. See `ScramServer`."""
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
    """By type and name, as Kafka compares them."""
    return any((other.principal_type, other.name) == (principal.principal_type, principal.name) for other in others)


def _stored_principal(text: str) -> KafkaPrincipal:
    """Type or name may be empty: those of a renewer are what the request says."""
    principal_type, colon, name = text.partition(":")
    if not colon:
        raise ValueError("a principal of a delegation token has no type")
    return KafkaPrincipal(principal_type, name)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MAX_INT64:
        raise TypeError("a number is expected")
    return value
