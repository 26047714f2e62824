"""What a local cluster consists of: directories, ports and config files of its ZooKeepers and brokers.

DIR/cluster.json            the ports, and the processes that were started
DIR/zookeeper-1/            zookeeper.properties, data, output
DIR/broker-0/               server.properties, data, logs, output
DIR/security/               certificates and passwords, if it is secured; `local_access.py` writes the clients' files beside it
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kafkapy.common.free_ports import free_ports
from kafkapy.common.properties import dump
from kafkapy.testing.cluster_security import ClusterSecurity
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.servers.local_processes import ProcessIdentity

HOST = "127.0.0.1"
STATE_FILE = "cluster.json"
USERS = ("alice", "bob")
"""The sample user of a secured cluster, beside its administrator."""

_CLIENTS, _INTERNAL = "SASL_SSL", "INTERNAL"
"""The listeners of a secured cluster."""


@dataclass
class LocalCluster:
    """The content of `DIR/cluster.json`.

    Invariant: ports never change once the cluster has been started.
    """

    directory: Path
    broker_ports: list[int]
    zookeeper_ports: list[int]
    quorum_ports: list[tuple[int, int]]
    """For each ZooKeeper of an ensemble its ports for followers and for elections. Empty for a single ZooKeeper."""
    processes: dict[str, ProcessIdentity] = field(default_factory=dict)
    """The processes by the names of their directories, in the order of their start."""
    metrics_ports: list[int] = field(default_factory=list)
    """The port of each broker."""
    is_apache: bool = False
    """Are the ZooKeepers Apache's? Those of an ensemble always are."""
    internal_ports: list[int] = field(default_factory=list)
    """The port of each broker for other brokers in a secured cluster; empty for an open one."""

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.broker_ports)

    @property
    def zookeeper_connect(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.zookeeper_ports)

    @property
    def zookeepers(self) -> dict[str, int]:
        """Name of the ZooKeeper -> port for clients."""
        return {f"zookeeper-{i}": port for i, port in enumerate(self.zookeeper_ports, 1)}

    @property
    def brokers(self) -> dict[str, int]:
        """Name of the broker -> port."""
        return {f"broker-{i}": port for i, port in enumerate(self.broker_ports)}

    @property
    def is_secured(self) -> bool:
        return bool(self.internal_ports)

    @property
    def security(self) -> ClusterSecurity:
        """Certificates and passwords of a secured cluster; created if they do not exist."""
        return ClusterSecurity.load_or_make(self.directory / "security", len(self.broker_ports), [], USERS)

    @property
    def metrics_urls(self) -> list[str]:
        return [f"http://{HOST}:{port}/metrics" for port in self.metrics_ports]

    def is_running(self, name: str) -> bool:
        process = self.processes.get(name)
        return process is not None and process.is_running

    def save(self) -> None:
        state = asdict(self)
        del state["directory"]
        temporary = self.directory / f"{STATE_FILE}.tmp"
        temporary.write_text(json.dumps(state, indent=1) + "\n")
        temporary.rename(self.directory / STATE_FILE)


