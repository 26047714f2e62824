"""ZooKeepers for tests, started as bin/zookeeper-server-start.sh starts them: Apache's (--apache), and the embedded one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from kafkapy.common.free_ports import free_ports
from kafkapy.tools.zookeeper.java import zookeeper_command
from tests.waiting import HANG_SECONDS


class ZooKeeperServer:
    """One process; `stop` and `start` again keep the port and the data."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (self.port,) = free_ports(1)
        self.process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "zookeeper.properties").write_text(
            f"dataDir={directory / 'data'}\nclientPort={self.port}\nclientPortAddress=127.0.0.1\n"
            "maxClientCnxns=0\nadmin.enableServer=false\ntickTime=500\nminSessionTimeout=1000\n"
            "maxSessionTimeout=60000\n4lw.commands.whitelist=*\nforceSync=no\n"
        )

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def command(self, properties: str) -> list[str]:
        return zookeeper_command(properties, {**os.environ, "KAFKA_HEAP_OPTS": ""})

    def start(self) -> None:
        command = self.command(str(self.directory / "zookeeper.properties"))
        with open(self.directory / "zookeeper.out", "ab") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.wait_until_serving()

    def wait_until_serving(self) -> None:
        deadline = time.monotonic() + HANG_SECONDS
        while not self._is_serving():
            ended = self.process is not None and self.process.poll() is not None
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"ZooKeeper does not serve on port {self.port}, see {self.directory}")
            time.sleep(0.05)

    def _is_serving(self) -> bool:
        """The real one may leave a question that comes while it starts without any answer: it is asked again."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                connection.sendall(b"srvr")  # the real one says `imok` a moment before it takes sessions
                return b"Mode:" in connection.makefile("rb").read()
        except OSError:
            return False

    def stop(self) -> None:
        """kill -9: a ZooKeeper loses nothing by it, and it is quick."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class EmbeddedZooKeeperServer(ZooKeeperServer):
    """The embedded one in a process of its own: it needs no Java, and is there at once."""

    def command(self, properties: str) -> list[str]:
        return [sys.executable, "-m", "kafkapy.tools.zookeeper_server_start", properties]


def server_for_tests(directory: Path) -> ZooKeeperServer:
    """The embedded one; with KAFKAPY_TEST_ZOOKEEPER=real the real one."""
    chosen = os.environ.get("KAFKAPY_TEST_ZOOKEEPER", "embedded")
    if chosen not in ("embedded", "real"):
        raise RuntimeError(f"KAFKAPY_TEST_ZOOKEEPER={chosen}: it is embedded or real")
    return ZooKeeperServer(directory) if chosen == "real" else EmbeddedZooKeeperServer(directory)
