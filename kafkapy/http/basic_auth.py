"""Basic authentication with a file of users in the format of Jetty's `HashLoginService` (`name: password[,role
…]`)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path

from kafkapy.common.config_def import ConfigException
from kafkapy.common.properties import load_file


class BasicAuth:
    """`users`: name -> password (plain, `MD5:` or `SHA256:` and its hash in hex) and roles."""

    def __init__(self, realm: str, users: Mapping[str, tuple[str, frozenset[str]]], roles: frozenset[str]) -> None:
        """`roles`: users with one of them have access; `*`: all known users."""
        self.challenge = f'Basic realm="{realm}"'
        self._users = users
        self._roles = roles

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> BasicAuth | None:
        """Build from `authentication.method`, `.realm`, `.roles` and `kafkapy.authentication.users.file`; None: no
        authentication.

        Raises ConfigException.
        """
        method = properties.get("authentication.method", "NONE").strip().upper()
        if method == "NONE":
            return None
        if method != "BASIC":
            raise ConfigException.invalid("authentication.method", method, "NONE or BASIC is expected")
        file = properties.get("kafkapy.authentication.users.file")
        if not file:
            raise ConfigException(
                "kafkapy.authentication.users.file is missing: a file with a line `name: password,role` for each user"
            )
        roles = frozenset(filter(None, map(str.strip, properties.get("authentication.roles", "*").split(","))))
        return cls(properties.get("authentication.realm", "kafkapy"), read_users(file), roles)

    def user(self, header: str | None) -> str | None:
        """Return the user of an `Authorization` header; None: access is denied."""
        found = read_credentials(header)
        if found is None:
            return None
        name, password = found
        known, roles = self._users.get(name, ("", frozenset()))
        right = _matches(known, password)
        return name if name in self._users and right and ("*" in self._roles or roles & self._roles) else None


def read_credentials(header: str | None) -> tuple[str, str] | None:
    """Return user and password of an `Authorization` header; None: it has none, or is malformed.

    Example:
        >>> read_credentials("Basic YWxpY2U6c2VjcmV0")
        ('alice', 'secret')
    """
    scheme, _, encoded = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return (name, password) if colon else None


def read_users(file: str | Path) -> dict[str, tuple[str, frozenset[str]]]:
    """Raises ConfigException."""
    try:
        lines = load_file(file)
    except OSError as error:
        raise ConfigException(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigException(str(error)) from None
    users = {}
    for name, text in lines.items():
        password, *roles = (part.strip() for part in text.split(","))
        if password.startswith(("OBF:", "CRYPT:")):
            raise ConfigException(f"{file}: the password of {name} is obfuscated; plain, MD5: and SHA256: are read")
        users[name] = password, frozenset(filter(None, roles))
    return users


def _matches(known: str, password: str) -> bool:
    for prefix, algorithm in (("MD5:", "md5"), ("SHA256:", "sha256")):
        if known.startswith(prefix):
            digest = hashlib.new(algorithm, password.encode(), usedforsecurity=False).hexdigest()
            return hmac.compare_digest(known.removeprefix(prefix).lower(), digest)
    return hmac.compare_digest(known.encode(), password.encode())