def load(directory: Path) -> LocalCluster | None:
    """The cluster of this directory, None if there is none. Raises ToolError if its state file is invalid."""
    file = directory / STATE_FILE
    if not file.exists():
        return None
    try:
        state = json.loads(file.read_text())
        processes = {name: ProcessIdentity(*identity) for name, identity in state["processes"].items()}
        quorum = [(first, second) for first, second in state["quorum_ports"]]
        return LocalCluster(
            directory,
            state["broker_ports"],
            state["zookeeper_ports"],
            quorum,
            processes,
            state.get("metrics_ports", []),
            state.get("is_apache", len(quorum) > 1),
            state.get("internal_ports", []),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolError(f"{file} is damaged: {error!r}. Delete {directory} once its processes have ended.") from error


def create(
    directory: Path,
    brokers: int,
    zookeepers: int,
    base_port: int | None,
    is_apache: bool = False,
    is_secured: bool = False,
) -> LocalCluster:
    """Create a cluster: ports and config files. The ZooKeepers of an ensemble are always Apache's."""
    if directory.exists() and any(directory.iterdir()):
        raise ToolError(f"{directory} holds other things than a local cluster. Give another --dir.")
    quorum_ports = 2 * zookeepers if zookeepers > 1 else 0
    internal_ports = brokers if is_secured else 0
    count = brokers + zookeepers + quorum_ports + brokers + internal_ports
    ports = free_ports(count) if base_port is None else _given_ports(base_port, count)
    internal = [ports.pop() for _ in range(internal_ports)][::-1]
    quorum = ports[brokers + zookeepers : -brokers]
    cluster = LocalCluster(
        directory,
        ports[:brokers],
        ports[brokers : brokers + zookeepers],
        list(zip(quorum[::2], quorum[1::2], strict=True)),
        metrics_ports=ports[-brokers:],
        is_apache=is_apache or zookeepers > 1,
        internal_ports=internal,
    )
    for name in cluster.zookeepers:
        _write_zookeeper(cluster, name)
    for name, metrics_port in zip(cluster.brokers, cluster.metrics_ports, strict=True):
        _write_broker(cluster, name, metrics_port)
    cluster.save()
    return cluster


def _given_ports(base: int, count: int) -> list[int]:
    if not 0 < base <= 65536 - count:
        raise ToolError(f"--base-port {base}: {count} ports from there on are not possible")
    for port in range(base, base + count):
        try:
            socket.create_server((HOST, port)).close()
        except OSError as error:
            raise ToolError(
                f"Port {port} is taken ({error.strerror}). The cluster needs {base} to {base + count - 1}."
            ) from error
    return list(range(base, base + count))


def _write_zookeeper(cluster: LocalCluster, name: str) -> None:
    directory = cluster.directory / name
    data = directory / "data"
    data.mkdir(parents=True)
    properties: dict[str, object] = {
        "dataDir": data,
        "clientPort": cluster.zookeepers[name],
        "clientPortAddress": HOST,
        "maxClientCnxns": 0,
        "tickTime": 1000,
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
    }
    if cluster.quorum_ports:
        (data / "myid").write_text(name.rpartition("-")[2])
        properties |= {"initLimit": 20, "syncLimit": 10}
        properties |= {f"server.{i}": f"{HOST}:{a}:{b}" for i, (a, b) in enumerate(cluster.quorum_ports, 1)}
    _write(directory / "zookeeper.properties", properties)


def _write_broker(cluster: LocalCluster, name: str, metrics_port: int) -> None:
    directory = cluster.directory / name
    directory.mkdir(parents=True)
    replicas = min(3, len(cluster.broker_ports))
    properties = {
        "broker.id": name.rpartition("-")[2],
        "log.dirs": directory / "data",
        "zookeeper.connect": cluster.zookeeper_connect,
        "zookeeper.session.timeout.ms": 6000,
        "default.replication.factor": replicas,
        "min.insync.replicas": max(1, replicas - 1),
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": max(1, replicas - 1),
        "group.initial.rebalance.delay.ms": 0,
        # all brokers may stop at the same time; none should wait long for a controller then
        "controlled.shutdown.retry.backoff.ms": 200,
        "kafkapy.metrics.listener": f"{HOST}:{metrics_port}",
        **_listeners(cluster, name),
    }
    _write(directory / "server.properties", properties)


def _listeners(cluster: LocalCluster, name: str) -> dict[str, object]:
    """The broker's listeners and their security protocols."""
    clients = f"{HOST}:{cluster.brokers[name]}"
    if not cluster.is_secured:
        return {"listeners": f"PLAINTEXT://{clients}"}
    number, count = int(name.rpartition("-")[2]), len(cluster.broker_ports)
    listeners = f"{_CLIENTS}://{clients},{_INTERNAL}://{HOST}:{cluster.internal_ports[number]}"
    return {"listeners": listeners, **cluster.security.broker_properties(number, count, _CLIENTS, _INTERNAL)}


def _write(file: Path, properties: dict[str, object]) -> None:
    file.write_text(dump(properties))
