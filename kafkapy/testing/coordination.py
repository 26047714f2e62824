"""The ZooKeeper of a test's cluster: embedded in the only broker, a process beside several brokers, or an external
one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from kafkapy.testing.reserved_port import ReservedPort
from kafkapy.testing.server_process import LOGGING, ServerProcess


class Coordination(Protocol):
    """A ZooKeeper that the cluster starts and stops. `connect`: the `zookeeper.connect` of each broker."""

    connect: str

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def log(self) -> str:
        """The output of its process; empty if it has none."""
        ...


class WithoutProcess:
    """An external ZooKeeper, or one embedded in the broker (`embedded:DIRECTORY`)."""

    def __init__(self, connect: str) -> None:
        self.connect = connect

    def start(self) -> None:
        return

    def stop(self) -> None:
        return

    def log(self) -> str:
        return ""


class EmbeddedProcess:
    """The embedded ZooKeeper as a process, so that it survives the end of any broker."""

    def __init__(self, directory: Path, remove: Path | None) -> None:
        """`remove`: the cluster's directory if it is temporary; then ZooKeeper keeps its data in memory only."""
        self._port = ReservedPort()
        self.connect = self._port.address
        keep = [] if remove is not None else [str(directory / "data")]
        self._process = _ZooKeeperProcess(directory, [self._port.host, str(self._port.port), *keep], remove)

    def start(self) -> None:
        self._process.start()

    def stop(self) -> None:
        self._process.stop()
        self._port.release()

    def log(self) -> str:
        return self._process.log()


class _ZooKeeperProcess(ServerProcess):
    def __init__(self, directory: Path, arguments: list[str], remove: Path | None) -> None:
        super().__init__("ZooKeeper", directory, "kafkapy.testing.control.zookeeper_child", arguments, remove)
        (directory / "logging.properties").write_text(LOGGING)

    def environment(self) -> Mapping[str, str]:
        return {"KAFKAPY_LOGGING_CONFIG": str(self.directory / "logging.properties")}
