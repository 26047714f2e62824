"""Where a test's cluster keeps what ZooKeeper keeps: in its only broker, in a process beside several, or somewhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from kafkapy.testing.reserved_port import ReservedPort
from kafkapy.testing.server_process import LOGGING, ServerProcess


class Coordination(Protocol):
    """`connect`: the `zookeeper.connect` of each broker."""

    connect: str

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def log(self) -> str:
        """What its process has printed; nothing if it has none of its own."""
        ...


class WithoutProcess:
    """An external one, or one in the broker (`embedded:DIRECTORY`)."""

    def __init__(self, connect: str) -> None:
        self.connect = connect

    def start(self) -> None:
        return

    def stop(self) -> None:
        return

    def log(self) -> str:
        return ""


class EmbeddedProcess:
    """The embedded ZooKeeper for several brokers, each of which may die."""

    def __init__(self, directory: Path, remove: Path | None) -> None:
        """`remove`: the cluster's directory, if it goes with it; then nothing needs to be written down."""
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
