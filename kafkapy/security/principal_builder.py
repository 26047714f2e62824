"""Maps an authenticated connection to a principal (Kafka's `KafkaPrincipalBuilder`, `AuthenticationContext`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kafkapy.security.kerberos import KerberosShortNamer, default_realm, parse_kerberos_name
from kafkapy.security.principal import ANONYMOUS, USER_TYPE, KafkaPrincipal
from kafkapy.security.sasl.mechanism import SaslMechanism

GSSAPI: Final = "GSSAPI"
DEFAULT_PRINCIPAL_BUILDER: Final = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"


class AuthenticationContext(NamedTuple):
    """The properties of a connection from which its principal is built (Kafka's `SslAuthenticationContext` and its
    siblings).

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
    """The client's certificate (DER), verified; None: it has sent none."""
    mechanism: SaslMechanism | None = None
    """The completed SASL mechanism, with its `name`. That of OAUTHBEARER has `token`, with the claims."""

    @property
    def authorization_id(self) -> str | None:
        """The name authenticated by SASL: a user, a token's owner or subject, or a Kerberos principal."""
        return None if self.mechanism is None else self.mechanism.authorization_id

    @property
    def certificate_name(self) -> str | None:
        """The distinguished name of the client's certificate, as Java prints it. Raises ValueError if it cannot be
        read.
        """
        if self.peer_certificate is None:
            return None
        from kafkapy.security.tls.certificate_fields import subject_of

        return subject_of(self.peer_certificate).java_name


class PrincipalBuilder:
    """Base class of principal builders; `principal.builder.class` has the import path: `module.Class` or
    `module:Class`.

    One object is created for each listener. Methods are called on the reactor thread and must not block.

    Example:
        >>> class ByListener(PrincipalBuilder):
        ...     def build(self, context):
        ...         return KafkaPrincipal("User", f"{context.listener_name}-{context.authorization_id}")
    """

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Configure the builder; called once.

        Args:
            configs: The broker's configs by Kafka's names, with the listener's overrides.
        """

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """Return the principal of a connection: of each client that authenticates, and of clients of PLAINTEXT
        listeners.

        Args:
            context: The connection's properties.

        Raises:
            Exception: Any exception refuses the client. The log has its type and, of ValueError, its text.
        """
        raise NotImplementedError


class DefaultPrincipalBuilder(PrincipalBuilder):
    """Kafka's default mapping: `User:` and the name authenticated by SASL, for a Kerberos name its short name; for TLS
    the certificate's name mapped by `ssl.principal.mapping.rules`; else `User:ANONYMOUS`.

    Users' builders may be derived from it.
    """

    def __init__(self) -> None:
        self.configure({})

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Raise ConfigException for invalid rules."""
        from kafkapy.security.tls.principal_mapper import DEFAULT_RULES, SslPrincipalMapper

        rules = configs.get("ssl.principal.mapping.rules")
        self._mapper = SslPrincipalMapper(DEFAULT_RULES if rules is None else str(rules))
        kerberos_rules = configs.get("sasl.kerberos.principal.to.local.rules")
        self._short_namer = KerberosShortNamer(kerberos_rules or ["DEFAULT"], default_realm())

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """Raise ValueError or NoMatchingKerberosRuleError if no rule applies."""
        if context.mechanism is not None:
            name = context.mechanism.authorization_id
            if context.mechanism.name == GSSAPI:
                name = self._short_namer.short_name(parse_kerberos_name(name))
            return KafkaPrincipal(USER_TYPE, name)
        certificate_name = context.certificate_name
        return (
            ANONYMOUS if certificate_name is None else KafkaPrincipal(USER_TYPE, self._mapper.name_of(certificate_name))
        )
