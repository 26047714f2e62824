"""The four-letter words: queries by operators' tools without a session. The answers have ZooKeeper's lines and names."""

from __future__ import annotations

import os
import platform
import resource
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kafkapy.zk.embedded.client_connection import ClientConnection
from kafkapy.zk.embedded.machine import ZooKeeperMachine

VERSION = "3.9.5-kafkapy"
"""The ZooKeeper version whose behaviour is implemented."""


class Place(NamedTuple):
    """The server's addresses and directory, for `conf`. `data_dir` None: in memory."""

    host: str
    port: int
    data_dir: Path | None
    log_dir: Path | None


def is_word(data: bytes) -> bool:
    return data.decode("latin-1") in _ANSWERS


def answer(word: str, machine: ZooKeeperMachine, place: Place, waiting: int) -> bytes:
    """`waiting`: the number of answers that wait for the disk."""
    if word not in machine.settings.commands:
        return f"{word} is not executed because it is not in the whitelist.\n".encode()
    return "".join(_ANSWERS[word](machine, place, waiting)).encode()


Lines = Iterator[str]


def _ruok(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    yield "imok"


def _isro(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    yield "rw"


def _srvr(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    yield f"Zookeeper version: {_full_version()}\n"
    yield from _statistics(machine, waiting)


def _stat(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    yield f"Zookeeper version: {_full_version()}\nClients:\n"
    for connection in machine.connections:
        yield f"{_brief(connection)})\n"
    yield "\n"
    yield from _statistics(machine, waiting)


def _statistics(machine: ZooKeeperMachine, waiting: int) -> Lines:
    stats = machine.stats
    yield f"Latency min/avg/max: {stats.min_ms:.0f}/{stats.average_ms:.4f}/{stats.max_ms:.0f}\n"
    yield f"Received: {stats.received}\nSent: {stats.sent}\nConnections: {len(machine.connections)}\n"
    yield f"Outstanding: {waiting}\nZxid: 0x{machine.tree.last_zxid:x}\nMode: standalone\n"
    yield f"Node count: {machine.tree.count}\n"


def _cons(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    for connection in machine.connections:
        stats = connection.stats
        yield _brief(connection)
        if connection.session_id:
            yield f",sid=0x{connection.session_id:x},lop={connection.last_op},est={connection.established_ms}"
            yield f",to={connection.timeout_ms}"
            yield f",lcxid=0x{connection.last_cxid & (1 << 64) - 1:x}" if connection.last_cxid >= 0 else ""
            yield f",lzxid=0x{connection.last_zxid & (1 << 64) - 1:x},lresp={connection.last_response_ms}"
            yield f",llat={stats.last_ms:.0f},minlat={stats.min_ms:.0f}"
            yield f",avglat={stats.average_ms:.0f},maxlat={stats.max_ms:.0f}"
        yield ")\n"
    yield "\n"


def _brief(connection: ClientConnection) -> str:
    stats = connection.stats
    return f" /{connection.host}:{connection.port}[1](queued=0,recved={stats.received},sent={stats.sent}"


def _crst(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    for connection in machine.connections:
        connection.stats.reset()
    yield "Connection stats reset.\n"


def _srst(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    machine.stats.reset()
    yield "Server stats reset.\n"


def _conf(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    settings = machine.settings
    yield f"clientPort={place.port}\nsecureClientPort=-1\n"
    yield f"dataDir={place.data_dir or 'memory'}\ndataDirSize={_size(place.data_dir)}\n"
    yield f"dataLogDir={place.log_dir or 'memory'}\ndataLogSize={_size(place.log_dir)}\n"
    yield f"tickTime={settings.tick_time_ms}\nmaxClientCnxns={settings.max_client_connections}\n"
    yield f"minSessionTimeout={settings.min_session_timeout_ms}\nmaxSessionTimeout={settings.max_session_timeout_ms}\n"
    yield f"clientPortListenBacklog={settings.backlog}\nserverId=0\n"


def _size(directory: Path | None) -> int:
    return sum(path.stat().st_size for path in directory.glob("version-2/*")) if directory else 0


def _envi(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    yield f"Environment:\nzookeeper.version={_full_version()}\nhost.name={socket.gethostname()}\n"
    yield f"python.version={platform.python_version()}\npython.executable={sys.executable}\n"
    yield f"os.name={platform.system()}\nos.arch={platform.machine()}\nos.version={platform.release()}\n"
    yield f"user.dir={os.getcwd()}\n"


def _mntr(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    tree, stats = machine.tree, machine.stats
    values: dict[str, object] = {
        "version": _full_version(),
        "server_state": "standalone",
        "avg_latency": stats.average_ms,
        "max_latency": round(stats.max_ms),
        "min_latency": round(stats.min_ms),
        "packets_received": stats.received,
        "packets_sent": stats.sent,
        "num_alive_connections": len(machine.connections),
        "outstanding_requests": waiting,
        "uptime": machine.time.monotonic_ms() - machine.started_ms,
        "znode_count": tree.count,
        "watch_count": len(tree.data_watches) + len(tree.child_watches),
        "ephemerals_count": sum(map(len, tree.ephemerals.values())),
        "approximate_data_size": tree.data_size,
        "global_sessions": len(machine.sessions),
        "local_sessions": 0,
        "open_file_descriptor_count": len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else -1,
        "max_file_descriptor_count": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }
    for name, value in values.items():
        yield f"zk_{name}\t{value}\n"


def _dump(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    by_expiry = machine.sessions.by_expiry()
    now_ms = machine.time.monotonic_ms()
    yield f"SessionTracker dump:\nSession Sets ({len(by_expiry)})/({len(machine.sessions)}):\n"
    for expires_ms, sessions in by_expiry.items():
        yield f"{len(sessions)} expire in {expires_ms - now_ms} ms:\n"
        for session_id in sessions:
            yield f"\t0x{session_id:x}\n"
    yield f"ephemeral nodes dump:\nSessions with Ephemerals ({len(machine.tree.ephemerals)}):\n"
    for session_id, paths in machine.tree.ephemerals.items():
        yield f"0x{session_id:x}:\n"
        for path in paths:
            yield f"\t{path}\n"
    yield f"Connections dump:\nConnections Sets (1)/({len(machine.connections)}):\n"
    for connection in machine.connections:
        yield f"\tip: /{connection.host}:{connection.port} sessionId: 0x{connection.session_id:x}\n"


def _wchs(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    watches = machine.tree.data_watches
    yield f"{len(watches.by_watcher)} connections watching {len(watches.by_path)} paths\nTotal watches:{len(watches)}\n"


def _wchc(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    for watcher, paths in machine.tree.data_watches.by_watcher.items():
        yield f"0x{watcher.session_id:x}\n"
        for path in paths:
            yield f"\t{path}\n"
    yield "\n"


def _wchp(machine: ZooKeeperMachine, place: Place, waiting: int) -> Lines:
    for path, watchers in machine.tree.data_watches.by_path.items():
        yield f"{path}\n"
        for watcher in watchers:
            yield f"\t0x{watcher.session_id:x}\n"
    yield "\n"


def _full_version() -> str:
    return f"{VERSION}, built on 2026-01-01 00:00 UTC"


_ANSWERS: dict[str, Callable[[ZooKeeperMachine, Place, int], Lines]] = {
    "conf": _conf,
    "cons": _cons,
    "crst": _crst,
    "dump": _dump,
    "envi": _envi,
    "isro": _isro,
    "mntr": _mntr,
    "ruok": _ruok,
    "srst": _srst,
    "srvr": _srvr,
    "stat": _stat,
    "wchc": _wchc,
    "wchp": _wchp,
    "wchs": _wchs,
}
