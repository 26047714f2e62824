"""zookeeper-server-start: run the Apache ZooKeeper that PySpark carries."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kafkapy.tools.command_line import ToolError, guard
from kafkapy.tools.java import zookeeper_command

USAGE = "USAGE: zookeeper-server-start.sh [-daemon] zookeeper.properties"


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        print(USAGE, file=sys.stderr)
        return 1
    if arguments[0] == "--help":
        print(USAGE)
        return 0
    return guard(lambda: start(arguments))


def start(arguments: list[str]) -> int:
    """In the foreground this process becomes ZooKeeper; with -daemon it starts one of its own and returns."""
    daemon = arguments[0] == "-daemon"
    files = arguments[1:] if daemon else arguments
    if len(files) != 1:
        raise ToolError(USAGE)
    if not Path(files[0]).is_file():
        raise ToolError(f"{files[0]}: no such file. Give the path of a zookeeper.properties file.")
    command = zookeeper_command(files[0])
    if not daemon:
        os.execv(command[0], command)
    from kafkapy.common.logging_setup import default_log_dir

    directory = Path(default_log_dir())
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "zookeeper.out", "wb") as out:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
