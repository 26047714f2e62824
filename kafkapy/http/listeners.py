"""Where a server listens (`listeners=http://host:port,https://…`), and its certificate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kafkapy.common.config_def import ConfigException

_PRIVATE_KEY = re.compile(rb"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)


class HttpListener(NamedTuple):
    """`host` empty: every address."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host or '0.0.0.0'}:{self.port}"


def parse_listeners(text: str) -> list[HttpListener]:
    """Raises ConfigException. Confluent's names before an address (`internal://`) are not known here."""
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
    """Twisted's options for a TLS server, of Kafka's `ssl.*`: PEM files, or a PKCS#12 store. Raises ConfigException."""
    location = properties.get("ssl.keystore.location")
    if not location:
        raise ConfigException("ssl.keystore.location is missing: a PEM file with key and certificate (or PKCS#12)")
    kind = properties.get("ssl.keystore.type", "JKS").upper()
    password = properties.get("ssl.key.password") or properties.get("ssl.keystore.password") or ""
    try:
        content = Path(location).read_bytes()
        if kind == "PEM":
            key, chain = _from_pem(content, password)
        elif kind == "PKCS12":
            key, chain = _from_pkcs12(content, password)
        else:
            raise ConfigException.invalid("ssl.keystore.type", kind, "PEM or PKCS12 is expected; convert the store")
        return _options(key, chain, properties)
    except OSError as error:
        raise ConfigException(f"{error.filename}: {error.strerror}") from None
    except ConfigException:
        raise
    except Exception as error:  # the library has several, and none says which file
        raise ConfigException(f"{location} is no {kind} file with a key and a certificate: {error}") from None


def _from_pem(content: bytes, password: str) -> tuple[Any, Sequence[Any]]:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificates

    block = _PRIVATE_KEY.search(content)
    if block is None:
        raise ValueError("it has no private key")
    key = load_pem_private_key(block[0], password.encode() or None)
    return key, load_pem_x509_certificates(content)


def _from_pkcs12(content: bytes, password: str) -> tuple[Any, Sequence[Any]]:
    from cryptography.hazmat.primitives.serialization.pkcs12 import load_key_and_certificates

    key, certificate, others = load_key_and_certificates(content, password.encode())
    if key is None or certificate is None:
        raise ValueError("it has no key, or no certificate")
    return key, [certificate, *others]


def _options(key: Any, chain: Sequence[Any], properties: Mapping[str, str]) -> Any:
    from OpenSSL import crypto
    from twisted.internet import ssl

    certificates = [crypto.X509.from_cryptography(each) for each in chain]
    roots = None
    client_auth = properties.get("ssl.client.authentication", properties.get("ssl.client.auth", "NONE")).upper()
    if client_auth in ("REQUIRED", "REQUESTED", "TRUE"):
        truststore = properties.get("ssl.truststore.location")
        if not truststore:
            raise ConfigException(
                "ssl.truststore.location is missing: clients' certificates are to be checked against it"
            )
        from cryptography.x509 import load_pem_x509_certificates

        trusted = load_pem_x509_certificates(Path(truststore).read_bytes())
        roots = [ssl.Certificate(crypto.X509.from_cryptography(each)) for each in trusted]
    options = ssl.CertificateOptions(
        privateKey=crypto.PKey.from_cryptography_key(key),
        certificate=certificates[0],
        extraCertChain=certificates[1:],
        trustRoot=None if roots is None else ssl.trustRootFromCertificates(roots),
    )
    if client_auth == "REQUESTED":
        options.requireCertificate = False
    return options
