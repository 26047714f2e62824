"""What Apache's tests plug into their brokers as Java classes, as the Python classes of the same behaviour.

`KafkaServer.scala` has the table: Java's name -> the class here.
"""

from __future__ import annotations

import os
import re
from typing import Final
from urllib.request import urlopen

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.network.request import RequestContext
from kafkapy.security.principal import ANONYMOUS, KafkaPrincipal
from kafkapy.security.principal_builder import AuthenticationContext, PrincipalBuilder
from kafkapy.server.authorizer import Authorizer

_NAME: Final = re.compile(r"O=A (.*?),CN=(.*?)")
_NAMES_BY_LISTENER: Final = {"BROKER": "broker", "CLIENT": "client"}
_USERS: Final = {"plain-admin": "admin", "plain-user": "user"}
_PASSWORDS: Final = {
    "plain-user": "user1-password",
    "plain-user2": "plain-user2-secret",
    "plain-admin": "broker-password",
}


class UserByListener(PrincipalBuilder):
    """Of `AuthorizerIntegrationTest` and those derived from it."""

    principal_type = "User"

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        return KafkaPrincipal(self.principal_type, _NAMES_BY_LISTENER[context.listener_name])


class GroupByListener(UserByListener):
    """Of `GroupAuthorizerIntegrationTest`."""

    principal_type = "Group"


class GroupByScramUser(PrincipalBuilder):
    """Of `GroupEndToEndAuthorizationTest`."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        user = context.authorization_id
        if user is None:
            return ANONYMOUS
        return KafkaPrincipal("Group", "testGroup" if user == "scram-user" else user)


class ByCertificate(PrincipalBuilder):
    """Of `SslEndToEndAuthorizationTest`."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        name = context.certificate_name
        match = _NAME.fullmatch(name or "")
        if name is None or match is None:
            return ANONYMOUS
        is_server = match[1] == "server" or match[2] == "super-user"
        return KafkaPrincipal("User", "server" if is_server else name)


class ServerOrClientByCertificate(PrincipalBuilder):
    """Of `SslAdminIntegrationTest`."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        match = _NAME.fullmatch(context.certificate_name or "")
        if match is None:
            return ANONYMOUS
        if match[1] == "server" or match[2] == "super-user":
            return KafkaPrincipal("User", "server")
        return KafkaPrincipal("User", "client") if match[2] == "client" else ANONYMOUS


class PlaintextClient(PrincipalBuilder):
    """Of `PlaintextEndToEndAuthorizationTest`."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        return KafkaPrincipal("User", "client")


class PlaintextServer(PrincipalBuilder):
    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        return KafkaPrincipal("User", "server")


class Anonymous(PrincipalBuilder):
    """Of the tests of SCRAM credentials."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        return ANONYMOUS


class Unauthorized(PrincipalBuilder):
    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        return KafkaPrincipal("User", "Unauthorized")


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


class _OfTest(PrincipalBuilder):
    """The principal that a variable of the test has at the time."""

    test: str

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        with urlopen(f"http://{os.environ['TEST_PRINCIPALS']}/{self.test}", timeout=10) as answer:
            kind, _, name = answer.read().decode().partition(":")
        return KafkaPrincipal(kind, name)


class OfRequestQuotaTest(_OfTest):
    test = "kafka.server.RequestQuotaTest"


class OfControllerMutationQuotaTest(_OfTest):
    test = "kafka.server.ControllerMutationQuotaTest"


class RefusesUnauthorized(Authorizer):
    """Of `RequestQuotaTest`: all but one principal may do anything."""

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        *,
        log_if_allowed: bool = True,
        log_if_denied: bool = True,
        count: int = 1,
    ) -> bool:
        return context.principal.name != "Unauthorized"


class RefusesUnauthorizedScram(RefusesUnauthorized):
    """Of the tests of SCRAM credentials: this principal may do all that a broker asks for, and not what needs these rights."""

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        **options: bool | int,
    ) -> bool:
        cluster_operations = (ACLOperation.ALTER, ACLOperation.DESCRIBE)
        is_asked_for = resource_type is ResourceType.CLUSTER and operation in cluster_operations
        return not is_asked_for or super().authorize(context, operation, resource_type, name)
