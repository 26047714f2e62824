"""Apache ZooKeeper as a child process of a command, in place of the embedded one; it ends with the command."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from kafkapy.common.properties import dump
from kafkapy.testing.reserved_port import ReservedPort
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.zookeeper.java import zookeeper_command

START_SECONDS = 180
_PR_SET_PDEATHSIG = 1


class RealZooKeeper:
    """A `Coordination` of `kafkapy.testing`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = ReservedPort()
        self._process: subprocess.Popen[bytes] | None = None
        self.connect = self._port.address
        self.output = directory / "zookeeper.log"

    def start(self) -> None:
        """Start it; returns when it serves. Raises ToolError if Java or PySpark, which contains its jars, is missing."""
        self._directory.mkdir(parents=True, exist_ok=True)
        properties = self._directory / "zookeeper.properties"
        own = {
            "dataDir": self._directory / "data",
            "clientPort": self._port.port,
            "clientPortAddress": self._port.host,
            "maxClientCnxns": 0,
            "admin.enableServer": "false",
            "tickTime": 500,
            "minSessionTimeout": 1000,
            "maxSessionTimeout": 60000,
            "4lw.commands.whitelist": "*",
        }
        properties.write_text(dump(own))
        prctl = getattr(ctypes.CDLL(None), "prctl", None)  # of Linux
        with open(self.output, "ab") as output:
            self._process = subprocess.Popen(
                zookeeper_command(str(properties)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=prctl and (lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)),
            )
        self._wait_until_serving()

    def _wait_until_serving(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._serves():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise ToolError(f"ZooKeeper does not start; {self.output} says why")
            time.sleep(0.02)

    def _serves(self) -> bool:
        try:
            with socket.create_connection((self._port.host, self._port.port), 1) as connection:
                connection.sendall(b"ruok")
                return connection.recv(4) == b"imok"
        except OSError:
            return False

    def stop(self) -> None:
        """Kill it: all acknowledged writes are in its log."""
        process, self._process = self._process, None
        if process is not None:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        self._port.release()

    def log(self) -> str:
        return self.output.read_text(errors="replace") if self.output.exists() else ""
