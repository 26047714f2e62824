"""zookeeper-shell: ZooKeeper's own command-line client."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from kafkapy.tools.command_line import ToolError, guard, print_version
from kafkapy.tools.java import SHELL_JARS, SHELL_MAIN, find_java, zookeeper_class_path

USAGE = "USAGE: zookeeper-shell.sh zookeeper_host:port[/path] [args...]"


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
    return guard(lambda: run(arguments))


def run(arguments: list[str]) -> int:
    """This process becomes the shell; with a command after the address it runs that one and ends."""
    if "-zk-tls-config-file" in arguments:
        raise ToolError("-zk-tls-config-file is not supported: the ZooKeeper shell speaks plaintext only")
    java = str(find_java())
    flags = ["-Xmx64M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", zookeeper_class_path(SHELL_JARS)]
    os.execv(java, [java, *flags, SHELL_MAIN, "-server", *arguments])


if __name__ == "__main__":
    sys.exit(main())
