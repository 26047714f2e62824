"""Brokers that start with much on their disks, after `kill -9`: pings from when the port is open."""

from __future__ import annotations

import time
from pathlib import Path

from kazoo.client import KazooClient

from benchmarks.brokers import KafkapyServer, Server, start_zookeeper
from benchmarks.run import wait_until_it_serves
from benchmarks.stalls.client import FrameClient, batch, check, make_topic, metadata_request, produce_request, values
from benchmarks.stalls.measure import PROBE_TOPIC, Scenario
from benchmarks.stalls.partitions import commit_offsets
from benchmarks.stalls.topics import names
from kafkapy.common.free_ports import free_ports
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.zk.zk_data import BrokerIdZNode, ConfigEntityZNode, TopicZNode

_PATIENCE_SECONDS = 120.0


class Home:
    """Data and a ZooKeeper that one broker after another starts with, of whichever kind."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (self.zookeeper_port,) = free_ports(1)
        self._zookeeper = start_zookeeper(directory, self.zookeeper_port)
        self.zk = KazooClient(f"127.0.0.1:{self.zookeeper_port}", timeout=30)
        self.zk.start(60)

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def wait_until_gone(self) -> None:
        """The last broker's session has ended: Apache's does not start before."""
        while self.zk.exists(BrokerIdZNode.path(0)):
            time.sleep(0.1)

    def close(self) -> None:
        self.zk.stop()
        self._zookeeper.kill()
        self._zookeeper.wait()


class Restart(Scenario):
    starts = True

    def __init__(self, topics: int, partitions: int, groups: int = 0, seconds: float = 4.0) -> None:
        """`partitions`: of all topics together; `groups` with 1,000 commits each; `seconds`: how long it is looked at once it
        serves."""
        self.name = f"restart, {partitions:,} partitions of {topics:,} topics"
        if groups:
            self.name = f"restart, {1000 * groups:,} commits of {groups:,} groups"
        self.broker = self.name
        self.topics = topics
        self._partitions = partitions
        self._groups = groups
        self._seconds = seconds
        self.home: Home | None = None

    def build(self, directory: Path) -> Home:
        """The data, made by a kafkapy broker on first use."""
        if self.home is None:
            self.home = Home(directory)
            properties = {"log.dirs": str(self.home.data), "offsets.topic.num.partitions": 50}
            server = KafkapyServer("builder", directory, 0, self.home.zookeeper_port, properties)
            server.start()
            wait_until_it_serves(server)
            make_topic(server, PROBE_TOPIC)
            server.stop()
            self._write_topics(self.home.zk)
            server.start()
            with FrameClient(server.port) as client:
                while not self._are_led(client):
                    time.sleep(0.2)
            if self._groups:
                commit_offsets(server, self._groups, names(1)[0], 1000)
            server.kill()
        return self.home

    def _write_topics(self, zk: KazooClient) -> None:
        counts = [self._partitions // self.topics + (n < self._partitions % self.topics) for n in range(self.topics)]
        waiting = []
        for name, count in zip(names(self.topics), counts, strict=True):
            assignment = {p: ReplicaAssignment((0,)) for p in range(count)}
            waiting.append(zk.create_async(ConfigEntityZNode.path("topics", name), ConfigEntityZNode.encode({})))
            waiting.append(zk.create_async(TopicZNode.path(name), TopicZNode.encode(None, assignment)))
        for created in waiting:
            created.get()

    def _are_led(self, client: FrameClient) -> bool:
        topics = client.call(metadata_request(None), 9).topics
        found = [p for topic in topics if topic.name.startswith("stalls-") for p in topic.partitions]
        return len(found) == self._partitions and all(p.leader_id == 0 for p in found)

    def prepare(self, server: Server) -> None:
        assert self.home is not None
        self.home.wait_until_gone()

    def load(self, server: Server) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while not self._serves(server):
            if time.monotonic() > end:
                raise SystemExit(f"{server.name} does not serve after {_PATIENCE_SECONDS} s: {server.directory}")
            time.sleep(0.2)
        time.sleep(self._seconds)

    def _serves(self, server: Server) -> bool:
        request = produce_request(PROBE_TOPIC, batch(values(1, 100)))
        try:
            with FrameClient(server.port) as client:
                check(client.call(request, 9).responses[0].partition_responses[0].error_code)
                return not self._groups or self._offsets_are_loaded(client)
        except (OSError, KafkaError):
            return False

    def _offsets_are_loaded(self, client: FrameClient) -> bool:
        groups = [
            OffsetFetchRequest.OffsetFetchRequestGroup(group_id=f"stalls-{n}", topics=[]) for n in range(self._groups)
        ]
        response = client.call(OffsetFetchRequest(groups=groups, require_stable=False), 8)
        return not any(group.error_code for group in response.groups)

    def clean(self, server: Server) -> None:
        server.kill()


def scenarios() -> list[Restart]:
    return [
        Restart(1000, 3000),
        Restart(2013, 9214),
        Restart(100, 10_000),
        Restart(1, 1000, groups=1000, seconds=2.0),
    ]
