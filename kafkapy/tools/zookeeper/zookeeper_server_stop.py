"""zookeeper-server-stop: ask ZooKeeper servers of this user on this machine to stop, as Kafka's script does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkapy.tools.common.argument_parser import ArgumentParser
from kafkapy.tools.servers.running_servers import RunningServer, find_servers, run_stop
from kafkapy.tools.zookeeper.java import ZOOKEEPER_MAIN
from kafkapy.tools.zookeeper.server_start import APACHE, EMBEDDED, MODULE

EMBEDDED_SERVER = (MODULE, "zookeeper-server-start")
"""How the word of a command line ends that starts an embedded ZooKeeper; it comes behind the interpreter and its `-m`."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser("zookeeper-server-stop", "Ask the ZooKeeper servers of this user on this machine to stop.")
    return run_stop(parser, "zookeeper", lambda _: zookeepers(), argv)


def zookeepers() -> Iterator[RunningServer]:
    """The Java processes of this user whose main class is ZooKeeper's server, and the embedded ones of a process of their own."""
    return find_servers(_arguments)


def _arguments(words: list[str]) -> list[str] | None:
    program = next((number for number, word in enumerate(words[:3]) if word.endswith(EMBEDDED_SERVER)), None)
    if program is not None and not {APACHE, "-daemon"} & {*words}:
        return [word for word in words[program + 1 :] if word != EMBEDDED]
    if Path(words[0]).name != "java" or ZOOKEEPER_MAIN not in words:
        return None
    return words[words.index(ZOOKEEPER_MAIN) + 1 :]


if __name__ == "__main__":
    sys.exit(main())
