"""The settings of an embedded ZooKeeper, by the names of zookeeper.properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_JUTE_MAXBUFFER = 0xFFFFF
ALL_COMMANDS = frozenset(
    ("conf", "cons", "crst", "dump", "envi", "isro", "mntr", "ruok", "srst", "srvr", "stat", "wchc", "wchp", "wchs")
)

_WITHOUT_EFFECT = frozenset(
    (
        *("admin.enableServer", "admin.serverPort", "autopurge.purgeInterval", "initLimit", "syncLimit"),
        *("standaloneEnabled", "reconfigEnabled", "preAllocSize", "globalOutstandingLimit"),
    )
)
"""What one node without an admin server does not need: named in a warning, and nothing more."""


_NO_ADMIN_SERVER = ("admin.enableServer", "false")
"""Asks for nothing else than what there is."""


class SettingsError(ValueError):
    """A sentence for whoever wrote the file."""


@dataclass(frozen=True)
class Settings:
    tick_time_ms: int = 500
    min_session_timeout_ms: int = 1000
    max_session_timeout_ms: int = 60_000
    max_client_connections: int = 0
    """Of one address; 0: as many as there are."""
    commands: frozenset[str] = ALL_COMMANDS
    """The four-letter words that are answered."""
    jute_maxbuffer: int = DEFAULT_JUTE_MAXBUFFER
    """Bytes of the largest request."""
    extended_types: bool = False
    """Whether there are TTL nodes."""
    container_check_interval_ms: int = 60_000
    force_sync: bool = True
    """Whether an answer waits until the disk has the change; without, until the operating system has it."""
    snap_count: int = 100_000
    """Transactions between two snapshots."""
    snapshots_kept: int = 3
    backlog: int = 50


@dataclass(frozen=True)
class ServerProperties:
    """A zookeeper.properties file for `zookeeper-server-start.sh`."""

    settings: Settings
    data_dir: Path
    data_log_dir: Path
    port: int
    host: str
    without_effect: tuple[str, ...]

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> ServerProperties:
        """`SettingsError` names what is wrong and what to do."""
        left = {name: value.strip() for name, value in properties.items()}
        data_dir = left.pop("dataDir", "")
        if not data_dir:
            raise SettingsError("dataDir is missing: the directory of ZooKeeper's data")
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
        )
        if settings.min_session_timeout_ms > settings.max_session_timeout_ms:
            raise SettingsError("minSessionTimeout must not be larger than maxSessionTimeout")
        result = cls(
            settings,
            Path(data_dir),
            Path(left.pop("dataLogDir", "") or data_dir),
            _number(left, "clientPort", 2181, most=65535),
            left.pop("clientPortAddress", "0.0.0.0"),
            tuple(sorted(name for name in left.keys() & _WITHOUT_EFFECT if (name, left[name]) != _NO_ADMIN_SERVER)),
        )
        _refuse(left.keys() - _WITHOUT_EFFECT)
        return result


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
