"""A real broker process for tests, started as bin/kafka-server-start.sh starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from kafkapy.common.free_ports import free_ports
from tests.waiting import HANG_SECONDS

ROOT = Path(__file__).parents[1]


class BrokerProcess:
    """One process; `stop` and `start` again keep the port and the data."""

    def __init__(self, directory: Path, zk_connect: str, **config: str) -> None:
        """`config`: properties with underscores in the place of dots."""
        self.directory = directory
        self.data = directory / "data"
        self.output = directory / "broker.out"
        self.process: subprocess.Popen[bytes] | None = None
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        properties = {
            "broker.id": "0",
            "listeners": f"PLAINTEXT://{self.address}",
            "log.dirs": str(self.data),
            "zookeeper.connect": zk_connect,
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "group.initial.rebalance.delay.ms": "0",
            **{name.replace("_", "."): value for name, value in config.items()},
        }
        directory.mkdir(parents=True, exist_ok=True)
        lines = [f"{name}={value}\n" for name, value in properties.items()]
        (directory / "server.properties").write_text("".join(lines))

    def start(self) -> None:
        said_before = self.output.stat().st_size if self.output.exists() else 0
        self.launch()
        self._wait_until_started(said_before)

    def launch(self) -> subprocess.Popen[bytes]:
        """Start it without waiting for anything."""
        command = [sys.executable, "-m", "kafkapy.tools.kafka_server_start", str(self.directory / "server.properties")]
        environment = {**os.environ, "LOG_DIR": str(self.directory)}
        with open(self.output, "ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT, env=environment)
        return self.process

    def _wait_until_started(self, said_before: int) -> None:
        """It listens a little before it is ready for the signal to stop."""
        deadline = time.monotonic() + HANG_SECONDS
        while b"started (kafkapy.server.KafkaServer)" not in self.output.read_bytes()[said_before:]:
            assert self.process is not None
            assert self.process.poll() is None, f"the broker has ended:\n{self.log()}"
            assert time.monotonic() < deadline, f"the broker does not start:\n{self.log()}"
            time.sleep(0.02)

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        assert self.process is not None
        self.process.terminate()
        status = self.process.wait(HANG_SECONDS)
        self.process = None
        return status

    def log(self) -> str:
        return self.output.read_text()
