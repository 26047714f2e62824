"""The settings of an embedded ZooKeeper, by the names of zookeeper.properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kafkapy.common.config_def import ConfigException
from kafkapy.security.jaas import LoginModule
from kafkapy.security.jaas_file import java_properties, load_jaas_file
from kafkapy.zk.embedded.auth_settings import (
    DEFAULT_SECTION,
    SASL_PROVIDER,
    SERVER_SECTION,
    AuthSettings,
    is_auth_setting,
)
from kafkapy.zk.tls_properties import NAMES as TLS_NAMES
from kafkapy.zk.tls_properties import kafka_tls_configs

_TLS = "ssl."
_SOCKET_CLASSES = ("NettyServerCnxnFactory", "NIOServerCnxnFactory")
_SYSTEM = "zookeeper."
DEFAULT_JUTE_MAXBUFFER = 0xFFFFF
ALL_COMMANDS = frozenset(
    ("conf", "cons", "crst", "dump", "envi", "isro", "mntr", "ruok", "srst", "srvr", "stat", "wchc", "wchp", "wchs")
)

_WITHOUT_EFFECT = frozenset(
    (
        # Apache's server does not implement these two either: sessionRequireClientSASLAuth refuses clients without
        # SASL.
        *("requireClientAuthScheme", "jaasLoginRenew"),
        *("admin.enableServer", "admin.serverPort", "autopurge.purgeInterval", "initLimit", "syncLimit"),
        *("standaloneEnabled", "reconfigEnabled", "preAllocSize", "globalOutstandingLimit"),
    )
)
"""Settings that have no effect on a standalone server without admin server; they only cause a warning."""


_NO_ADMIN_SERVER = ("admin.enableServer", "false")
"""Requests the existing behaviour."""


class SettingsError(ValueError):
    """An invalid setting; the message is for the author of the file."""


@dataclass(frozen=True)
class Settings:
    tick_time_ms: int = 500
    min_session_timeout_ms: int = 1000
    max_session_timeout_ms: int = 60_000
    max_client_connections: int = 0
    """Per address; 0: unlimited."""
    commands: frozenset[str] = ALL_COMMANDS
    """The enabled four-letter words."""
    jute_maxbuffer: int = DEFAULT_JUTE_MAXBUFFER
    """Bytes of the largest request."""
    extended_types: bool = False
    """Whether TTL nodes are supported."""
    container_check_interval_ms: int = 60_000
    force_sync: bool = True
    """Whether an answer waits until the change is on the disk, or only until the operating system has it."""
    snap_count: int = 100_000
    """Transactions between two snapshots."""
    snapshots_kept: int = 3
    backlog: int = 50
    auth: AuthSettings = field(default_factory=AuthSettings)


class SecurePort:
    """The port with TLS. Its repr shows no secret."""

    def __init__(self, port: int, host: str, tls: Mapping[str, str]) -> None:
        """`tls`: ZooKeeper's settings without the prefix `ssl.`. Raises ConfigException if they are unusable."""
        self.port = port
        self.host = host
        self.tls = kafka_tls_configs(tls, _TLS)

    def __repr__(self) -> str:
        return f"SecurePort({self.host}:{self.port})"


@dataclass(frozen=True)
class ServerProperties:
    """A zookeeper.properties file for `zookeeper-server-start.sh`."""

    settings: Settings
    data_dir: Path
    data_log_dir: Path
    port: int | None
    """None: only the port with TLS."""
    host: str
    secure: SecurePort | None
    without_effect: tuple[str, ...]

    @classmethod
    def of(cls, properties: Mapping[str, str], system: Mapping[str, str] | None = None) -> ServerProperties:
        """Parse properties. `SettingsError` says what is wrong and what to do.

        `system`: Java's system properties, which may contain security settings, too (`zookeeper.superUser`), and the
        JAAS file; None: those of `KAFKA_OPTS`.
        """
        try:
            return cls._of(properties, java_properties() if system is None else system)
        except ConfigException as error:
            raise SettingsError(str(error)) from None

    @classmethod
    def _of(cls, properties: Mapping[str, str], system: Mapping[str, str]) -> ServerProperties:
        left = {name: value.strip() for name, value in properties.items()}
        data_dir = left.pop("dataDir", "")
        if not data_dir:
            raise SettingsError("dataDir is missing: the directory of ZooKeeper's data")
        secure = _secure_port(left, system)
        auth = _auth_settings(left, system, secure is not None)
        tick = _number(left, "tickTime", 3000, least=1)
        settings = Settings(
            tick_time_ms=tick,
            min_session_timeout_ms=_or_default(_number(left, "minSessionTimeout", -1, least=-1), 2 * tick),
            max_session_timeout_ms=_or_default(_number(left, "maxSessionTimeout", -1, least=-1), 20 * tick),
            max_client_connections=_number(left, "maxClientCnxns", 60),
            commands=_commands(left.pop("4lw.commands.whitelist", "srvr")),
            jute_maxbuffer=_number(left, "jute.maxbuffer", DEFAULT_JUTE_MAXBUFFER, least=1024),
            extended_types=_switch(left, "extendedTypesEnabled", "false"),
            container_check_interval_ms=_number(left, "znode.container.checkIntervalMs", 60_000, least=1),
            force_sync=_switch(left, "forceSync", "yes"),
            snap_count=_number(left, "snapCount", 100_000, least=2),
            snapshots_kept=max(3, _number(left, "autopurge.snapRetainCount", 3)),
            backlog=_or_default(_number(left, "clientPortListenBacklog", -1, least=-1), 50),
            auth=auth,
        )
        if settings.min_session_timeout_ms > settings.max_session_timeout_ms:
            raise SettingsError("minSessionTimeout must not be larger than maxSessionTimeout")
        result = cls(
            settings,
            Path(data_dir),
            Path(left.pop("dataLogDir", "") or data_dir),
            _number(left, "clientPort", 2181, most=65535) if "clientPort" in left or secure is None else None,
            left.pop("clientPortAddress", "0.0.0.0"),
            secure,
            tuple(sorted(name for name in left.keys() & _WITHOUT_EFFECT if (name, left[name]) != _NO_ADMIN_SERVER)),
        )
        _refuse(left.keys() - _WITHOUT_EFFECT)
        return result


