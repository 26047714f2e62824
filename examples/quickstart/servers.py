"""One broker, as a user would start it, with the ZooKeeper that it has in its own process, or Apache's beside it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from examples.quickstart.source import QuickstartError
from kafkapy.common.free_ports import free_ports


def step(text: str) -> None:
    print(f"\n== {text}", flush=True)


class Servers:
    """Each is a process in a session of its own, with all it writes below one directory."""

    def __init__(self, directory: Path, port: int | None = None, with_zookeeper: bool = False) -> None:
        self.directory = directory
        self.with_zookeeper = with_zookeeper
        self.zookeeper_port, free_port = free_ports(2)
        self.port = port or free_port
        self.processes: list[tuple[str, subprocess.Popen[bytes]]] = []

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """`QuickstartError` with the server's last words if one does not start."""
        _check_free(self.port)
        if self.with_zookeeper:
            self._start_zookeeper()
        connect = f"127.0.0.1:{self.zookeeper_port}" if self.with_zookeeper else f"embedded:{self.directory}/zookeeper"
        broker = self.directory / "server.properties"
        broker.write_text(
            f"broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:{self.port}\nlog.dirs={self.directory}/kafka-logs\n"
            f"zookeeper.connect={connect}\noffsets.topic.replication.factor=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
            "group.initial.rebalance.delay.ms=0\n"
        )
        step(f"Starting a broker on port {self.port}")
        begin = time.monotonic()
        self._start("the broker", "kafka_server_start", broker, self.port)
        print(f"  serving after {time.monotonic() - begin:.1f} s")

    def _start_zookeeper(self) -> None:
        zookeeper = self.directory / "zookeeper.properties"
        zookeeper.write_text(
            f"dataDir={self.directory}/zookeeper\nclientPort={self.zookeeper_port}\nclientPortAddress=127.0.0.1\n"
            "maxClientCnxns=0\nadmin.enableServer=false\n"
        )
        step(f"Starting ZooKeeper on port {self.zookeeper_port}")
        self._start("ZooKeeper", "zookeeper_server_start", zookeeper, self.zookeeper_port, "--apache")

    def _start(self, name: str, module: str, config: Path, port: int, *options: str) -> None:
        log = self.directory / f"{module}.out"
        environment = dict(os.environ, LOG_DIR=str(self.directory / "logs"))
        with open(log, "ab") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", f"kafkapy.tools.{module}", *options, str(config)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=environment,
            )  # fmt: skip
        self.processes.append((name, process))
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if process.poll() is not None:
                raise QuickstartError(f"{name} did not start; its last words:\n{_tail(log)}")
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise QuickstartError(f"{name} does not listen on port {port} after 60 s; see {log}")

    def stop(self) -> None:
        for _, process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()

    def tool(self, module: str, *arguments: str) -> None:
        """Run one of the command-line tools, as a user would."""
        command = [sys.executable, "-m", f"kafkapy.tools.{module}", "--bootstrap-server", self.bootstrap, *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        sys.stdout.write(done.stdout)
        sys.stdout.flush()
        if done.returncode:
            raise QuickstartError(f"{' '.join(arguments)} failed: {done.stderr.strip() or done.stdout.strip()}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-8:])


def _check_free(port: int) -> None:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError as error:
            raise QuickstartError(
                f"Port {port} can't be used: {error.strerror}. Stop what uses it, or choose another --port (without it I take a "
                "free one)."
            ) from error
