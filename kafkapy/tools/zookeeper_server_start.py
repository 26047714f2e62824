"""zookeeper-server-start: run the Apache ZooKeeper that PySpark carries, or with --embedded ours, which needs no Java."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kafkapy.common.properties import load_file
from kafkapy.tools.command_line import ToolError, guard, print_version
from kafkapy.tools.java import zookeeper_command

PORTS = {"clientPort", "secureClientPort", "admin.serverPort"}
NUMBERS = {
    *("tickTime", "initLimit", "syncLimit", "maxClientCnxns", "minSessionTimeout", "maxSessionTimeout"),
    *(
        "autopurge.snapRetainCount",
        "autopurge.purgeInterval",
        "globalOutstandingLimit",
        "snapCount",
        "clientPortListenBacklog",
    ),
}
USAGE = "USAGE: zookeeper-server-start.sh [-daemon] [--embedded] zookeeper.properties"


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        print(USAGE, file=sys.stderr)
        return 1
    if arguments[0] == "--help":
        print(USAGE)
        return 0
    if arguments[0] == "--version":
        print_version()
        return 0
    return guard(lambda: start(arguments))


def start(arguments: list[str]) -> int:
    """In the foreground this process becomes ZooKeeper; with -daemon it starts one of its own and returns."""
    options = {word for word in arguments if word in ("-daemon", "--embedded")}
    files = [word for word in arguments if word not in options]
    if len(files) != 1:
        raise ToolError(USAGE)
    daemon, embedded = "-daemon" in options, "--embedded" in options
    _check(files[0])
    if embedded:
        from kafkapy.tools import zookeeper_embedded

        properties = zookeeper_embedded.properties_of(files[0])
        if not daemon:
            return zookeeper_embedded.run(properties)
    elif not daemon:
        command = zookeeper_command(files[0])
        os.execv(command[0], command)
    from kafkapy.common.logging_setup import default_log_dir

    directory = Path(default_log_dir())
    directory.mkdir(parents=True, exist_ok=True)
    if embedded:
        command = [sys.executable, "-m", "kafkapy.tools.zookeeper_server_start", "--embedded", files[0]]
    else:
        command = zookeeper_command(files[0], log_dir=directory)
    with open(directory / "zookeeper.out", "wb") as out:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    return 0


def _check(file: str) -> None:
    """`ToolError` for what ZooKeeper would answer with a stack trace."""
    if not Path(file).is_file():
        raise ToolError(f"{file}: no such file. Give the path of a zookeeper.properties file.")
    try:
        properties = load_file(file)
    except ValueError as error:
        raise ToolError(str(error)) from None
    if not properties.get("dataDir"):
        raise ToolError(f"{file}: dataDir is missing: the directory of ZooKeeper's data")
    for name in PORTS & properties.keys():
        port = properties[name]
        if not (port.isascii() and port.isdigit() and 0 < int(port) <= 65535):
            raise ToolError(f"{file}: {name}={port} is no port: it is a number from 1 to 65535")
    for name in NUMBERS & properties.keys():
        if not properties[name].removeprefix("-").isdigit():
            raise ToolError(f"{file}: {name}={properties[name]} is no number")


if __name__ == "__main__":
    sys.exit(main())
