"""Extensions of the REST interface (KIP-285): Kafka's basic authentication with a file of passwords."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Mapping
from typing import Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.properties import load_file
from kafkapy.connect.errors import IllegalArgumentException
from kafkapy.connect.rest.routing import RestRequest
from kafkapy.http.basic_auth import read_credentials
from kafkapy.http.messages import HttpAnswer
from kafkapy.security.jaas_file import load_jaas_file

log = logging.getLogger("kafkapy.connect.rest")

BASIC_AUTH_EXTENSION: Final = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
_LOGIN_MODULE: Final = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
_SECTION: Final = "KafkaConnect"
_INTERNAL: Final = (
    ("POST", re.compile("/?connectors/[^/]+/tasks/?")),
    ("PUT", re.compile("/?connectors/[^/]+/fence/?")),
)


class PasswordFileAuth:
    """Kafka's `BasicAuthSecurityRestExtension`. Requests between workers need no password, because they are signed.

    Invariant: each element of `_files` is the content of one file, name -> password; an empty one permits all requests.
    """

    def __init__(self, files: tuple[Mapping[str, str], ...]) -> None:
        """
        Args:
            files: User -> password, of each login module.

        Example:
            >>> PasswordFileAuth(({"alice": "secret"},)).permits("alice", "secret")
            True
        """
        self._files = files

    @classmethod
    def of(cls, properties: Mapping[str, str], system: Mapping[str, str] | None = None) -> PasswordFileAuth | None:
        """Read the section `KafkaConnect` of the JAAS file; None: `rest.extension.classes` is empty.

        Args:
            properties: The worker's.
            system: Java's system properties. Default: those of the environment variable KAFKA_OPTS.

        Raises:
            ConfigException: An extension is unknown, or a file cannot be read.
        """
        names = [name.strip() for name in properties.get("rest.extension.classes", "").split(",") if name.strip()]
        for name in names:
            if name not in (BASIC_AUTH_EXTENSION, BASIC_AUTH_EXTENSION.rpartition(".")[2]):
                raise ConfigException.invalid("rest.extension.classes", name, f"only {BASIC_AUTH_EXTENSION} is known")
        if not names:
            return None
        modules = load_jaas_file(system).get(_SECTION, ())
        if not modules:
            raise ConfigException(
                f"{BASIC_AUTH_EXTENSION} needs a section {_SECTION} in the JAAS file: set "
                "KAFKA_OPTS=-Djava.security.auth.login.config=FILE"
            )
        for module in modules:
            if module.name != _LOGIN_MODULE:
                raise ConfigException(f"The login module {module.name} is not known; {_LOGIN_MODULE} is")
        return cls(tuple(_read(module.options.get("file", "")) for module in modules))

    def refusal(self, request: RestRequest) -> HttpAnswer | None:
        """Return the response 401 if the request has no valid password; None: it is permitted.

        Raises:
            IllegalArgumentException: The header is not in base64; Kafka answers 500.
        """
        http = request.http
        if any(http.method == method and path.fullmatch(http.path) for method, path in _INTERNAL):
            return None
        header = http.headers.get("authorization")
        _check_base64(header)
        found = read_credentials(header)
        if self.permits(*(found or (None, ""))):
            return None
        return HttpAnswer(401, b"User cannot access the resource.", (("content-type", "application/json"),))

    def permits(self, user: str | None, password: str) -> bool:
        """Check a password against all files. `user`: None: the request has no credentials."""
        return all(
            not known
            or (user is not None and user in known and hmac.compare_digest(known[user].encode(), password.encode()))
            for known in self._files
        )


def _check_base64(header: str | None) -> None:
    scheme, _, encoded = (header or "").partition(" ")
    wrong = re.search(r"[^A-Za-z0-9+/=]", encoded)
    if scheme.lower() == "basic" and wrong is not None:
        raise IllegalArgumentException(f"Illegal base64 character {ord(wrong[0]):x}")


def _read(path: str) -> Mapping[str, str]:
    if not path.strip():
        raise ConfigException("Property Credentials file must be specified")
    try:
        known = load_file(path)
    except (OSError, ValueError):
        raise ConfigException(f"Error loading Property Credentials file {path}") from None
    if not known:
        log.warning("The credentials file %s is empty: all requests are permitted", path)
    return known
