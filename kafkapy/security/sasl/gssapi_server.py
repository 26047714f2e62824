"""The server side of GSSAPI (RFC 4752; Java's `GssKrb5Server`). Needs the extra `kerberos`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.security.principal_builder import GSSAPI
from kafkapy.security.sasl.mechanism import SaslExchangeError

MODULES: Final = ("com.sun.security.auth.module.Krb5LoginModule", "com.ibm.security.auth.module.Krb5LoginModule")
_NO_LAYER: Final = b"\x01\x00\x00\x00"
_HEADER: Final = 4


class KerberosService:
    """The broker's own key, for which clients' tickets are issued."""

    def __init__(self, keytab: str, principal: str | None) -> None:
        """
        Args:
            keytab: The file with the key; it is read anew for each authentication, so keys may change.
            principal: Whose key is taken: `kafka/broker.example.com@REALM`; None: any of the keytab.

        Raises:
            ConfigException: The extra is not installed, or the keytab cannot be read or lacks the key.
        """
        try:
            import gssapi
        except ImportError as problem:
            raise ConfigException(
                f"GSSAPI needs the package gssapi, which cannot be imported: {problem}",
                "Install the system's Kerberos library and the extra: pip install 'kafkapy[kerberos]'",
            ) from None
        self._keytab = keytab
        self._principal = principal
        try:
            with open(keytab, "rb"):
                pass
            self.credentials()
        except OSError as problem:
            raise ConfigException(f"The keytab {keytab} cannot be read: {problem.strerror}") from None
        except gssapi.exceptions.GSSError as problem:
            raise ConfigException(
                f"The keytab {keytab} has no key of {principal or 'any principal'}: {problem}"
            ) from None

    def credentials(self) -> Any:
        """Raise gssapi's errors."""
        import gssapi

        name = None if self._principal is None else gssapi.Name(self._principal, gssapi.NameType.kerberos_principal)
        return gssapi.Credentials(name=name, usage="accept", store={"keytab": self._keytab})

    @classmethod
    def of(cls, options: Mapping[str, str]) -> KerberosService:
        """Create it from the options of a `Krb5LoginModule`: `useKeyTab`, `keyTab`, `principal`. `storeKey` and others
        are for Java.

        Raises:
            ConfigException: There is no keytab, or it is unusable.
        """
        if options.get("useKeyTab", "").lower() != "true" or not options.get("keyTab"):
            raise ConfigException("GSSAPI of a listener needs a Krb5LoginModule with useKeyTab=true and keyTab")
        return cls(options["keyTab"].removeprefix("file:"), options.get("principal"))


class GssapiServer:
    """One authentication by a Kerberos ticket.

    Invariant: `_name` is empty until the client has declined a security layer, in a message protected by the ticket's
    key.
    """

    name = GSSAPI
    session_lifetime_ms: int | None = None
    is_delegation_token = False

    def __init__(self, service: KerberosService) -> None:
        self._service = service
        self._context: Any = None
        self._has_offered = False
        self._name = ""

    @property
    def complete(self) -> bool:
        return bool(self._name)

    @property
    def authorization_id(self) -> str:
        """The client's principal, which `sasl.kerberos.principal.to.local.rules` map to a short name."""
        assert self._name
        return self._name

    def evaluate(self, response: bytes) -> bytes:
        """See `SaslMechanism.evaluate`."""
        import gssapi

        if self.complete:
            raise SaslExchangeError("Authentication exchange has completed")
        try:
            if self._has_offered:
                return self._accept(response)
            if self._context is None:
                self._context = gssapi.SecurityContext(creds=self._service.credentials(), usage="accept")
            if not self._context.complete:
                token: bytes | None = self._context.step(response)
                if token:
                    return token
            if not self._context.complete:
                raise SaslExchangeError("GSSAPI: the ticket is incomplete")
            self._has_offered = True
            offer: bytes = self._context.wrap(_NO_LAYER, False).message
            return offer
        except gssapi.exceptions.GSSError as problem:
            raise SaslExchangeError(f"GSSAPI: {' '.join(str(problem).split())}") from None

    def _accept(self, response: bytes) -> bytes:
        answer = self._context.unwrap(response).message
        if len(answer) < _HEADER or answer[0] != 1:
            raise SaslExchangeError("GSSAPI: the client wants a security layer")
        # As in Kafka, another authorization id is ignored: the ticket identifies the client.
        self._name = str(self._context.initiator_name)
        return b""
