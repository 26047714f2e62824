"""Tools with subcommands (`kafkapy-bus.sh plan …`): argparse, with the same error handling as the other tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from kafkapy.clients.software import VERSION_LINE
from kafkapy.tools.common.command_line import CommandLineError, guard

Action = Callable[[argparse.Namespace], int | None]


class Parser(argparse.ArgumentParser):
    """An argument parser that raises CommandLineError instead of exiting."""

    def error(self, message: str) -> NoReturn:
        raise CommandLineError(f"{message}. {self.prog} --help says what there is")


def run_subcommand(parser: Parser, actions: Mapping[str, Action], arguments: Sequence[str] | None) -> int:
    """Run the tool and return its exit status. The parsers of the subcommands set `action`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser.add_argument("--version", action="version", version=VERSION_LINE, help="print the version and exit")
    if not words:
        parser.print_help(sys.stderr)
        return 1

    def execute() -> int | None:
        given = parser.parse_args(words)
        return actions[given.action](given)

    return guard(execute)
