"""`ssl.SSLContext`s of Kafka's `ssl.*` configs, for servers and for clients."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from kafkapy.security.tls.config_values import TlsConfigs
from kafkapy.security.tls.dh_parameters import use_dh_parameters
from kafkapy.security.tls.key_store import KeyEntry, KeyStore, StoreError
from kafkapy.security.tls.pem import to_pem
from kafkapy.security.tls.secret_file import secret_file
from kafkapy.security.tls.stores import load_key_store, load_trust_store
from kafkapy.security.tls.tls_1_3_choice import choose_suites
from kafkapy.security.tls.tls_settings import TlsSettings


class ClientContext(ssl.SSLContext):
    """A client's context that can be pickled, for Spark's executors: unpickling creates it again from its configs.

    The pickle contains the passwords of the configs, as a pickle of the client's options does.
    """

    configs: Mapping[str, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return client_context, (self.configs,)


def server_context(configs: TlsConfigs) -> ssl.SSLContext:
    """The context of a listener.

    Parameters:
        configs: Kafka's names without the listener's prefix; missing ones have Kafka's default.

    Raises:
        StoreError: A store cannot be used, or there is no key store.
        ConfigException: Another config cannot be used.
        MissingExtra: A store needs `cryptography`, which is not installed.
    """
    return make_server_context(configs, load_key_store(configs), load_trust_store(configs))


def client_context(configs: TlsConfigs) -> ssl.SSLContext:
    """The context of a client, or of a broker that connects to another one. Parameters and errors are those of
    `server_context`.

    The host name is checked unless `ssl.endpoint.identification.algorithm` is empty. The certificate is always
    checked, against the trust store or, without one, against the system's certificate authorities.
    """
    return make_client_context(configs, load_key_store(configs), load_trust_store(configs))


def make_server_context(configs: TlsConfigs, keys: KeyStore | None, trusted: KeyStore | None) -> ssl.SSLContext:
    """`server_context` from loaded stores."""
    settings = TlsSettings.of(configs)
    if keys is None:
        raise StoreError("A listener with TLS needs a key store: set ssl.keystore.location, or ssl.keystore.key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    context.num_tickets = 1  # OpenSSL's default is two; a Kafka client resumes one session
    context.verify_mode = settings.verify_clients
    _set_up(context, settings, keys)
    if any(name.startswith("DHE-") for name in (settings.cipher_string or "").split(":")):
        use_dh_parameters(context)
    if settings.verify_clients != ssl.CERT_NONE:
        _trust(context, trusted, ssl.Purpose.CLIENT_AUTH)
    return context


def make_client_context(configs: TlsConfigs, keys: KeyStore | None, trusted: KeyStore | None) -> ssl.SSLContext:
    """`client_context` from loaded stores."""
    settings = TlsSettings.of(configs)
    context = ClientContext(ssl.PROTOCOL_TLS_CLIENT)
    context.configs = dict(configs)
    context.check_hostname = settings.check_hostname
    _set_up(context, settings, keys)
    _trust(context, trusted, ssl.Purpose.SERVER_AUTH)
    return context


def _set_up(context: ssl.SSLContext, settings: TlsSettings, keys: KeyStore | None) -> None:
    context.minimum_version = settings.minimum
    context.maximum_version = settings.maximum
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    if settings.cipher_string is not None:
        context.set_ciphers(settings.cipher_string)
    if settings.tls_1_3_suites:
        choose_suites(context, settings.tls_1_3_suites)
    if keys is not None:
        for entry in keys.chosen_keys():
            _load_key(context, entry, keys.origin)


def _trust(context: ssl.SSLContext, trusted: KeyStore | None, purpose: ssl.Purpose) -> None:
    if trusted is None:
        context.load_default_certs(purpose)
        return
    # Java trusts whatever certificate is in the store, also one that is not its own issuer.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_TRUSTED_FIRST
    for number, certificate in enumerate(trusted.trust_anchors(), 1):
        try:
            context.load_verify_locations(cadata=certificate)
        except ssl.SSLError as error:
            raise StoreError(
                f"{trusted.origin}: trusted certificate {number} cannot be read ({error.reason}); import it anew"
            ) from None


def _load_key(context: ssl.SSLContext, entry: KeyEntry, origin: str) -> None:
    content = entry.key.pem + b"".join(to_pem("CERTIFICATE", each) for each in entry.chain)
    try:
        with secret_file(content) as path:
            # Always pass a password: without one OpenSSL would ask for it at the terminal.
            context.load_cert_chain(path, password=entry.key.password or "")
    except ssl.SSLError as error:
        raise StoreError(_key_failure(error, entry, origin)) from None
    except OSError as error:
        raise StoreError(f"{origin}: the key {entry.alias} cannot be given to OpenSSL: {error.strerror}") from None


def _key_failure(error: ssl.SSLError, entry: KeyEntry, origin: str) -> str:
    reason = error.reason or "it cannot be read"
    what = f"{origin}: the key {entry.alias}"
    if "MISMATCH" in reason or reason == "NO_CERTIFICATE_ASSIGNED":  # the latter: another key algorithm
        return f"{what} does not belong to the first certificate; put the key's own certificate first"
    if "TOO_SMALL" in reason or "TOO_WEAK" in reason:
        return (
            f"{what} or its certificate is too weak for {ssl.OPENSSL_VERSION} ({reason}); make one of 2048 bits or more"
        )
    if entry.key.password is not None:
        return f"{what} cannot be decrypted; check ssl.key.password"
    return f"{what} or its certificate cannot be read by {ssl.OPENSSL_VERSION} ({reason}); make it anew"
