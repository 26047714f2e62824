"""A cluster of three brokers and one ZooKeeper: brokers die and come back, and it is seen when the others have got over it."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from kazoo.client import KazooClient

from benchmarks import apache
from benchmarks.brokers import Server, start_zookeeper
from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.clients.metadata import ClusterMetadata, PartitionMetadata
from kafkapy.common.free_ports import free_ports
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest
from kafkapy.protocol.messages.metadata import MetadataRequest

PATIENCE_SECONDS = 90
BROKERS = (0, 1, 2)


class Cluster:
    """Three brokers of one kind. Times are of the monotonic clock, in seconds."""

    def __init__(
        self,
        name: str,
        kind: type[Server],
        directory: Path,
        properties: Mapping[str, object] = MappingProxyType({}),
    ) -> None:
        self.name = name
        (zookeeper_port,) = free_ports(1)
        self._zookeeper = start_zookeeper(directory, zookeeper_port)
        self.servers = [
            kind(name, directory / f"broker-{n}", n, zookeeper_port, {**_PROPERTIES, **properties}) for n in BROKERS
        ]
        self._clients: dict[int, BlockingClient] = {}
        self._zk = KazooClient(f"127.0.0.1:{zookeeper_port}", timeout=30)
        self._zk.start(60)

    @property
    def bootstrap(self) -> str:
        return ",".join(server.bootstrap for server in self.servers)

    def start(self) -> None:
        """Start all brokers; they know each other when it returns."""
        for server in self.servers:
            server.spawn()
        self.wait(lambda metadata: len(metadata.nodes) == len(BROKERS) and metadata.controller is not None)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._zk.stop()
        for server in self.servers:
            if server.process is not None:
                server.kill()
        self._zookeeper.kill()
        self._zookeeper.wait()

    # --- what the brokers say

    def metadata(self, broker_id: int) -> ClusterMetadata:
        """All topics as this broker sees them. `KafkaError` if it can't be reached."""
        client = self._clients.get(broker_id)
        if client is None:
            client = self._clients[broker_id] = BlockingClient("127.0.0.1", self.servers[broker_id].port)
        return ClusterMetadata.of(client.call(MetadataRequest(topics=None)))

    def partitions(self, broker_id: int) -> list[PartitionMetadata]:
        return _partitions(self.metadata(broker_id))

    def controller_id(self) -> int:
        return self.metadata(next(s.broker_id for s in self.servers if s.process is not None)).controller_id

    def wait(self, is_met: Callable[[ClusterMetadata], bool]) -> float:
        """When all live brokers have said that it is so."""
        end = time.monotonic() + PATIENCE_SECONDS
        for server in self.servers:
            while server.process is not None:
                if server.process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(f"{self.name}: broker {server.broker_id} has not got there: {server.directory}")
                try:
                    if is_met(self.metadata(server.broker_id)):
                        break
                except KafkaError:
                    pass
                time.sleep(0.02)
        return time.monotonic()

    def wait_in_sync(self) -> float:
        """When all replicas are in their ISRs."""
        return self.wait(lambda metadata: all(len(p.isr) == len(p.replicas) for p in _partitions(metadata)))

    def wait_led(self, partitions: int, without: int | None = None) -> float:
        """When there are so many partitions, all with a leader, and that is not this broker."""

        def is_led(metadata: ClusterMetadata) -> bool:
            leaders = [p.leader_id for p in _partitions(metadata)]
            return len(leaders) >= partitions and -1 not in leaders and without not in leaders

        return self.wait(is_led)

    # --- what is done to them

    def kill(self, broker_id: int) -> tuple[float, threading.Event]:
        """`kill -9`: when (s since the epoch); the event comes with the end of the broker's ZooKeeper session."""
        ended = threading.Event()
        assert self._zk.exists(f"/brokers/ids/{broker_id}", watch=lambda _: ended.set())
        self._clients.pop(broker_id).close()
        killed = time.time()
        self.servers[broker_id].kill()
        return killed, ended

    def restart(self, broker_id: int) -> tuple[float, float]:
        """Start a broker that was killed: seconds until it answers a request, and until all replicas are in sync."""
        begin = time.monotonic()
        server = self.servers[broker_id]
        server.spawn()
        client = self._clients[broker_id] = BlockingClient("127.0.0.1", server.port)
        while True:
            try:
                client.versions()
                break
            except KafkaError:
                assert server.process is not None
                if server.process.poll() is not None:
                    raise SystemExit(f"{self.name}: broker {broker_id} has ended: {server.directory}") from None
                time.sleep(0.02)
        listening = time.monotonic() - begin
        return listening, self.wait_in_sync() - begin

    def elect_preferred_leaders(self) -> None:
        controller = self.servers[self.controller_id()]
        with BlockingClient("127.0.0.1", controller.port) as client:
            client.call(ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=60_000))
        self.wait(lambda metadata: all(p.leader_id == p.replicas[0] for p in _partitions(metadata)))


_PROPERTIES = {
    "zookeeper.session.timeout.ms": 6000,
    "default.replication.factor": 3,
    "offsets.topic.replication.factor": 3,
    "auto.leader.rebalance.enable": "false",
}


def _partitions(metadata: ClusterMetadata) -> list[PartitionMetadata]:
    return [partition for topic in metadata.topics.values() for partition in topic.partitions]


class Sender:
    """A Java producer that never stops sending to one partition (java/Failover.java)."""

    def __init__(self, cluster: Cluster, topic: str, partition: int) -> None:
        command = apache.client_command("Failover", cluster.bootstrap, topic, str(partition))
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._acknowledged: list[tuple[int, int]] = []
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_for_record_of(0)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            sent, acknowledged = line.split()
            self._acknowledged.append((int(sent), int(acknowledged)))

    def wait_for_record_of(self, since_ms: int) -> int:
        """When the first record was acknowledged that was sent since then; ms since the epoch."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if self._acknowledged and self._acknowledged[-1][0] >= since_ms:
                return next(a for s, a in self._acknowledged if s >= since_ms)
            time.sleep(0.01)
        raise SystemExit("no record was acknowledged")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
