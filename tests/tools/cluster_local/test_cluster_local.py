"""kafka-cluster-local: what it lays out, what it stops, and a cluster from its start to its end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkapy import KafkaProducer
from kafkapy.admin.client import AdminClient
from kafkapy.common.properties import load_file
from kafkapy.errors import TopicAuthorizationFailedError
from kafkapy.tools.acls import acls
from kafkapy.tools.cluster_local import cluster_local
from kafkapy.tools.cluster_local import layout as local_layout
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.servers.local_processes import ProcessIdentity, identify, spawn, wait_until_ended
from kafkapy.tools.topics import topics
from kafkapy.tools.zookeeper.server_start import MODULE as ZOOKEEPER
from kafkapy.zk.embedded.settings import ServerProperties
from tests.waiting import HANG_SECONDS, wait_until

Tool = Callable[..., str]


@pytest.fixture
def tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    def tool(command: str, status: int = 0) -> str:
        assert cluster_local.main([*command.split(), "--dir", str(tmp_path / "cluster")]) == status
        printed = capsys.readouterr()
        return printed.err or printed.out

    return tool


class TestLayout:
    def test_an_ensemble(self, tmp_path: Path) -> None:
        cluster = local_layout.create(tmp_path / "c", 2, 3, None)
        ports = [*cluster.broker_ports, *cluster.zookeeper_ports, *(p for pair in cluster.quorum_ports for p in pair)]
        assert len({*ports, *cluster.metrics_ports}) == 13
        zookeeper = load_file(str(tmp_path / "c/zookeeper-2/zookeeper.properties"))
        first, second = cluster.quorum_ports[1]
        assert zookeeper["server.2"] == f"127.0.0.1:{first}:{second}"
        assert zookeeper["clientPort"] == str(cluster.zookeeper_ports[1])
        assert (tmp_path / "c/zookeeper-2/data/myid").read_text() == "2"
        broker = load_file(str(tmp_path / "c/broker-1/server.properties"))
        assert broker["zookeeper.connect"].split(",") == [f"127.0.0.1:{port}" for port in cluster.zookeeper_ports]
        assert broker["listeners"] == f"PLAINTEXT://127.0.0.1:{cluster.broker_ports[1]}"
        assert broker["kafkapy.metrics.listener"] == f"127.0.0.1:{cluster.metrics_ports[1]}"
        assert (broker["default.replication.factor"], broker["min.insync.replicas"]) == ("2", "1")

    def test_is_found_again(self, tmp_path: Path) -> None:
        cluster = local_layout.create(tmp_path / "c", 1, 3, None)
        cluster.processes["broker-0"] = ProcessIdentity(1, 2)
        cluster.save()
        assert local_layout.load(tmp_path / "c") == cluster
        assert local_layout.load(tmp_path) is None

    def test_which_zookeeper_runs(self, tmp_path: Path) -> None:
        embedded = local_layout.create(tmp_path / "c", 1, 1, None)
        file = str(tmp_path / "c/zookeeper-1/zookeeper.properties")
        assert ServerProperties.of(load_file(file)).port == embedded.zookeeper_ports[0]
        assert cluster_local._zookeeper_command(embedded, "zookeeper-1")[1:] == ["-m", ZOOKEEPER, file]
        for directory, zookeepers, is_apache in (("d", 1, True), ("e", 3, False)):
            local_layout.create(tmp_path / directory, 1, zookeepers, None, is_apache)
            cluster = local_layout.load(tmp_path / directory)
            assert cluster is not None
            assert cluster.is_apache

    def test_given_ports(self, tmp_path: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(ToolError, match=f"Port {port} is taken .* needs {port} to {port + 6}"):
                local_layout.create(tmp_path / "c", 3, 1, port)
        with pytest.raises(ToolError, match="7 ports from there on are not possible"):
            local_layout.create(tmp_path / "c", 3, 1, 65533)

    def test_somebody_elses_directory(self, tmp_path: Path, tool: Tool) -> None:
        (tmp_path / "cluster").mkdir()
        (tmp_path / "cluster" / "letter.txt").touch()
        assert "holds other things than a local cluster" in tool("start", 1)
        (tmp_path / "cluster" / "cluster.json").write_text("{}")
        assert "cluster.json is damaged" in tool("start", 1)


class TestProcesses:
    def test_an_id_that_came_again(self, tmp_path: Path) -> None:
        """Only the very process that was started is stopped, not another one with its id."""
        process = spawn(["sleep", "60"], tmp_path / "out", os.environ)
        assert process.is_running
        ProcessIdentity(process.pid, process.started - 1).stop(signal.SIGKILL)
        assert wait_until_ended([process], 0.05) == [process]
        process.stop()
        assert wait_until_ended([process], 10) == []

    def test_a_zombie_has_ended(self) -> None:
        process = subprocess.Popen(["true"])
        wait_until(lambda: identify(process.pid) is None)
        process.wait()


@pytest.mark.integration
def test_from_start_to_stop(tool: Tool, tmp_path: Path) -> None:
    printed = tool("start -n 2")
    try:
        assert "2 brokers and 1 ZooKeeper are running" in printed
        cluster = local_layout.load(tmp_path / "cluster")
        assert cluster is not None
        assert f"bootstrap servers: {cluster.bootstrap_servers}\n" in printed
        for url in cluster.metrics_urls:
            assert url in printed
            with urllib.request.urlopen(url) as page:
                assert b"kafka_server_replicamanager_leadercount" in page.read()
        with AdminClient(cluster.bootstrap_servers) as admin:
            assert [node.id for node in admin.describe_cluster().nodes] == [0, 1]
        assert f"runs already: {cluster.bootstrap_servers}. Stop it first." in tool("start", 1)
        assert "was made with -n 2" in tool("start -n 3", 1)
        assert "was made with the embedded ZooKeeper" in tool("start --apache", 1)
        assert tool("status").count("running, process") == 3

        killed = cluster.processes["broker-0"]
        killed.stop(signal.SIGKILL)
        assert wait_until_ended([killed], 10) == []
        assert "broker-0     127.0.0.1:" in tool("status", 1)
        assert "but for broker-0, which is started again." in tool("start")
        assert tool("status").count("running, process") == 3
    finally:
        tool("stop")
    assert "is not running" in tool("stop", 1)
    assert tool("status", 1).count("not running") == 3


@pytest.mark.integration
def test_a_secured_one(tool: Tool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = tool("start --secure -n 2")
    directory = tmp_path / "cluster"
    try:
        assert f"--command-config {directory}/admin.properties --list" in printed
        cluster = local_layout.load(directory)
        assert cluster is not None
        private = [*directory.glob("client-*"), directory / "admin.properties", *directory.glob("security/*-*.pem")]
        assert len(private) == 9 and {file.stat().st_mode & 0o777 for file in private} == {0o600}
        certificate = (directory / "security/broker-0.pem").read_bytes()
        options = json.loads((directory / "client-alice.kafka-python.json").read_text())
        with KafkaProducer(**options) as producer:
            producer.send("demo-1", b"hello").get(HANG_SECONDS)
        options = json.loads((directory / "client-bob.kafka-python.json").read_text())
        with KafkaProducer(**options) as producer, pytest.raises(TopicAuthorizationFailedError):
            producer.send("demo-1", b"hello").get(HANG_SECONDS)
        tool("stop")
        assert "2 brokers and 1 ZooKeeper are running" in tool("start")
        assert (directory / "security/broker-0.pem").read_bytes() == certificate
        arguments = ["--bootstrap-server", cluster.bootstrap_servers, "--command-config"]
        assert acls.main([*arguments, str(directory / "admin.properties"), "--list", "--principal", "User:alice"]) == 0
        assert "name=demo, patternType=PREFIXED" in capsys.readouterr().out
        assert topics.main([*arguments, str(directory / "client-bob.properties"), "--list"]) == 0
        assert capsys.readouterr().out == "\n"
    finally:
        tool("stop")


def test_an_open_one_is_not_closed_later(tmp_path: Path, tool: Tool) -> None:
    local_layout.create(tmp_path / "cluster", 1, 1, None)
    assert "was made without --secure. Give another --dir." in tool("start --secure", 1)
