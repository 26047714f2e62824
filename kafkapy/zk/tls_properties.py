"""Converts ZooKeeper's names of TLS settings to Kafka's `ssl.*` (ZooKeeper's `X509Util`).

Both ends have them: the client as Java's system properties (`zookeeper.ssl.keyStore.location`), a server in its
properties file (`ssl.keyStore.location`). Here the prefix is removed: `keyStore.location`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Final

from kafkapy.common.config_def import ConfigException, Password
from kafkapy.security.tls.config_values import TlsConfigs

DEFAULT_PROTOCOL: Final = "TLSv1.2"
_TYPES: Final = {".jks": "JKS", ".p12": "PKCS12", ".pem": "PEM"}
_CLIENT_AUTH: Final = {"none": "none", "want": "requested", "need": "required"}
NAMES: Final = frozenset(
    {
        *(f"{store}.{part}" for store in ("keyStore", "trustStore") for part in ("location", "password", "type")),
        *("keyStore.passwordPath", "trustStore.passwordPath", "protocol", "enabledProtocols", "ciphersuites"),
        *("hostnameVerification", "crl", "ocsp", "clientAuth"),
    }
)
"""Supported names, without the prefix."""


def kafka_tls_configs(properties: Mapping[str, str], prefix: str = "zookeeper.ssl.") -> TlsConfigs:
    """Return the equivalent `ssl.*` configs of Kafka.

    Args:
        properties: ZooKeeper's settings without their prefix.
        prefix: Put before names in error messages.

    Raises:
        ConfigException: A value is unusable, or requires an unsupported feature (revocation lists, OCSP).

    Example:
        >>> kafka_tls_configs({"trustStore.location": "ca.pem"})["ssl.truststore.type"]
        'PEM'
    """
    for name, what in (("crl", "certificate revocation lists are"), ("ocsp", "the revocation of certificates is")):
        if _flag(properties.get(name)):
            raise ConfigException(
                f"{prefix}{name}=true cannot be served: {what} not checked here. Remove it, or keep to Apache's broker"
            )
    protocol = properties.get("protocol", "").strip() or DEFAULT_PROTOCOL
    configs: dict[str, object] = {
        # ZooKeeper's clients and servers accept new stores with any name.
        "ssl.allow.dn.changes": True,
        "ssl.allow.san.changes": True,
        "ssl.protocol": protocol,
        "ssl.enabled.protocols": properties.get("enabledProtocols", "").strip() or _protocols(protocol),
        "ssl.endpoint.identification.algorithm": "https"
        if _flag(properties.get("hostnameVerification", "true"))
        else "",
        "ssl.client.auth": _client_auth(properties.get("clientAuth", ""), prefix),
    }
    if suites := properties.get("ciphersuites", "").strip():
        configs["ssl.cipher.suites"] = suites
    for store in ("keyStore", "trustStore"):
        configs.update(_store(properties, store, prefix))
    return configs


def _protocols(protocol: str) -> str:
    return "TLSv1.2,TLSv1.3" if protocol in ("TLS", "SSL") else protocol


def _store(properties: Mapping[str, str], store: str, prefix: str) -> dict[str, object]:
    location = properties.get(f"{store}.location", "").strip()
    if not location:
        return {}
    kind = properties.get(f"{store}.type", "").strip().upper() or _TYPES.get(PurePath(location).suffix.lower(), "")
    if not kind:
        raise ConfigException(
            f"{prefix}{store}.type is not set, and the name of {location} has no known suffix (.jks, .p12, .pem)"
        )
    if kind not in _TYPES.values():
        raise ConfigException.invalid(f"{prefix}{store}.type", kind, "JKS, PKCS12 and PEM are known")
    name = f"ssl.{store.lower()}"
    configs: dict[str, object] = {f"{name}.location": location, f"{name}.type": kind}
    password = _password(properties, store, prefix)
    if kind != "PEM":
        configs[f"{name}.password"] = Password(password or "") if store == "keyStore" or password else None
    elif password and store == "keyStore":  # ZooKeeper decrypts the key with it
        configs["ssl.key.password"] = Password(password)
    return configs


def _password(properties: Mapping[str, str], store: str, prefix: str) -> str | None:
    """Return the password, or the content of the password file, without the end of its line."""
    path = properties.get(f"{store}.passwordPath", "").strip()
    if not path:
        return properties.get(f"{store}.password")
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(65536).removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        raise ConfigException(f"{prefix}{store}.passwordPath: {path} cannot be read: {reason}") from None


def _client_auth(value: str, prefix: str) -> str:
    """A server requires a certificate by default."""
    word = value.strip().lower() or "need"
    if word not in _CLIENT_AUTH:
        raise ConfigException.invalid(f"{prefix}clientAuth", value, "one of none, want, need is expected")
    return _CLIENT_AUTH[word]


def _flag(value: str | None) -> bool:
    """Parse as Java's Boolean.parseBoolean."""
    return (value or "").strip().lower() == "true"
