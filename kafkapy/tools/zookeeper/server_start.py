"""zookeeper-server-start: runs the embedded ZooKeeper, which needs no Java, or with --apache the one in PySpark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kafkapy.common.properties import load_file
from kafkapy.tools.common.command_line import ToolError, run_words
from kafkapy.tools.zookeeper.java import zookeeper_command

PORTS = {"clientPort", "secureClientPort", "admin.serverPort"}
NUMBERS = {
    *("tickTime", "initLimit", "syncLimit", "maxClientCnxns", "minSessionTimeout", "maxSessionTimeout", "snapCount"),
    *("autopurge.snapRetainCount", "autopurge.purgeInterval", "globalOutstandingLimit", "clientPortListenBacklog"),
}
USAGE = "USAGE: zookeeper-server-start.sh [-daemon] [--apache] zookeeper.properties"
HELP = f"""{USAGE}

Without --apache kafkapy's own ZooKeeper runs: one node, for development and tests, in ZooKeeper's protocol and files
(docs/embedded_zookeeper.md). --apache takes Apache's, which needs a Java and PySpark's jars: pip install "kafkapy[zookeeper]"."""
EMBEDDED, APACHE = "--embedded", "--apache"
MODULE = "kafkapy.tools.zookeeper_server_start"


def main(argv: Sequence[str] | None = None) -> int:
    return run_words(USAGE, lambda: HELP, start, argv)


def start(arguments: list[str]) -> int:
    """Start ZooKeeper: in the foreground in place of this process, with -daemon as a new process."""
    options = {word for word in arguments if word in ("-daemon", EMBEDDED, APACHE)}
    files = [word for word in arguments if word not in options]
    if len(files) != 1:
        raise ToolError(USAGE)
    if {EMBEDDED, APACHE} <= options:
        raise ToolError(f"{EMBEDDED} and {APACHE} are two ZooKeepers: choose one")
    _check(files[0])
    run = _run_apache if APACHE in options else _run_embedded
    return run(files[0], "-daemon" in options)


def _run_embedded(file: str, is_daemon: bool) -> int:
    from kafkapy.tools.zookeeper import embedded as zookeeper_embedded

    properties = zookeeper_embedded.properties_of(file)
    if not is_daemon:
        return zookeeper_embedded.run(properties)
    _start_in_background([sys.executable, "-m", MODULE, file], _log_directory())
    return 0


def _run_apache(file: str, is_daemon: bool) -> int:
    if not is_daemon:
        command = zookeeper_command(file)
        os.execv(command[0], command)
    directory = _log_directory()
    _start_in_background(zookeeper_command(file, log_dir=directory), directory)
    return 0


def _log_directory() -> Path:
    from kafkapy.common.logging_setup import default_log_dir

    directory = Path(default_log_dir())
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def _start_in_background(command: list[str], directory: Path) -> None:
    with open(directory / "zookeeper.out", "wb") as out:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)


def _check(file: str) -> None:
    """Check the arguments, for which ZooKeeper would print a stack trace. Raises ToolError."""
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
        digits = properties[name].removeprefix("-")
        if not (digits.isascii() and digits.isdigit()):
            raise ToolError(f"{file}: {name}={properties[name]} is no number")


if __name__ == "__main__":
    sys.exit(main())
