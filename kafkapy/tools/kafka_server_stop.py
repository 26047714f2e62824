"""kafka-server-stop: ask the brokers of this user on this machine to stop (SIGTERM), as Kafka's script does."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkapy.tools.local_processes import processes_of_user

SERVER = ("-m", "kafkapy.tools.kafka_server_start")


def main(argv: Sequence[str] | None = None) -> int:
    found = list(broker_processes())
    if not found:
        print("No kafka server to stop", file=sys.stderr)
        return 1
    for pid in found:
        os.kill(pid, signal.SIGTERM)
    return 0


def broker_processes() -> Iterator[int]:
    """Process ids of brokers that belong to the caller."""
    for pid, arguments in processes_of_user():
        if any(tuple(arguments[i : i + 2]) == SERVER for i in range(len(arguments) - 1)) or any(
            Path(argument).name == "kafka-server-start" for argument in arguments[:3]
        ):
            yield pid


if __name__ == "__main__":
    sys.exit(main())
