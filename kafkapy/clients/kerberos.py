"""The client's side of GSSAPI (RFC 4752; Kafka's `KerberosLogin` and Java's `GssKrb5Client`). Needs the extra `kerberos`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kafkapy.common.extras import MissingExtra, need
from kafkapy.errors import KafkaConfigurationError, SaslAuthenticationFailedError

DEFAULT_SERVICE_NAME: Final = "kafka"
_NO_LAYER: Final = b"\x01\x00\x00\x00"
"""No security layer, and so no buffer size: encryption is TLS's task."""


class KerberosLogin(NamedTuple):
    """Where a client's credentials come from."""

    service_name: str = DEFAULT_SERVICE_NAME
    """The first part of the brokers' principal: `kafka` of `kafka/broker.example.com`."""
    keytab: str | None = None
    """A file with the client's key, used to get tickets and to renew them. None: the tickets of the ticket cache are
    used."""
    principal: str | None = None
    """The client's principal; None: the first of the keytab or the cache."""


class Gssapi:
    """One authentication. It is mutual: the broker must have the key of `service_name/host`."""

    def __init__(self, login: KerberosLogin, host: str) -> None:
        """Raises KafkaConfigurationError without the extra."""
        try:
            need("kerberos", "gssapi", by="sasl_mechanism GSSAPI")
        except MissingExtra as missing:
            raise KafkaConfigurationError(str(missing)) from None
        self._login = login
        self._host = host
        self._context: Any = None

    def first(self) -> bytes:
        """Return the first message. May block: without a ticket it requests one from the key distribution center."""
        import gssapi

        try:
            service = gssapi.Name(f"{self._login.service_name}@{self._host}", gssapi.NameType.hostbased_service)
            self._context = gssapi.SecurityContext(
                name=service,
                creds=_credentials(self._login),
                usage="initiate",
                mech=gssapi.MechType.kerberos,
                flags=gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.integrity,
            )
            return self._context.step() or b""
        except gssapi.exceptions.GSSError as problem:
            raise SaslAuthenticationFailedError(
                f"No Kerberos ticket for {self._service}: {_sentence(problem)}"
            ) from None

    def next(self, challenge: bytes) -> bytes | None:
        import gssapi

        context = self._context
        try:
            if not context.complete:
                return context.step(challenge) or b""
            if not challenge:
                return None
            offer = context.unwrap(challenge).message
            if len(offer) != 4 or not offer[0] & 1:
                raise SaslAuthenticationFailedError(
                    "The broker wants a security layer of GSSAPI, which Kafka has none of"
                )
            answer: bytes = context.wrap(_NO_LAYER + str(context.initiator_name).encode(), False).message
            return answer
        except gssapi.exceptions.GSSError as problem:
            raise SaslAuthenticationFailedError(
                f"The broker could not prove to be {self._service}: {_sentence(problem)}"
            ) from None

    @property
    def _service(self) -> str:
        return f"{self._login.service_name}@{self._host}"


def _credentials(login: KerberosLogin) -> Any:
    """Return the keytab's credentials; None: the cache's are used. Raises gssapi's errors."""
    import gssapi

    name = None
    if login.principal is not None:
        name = gssapi.Name(login.principal, gssapi.NameType.kerberos_principal)
    if login.keytab is None:
        return None if name is None else gssapi.Credentials(name=name, usage="initiate")
    # The library puts tickets into the cache and renews them before they expire: this replaces Kafka's relogin thread.
    store = {"client_keytab": login.keytab, "ccache": f"MEMORY:kafkapy-{login.keytab}-{login.principal or ''}"}
    return gssapi.Credentials(name=name, usage="initiate", store=store)


def _sentence(problem: Exception) -> str:
    return " ".join(str(problem).split())
