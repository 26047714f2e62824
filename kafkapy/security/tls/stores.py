"""Loads the key store and the trust store of `ssl.keystore.*` and `ssl.truststore.*` (Kafka's
`DefaultSslEngineFactory`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafkapy.security.tls.config_values import TlsConfigs, secret_of, text_of
from kafkapy.security.tls.jks import JCEKS_MAGIC, JKS_MAGIC, jks_store
from kafkapy.security.tls.key_store import MAX_STORE_BYTES, KeyStore, StoreError
from kafkapy.security.tls.pem import pem_key_store, pem_trust_store
from kafkapy.security.tls.pkcs12 import pkcs12_store

LOCATIONS: Final = ("ssl.keystore.location", "ssl.truststore.location")
_JAVA_TYPES = ("JKS", "PKCS12")

ReadFile = Callable[[str], bytes]


def read_store_file(path: str) -> bytes:
    """Return the content of a file of at most `MAX_STORE_BYTES`. Raises OSError, StoreError."""
    with Path(path).open("rb") as file:
        content = file.read(MAX_STORE_BYTES + 1)
    if len(content) > MAX_STORE_BYTES:
        raise StoreError(f"{path} is larger than {MAX_STORE_BYTES >> 20} MB, so it is no store")
    return content


def load_key_store(configs: TlsConfigs, read_file: ReadFile = read_store_file) -> KeyStore | None:
    """Load the configured key store; None if there is none.

    Types are JKS (the default), PKCS12 and PEM. As in Java since version 9, a file of type JKS may be PKCS12 and vice
    versa. Keys are decrypted with `ssl.key.password`, or else with the store's password.

    Raises:
        StoreError: The configs are contradictory, or the store is unusable.
        MissingExtra: A PKCS12 store, and `cryptography` is not installed.

    Example:
        >>> load_key_store({}) is None
        True
    """
    kind = _type_of(configs, "keystore")
    location = text_of(configs, "ssl.keystore.location")
    password = secret_of(configs, "ssl.keystore.password")
    key = text_of(configs, "ssl.keystore.key")
    chain = text_of(configs, "ssl.keystore.certificate.chain")
    key_password = secret_of(configs, "ssl.key.password")
    _check_key_configs(kind, location, password, key, chain)
    if key is not None and chain is not None:
        return pem_key_store(key, chain, key_password, "ssl.keystore.key and ssl.keystore.certificate.chain")
    if location is None:
        return None
    origin = _origin(location, "keystore")
    content = _content(location, kind, read_file)
    if kind == "PEM":
        text = _text(content)
        return pem_key_store(text, text, key_password, origin)
    assert password is not None
    store = _java_store(content, kind, password, password if key_password is None else key_password, origin)
    if not store.keys:
        raise StoreError(
            f"{origin} has no private key; it may be the trust store: see keytool -list -keystore {location}"
        )
    return store


def load_trust_store(configs: TlsConfigs, read_file: ReadFile = read_store_file) -> KeyStore | None:
    """Load the configured trust store; None if there is none, which means the certificates that the system trusts.

    Raises:
        StoreError: The configs are contradictory, the store is unusable, or contains nothing trusted.
        MissingExtra: A PKCS12 store, and `cryptography` is not installed.
    """
    kind = _type_of(configs, "truststore")
    location = text_of(configs, "ssl.truststore.location")
    password = secret_of(configs, "ssl.truststore.password")
    certificates = text_of(configs, "ssl.truststore.certificates")
    _check_trust_configs(kind, location, password, certificates)
    if certificates is not None:
        return pem_trust_store(certificates, "ssl.truststore.certificates")
    if location is None:
        return None
    origin = _origin(location, "truststore")
    content = _content(location, kind, read_file)
    if kind == "PEM":
        return pem_trust_store(_text(content), origin)
    store = _java_store(content, kind, password, None, origin)
    if not store.trust_anchors():
        advice = "" if password is not None else "; set ssl.truststore.password if it is encrypted"
        raise StoreError(f"{origin} has no trusted certificate: import one with keytool -importcert{advice}")
    return store


def store_files(configs: TlsConfigs) -> list[str]:
    """Return the files of the two stores."""
    return [location for location in (text_of(configs, name) for name in LOCATIONS) if location is not None]


def _check_key_configs(
    kind: str, location: str | None, password: str | None, key: str | None, chain: str | None
) -> None:
    """Raise Apache's errors, with its messages."""
    if key is not None:
        if kind != "PEM":
            raise StoreError(f"SSL private key can be specified only for PEM, but key store type is {kind}.")
        if chain is None:
            raise StoreError("SSL private key is specified, but certificate chain is not specified.")
        if location is not None:
            raise StoreError("Both SSL key store location and separate private key are specified.")
    elif chain is not None:
        raise StoreError("SSL certificate chain is specified, but private key is not specified")
    if kind == "PEM" and (key or location) and password is not None:
        raise StoreError(
            "SSL key store password cannot be specified with PEM format, only key password may be specified"
            + ("." if key else "")
        )
    if key is None and location is None and password is not None:
        raise StoreError("SSL key store is not specified, but key store password is specified.")
    if kind != "PEM" and location is not None and password is None:
        raise StoreError("SSL key store is specified, but key store password is not specified.")


def _check_trust_configs(kind: str, location: str | None, password: str | None, certificates: str | None) -> None:
    """Raise Apache's errors, with its messages."""
    if certificates is not None:
        if kind != "PEM":
            raise StoreError(f"SSL trust store certs can be specified only for PEM, but trust store type is {kind}.")
        if location is not None:
            raise StoreError("Both SSL trust store location and separate trust certificates are specified.")
    if kind == "PEM" and (certificates or location) and password is not None:
        raise StoreError("SSL trust store password cannot be specified for PEM format.")
    if certificates is None and location is None and password is not None:
        raise StoreError("SSL trust store is not specified, but trust store password is specified.")


def _type_of(configs: TlsConfigs, store: str) -> str:
    name = f"ssl.{store}.type"
    kind = (text_of(configs, name, "JKS") or "JKS").strip()
    if kind.upper() not in (*_JAVA_TYPES, "PEM"):
        raise StoreError(
            f"Invalid value {kind} for configuration {name}: JKS, PKCS12 and PEM are the types that are known; "
            "convert the store with: keytool -importkeystore -deststoretype PKCS12"
        )
    return kind.upper()


def _origin(location: str, store: str) -> str:
    return f"{location} (ssl.{store}.location)"


def _content(location: str, kind: str, read_file: ReadFile) -> bytes:
    try:
        return read_file(location)
    except OSError as error:
        raise StoreError(f"Failed to load SSL keystore {location} of type {kind}: {error.strerror or error}") from None


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _java_store(content: bytes, kind: str, password: str | None, key_password: str | None, origin: str) -> KeyStore:
    if content[:4] == JKS_MAGIC:
        return jks_store(content, password, key_password, origin)
    if content[:4] == JCEKS_MAGIC:
        raise StoreError(
            f"{origin} is a JCEKS store, which is not known; convert it with: keytool -importkeystore -deststoretype PKCS12"
        )
    if content[:1] == b"\x30":
        return pkcs12_store(content, password, key_password, origin, trust_all=key_password is None)
    if b"-----BEGIN " in content[:65536]:
        store = "keystore" if key_password is not None else "truststore"
        raise StoreError(f"{origin} is PEM, not {kind}: set ssl.{store}.type=PEM and no ssl.{store}.password")
    raise StoreError(f"{origin} is no store of type {kind}; see keytool -list -keystore")
