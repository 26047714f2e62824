"""ZooKeeper and brokers as processes, and the faults that can be done to them.

Every service has a directory of its own for all that it writes and free ports of 127.0.0.1. A fault returns when it has
happened; whatever is waited for has a deadline, after which `ServiceError` says what did not happen and where to look.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import psutil

from kafkapy.common.free_ports import free_ports
from kafkapy.tools.zookeeper.java import find_java, zookeeper_command
from system_tests.zookeeper_session import ZooKeeperView

ROOT = Path(__file__).resolve().parents[1]
HOST = "127.0.0.1"
TIME_LIMIT_FACTOR = 5
"""The limits of this package are of a machine that does nothing else; what hangs has so many times as long before it fails."""

SESSION_TIMEOUT_MS = 2000
"""Brokers' sessions with ZooKeeper: short, since whoever was killed is waited for that long."""


class ServiceError(AssertionError):
    """What a service should have done in time and did not."""


def wait_until(condition: Callable[[], bool], seconds: float, what: str | Callable[[], str]) -> float:
    """Wait for `condition`; returns the seconds that took. `ServiceError` says what did not come true (`what`)."""
    begin = time.monotonic()
    while not condition():
        if (waited := time.monotonic() - begin) > TIME_LIMIT_FACTOR * seconds:
            raise ServiceError(f"{what if isinstance(what, str) else what()}: not within {waited:g} s")
        time.sleep(0.05)
    return time.monotonic() - begin


