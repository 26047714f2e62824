"""Where a test's cluster keeps what ZooKeeper keeps."""

from __future__ import annotations

from typing import Protocol


class Coordination(Protocol):
    """`connect`: the `zookeeper.connect` of each broker."""

    connect: str

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def log(self) -> str:
        """What its process has printed; nothing if it has none of its own."""
        ...


class GivenZooKeeper:
    """One that somebody else runs."""

    def __init__(self, connect: str) -> None:
        self.connect = connect

    def start(self) -> None:
        return

    def stop(self) -> None:
        return

    def log(self) -> str:
        return ""
