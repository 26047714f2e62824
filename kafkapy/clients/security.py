"""A client's security protocol, and its TLS and SASL settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkapy.clients.option_table import check_choice
from kafkapy.clients.sasl import Credentials, Mechanism, make_mechanism
from kafkapy.errors import KafkaConfigurationError

if TYPE_CHECKING:
    import ssl


class SecurityOptions(Credentials, Protocol):
    """The security options of a client; see `ClientConfig`."""

    security_protocol: str
    ssl_context: ssl.SSLContext | None
    ssl_check_hostname: bool
    ssl_cafile: str | None
    ssl_certfile: str | None
    ssl_keyfile: str | None
    ssl_password: str | None
    ssl_crlfile: str | None
    ssl_ciphers: str | None
    sasl_mechanism: str | None


class Security(NamedTuple):
    """The settings in force. `tls` None: no TLS. `sasl_mechanism` None: no SASL.

    It has no reference to the options, which refer to it: that would be a reference cycle.
    """

    tls: ssl.SSLContext | None
    sasl_mechanism: str | None

    @classmethod
    def of(cls, config: SecurityOptions) -> Security:
        """Raises KafkaConfigurationError."""
        protocol = config.security_protocol
        check_choice("security_protocol", protocol)
        tls = _tls_context(config) if protocol.endswith("SSL") else None
        mechanism = None
        if protocol.startswith("SASL"):
            mechanism = config.sasl_mechanism
            check_choice("sasl_mechanism", mechanism)
            assert mechanism is not None
            make_mechanism(mechanism, config)  # raises early if an option is missing
        return cls(tls, mechanism)

    def authentication(self, credentials: Credentials, host: str = "") -> Mechanism:
        """Begin one authentication with these credentials at a broker."""
        assert self.sasl_mechanism is not None
        return make_mechanism(self.sasl_mechanism, credentials, host)


def _tls_context(config: SecurityOptions) -> ssl.SSLContext:
    if config.ssl_context is not None:
        return config.ssl_context
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = config.ssl_check_hostname
    if config.ssl_cafile:
        with _naming("ssl_cafile (ssl.truststore.location)", config.ssl_cafile):
            context.load_verify_locations(config.ssl_cafile)
    else:
        context.load_default_certs()
    if config.ssl_certfile:
        files = config.ssl_certfile if config.ssl_keyfile is None else f"{config.ssl_certfile}, {config.ssl_keyfile}"
        with _naming("ssl_certfile, ssl_keyfile and ssl_password (ssl.keystore.location, ssl.key.password)", files):
            context.load_cert_chain(config.ssl_certfile, config.ssl_keyfile, config.ssl_password)
    if config.ssl_crlfile:
        with _naming("ssl_crlfile", config.ssl_crlfile):
            context.load_verify_locations(config.ssl_crlfile)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF
    if config.ssl_ciphers:
        with _naming("ssl_ciphers", config.ssl_ciphers):
            context.set_ciphers(config.ssl_ciphers)
    return context


@contextmanager
def _naming(options: str, value: str) -> Iterator[None]:
    """Add option and file name to the system's errors, which have neither."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise KafkaConfigurationError(f"{options} cannot be used: {value}: {reason}") from error