class Service:
    """One process at a time. Invariant: `process` is the one that was started last and not yet waited for, or None."""

    name = "service"
    start_seconds = 60
    stop_seconds = 60
    clean_exit_codes: tuple[int, ...] = (0,)
    host = HOST
    """The address of 127.0.0.1's namespace, or of another, that it listens on."""
    prefix: tuple[str, ...] = ()
    """What its command begins with: `ip netns exec ...` has it run in a network namespace."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        (self.port,) = free_ports(1)
        self.output = directory / f"{self.name}.out"
        """What all processes of this service have written to stdout and stderr."""
        self.process: subprocess.Popen[bytes] | None = None
        self._output_start = 0

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        return os.environ

    def is_serving(self) -> bool:
        """Does it answer requests?"""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------------ life

    def start(self, wait: bool = True) -> float:
        """Start the process; returns the seconds until it served (0 with `wait=False`: see `wait_until_serving`)."""
        assert self.process is None, f"{self.name} is running"
        self._output_start = self.output.stat().st_size if self.output.exists() else 0
        with open(self.output, "ab") as out:
            self.process = subprocess.Popen(
                [*self.prefix, *self.command()],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=dict(self.environment()),
            )
        return self.wait_until_serving() if wait else 0

    def wait_until_serving(self) -> float:
        def serving() -> bool:
            if not self.is_running:
                raise ServiceError(f"{self.name} has ended; its last words ({self.output}):\n{self.tail()}")
            return self.is_serving()

        return wait_until(serving, self.start_seconds, f"{self.name} serves on {self.address}, see {self.output}")

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None, f"{self.name} is not running"
        return self.process.pid

    @property
    def memory(self) -> int:
        """Bytes of memory that belong to the process alone (files that are merely cached do not count)."""
        used: int = psutil.Process(self.pid).memory_full_info().uss
        return used

    def text(self) -> str:
        """What the present (or last) process has written so far."""
        with open(self.output, "rb") as out:
            out.seek(self._output_start)
            return out.read().decode(errors="replace")

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.text().splitlines()[-lines:])

    def close(self) -> None:
        """End the process, whatever state it is in."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            self.process.wait()
            self.process = None

    # ------------------------------------------------------------------------------------------------ faults

    def clean_shutdown(self) -> float:
        """SIGTERM, and wait for the end; returns the seconds that took. `ServiceError` if its exit code says failure."""
        assert self.process is not None, f"{self.name} is not running"
        begin = time.monotonic()
        self.process.terminate()
        try:
            code = self.process.wait(TIME_LIMIT_FACTOR * self.stop_seconds)
        except subprocess.TimeoutExpired:
            raise ServiceError(f"{self.name} does not stop:\n{self.tail()}") from None
        self.process = None
        if code not in self.clean_exit_codes:
            raise ServiceError(f"{self.name} stopped with exit code {code}:\n{self.tail()}")
        return time.monotonic() - begin

    def hard_kill(self) -> None:
        """SIGKILL: no more instructions are executed."""
        assert self.is_running, f"{self.name} had ended before it was killed:\n{self.tail()}"
        self.close()

    def clean_bounce(self) -> float:
        """Stop and start; returns the seconds until it served again."""
        return self.clean_shutdown() + self.start()

    def hard_bounce(self) -> float:
        """Kill and start; returns the seconds until it served again."""
        self.hard_kill()
        return self.start()

    def pause(self) -> None:
        """SIGSTOP: the process stands still, its sockets stay open."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        self.pause()
        try:
            yield
        finally:
            self.resume()


class ZooKeeperService(Service):
    """The Apache ZooKeeper that bin/zookeeper-server-start.sh runs, alone, with short ticks."""

    name = "zookeeper"
    clean_exit_codes = (0, 143)

    def __init__(self, directory: Path, host: str = HOST) -> None:
        super().__init__(directory)
        self.host = host
        self._properties = directory / "zookeeper.properties"
        self._properties.write_text(
            f"dataDir={directory / 'data'}\nclientPort={self.port}\nclientPortAddress={host}\nmaxClientCnxns=0\n"
            "admin.enableServer=false\ntickTime=500\nminSessionTimeout=1000\nmaxSessionTimeout=60000\n"
            "4lw.commands.whitelist=*\n"
        )

    def command(self) -> list[str]:
        return zookeeper_command(str(self._properties))

    def is_serving(self) -> bool:
        try:
            with socket.create_connection((self.host, self.port), timeout=1) as connection:
                connection.sendall(b"ruok")
                return connection.recv(4) == b"imok"
        except OSError:
            return False


class KafkaService(Service):
    """A kafkapy broker, alone in a chroot of ZooKeeper; `configs` come on top of settings that suit tests.

    Data and properties outlive the process, so that `start` after any end goes on where that left off.
    """

    name = "kafkapy"
    started: ClassVar[set[KafkaService]] = set()
    """All of this run."""

    def __init__(
        self,
        directory: Path,
        zookeeper: ZooKeeperService,
        configs: Mapping[str, object] | None = None,
        broker_id: int = 0,
        chroot: str = "",
    ) -> None:
        super().__init__(directory)
        self.broker_id = broker_id
        self.zookeeper = zookeeper
        self.zookeeper_connect = zookeeper.address + chroot
        self.data = directory / "data"
        self.properties = {
            "broker.id": broker_id,
            "log.dirs": self.data,
            "zookeeper.connect": self.zookeeper_connect,
            "zookeeper.session.timeout.ms": SESSION_TIMEOUT_MS,
            "zookeeper.connection.timeout.ms": 30000,
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 5,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "group.initial.rebalance.delay.ms": 0,
            **(configs or {}),
        }

    @property
    def bootstrap(self) -> str:
        return self.address

    def start(self, wait: bool = True) -> float:
        properties = {"listeners": f"PLAINTEXT://{self.address}", **self.properties}
        lines = [f"{key}={value}\n" for key, value in properties.items()]
        self.properties_file.write_text("".join(lines))
        self.started.add(self)
        return super().start(wait)

    @property
    def properties_file(self) -> Path:
        return self.directory / "server.properties"

    def command(self) -> list[str]:
        return [sys.executable, "-m", "kafkapy.tools.kafka_server_start", str(self.properties_file)]

    def environment(self) -> Mapping[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT), "LOG_DIR": str(self.directory / "logs")}

    def is_serving(self) -> bool:
        """Does it answer Metadata v1, and know that it lives itself? (Its port is open before that.)"""
        request = struct.pack(">hhihi", 3, 1, 1, -1, 0)
        try:
            with socket.create_connection((self.host, self.port), timeout=1) as connection:
                connection.sendall(len(request).to_bytes(4, "big") + request)
                answer = connection.recv(12, socket.MSG_WAITALL)
                return len(answer) == 12 and int.from_bytes(answer[8:], "big") > 0
        except OSError:
            return False

    def partition_dir(self, topic: str, partition: int = 0) -> Path:
        return self.data / f"{topic}-{partition}"

    # ------------------------------------------------------------------------------------------------ in ZooKeeper

    def view(self) -> ZooKeeperView:
        """ZooKeeper as this broker sees it, chroot and all."""
        return ZooKeeperView(self.zookeeper_connect)

    def expire_session(self) -> None:
        """Have ZooKeeper end the broker's session, by a second client that claims it and closes it."""
        with self.view() as view:
            view.end_session(view.owner(f"/brokers/ids/{self.broker_id}"))

    def wait_until_in_zookeeper(self, seconds: float = 60, after_epoch: int = -1) -> int:
        """Wait for a registration newer than `after_epoch`, and for some controller; returns the broker epoch."""
        with self.view() as view:
            wait_until(
                lambda: view.epoch(f"/brokers/ids/{self.broker_id}") > after_epoch and view.owner("/controller") != 0,
                seconds,
                f"broker {self.broker_id} is registered, see {self.output}",
            )
            return view.epoch(f"/brokers/ids/{self.broker_id}")

    def wait_until_registered(self, seconds: float = 30, after_epoch: int = -1) -> int:
        """Wait for a registration newer than `after_epoch` that is also the controller; returns the broker epoch."""
        with self.view() as view:
            wait_until(
                lambda: (
                    view.epoch(f"/brokers/ids/{self.broker_id}") > after_epoch
                    and view.owner("/controller") == view.owner(f"/brokers/ids/{self.broker_id}") != 0
                ),
                seconds,
                f"broker {self.broker_id} is registered and controller, see {self.output}",
            )
            return view.epoch(f"/brokers/ids/{self.broker_id}")


class ApacheKafkaService(KafkaService):
    """Apache Kafka from a directory of its jars, configured alike."""

    name = "apache"
    clean_exit_codes = (0, 143)

    def __init__(
        self,
        directory: Path,
        zookeeper: ZooKeeperService,
        jars: Path,
        configs: Mapping[str, object] | None = None,
        broker_id: int = 0,
        chroot: str = "",
    ) -> None:
        super().__init__(directory, zookeeper, configs, broker_id, chroot)
        self.jars = jars

    def command(self) -> list[str]:
        log4j = self.directory / "log4j.properties"
        log4j.write_text(
            "log4j.rootLogger=INFO, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
            "log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n\n"
        )
        flags = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Dlog4j.configuration=file:{log4j}"]
        return [str(find_java()), *flags, "-cp", f"{self.jars}/*", "kafka.Kafka", str(self.properties_file)]

    def start(self, wait: bool = True) -> float:
        """Apache refuses to start while the session of a killed predecessor lives: wait for its end first."""
        with self.view() as view:
            wait_until(lambda: not view.owner(f"/brokers/ids/{self.broker_id}"), 30, "the old session ends")
        return super().start(wait)
