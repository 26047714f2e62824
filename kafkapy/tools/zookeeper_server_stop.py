"""zookeeper-server-stop: ask the ZooKeeper servers of this user on this machine to stop, as Kafka's script does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkapy.tools.java import ZOOKEEPER_MAIN
from kafkapy.tools.local_processes import processes_of_user


def main(argv: Sequence[str] | None = None) -> int:
    """SIGNAL in the environment names another signal than TERM."""
    found = list(zookeeper_processes())
    if not found:
        print("No zookeeper server to stop", file=sys.stderr)
        return 1
    name = os.environ.get("SIGNAL", "TERM").removeprefix("SIG")
    for pid in found:
        os.kill(pid, signal.Signals[f"SIG{name}"])
    return 0


def zookeeper_processes() -> Iterator[int]:
    """Process ids of the Java processes of this user whose main class is ZooKeeper's server."""
    for pid, arguments in processes_of_user():
        if Path(arguments[0]).name == "java" and ZOOKEEPER_MAIN in arguments:
            yield pid


if __name__ == "__main__":
    sys.exit(main())
