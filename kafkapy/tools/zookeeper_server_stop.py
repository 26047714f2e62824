"""zookeeper-server-stop: ask ZooKeeper servers of this user on this machine to stop, as Kafka's script does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkapy.tools.argument_parser import ArgumentParser
from kafkapy.tools.java import ZOOKEEPER_MAIN
from kafkapy.tools.running_servers import RunningServer, find_servers, run_stop

SERVER, EMBEDDED = ("kafkapy.tools.zookeeper_server_start", "zookeeper-server-start"), "--embedded"


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser("zookeeper-server-stop", "Ask the ZooKeeper servers of this user on this machine to stop.")
    return run_stop(parser, "zookeeper", lambda _: zookeepers(), argv)


def zookeepers() -> Iterator[RunningServer]:
    """The Java processes of this user whose main class is ZooKeeper's server, and the embedded ones of a process of their own."""
    return find_servers(_arguments)


def _arguments(words: list[str]) -> list[str] | None:
    if EMBEDDED in words and any(word.endswith(SERVER) for word in words[:3]):
        return [word for word in words[words.index(EMBEDDED) + 1 :] if word != "-daemon"]
    if Path(words[0]).name != "java" or ZOOKEEPER_MAIN not in words:
        return None
    return words[words.index(ZOOKEEPER_MAIN) + 1 :]


if __name__ == "__main__":
    sys.exit(main())
