"""The two brokers that are compared, started and measured alike."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from benchmarks import apache
from kafkapy.common.free_ports import free_ports

ROOT = Path(__file__).parent.parent
_TICKS = os.sysconf("SC_CLK_TCK")


def wait_for_port(port: int, process: subprocess.Popen[bytes], seconds: float = 60, pause: float = 0.02) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise SystemExit(f"{process.args!r} ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(pause)
    raise SystemExit(f"nothing listens on port {port} after {seconds} s")


def user_environment(more: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Of a child process that keeps the bytecode of its modules, as Python does: else each start compiles all of them anew, which
    takes as long as all the rest."""
    environment = {**os.environ, **more}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def start_zookeeper(directory: Path, port: int) -> subprocess.Popen[bytes]:
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / "zookeeper.properties"
    config.write_text(
        f"dataDir={directory}/zookeeper\nclientPort={port}\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n"
    )
    command = [
        apache.java(),
        "-Xmx256m",
        "-XX:+UseSerialGC",
        f"-Dlog4j.configuration=file:{Path(__file__).parent}/log4j.properties",
    ]
    command += ["-cp", apache.jars(), "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(config)]
    with open(directory / "zookeeper.log", "ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    wait_for_port(port, process)
    while not _serves(port):
        time.sleep(0.05)
    return process


def _serves(port: int) -> bool:
    """Does this ZooKeeper answer? It may listen a moment before, and leaves who connects then without an answer."""
    with socket.create_connection(("127.0.0.1", port), 2) as s:
        s.settimeout(2)
        s.sendall(b"srvr")
        try:
            return s.recv(100).startswith(b"Zookeeper version")
        except OSError:
            return False


def _resident_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


class Server:
    """A broker process: its address, and what the kernel says of its CPU time and memory.

    It gets a ZooKeeper of its own unless it is told the port of one.
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        broker_id: int = 0,
        zookeeper_port: int | None = None,
        properties: Mapping[str, object] = MappingProxyType({}),
        checkout: Path = ROOT,
    ) -> None:
        """`checkout`: whose kafkapy, with the environment in its .venv if that is another than this one."""
        directory.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.directory = directory
        self.checkout = checkout.resolve()
        self.broker_id = broker_id
        (self.port,) = free_ports(1)
        self.zookeeper: subprocess.Popen[bytes] | None = None
        if zookeeper_port is None:
            (zookeeper_port,) = free_ports(1)
            self.zookeeper = start_zookeeper(directory, zookeeper_port)
        self.process: subprocess.Popen[bytes] | None = None
        self.has_own_session = False
        """The kernel shares its cores out by sessions (autogroup), then among the threads of each."""
        self.metrics_port: int | None = None
        self.properties = directory / "server.properties"
        settings = {
            "broker.id": broker_id,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": f"{directory}/data",
            "zookeeper.connect": f"127.0.0.1:{zookeeper_port}",
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            "num.network.threads": 3,
            "num.io.threads": 8,
            **properties,
        }
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> float:
        """Start the broker; seconds until it listens."""
        begin = time.monotonic()
        self.spawn()
        assert self.process is not None
        wait_for_port(self.port, self.process)
        return time.monotonic() - begin

    def spawn(self) -> None:
        """Start the process and wait for nothing."""
        environment = user_environment({"LOG_DIR": str(self.directory / "logs")})
        environment.pop("PYTHONPATH", None)  # the checkout's own package is meant
        with open(self.directory / "broker.log", "ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=self.checkout,
                start_new_session=self.has_own_session,
            )

    def kill(self) -> None:
        """`kill -9`."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.process = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def resident_mb(self) -> float:
        """Of the process and its children (kafkapy's watchdog)."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(_resident_mb(pid) for pid in [self.pid, *map(int, children)])

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
            self.process = None

    def close(self) -> None:
        self.stop()
        if self.zookeeper is not None:
            self.zookeeper.kill()
            self.zookeeper.wait()


class ApacheServer(Server):
    def command(self) -> list[str]:
        log4j = f"-Dlog4j.configuration=file:{Path(__file__).parent}/log4j.properties"
        return [apache.java(), *apache.BROKER_FLAGS, log4j, "-cp", apache.jars(), "kafka.Kafka", str(self.properties)]


class KafkapyServer(Server):
    def serve_metrics(self) -> None:
        """From the next start on."""
        (self.metrics_port,) = free_ports(1)
        with open(self.properties, "a") as properties:
            properties.write(f"kafkapy.metrics.listener=127.0.0.1:{self.metrics_port}\n")

    def command(self) -> list[str]:
        python = sys.executable if self.checkout == ROOT.resolve() else str(self.checkout / ".venv" / "bin" / "python")
        return [python, "-m", "kafkapy.tools.kafka_server_start", str(self.properties)]
