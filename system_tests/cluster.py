"""A ZooKeeper and some brokers on a network that can be harmed, with room on small disks where root can mount them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient

from system_tests.network import BrokerLines, make_network
from system_tests.services import (
    HOST,
    ROOT,
    TIME_LIMIT_FACTOR,
    KafkaService,
    Service,
    ServiceError,
    ZooKeeperService,
    wait_until,
)
from system_tests.small_disk import SmallDisk
from system_tests.zookeeper_session import ZooKeeperView

_DISK_MEGABYTES = 768


class PartitionView(NamedTuple):
    """A partition as a broker's metadata has it; `leader` is -1 if there is none."""

    leader: int
    replicas: list[int]
    isr: set[int]


class Cluster:
    """Brokers 0 to N-1; a context manager. `bootstrap` is for clients, which reach each broker through `lines`.

    Invariant: what is harmed is undone by `heal`, whatever its state.
    """

    def __init__(self, directory: Path, brokers: int = 1, configs: Mapping[str, object] | None = None) -> None:
        """`configs` come on top of settings that suit tests."""
        self.directory = directory
        self._configs = configs or {}
        self.network = make_network()
        self.lines: list[BrokerLines] = []
        self.brokers: list[KafkaService] = []
        self.disks: list[SmallDisk] = []
        """Of each broker; empty if nobody may mount here."""
        self.zookeeper = ZooKeeperService(directory / "zookeeper", self.network.zookeeper_host)
        try:
            for number in range(brokers):
                self._add_broker(number, min(brokers, 3))
        except BaseException:
            self.close()
            raise

    def _add_broker(self, number: int, replication: int) -> None:
        lines = self.network.add_broker(number, self.zookeeper.port)
        directory = self.directory / f"broker-{number}"
        configs = {
            **lines.properties,
            "default.replication.factor": replication,
            "offsets.topic.replication.factor": replication,
            "transaction.state.log.replication.factor": replication,
            "min.insync.replicas": max(1, replication - 1),
            "replica.lag.time.max.ms": 5000,
            "controlled.shutdown.retry.backoff.ms": 500,
            **self._configs,
        }
        broker = KafkaService(directory, self.zookeeper, configs, broker_id=number)
        broker.host, broker.port, broker.prefix = lines.host, lines.port, lines.prefix
        broker.properties["zookeeper.connect"] = lines.zookeeper
        disk = SmallDisk(directory / "disk", _DISK_MEGABYTES)
        if disk.is_mounted:
            self.disks.append(disk)
            broker.properties["log.dirs"] = broker.data = disk.path / "data"
        self.lines.append(lines)
        self.brokers.append(broker)

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{lines.clients.port}" for lines in self.lines)

    def start(self) -> Cluster:
        self.zookeeper.start()
        for broker in self.brokers:
            broker.start(wait=False)
        for broker in self.brokers:
            broker.wait_until_serving()
        return self

    def controller(self) -> int:
        """The broker that is the controller; broker 0 if there is none at the moment, or ZooKeeper is away."""
        if not self.zookeeper.is_serving():
            return 0
        with ZooKeeperView(self.zookeeper.address) as view:
            owner = view.owner("/controller")
            owners = [view.owner(f"/brokers/ids/{broker.broker_id}") for broker in self.brokers]
        return owners.index(owner) if owner in owners and owner else 0

    def tool(self, module: str, *arguments: str) -> str:
        """Run `kafkapy.tools.MODULE` on the cluster; returns what it prints. `ServiceError` if it fails."""
        command = [sys.executable, "-m", f"kafkapy.tools.{module}", "--bootstrap-server", self.bootstrap, *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIME_LIMIT_FACTOR * 120)
        if done.returncode:
            raise ServiceError(f"{module} {' '.join(arguments)} fails: {done.stdout}{done.stderr}")
        return done.stdout

    # ------------------------------------------------------------------------------------------------ partitions

    def partitions(self, topic: str) -> dict[int, PartitionView]:
        """As any of the brokers says."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        return {
            number: PartitionView(state.leader, state.replicas, set(state.isrs))
            for number, state in admin.list_topics(topic, 10).topics[topic].partitions.items()
        }

    def leader(self, topic: str, partition: int = 0) -> int:
        """Waits until there is one."""
        wait_until(lambda: self.partitions(topic)[partition].leader >= 0, 30, f"{topic}-{partition} has a leader")
        return self.partitions(topic)[partition].leader

    def wait_for_isr(self, topic: str, without: int | None = None, seconds: float = 60) -> float:
        """Wait until all replicas of the topic are in sync, or all but the broker `without`; returns the seconds."""
        return wait_until(
            lambda: all(p.isr == set(p.replicas) - {without} for p in self.partitions(topic).values()),
            seconds,
            lambda: f"all replicas of {topic} are in sync, but not {without}: {self.partitions(topic)}",
        )

    def logs(self, topic: str, partition: int) -> list[bytes]:
        """Each replica's log files, joined. The brokers must have stopped."""
        directories = [
            directory for broker in self.brokers if (directory := broker.partition_dir(topic, partition)).exists()
        ]
        return [b"".join(path.read_bytes() for path in sorted(d.glob("*.log"))) for d in directories]

    # ------------------------------------------------------------------------------------------------ health

    def heal(self) -> None:
        """Undo all harm: every line, every disk, every process."""
        for number, broker in enumerate(self.brokers):
            self.network.heal(number)
            if self.disks:
                self.empty_disk(number)
            if broker.is_running:
                broker.resume()
        if not self.zookeeper.is_running:
            self.zookeeper.close()
            self.zookeeper.start()
        for broker in self.brokers:
            if not broker.is_running:
                broker.close()
                broker.start(wait=False)
        for broker in self.brokers:
            broker.wait_until_serving()

    def wait_until_healthy(self, seconds: float = 60) -> float:
        """Wait until every partition has its leader and all its replicas are in sync."""
        return wait_until(
            lambda: not self.faulty_partitions(), seconds, lambda: f"healthy; faulty: {self.faulty_partitions()[:5]}"
        )

    def faulty_partitions(self) -> list[str]:
        """Partitions without leader, or some of whose replicas are not in sync, as the brokers' metadata say."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            metadata = admin.list_topics(timeout=5)
        except Exception as error:
            return [str(error)]
        if len(metadata.brokers) < len(self.brokers):
            return [f"only brokers {sorted(metadata.brokers)} are known"]
        return [
            f"{topic.topic}-{number}: leader {partition.leader}, in sync {partition.isrs} of {partition.replicas}"
            for topic in metadata.topics.values()
            for number, partition in topic.partitions.items()
            if partition.leader < 0 or len(partition.isrs) < len(partition.replicas)
        ]

    # ------------------------------------------------------------------------------------------------ disks

    def fill_disk(self, number: int) -> None:
        """Leave no room; `empty_disk` gives it back."""
        self.disks[number].fill()

    def empty_disk(self, number: int) -> None:
        self.disks[number].empty()

    # ------------------------------------------------------------------------------------------------ the end

    def close(self) -> None:
        services: list[Service] = [*self.brokers, self.zookeeper]
        for service in services:
            service.close()
        self.network.close()
        for disk in self.disks:
            disk.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
