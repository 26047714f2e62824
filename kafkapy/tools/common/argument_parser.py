"""Command lines of those tools of Kafka that use argparse4j, a Java port of Python's argparse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from kafkapy.clients.software import VERSION_LINE
from kafkapy.tools.common.command_line import CommandLineError, guard


class ArgumentParser(argparse.ArgumentParser):
    """An argument parser that raises CommandLineError with the problem and the usage."""

    def __init__(self, prog: str, description: str = "", **options: Any) -> None:
        """`options`: argparse's own, some of which it passes to the parsers of subcommands (`color`, since 3.14)."""
        options.setdefault("formatter_class", argparse.ArgumentDefaultsHelpFormatter)
        super().__init__(prog, description=description, **options)
        version = "print the version and exit"
        self.add_argument("-v", "--version", action="version", version=VERSION_LINE, help=version)

    def error(self, message: str) -> NoReturn:
        raise CommandLineError(f"{self.prog}: error: {message} (see --help)")

    def add_servers(self) -> None:
        """Add --bootstrap-server and --broker-list; the last one given is used."""
        group = self.add_mutually_exclusive_group(required=True)
        metavar = "HOST1:PORT1[,HOST2:PORT2[...]]"
        group.add_argument("--bootstrap-server", dest="servers", metavar=metavar, help="the servers to connect to")
        group.add_argument(
            "--broker-list", dest="servers", metavar=metavar, help="DEPRECATED: use --bootstrap-server instead"
        )


def run(
    parser: ArgumentParser,
    execute: Callable[[argparse.Namespace], int | None],
    argv: Sequence[str] | None,
    *,
    needs_arguments: bool = False,
) -> int:
    """Run one tool and return its exit status. Without arguments the tool prints its help; the status is 0, or 1 if
    it needs arguments. A failure is a sentence and status 1."""
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments:
        print(parser.format_help(), end="", file=sys.stderr if needs_arguments else None)
        return int(needs_arguments)
    return guard(lambda: execute(parser.parse_args(arguments)))
