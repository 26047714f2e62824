"""The listeners of a server (`listeners=http://host:port,https://…`), and its certificate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from kafkapy.common.config_def import ConfigException

if TYPE_CHECKING:
    from kafkapy.security.tls.key_store import KeyEntry, KeyStore


class HttpListener(NamedTuple):
    """One listener. `host` empty: all addresses."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host or '0.0.0.0'}:{self.port}"


def parse_listeners(text: str) -> list[HttpListener]:
    """Parse listeners. Raises ConfigException, also for Confluent's listener names (`internal://`), which are not
    supported."""
    found = []
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            url = urlsplit(part)
            port = url.port
        except ValueError:
            port = None
        if port is None or url.scheme not in ("http", "https") or url.path not in ("", "/"):
            raise ConfigException.invalid("listeners", part, "http://host:port or https://host:port is expected")
        host = url.hostname or ""
        found.append(HttpListener(url.scheme, "" if host in ("0.0.0.0", "*") else host, port))
    if not found:
        raise ConfigException.invalid("listeners", text, "there is none; http://0.0.0.0:8081 is one")
    return found


def tls_options(properties: Mapping[str, str]) -> Any:
    """Return Twisted's options for a TLS server, from Kafka's `ssl.*`: stores of PEM, PKCS#12 or JKS. Raises
    ConfigException."""
    location = properties.get("ssl.keystore.location")
    if not location:
        raise ConfigException("ssl.keystore.location is missing: a PEM file with key and certificate (or PKCS#12)")
    from kafkapy.security.tls.key_store import StoreError
    from kafkapy.security.tls.stores import load_key_store, load_trust_store

    # As in Confluent's registry, the key's default password is the key store's.
    configs: dict[str, str] = {**properties}
    if configs.get("ssl.keystore.type", "JKS").upper() == "PEM" and "ssl.keystore.password" in configs:
        configs.setdefault("ssl.key.password", configs.pop("ssl.keystore.password"))
    try:
        keys = load_key_store(configs)
        entries = keys.chosen_keys() if keys is not None else []
        if not entries:
            raise StoreError(f"{location} has no key and certificate")
        return _options(entries[0], load_trust_store(configs), properties)
    except ConfigException:
        raise
    except Exception as error:  # OpenSSL raises several kinds, without the file's name
        raise ConfigException(f"{location} cannot be used: {type(error).__name__}: {error}") from None


def _options(entry: KeyEntry, trusted: KeyStore | None, properties: Mapping[str, str]) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from OpenSSL import crypto
    from twisted.internet import ssl

    password = entry.key.password
    key: Any = load_pem_private_key(entry.key.pem, None if password is None else password.encode())
    certificates = [crypto.load_certificate(crypto.FILETYPE_ASN1, each) for each in entry.chain]
    roots = None
    client_auth = properties.get("ssl.client.authentication", properties.get("ssl.client.auth", "NONE")).upper()
    if client_auth in ("REQUIRED", "REQUESTED", "TRUE"):
        if trusted is None:
            raise ConfigException(
                "ssl.truststore.location is missing: clients' certificates are to be checked against it"
            )
        anchors = [crypto.load_certificate(crypto.FILETYPE_ASN1, each) for each in trusted.trust_anchors()]
        roots = [ssl.Certificate(each) for each in anchors]
    options = ssl.CertificateOptions(
        privateKey=crypto.PKey.from_cryptography_key(key),
        certificate=certificates[0],
        extraCertChain=certificates[1:],
        trustRoot=None if roots is None else ssl.trustRootFromCertificates(roots),
        acceptableProtocols=[b"http/1.1"],  # without it, handshakes of clients with ALPN fail
    )
    if client_auth == "REQUESTED":
        options.requireCertificate = False
    return options
