"""The server side of SCRAM (Kafka's `ScramSaslServer`; KIP-84, delegation tokens: KIP-48)."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from kafkapy.common.time import Time
from kafkapy.security import scram
from kafkapy.security.sasl.mechanism import SaslAuthenticationError, SaslExchangeError, remaining_ms
from kafkapy.security.scram import ScramCredential

_OTHER_AUTHORIZATION_ID: Final = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


class TokenLogin(NamedTuple):
    """The login with a delegation token: its owner's name, expiry (ms since the epoch), and the credential of its HMAC."""

    owner: str
    expiry_timestamp: int
    credential: ScramCredential


class DecoyCredentials:
    """Credentials for users that do not exist: salt and iterations depend only on the name, so repeated attempts, on
    any broker, get the same. They look like Kafka's own, and no password fits them.

    Args:
        secret: Must be the same on all brokers of a cluster and after restarts, and secret: otherwise decoys could be
            distinguished from users.
        iterations: The counts that users have; a decoy has one of them. Default: 4096, as of Kafka's tools.

    Example:
        >>> decoys = DecoyCredentials(b"secret of the cluster")
        >>> decoys.credential("sha256", "mallory").salt == decoys.credential("sha256", "mallory").salt
        True
    """

    __slots__ = ("_iterations", "_secret")

    def __init__(self, secret: bytes, iterations: Sequence[int] = (scram.MIN_ITERATIONS,)) -> None:
        if not secret:
            raise ValueError("the secret of made-up credentials must not be empty")
        self._secret = secret
        self._iterations = tuple(iterations)

    def credential(self, hash_name: str, user: str) -> ScramCredential:
        """Return the decoy credential of this user for this hash."""
        base = hmac.digest(self._secret, f"{hash_name}\0{user}".encode(), "sha512")
        key = hmac.digest(self._secret, base, hash_name)
        iterations = self._iterations[int.from_bytes(base[-4:], "big") % len(self._iterations)]
        return ScramCredential(scram.random_text(base).encode(), key, key, iterations)


class _ScramState(Enum):
    CLIENT_FIRST = auto()
    CLIENT_FINAL = auto()
    COMPLETE = auto()
    FAILED = auto()


