"""Protection of connections to ZooKeeper: TLS, and SASL with DIGEST-MD5.

Kafka configs (`zookeeper.ssl.*`) take precedence over Java's system properties (`zookeeper.ssl.keyStore.location`, of
`KAFKA_OPTS`), as in Kafka's `ZkConfigs` and `KafkaServer.zkClientConfigFromKafkaConfig`. The user comes from the JAAS
file in `java.security.auth.login.config` (Kafka's `JaasUtils`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kafkapy.common.config_def import ConfigException, Password
from kafkapy.security.jaas_file import JAAS_FILE, java_properties, load_jaas_file

if TYPE_CHECKING:
    import ssl

    from kafkapy.security.sasl.digest_md5 import DigestMd5Client
    from kafkapy.security.tls.config_values import TlsConfigs

log = logging.getLogger("kafkapy.zk.ZooKeeperClient")

CLIENT_ENABLE: Final = "zookeeper.ssl.client.enable"
CLIENT_SOCKET: Final = "zookeeper.clientCnxnSocket"
KEYSTORE_LOCATION: Final = "zookeeper.ssl.keystore.location"
_IDENTIFICATION: Final = "zookeeper.ssl.endpoint.identification.algorithm"
SYSTEM_PROPERTIES: Final = {
    CLIENT_ENABLE: "zookeeper.client.secure",
    CLIENT_SOCKET: "zookeeper.clientCnxnSocket",
    KEYSTORE_LOCATION: "zookeeper.ssl.keyStore.location",
    "zookeeper.ssl.keystore.password": "zookeeper.ssl.keyStore.password",
    "zookeeper.ssl.keystore.type": "zookeeper.ssl.keyStore.type",
    "zookeeper.ssl.truststore.location": "zookeeper.ssl.trustStore.location",
    "zookeeper.ssl.truststore.password": "zookeeper.ssl.trustStore.password",
    "zookeeper.ssl.truststore.type": "zookeeper.ssl.trustStore.type",
    "zookeeper.ssl.protocol": "zookeeper.ssl.protocol",
    "zookeeper.ssl.enabled.protocols": "zookeeper.ssl.enabledProtocols",
    "zookeeper.ssl.cipher.suites": "zookeeper.ssl.ciphersuites",
    _IDENTIFICATION: "zookeeper.ssl.hostnameVerification",
    "zookeeper.ssl.crl.enable": "zookeeper.ssl.crl",
    "zookeeper.ssl.ocsp.enable": "zookeeper.ssl.ocsp",
}
"""Kafka's config -> ZooKeeper's system property (Kafka's ZK_SSL_CONFIG_TO_SYSTEM_PROPERTY_MAP)."""

SASL_CLIENT: Final = "zookeeper.sasl.client"
SASL_SECTION: Final = "zookeeper.sasl.clientconfig"
_NETTY: Final = "ClientCnxnSocketNetty"
_TLS_PREFIX = "zookeeper.ssl."
_PASSWORD_MODULES: Final = (
    "org.apache.zookeeper.server.auth.DigestLoginModule",
    "org.apache.kafka.common.security.plain.PlainLoginModule",
    "org.apache.kafka.common.security.scram.ScramLoginModule",
)


class ZkClientSecurity:
    """The protection of connections to one ZooKeeper. Immutable; its repr shows no secret.

    Attributes:
        tls: Kafka's `ssl.*` configs; None: without TLS.
        is_authenticated: Whether the server authenticates the client, by SASL or by a certificate. Only then may znodes
            be owned by the client (`zookeeper.set.acl`).

    Example:
        >>> PLAINTEXT
        ZkClientSecurity(without TLS, without SASL)
    """

    def __init__(
        self, tls: TlsConfigs | None = None, user: str | None = None, password: str = "", has_certificate: bool = False
    ) -> None:
        """Create the protection; without arguments there is none.

        Args:
            tls: Kafka's `ssl.*` configs; None (default): without TLS.
            user: The user of SASL; None (default): without SASL.
            password: The user's password.
            has_certificate: Whether there is a key store; default False.

        Raises:
            ConfigException: A store is unusable, or a setting is invalid.
        """
        self.tls = tls
        self.user = user
        self._password = password
        self.is_authenticated = user is not None or has_certificate
        self._stores = None
        if tls is not None:
            # Imported only with TLS, because a broker's start waits for its session.
            from kafkapy.security.tls.store_watch import StoreWatch

            self._stores = StoreWatch(tls, server_side=False)

    def __repr__(self) -> str:
        sasl = "without SASL" if self.user is None else f"SASL user {self.user}"
        return f"ZkClientSecurity({'without TLS' if self.tls is None else 'TLS'}, {sasl})"

    def to_text(self) -> str:
        """Return all of it, including passwords, for another process of this broker; empty without TLS and SASL."""
        if self.tls is None and self.user is None:
            return ""
        import json

        tls = None if self.tls is None else {name: _plain(value) for name, value in self.tls.items()}
        return json.dumps([tls, self.user, self._password])

    @classmethod
    def from_text(cls, text: str) -> ZkClientSecurity:
        """Raise `ValueError` for anything but a result of `to_text`, ConfigException for unusable stores."""
        import json

        tls, user, password = json.loads(text)
        return cls(tls, user, password)

    def tls_context(self) -> ssl.SSLContext | None:
        """Return the context for a new connection, with the current stores, or the last usable ones. None: no TLS."""
        if self._stores is None:
            return None
        try:
            self._stores.refresh()
        except ConfigException as error:
            log.error("New stores for ZooKeeper are refused, the old ones stay: %s", error)
        return self._stores.context

    def new_exchange(self) -> DigestMd5Client | None:
        """Return the client side of SASL for a new connection; None: without SASL."""
        if self.user is None:
            return None
        from kafkapy.security.sasl.digest_md5 import DigestMd5Client

        return DigestMd5Client(self.user, self._password)


PLAINTEXT: Final = ZkClientSecurity()


def security_of_broker(
    originals: Mapping[str, str], system: Mapping[str, str] | None = None, prefix: str = ""
) -> ZkClientSecurity:
    """Return the protection that a broker's configs and `KAFKA_OPTS` require.

    Args:
        originals: The broker's properties.
        system: Java's system properties; None: those of `KAFKA_OPTS`.
        prefix: `authorizer.` for the ZooKeeper of ACLs: configs with the prefix take precedence.

    Raises:
        ConfigException: It is not supported, or is contradictory.
    """
    system = java_properties() if system is None else system
    secure = SYSTEM_PROPERTIES[CLIENT_ENABLE]
    own = {name: originals[prefix + name] for name in SYSTEM_PROPERTIES if prefix and prefix + name in originals}
    enable = own.get(CLIENT_ENABLE, originals.get(CLIENT_ENABLE, system.get(secure, "")))
    if enable.strip().lower() != "true":
        # An explicit false does not disable the system property, which ZooKeeper's client reads itself.
        return _security(system, system if system.get(secure) == "true" else {})
    return _security(system, {**system, **_as_java(originals), **_as_java(own), secure: "true"})


def security_of_tool(
    tls_file: Mapping[str, str] | None = None, system: Mapping[str, str] | None = None
) -> ZkClientSecurity:
    """Return the protection of a tool: the properties of its `--zk-tls-config-file` take precedence over `KAFKA_OPTS`.

    Args:
        tls_file: The file's properties; names other than those of TLS to ZooKeeper are ignored, as by Apache's tools.
        system: Java's system properties; None: those of `KAFKA_OPTS`.

    Raises:
        ConfigException: It is not supported, or is contradictory.
    """
    system = java_properties() if system is None else system
    java = {**system, **_as_java(tls_file or {})}
    return _security(system, java if java.get(SYSTEM_PROPERTIES[CLIENT_ENABLE]) == "true" else {})


def sasl_properties_text(system: Mapping[str, str] | None = None) -> str:
    """Return the properties that control SASL, as in Kafka's messages (`JaasUtils.zkSecuritySysConfigString`)."""
    system = java_properties() if system is None else system
    return (
        f"[{JAAS_FILE}={system.get(JAAS_FILE, 'null')}, {SASL_CLIENT}={system.get(SASL_CLIENT, 'default:true')}, "
        f"{SASL_SECTION}={system.get(SASL_SECTION, 'default:Client')}]"
    )


def require_servable(
    originals: Mapping[str, str], set_acl: bool, is_embedded: bool, system: Mapping[str, str] | None = None
) -> None:
    """Check that a broker with these configs can connect to its ZooKeeper as they require.

    Args:
        originals: The broker's properties.
        set_acl: `zookeeper.set.acl`, which requires an authenticated client.
        is_embedded: Whether ZooKeeper is in the broker's process.
        system: Java's system properties; None: those of `KAFKA_OPTS`.

    Raises:
        ConfigException: It cannot; the message says why.
    """
    security = security_of_broker(originals, system)
    if is_embedded and security.tls is not None:
        raise ConfigException(
            f"{CLIENT_ENABLE} is true, but the ZooKeeper in the broker's own process has no TLS, and its bytes do not leave this "
            f"machine: remove {CLIENT_ENABLE}, or start a ZooKeeper of its own (zookeeper-server-start.sh)"
        )
    if set_acl and not security.is_authenticated:
        raise ConfigException(
            f"zookeeper.set.acl is true, but ZooKeeper client TLS configuration identifying at least {CLIENT_ENABLE}, "
            f"{CLIENT_SOCKET}, and {KEYSTORE_LOCATION} was not present and the verification of the JAAS login file failed "
            f"{sasl_properties_text(system)}"
        )


def _plain(value: object) -> object:
    return value.value if isinstance(value, Password) else value


def _as_java(configs: Mapping[str, str]) -> dict[str, str]:
    """Convert Kafka's configs to the names and values of ZooKeeper's properties."""
    java = {}
    for name, property_name in SYSTEM_PROPERTIES.items():
        value = configs.get(name)
        if value is not None:
            java[property_name] = str(value.strip().upper() == "HTTPS").lower() if name == _IDENTIFICATION else value
    return java


def _security(system: Mapping[str, str], java: Mapping[str, str]) -> ZkClientSecurity:
    """`java`: the properties of TLS, empty without TLS."""
    user, password = _user(system)
    if not java:
        return ZkClientSecurity(None, user, password)
    socket = java.get(SYSTEM_PROPERTIES[CLIENT_SOCKET], "").strip()
    if socket.rpartition(".")[2] != _NETTY:
        raise ConfigException(
            f"{CLIENT_ENABLE} is true, but {CLIENT_SOCKET} is {socket or 'not set'}: Apache's broker would speak plaintext. "
            f"Set it to org.apache.zookeeper.{_NETTY}"
        )
    properties = {name.removeprefix(_TLS_PREFIX): value for name, value in java.items() if name.startswith(_TLS_PREFIX)}
    from kafkapy.zk.tls_properties import kafka_tls_configs

    tls = kafka_tls_configs(properties, _TLS_PREFIX)
    return ZkClientSecurity(tls, user, password, has_certificate="ssl.keystore.location" in tls)


def _user(system: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the user and password of SASL (Kafka's `JaasUtils.isZkSaslEnabled`)."""
    section = system.get(SASL_SECTION, "Client")
    modules = load_jaas_file(system).get(section)
    if modules is None:
        if SASL_SECTION in system:
            log.warning("The JAAS file has no section %s: ZooKeeper is spoken to without SASL", section)
        return None, ""
    if system.get(SASL_CLIENT, "true").strip().lower() != "true":
        raise ConfigException(
            f"Exception while determining if ZooKeeper is secure {sasl_properties_text(system)}: the JAAS file has the "
            f"section {section}, but {SASL_CLIENT} is false"
        )
    module = modules[0] if modules else None
    if module is None or module.name not in _PASSWORD_MODULES:
        raise ConfigException(
            f"{system[JAAS_FILE]}: section {section}: SASL to ZooKeeper is DIGEST-MD5 here, so its module must be "
            f"{_PASSWORD_MODULES[0]}" + (f", not {module.name}" if module else "")
        )
    if not {"username", "password"} <= module.options.keys():
        raise ConfigException(f"{system[JAAS_FILE]}: section {section}: {module.name} needs username and password")
    return module.options["username"], module.options["password"]
