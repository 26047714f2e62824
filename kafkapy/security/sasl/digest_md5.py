"""DIGEST-MD5 (RFC 2831) as in ZooKeeper: both sides of the exchange, without a socket.

Kafka's clients never use it; ZooKeeper's do, with fixed names in place of hosts (ZooKeeper's `SecurityUtils`): the
realm is `zk-sasl-md5`, the service `zookeeper/zk-sasl-md5`. As there, only `qop=auth` is supported.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from typing import Final

REALM: Final = "zk-sasl-md5"
DIGEST_URI: Final = f"zookeeper/{REALM}"
MAX_TOKEN_BYTES: Final = 4096
"""RFC 2831: a challenge has fewer than 2,048 bytes, a response fewer than 4,096."""

_DIRECTIVE: Final = re.compile(
    r'\s*(?P<name>[A-Za-z0-9\-]+)\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<word>[^\s",=]+))\s*(?:,|\Z)', re.DOTALL
)
_NONCE_BYTES = 24
_COUNT = "00000001"


class DigestError(Exception):
    """The exchange has failed; the message contains no secret."""


class DigestMd5Client:
    """The client side: `response` to the challenge, then `check_proof` of the server's answer.

    Its repr shows no password.

    Args:
        username: The user.
        password: The user's password.
        nonce: Returns the client's nonce; replaced in tests.

    Example:
        >>> server = DigestMd5Server({"kafka": "secret"}.get)
        >>> client = DigestMd5Client("kafka", "secret")
        >>> client.check_proof(server.proof(client.response(server.challenge())))
        >>> server.username
        'kafka'
    """

    def __init__(self, username: str, password: str, nonce: Callable[[], str] = lambda: _nonce()) -> None:
        self.username = username
        self._password = password
        self._nonce = nonce
        self._proof: str | None = None

    def __repr__(self) -> str:
        return f"DigestMd5Client({self.username})"

    def response(self, challenge: bytes) -> bytes:
        """Return the response to the server's first token.

        Raises:
            DigestError: It is not a challenge of this mechanism, or requires an unsupported option.
        """
        asked = _directives(challenge)
        if "nonce" not in asked:
            raise DigestError("the server's challenge has no nonce")
        if asked.get("algorithm", "md5-sess") != "md5-sess":
            raise DigestError("the server asks for another algorithm than md5-sess")
        if "auth" not in [each.strip() for each in asked.get("qop", "auth").split(",")]:
            raise DigestError("the server asks for integrity or privacy, ZooKeeper's has authentication only")
        realm, nonce, cnonce = asked.get("realm", REALM), asked["nonce"], self._nonce()
        secret = _secret(self.username, realm, self._password, nonce, cnonce, self.username)
        self._proof = _digest(secret, nonce, cnonce, "", DIGEST_URI)
        parts = (
            "charset=utf-8",
            f"username={_quoted(self.username)}",
            f"realm={_quoted(realm)}",
            f"nonce={_quoted(nonce)}",
            f"nc={_COUNT}",
            f"cnonce={_quoted(cnonce)}",
            f"digest-uri={_quoted(DIGEST_URI)}",
            "maxbuf=65536",
            f"response={_digest(secret, nonce, cnonce, 'AUTHENTICATE', DIGEST_URI)}",
            "qop=auth",
            f"authzid={_quoted(self.username)}",
        )
        return ",".join(parts).encode()

    def check_proof(self, token: bytes) -> None:
        """Check that the server's last token proves its knowledge of the password.

        Raises:
            DigestError: It does not.
        """
        proof = _directives(token).get("rspauth", "")
        if self._proof is None or not hmac.compare_digest(proof.encode(), self._proof.encode()):
            raise DigestError("the server does not know this user's password: it is not the ZooKeeper it should be")


class DigestMd5Server:
    """The server side: `challenge`, then `proof` for the client's response; `username` is set if that was right.

    Invariant: `username` is None until a response with the right digest has come, and each challenge allows one
    response.

    Args:
        password_of: Returns the password of a user; None: there is no such user.
        nonce: Returns the server's nonce; replaced in tests.
    """

    def __init__(self, password_of: Callable[[str], str | None], nonce: Callable[[], str] = lambda: _nonce()) -> None:
        self.username: str | None = None
        self._password_of = password_of
        self._new_nonce = nonce
        self._nonce: str | None = None

    def challenge(self) -> bytes:
        self._nonce = self._new_nonce()
        return f'realm="{REALM}",nonce="{self._nonce}",charset=utf-8,algorithm=md5-sess'.encode()

    def proof(self, response: bytes) -> bytes:
        """Return the last token for the client.

        Raises:
            DigestError: The response is malformed, or the user or the password is wrong, which the message does not
                distinguish.
        """
        nonce, self._nonce = self._nonce, None
        told = _directives(response)
        username, cnonce, uri = (told.get(name, "") for name in ("username", "cnonce", "digest-uri"))
        if nonce is None or told.get("nonce") != nonce or told.get("nc") != _COUNT or not cnonce:
            raise DigestError("the response does not belong to the challenge")
        if uri != DIGEST_URI or told.get("realm") != REALM or told.get("qop", "auth") != "auth":
            raise DigestError("the response is for another service, realm or quality of protection")
        password = self._password_of(username)
        known = password if password is not None else secrets.token_hex(16)
        secret = _secret(username, REALM, known, nonce, cnonce, told.get("authzid"))
        expected = _digest(secret, nonce, cnonce, "AUTHENTICATE", uri)
        if not hmac.compare_digest(told.get("response", "").encode(), expected.encode()) or password is None:
            raise DigestError("the user does not exist, or the password is wrong")
        if told.get("authzid", username) != username:
            raise DigestError("a user may only act as itself")
        self.username = username
        return f"rspauth={_digest(secret, nonce, cnonce, '', uri)}".encode()


def _directives(token: bytes) -> Mapping[str, str]:
    """Parse `name=value, name="value"`; duplicates are refused, as RFC 2831 requires."""
    if len(token) >= MAX_TOKEN_BYTES:
        raise DigestError(f"the token has {len(token)} bytes, {MAX_TOKEN_BYTES} are too many")
    try:
        text = token.decode()
    except UnicodeDecodeError:
        raise DigestError("the token is not in UTF-8") from None
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _DIRECTIVE.match(text, at)
        if match is None:
            raise DigestError("the token is malformed")
        name, quoted = match["name"].lower(), match["quoted"]
        if name in found:
            raise DigestError(f"the token has {name} twice")
        found[name] = match["word"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
        at = match.end()
    return found


def _quoted(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _nonce() -> str:
    return secrets.token_urlsafe(_NONCE_BYTES)


def _secret(username: str, realm: str, password: str, nonce: str, cnonce: str, authzid: str | None) -> str:
    """Return H(A1) in hexadecimal digits."""
    user = b":".join(map(_latin_if_possible, (username, realm, password)))
    a1 = _md5(user) + f":{nonce}:{cnonce}".encode()
    if authzid is not None:
        a1 += f":{authzid}".encode()
    return _md5(a1).hex()


def _digest(secret: str, nonce: str, cnonce: str, method: str, uri: str) -> str:
    a2 = _md5(f"{method}:{uri}".encode()).hex()
    return _md5(f"{secret}:{nonce}:{_COUNT}:{cnonce}:auth:{a2}".encode()).hex()


def _latin_if_possible(text: str) -> bytes:
    """RFC 2831 hashes names and passwords in ISO 8859-1 if possible."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()
