"""SCRAM-SHA-256 and -512 (RFC 5802, 7677), for both sides: credentials as stored in ZooKeeper, messages, and formulas.

As in Kafka, names of users are ASCII, SASLprep is not applied, and there is no channel binding.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import Final, NamedTuple

SCRAM_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""Mechanism -> hash."""

MIN_ITERATIONS: Final = 4096
"""Minimum in a new credential, for a server and for a client (Kafka's `ScramMechanism.minIterations`)."""

MAX_ITERATIONS: Final = 16384
"""Maximum of a credential that is created here (Kafka's `ScramMechanism.maxIterations`)."""

MAX_ITERATIONS_OF_SERVER: Final = 1_000_000
"""Limit of a client, half a second's work: any server can request iterations before it is authenticated."""

MAX_MESSAGE_BYTES: Final = 16 * 1024
"""Limit of a message of the exchange; real ones are below 1 KB."""

MAX_CREDENTIAL_CHARACTERS: Final = 16 * 1024

TOKEN_AUTH: Final = "tokenauth"
"""The extension for a login with a delegation token: the user is its id, and the password its HMAC (KIP-48)."""

_BASE64 = r"[A-Za-z0-9+/]*={0,2}"
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]++|=2C|=3D)++"
_NONCE = r"[\x21-\x2b\x2d-\x7e]++"
_EXTENSIONS = r"(?:,[A-Za-z]++=[\x01-\x2b\x2d-\x7f]++)*"
_CLIENT_FIRST = re.compile(
    rf"(?P<header>n,(?:a=(?P<authzid>{_NAME}))?,)(?:m=[^,\n\r]*+,)?"
    rf"(?P<bare>n=(?P<name>{_NAME}),r=(?P<nonce>{_NONCE})(?P<extensions>{_EXTENSIONS}))"
)
_SERVER_FIRST = re.compile(rf"r=(?P<nonce>{_NONCE}),s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]{{1,10}}){_EXTENSIONS}")
_CLIENT_FINAL = re.compile(
    rf"(?P<unproved>(?P<known>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_NONCE})){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)
_SERVER_FINAL = re.compile(rf"(?:e=(?P<error>[^,\x00]+)|v=(?P<signature>{_BASE64})){_EXTENSIONS}")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class ScramFormatError(ValueError):
    """A malformed message or credential. The error quotes nothing of it, because it may contain secrets."""


class ScramCredential:
    """The stored form of a user's password, immutable. `repr` shows no key.

    Args:
        salt: Random bytes.
        stored_key: The hash of the client's key.
        server_key: The key of the server's proof.
        iterations: The iterations of PBKDF2.

    Example:
        >>> credential = ScramCredential.of_password("sha256", "pencil", b"salt", 4096)
        >>> credential
        ScramCredential(iterations=4096)
    """

    __slots__ = ("iterations", "salt", "server_key", "stored_key")

    def __init__(self, salt: bytes, stored_key: bytes, server_key: bytes, iterations: int) -> None:
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScramCredential):
            return NotImplemented
        return credential_text(self) == credential_text(other)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def of_salted_password(cls, hash_name: str, salted: bytes, salt: bytes, iterations: int) -> ScramCredential:
        """Return the credential for a salted password, as in AlterUserScramCredentials."""
        return cls(
            salt, stored_key(hash_name, client_key(hash_name, salted)), server_key(hash_name, salted), iterations
        )

    @classmethod
    def of_password(cls, hash_name: str, password: str, salt: bytes, iterations: int) -> ScramCredential:
        """Return the credential for a password. Takes about 2 ms with 4,096 iterations."""
        return cls.of_salted_password(
            hash_name, salted_password(hash_name, password, salt, iterations), salt, iterations
        )


def credential_text(credential: ScramCredential) -> str:
    """Return a credential as stored in ZooKeeper (Kafka's `ScramCredentialUtils.credentialToString`)."""
    parts = {"salt": credential.salt, "stored_key": credential.stored_key, "server_key": credential.server_key}
    fields = [f"{name}={base64.b64encode(value).decode()}" for name, value in parts.items()]
    return ",".join([*fields, f"iterations={credential.iterations}"])


def parse_credential(text: str) -> ScramCredential:
    """Parse `salt=...,stored_key=...,server_key=...,iterations=...`, in any order.

    Raises:
        ScramFormatError: It is malformed.

    Example:
        >>> parse_credential("salt=c2FsdA==,stored_key=AA==,server_key=AA==,iterations=8192").iterations
        8192
    """
    if len(text) > MAX_CREDENTIAL_CHARACTERS:
        raise ScramFormatError("Credentials not valid: they are too long")
    fields = {}
    for field in text.split(","):
        name, equals, value = field.partition("=")
        if not equals:
            raise ScramFormatError("Credentials not valid")
        fields[name] = value
    if fields.keys() != {"salt", "stored_key", "server_key", "iterations"}:
        raise ScramFormatError("Credentials not valid: they must have salt, stored_key, server_key and iterations")
    iterations = fields["iterations"]
    if not re.fullmatch("[0-9]{1,10}", iterations, re.ASCII) or not 0 < int(iterations) < 2**31:
        raise ScramFormatError("Credentials not valid: iterations must be a positive number")
    return ScramCredential(
        _decoded(fields["salt"]), _decoded(fields["stored_key"]), _decoded(fields["server_key"]), int(iterations)
    )