class ScramServer:
    """One authentication by SCRAM.

    Invariant: `_credential` is None unless the client's proof is expected; `_known` tells whether that credential is a
    user's. A user that does not exist gets a decoy salt, and is refused after its proof as if the password were wrong;
    both cases take the same steps. (Kafka 3.9.1 refuses it immediately, which reveals users.)

    Args:
        mechanism: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
        credential_of: User -> its credential for this mechanism; None: it has none.
        token_login_of: Id of a delegation token -> its login; None: there is no such token. None: tokens are not
            accepted.
        decoys: For users without a credential.
        make_nonce: Returns the server's part of the nonce: `random_text` of 17 random bytes.
        time: The broker's clock, for the lifetime of tokens.
    """

    __slots__ = (
        "_auth_prefix",
        "_credential",
        "_credential_of",
        "_decoys",
        "_expiry",
        "_first",
        "_hash",
        "_known",
        "_make_nonce",
        "_nonce",
        "_state",
        "_time",
        "_token_login_of",
        "_user",
        "is_delegation_token",
        "name",
        "session_lifetime_ms",
    )

    def __init__(
        self,
        mechanism: str,
        credential_of: Callable[[str], ScramCredential | None],
        token_login_of: Callable[[str], TokenLogin | None] | None,
        decoys: DecoyCredentials,
        make_nonce: Callable[[], str],
        time: Time,
    ) -> None:
        self.name = mechanism
        self.is_delegation_token = False
        self.session_lifetime_ms: int | None = None
        self._hash = scram.SCRAM_HASHES[mechanism]
        self._credential_of = credential_of
        self._token_login_of = token_login_of
        self._decoys = decoys
        self._make_nonce = make_nonce
        self._time = time
        self._state = _ScramState.CLIENT_FIRST
        self._credential: ScramCredential | None = None
        self._known = False
        self._user = ""
        self._expiry: int | None = None
        self._first: scram.ClientFirstMessage | None = None
        self._nonce = ""
        self._auth_prefix = ""

    def __repr__(self) -> str:
        return f"ScramServer({self.name}, {self._state.name})"

    @property
    def complete(self) -> bool:
        return self._state is _ScramState.COMPLETE

    @property
    def claimed_name(self) -> str | None:
        """The user that the client claims to be, or the owner of the named token; None before the client's first
        message.
        """
        return self._user or None

    @property
    def authorization_id(self) -> str:
        """The user, or the owner of the token."""
        assert self.complete
        return self._user

    def evaluate(self, response: bytes) -> bytes:
        """See `SaslMechanism.evaluate`."""
        state, self._state = self._state, _ScramState.FAILED
        try:
            if state is _ScramState.CLIENT_FIRST:
                answer = self._challenge(response)
                self._state = _ScramState.CLIENT_FINAL
            elif state is _ScramState.CLIENT_FINAL:
                answer = self._verify(response)
                self._credential = self._first = None
                self._state = _ScramState.COMPLETE
            else:
                raise SaslExchangeError(f"Unexpected challenge in Sasl server state {state.name}")
        except scram.ScramFormatError as error:
            raise SaslExchangeError(str(error)) from None
        finally:
            if self._state is _ScramState.FAILED:
                self._credential = self._first = None
        return answer

    def _challenge(self, response: bytes) -> bytes:
        first = scram.parse_client_first(response)
        credential = self._find(first)
        if first.authorization_id and first.authorization_id != first.user:
            raise SaslAuthenticationError(_OTHER_AUTHORIZATION_ID)
        if credential.iterations < scram.MIN_ITERATIONS:
            raise SaslExchangeError(
                f"Iterations {credential.iterations} is less than the minimum {scram.MIN_ITERATIONS} for {self.name}"
            )
        self._first = first
        self._credential = credential
        self._nonce = first.nonce + self._make_nonce()
        salt = base64.b64encode(credential.salt).decode()
        challenge = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._auth_prefix = f"{first.bare},{challenge},"
        return challenge.encode()

    def _find(self, first: scram.ClientFirstMessage) -> ScramCredential:
        """Return the user's credential, or a decoy, which is computed in any case to take the same time."""
        decoy = self._decoys.credential(self._hash, first.user)
        credential = None
        self._user = first.user
        if first.token_authenticated:
            self.is_delegation_token = True
            login = self._token_login_of(first.user) if self._token_login_of is not None else None
            if login is not None:
                self._user, self._expiry, credential = login
        else:
            credential = self._credential_of(first.user)
        self._known = credential is not None
        return credential if credential is not None else decoy

    def _verify(self, response: bytes) -> bytes:
        assert self._first is not None and self._credential is not None
        final = scram.parse_client_final(response)
        # CVE-2024-56128: without this check an old proof could be replayed.
        if not hmac.compare_digest(final.nonce.encode(), self._nonce.encode()):
            raise SaslExchangeError("Invalid client nonce in the final client message.")
        # As in Kafka, the client's copy of its header (`c=`) is not compared: there is no channel binding to strip,
        # Java's client always sends "n,,", and the proof covers it.
        for said in dict.fromkeys((final.without_proof, final.without_extensions)):
            auth_message = self._auth_prefix + said
            if self._proves(auth_message, final.proof):
                self.session_lifetime_ms = remaining_ms(self._expiry, self._time.milliseconds())
                server_signature = scram.signature(self._hash, self._credential.server_key, auth_message)
                return b"v=" + base64.b64encode(server_signature)
        raise SaslExchangeError("Invalid client credentials")

    def _proves(self, auth_message: str, given: bytes) -> bool:
        """Return whether the proof is right. Takes the same time for users and decoys."""
        assert self._credential is not None
        key = self._credential.stored_key
        signature = scram.signature(self._hash, key, auth_message)
        proof = given.ljust(len(signature), b"\0")[: len(signature)]
        fits = hmac.compare_digest(scram.stored_key(self._hash, scram.xor(signature, proof)), key)
        return fits and self._known and len(given) == len(signature)