def _secure_port(properties: dict[str, str], system: Mapping[str, str]) -> SecurePort | None:
    """Remove the port's settings from the properties and parse them."""
    tls = {
        name: value
        for name, value in properties.items()
        if name.removeprefix(_TLS) in TLS_NAMES and name.startswith(_TLS)
    }
    for name in tls:
        del properties[name]
    host = properties.pop("secureClientPortAddress", "0.0.0.0")
    if properties.get("serverCnxnFactory", "").rpartition(".")[2] in _SOCKET_CLASSES:
        del properties["serverCnxnFactory"]  # TLS works with either
    if not properties.get("secureClientPort"):
        properties.pop("secureClientPort", None)
        return None
    port = _number(properties, "secureClientPort", 0, most=65535)
    of_java = {name: system[_SYSTEM + _TLS + name] for name in TLS_NAMES if _SYSTEM + _TLS + name in system}
    return SecurePort(port, host, {**of_java, **{name.removeprefix(_TLS): value for name, value in tls.items()}})


def _auth_settings(properties: dict[str, str], system: Mapping[str, str], has_tls: bool) -> AuthSettings:
    """Remove these settings from the properties and parse them."""
    found = {
        name.removeprefix(_SYSTEM): value
        for name, value in system.items()
        if name.startswith(_SYSTEM) and is_auth_setting(name.removeprefix(_SYSTEM))
    }
    for name in list(filter(is_auth_setting, properties)):
        found[name] = properties.pop(name)
    return AuthSettings(found, server_section_of(system), has_tls)


def settings_inside_a_broker(system: Mapping[str, str] | None = None) -> Settings:
    """Return settings with the users of the JAAS file's section Server, if there is one, so that `zookeeper.set.acl`
    has an effect there, too.

    Raises:
        ConfigException: The file is unusable.
    """
    section = server_section_of(java_properties() if system is None else system)
    if section is None:
        return Settings()
    return Settings(auth=AuthSettings({"authProvider.sasl": SASL_PROVIDER}, section))


def server_section_of(system: Mapping[str, str]) -> tuple[LoginModule, ...] | None:
    """Return the section of the JAAS file with a server's users; None: there is none. Raises ConfigException."""
    return load_jaas_file(system).get(system.get(SERVER_SECTION, DEFAULT_SECTION))


def _refuse(names: set[str]) -> None:
    if members := sorted(name for name in names if name.startswith(("server.", "group.", "weight."))):
        raise SettingsError(
            f"{members[0]} asks for an ensemble, and the embedded ZooKeeper is one node: "
            "leave it out, or start Apache's ZooKeeper (zookeeper-server-start.sh --apache)"
        )
    if names:
        raise SettingsError(
            f"The embedded ZooKeeper does not know {', '.join(sorted(names))}: "
            "leave it out, or start Apache's ZooKeeper (zookeeper-server-start.sh --apache)"
        )


def _number(properties: dict[str, str], name: str, default: int, least: int = 0, most: int = (1 << 31) - 1) -> int:
    text = properties.pop(name, "") or str(default)
    try:
        value = int(text)
    except ValueError:
        raise SettingsError(f"{name}={text} is no number") from None
    if not least <= value <= most:
        raise SettingsError(f"{name}={text} is out of range: it is a number from {least} to {most}")
    return value


def _or_default(value: int, default: int) -> int:
    return default if value == -1 else value


def _switch(properties: dict[str, str], name: str, default: str) -> bool:
    text = properties.pop(name, default).lower()
    if text not in ("true", "false", "yes", "no"):
        raise SettingsError(f"{name}={text} is neither true (yes) nor false (no)")
    return text in ("true", "yes")


def _commands(text: str) -> frozenset[str]:
    words = {word.strip() for word in text.split(",")} - {""}
    if "*" in words:
        return ALL_COMMANDS
    if unknown := words - ALL_COMMANDS:
        raise SettingsError(
            f"4lw.commands.whitelist names {', '.join(sorted(unknown))}, which the embedded ZooKeeper has not; "
            f"it has {', '.join(sorted(ALL_COMMANDS))}"
        )
    return frozenset(words)
