"""From what SASL has proved to a principal (Kafka's `KafkaPrincipalBuilder`, `SaslAuthenticationContext`)."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from kafkapy.security.kerberos import KerberosShortNamer, parse_kerberos_name
from kafkapy.security.principal import USER_TYPE, KafkaPrincipal
from kafkapy.security.sasl.mechanism import SaslMechanism

GSSAPI: Final = "GSSAPI"


class SaslAuthenticationContext(NamedTuple):
    """What a principal builder may look at."""

    mechanism: SaslMechanism
    """Complete. That of OAUTHBEARER has the token and its extensions, too."""
    security_protocol: str
    client_host: str
    listener_name: str


class SaslPrincipalBuilder(Protocol):
    """Makes principals. A class of one's own may be named in `principal.builder.class`."""

    def build(self, context: SaslAuthenticationContext) -> KafkaPrincipal:
        """The principal. An exception refuses the client."""
        ...


class DefaultSaslPrincipalBuilder:
    """`User:` and the name that was authenticated; of a Kerberos name the short one.

    Args:
        short_namer: `sasl.kerberos.principal.to.local.rules`.
    """

    def __init__(self, short_namer: KerberosShortNamer | None = None) -> None:
        self._short_namer = short_namer or KerberosShortNamer()

    def build(self, context: SaslAuthenticationContext) -> KafkaPrincipal:
        """Raises NoMatchingKerberosRuleError or ValueError if a Kerberos name has no short one."""
        name = context.mechanism.authorization_id
        if context.mechanism.name == GSSAPI:
            name = self._short_namer.short_name(parse_kerberos_name(name))
        return KafkaPrincipal(USER_TYPE, name)
