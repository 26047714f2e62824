"""zookeeper-server-stop: ask the ZooKeeper servers of this user on this machine to stop, as Kafka's script does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkapy.tools.java import ZOOKEEPER_MAIN


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
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid != os.getuid():
                continue
            arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if Path(arguments[0]).name == "java" and ZOOKEEPER_MAIN in arguments:
            yield int(entry.name)


if __name__ == "__main__":
    sys.exit(main())
