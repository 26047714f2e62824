"""From what a connection has proved to a principal (Kafka's `KafkaPrincipalBuilder`, `AuthenticationContext`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kafkapy.security.kerberos import KerberosShortNamer, default_realm, parse_kerberos_name
from kafkapy.security.principal import ANONYMOUS, USER_TYPE, KafkaPrincipal
from kafkapy.security.sasl.mechanism import SaslMechanism

GSSAPI: Final = "GSSAPI"
DEFAULT_PRINCIPAL_BUILDER: Final = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


class AuthenticationContext(NamedTuple):
    """What is known of a connection when its principal is made (Kafka's `SslAuthenticationContext` and those beside it).

    Example:
        >>> AuthenticationContext("PLAINTEXT", "127.0.0.1", "INTERNAL").authorization_id is None
        True
    """

    security_protocol: str
    """PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""
    client_host: str
    """The client's address."""
    listener_name: str
    peer_certificate: bytes | None = None
    """The client's certificate (DER), which was verified; None: it has shown none."""
    mechanism: SaslMechanism | None = None
    """Of SASL, complete: its `name`, for one. That of OAUTHBEARER has `token`, with the claims."""

    @property
    def authorization_id(self) -> str | None:
        """The name that SASL has proved: of a user, a token's owner or subject, a Kerberos principal."""
        return None if self.mechanism is None else self.mechanism.authorization_id

    @property
    def certificate_name(self) -> str | None:
        """The distinguished name of the client's certificate, as Java prints it. Raises ValueError if it cannot be read."""
        if self.peer_certificate is None:
            return None
        from kafkapy.security.tls.certificate_fields import subject_of

        return subject_of(self.peer_certificate).java_name


class PrincipalBuilder:
    """Base of a class that `principal.builder.class` names by its import path: `module.Class` or `module:Class`.

    One object is made for each listener. Methods are called on the reactor thread and must not block.

    Example:
        >>> class ByListener(PrincipalBuilder):
        ...     def build(self, context):
        ...         return KafkaPrincipal("User", f"{context.listener_name}-{context.authorization_id}")
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Called once, with the broker's configs by Kafka's names, those of the listener in place of the broker's."""

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """The principal of a connection: of each client that authenticates, and of those of PLAINTEXT listeners.

        Raises:
            Exception: Any exception refuses the client. The log has its type and, of ValueError, its text.
        """
        raise NotImplementedError


class DefaultPrincipalBuilder(PrincipalBuilder):
    """As Kafka names principals: `User:` and the name that SASL has proved, of a Kerberos name the short one; that of the
    certificate as `ssl.principal.mapping.rules` map it; else `User:ANONYMOUS`.

    A class of one's own may be derived from it.
    """

    def __init__(self) -> None:
        self.configure({})

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Raises ConfigException for rules that are none."""
        from kafkapy.security.tls.principal_mapper import DEFAULT_RULES, SslPrincipalMapper

        rules = configs.get("ssl.principal.mapping.rules")
        self._mapper = SslPrincipalMapper(DEFAULT_RULES if rules is None else str(rules))
        kerberos_rules = configs.get("sasl.kerberos.principal.to.local.rules")
        self._short_namer = KerberosShortNamer(kerberos_rules or ["DEFAULT"], default_realm())

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """Raises ValueError or NoMatchingKerberosRuleError if no rule has a name."""
        if context.mechanism is not None:
            name = context.mechanism.authorization_id
            if context.mechanism.name == GSSAPI:
                name = self._short_namer.short_name(parse_kerberos_name(name))
            return KafkaPrincipal(USER_TYPE, name)
        certificate_name = context.certificate_name
        return (
            ANONYMOUS if certificate_name is None else KafkaPrincipal(USER_TYPE, self._mapper.name_of(certificate_name))
        )
