"""zookeeper-server-stop: stops ZooKeeper servers of this user on this machine, as Kafka's script does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kafkapy.tools.common.argument_parser import ArgumentParser
from kafkapy.tools.servers.running_servers import RunningServer, find_servers, run_stop
from kafkapy.tools.zookeeper.java import ZOOKEEPER_MAIN
from kafkapy.tools.zookeeper.server_start import APACHE, EMBEDDED, MODULE

EMBEDDED_SERVER = (MODULE, "zookeeper-server-start")
"""End of the word in a command line that starts an embedded ZooKeeper; it follows the interpreter and its `-m`."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser("zookeeper-server-stop", "Ask the ZooKeeper servers of this user on this machine to stop.")
    return run_stop(parser, "zookeeper", lambda _: zookeepers(), argv)


def zookeepers() -> Iterator[RunningServer]:
    """The user's Java processes whose main class is ZooKeeper's server, and the processes of embedded ones."""
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
