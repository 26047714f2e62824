"""What Apache's tests plug into their brokers as Java classes, as the Python classes of the same behaviour.

`KafkaServer.scala` has the table: Java's name -> the class here.
"""

from __future__ import annotations

import re
from typing import Final

from kafkapy.security.principal import ANONYMOUS, KafkaPrincipal
from kafkapy.security.principal_builder import AuthenticationContext, PrincipalBuilder

_NAME: Final = re.compile(r"O=A (.*?),CN=(.*?)")
_USERS: Final = {"plain-admin": "admin", "plain-user": "user"}
_PASSWORDS: Final = {
    "plain-user": "user1-password",
    "plain-user2": "plain-user2-secret",
    "plain-admin": "broker-password",
}


class ByListener(PrincipalBuilder):
    """Of `AuthorizerIntegrationTest` and those derived from it."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        names = {"BROKER": KafkaPrincipal("Group", "broker"), "CLIENT": KafkaPrincipal("User", "client")}
        return names[context.listener_name]


class ByCertificate(PrincipalBuilder):
    """Of `SslEndToEndAuthorizationTest`."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        name = context.certificate_name
        match = _NAME.fullmatch(name or "")
        if name is None or match is None:
            return ANONYMOUS
        return KafkaPrincipal("User", "server" if match[1] == "server" else name)


class ByPlainUser(PrincipalBuilder):
    """Of `SaslPlainSslEndToEndAuthorizationTest`."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        user = _USERS.get(context.authorization_id or "")
        return ANONYMOUS if user is None else KafkaPrincipal("User", user)


class PlainUsersOfTest:
    """The server's users of `SaslPlainSslEndToEndAuthorizationTest`."""

    def authenticate(self, username: str, password: str) -> bool:
        return _PASSWORDS.get(username) == password


class PlainLoginOfBroker:
    """What its broker logs in with at others."""

    def credentials(self) -> tuple[str, str]:
        return "plain-admin", _PASSWORDS["plain-admin"]