class ClientFirstMessage(NamedTuple):
    """A client's first message. `bare` is the part that proofs cover."""

    gs2_header: str
    authorization_id: str
    """As it was sent: Kafka does not unescape it. Empty: none was asked for."""
    user: str
    """Unescaped."""
    nonce: str
    extensions: dict[str, str]
    bare: str

    @property
    def token_authenticated(self) -> bool:
        return self.extensions.get(TOKEN_AUTH, "").lower() == "true"


class ServerFirstMessage(NamedTuple):
    nonce: str
    salt: bytes
    iterations: int


class ClientFinalMessage(NamedTuple):
    channel_binding: bytes
    nonce: str
    proof: bytes
    without_proof: str
    """The message up to the proof, which the proof covers (RFC 5802)."""
    without_extensions: str
    """The part of the message that Kafka's broker assumes to be covered by the proof."""


class ServerFinalMessage(NamedTuple):
    """Either an error or a signature."""

    error: str | None
    signature: bytes


def parse_client_first(message: bytes) -> ClientFirstMessage:
    """Parse a message. Raises ScramFormatError, also for channel binding. As in Kafka, a mandatory extension (`m=`) is
    ignored.
    """
    match = _matched(_CLIENT_FIRST, message, "client first")
    pairs = (pair.split("=", 1) for pair in match["extensions"].split(",")[1:])
    return ClientFirstMessage(
        gs2_header=match["header"],
        authorization_id=match["authzid"] or "",
        user=user_name(match["name"]),
        nonce=match["nonce"],
        extensions=dict(pairs),
        bare=match["bare"],
    )


def parse_server_first(message: bytes, *, max_iterations: int = MAX_ITERATIONS_OF_SERVER) -> ServerFirstMessage:
    """Parse a server's message, for a client.

    Args:
        message: The server's message.
        max_iterations: More are refused. Default: `MAX_ITERATIONS_OF_SERVER`.

    Raises:
        ScramFormatError: It is malformed, or has fewer or more iterations than allowed.
    """
    match = _matched(_SERVER_FIRST, message, "server first")
    iterations = int(match["iterations"])
    if iterations < MIN_ITERATIONS:
        raise ScramFormatError(f"Requested iterations {iterations} is less than the minimum {MIN_ITERATIONS}")
    if iterations > max_iterations:
        raise ScramFormatError(f"Requested iterations {iterations} is more than the maximum {max_iterations}")
    return ServerFirstMessage(match["nonce"], _decoded(match["salt"]), iterations)


def parse_client_final(message: bytes) -> ClientFinalMessage:
    """Parse a message. Raises ScramFormatError."""
    match = _matched(_CLIENT_FINAL, message, "client final")
    binding, proof = _decoded(match["binding"]), _decoded(match["proof"])
    return ClientFinalMessage(binding, match["nonce"], proof, match["unproved"], match["known"])


def parse_server_final(message: bytes) -> ServerFinalMessage:
    """Parse a server's message, for a client. Raises ScramFormatError."""
    match = _matched(_SERVER_FINAL, message, "server final")
    return ServerFinalMessage(match["error"], _decoded(match["signature"] or ""))


def sasl_name(user: str) -> str:
    """Return a name as in messages: `=` and `,` are escaped.

    Example:
        >>> sasl_name("a=b,c")
        'a=3Db=2Cc'
    """
    return user.replace("=", "=3D").replace(",", "=2C")


def user_name(name: str) -> str:
    """Decode the result of `sasl_name`."""
    return name.replace("=2C", ",").replace("=3D", "=")


def salted_password(hash_name: str, password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, iterations)


def client_key(hash_name: str, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Client Key", hash_name)


def stored_key(hash_name: str, key: bytes) -> bytes:
    """Return the stored key of a client key."""
    return hashlib.new(hash_name, key).digest()


def server_key(hash_name: str, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Server Key", hash_name)


def signature(hash_name: str, key: bytes, auth_message: str) -> bytes:
    """Return the client's signature (with its stored key), or the server's (with its server key)."""
    return hmac.digest(key, auth_message.encode(), hash_name)


def xor(left: bytes, right: bytes) -> bytes:
    """Combine bytes of equal lengths: proof from key and signature, or key from signature and proof."""
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def random_text(random_bytes: bytes) -> str:
    """Return 130 bits of these 17 bytes in base 36, as in Kafka's nonces and, as ASCII bytes, its salts."""
    number = int.from_bytes(random_bytes[:17], "big") >> 6
    digits = []
    while number:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits)) or "0"


def _matched(pattern: re.Pattern[str], message: bytes, what: str) -> re.Match[str]:
    match = None
    if len(message) <= MAX_MESSAGE_BYTES:
        try:
            match = pattern.fullmatch(message.decode())
        except UnicodeDecodeError:
            match = None
    if match is None:
        raise ScramFormatError(f"Invalid SCRAM {what} message format")
    return match


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ScramFormatError("Invalid base64 in SCRAM") from None
