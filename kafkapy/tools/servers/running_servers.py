"""Servers of this user on this machine, and how the stop scripts select among them."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kafkapy.common.capabilities import require_server_support
from kafkapy.tools.common.argument_parser import ArgumentParser
from kafkapy.tools.common.command_line import ToolError, guard
from kafkapy.tools.servers.local_processes import ProcessIdentity, identify, processes_of_user
from kafkapy.tools.servers.server_arguments import ServerArguments


class RunningServer(NamedTuple):
    process: ProcessIdentity
    arguments: ServerArguments

    @property
    def directory(self) -> Path:
        """Its working directory, in which a relative path of its command line is resolved."""
        return Path(f"/proc/{self.process.pid}/cwd")

    def properties(self) -> dict[str, str]:
        """Its configs, read again from its command line, environment and file. Raises OSError or ValueError."""
        variables = Path(f"/proc/{self.process.pid}/environ").read_bytes().decode(errors="replace").split("\0")
        environment = {name: value for name, _, value in (variable.partition("=") for variable in variables)}
        return self.arguments.properties(environment, self.directory)

    def is_named(self, word: str) -> bool:
        """Does `word` equal its process id or its properties file?"""
        if word.isascii() and word.isdigit():
            return int(word) == self.process.pid
        try:
            return self.arguments.file is not None and os.path.samefile(word, self.directory / self.arguments.file)
        except OSError:
            return False


def find_servers(command: Callable[[list[str]], list[str] | None]) -> Iterator[RunningServer]:
    """The processes of this user for which `command` finds a server's arguments in their command line (None: no server)."""
    for pid, words in processes_of_user():
        arguments, process = command(words), identify(pid)
        if arguments is not None and process is not None:
            with contextlib.suppress(ValueError):  # the server is about to exit because of its arguments
                yield RunningServer(process, ServerArguments.parse([word for word in arguments if word]))


def run_stop(
    parser: ArgumentParser,
    kind: str,
    choose: Callable[[argparse.Namespace], Iterable[RunningServer]],
    argv: Sequence[str] | None,
) -> int:
    """A stop script: signal those servers of `choose` that the command line names, or all of them if it names none.

    If one of the named servers does not run, nothing is signalled. SIGNAL in the environment replaces TERM, as in
    Kafka's scripts. Returns the exit status.
    """
    named = "the properties file with which the server was started, or its process id; without any, all servers stop"
    parser.add_argument("named", nargs="*", metavar="FILE|PID", help=named)
    parser.epilog = "SIGNAL in the environment names another signal than TERM."
    arguments = sys.argv[1:] if argv is None else argv
    return guard(lambda: _stop(parser.prog, kind, parser.parse_args(arguments), choose))


def _stop(
    program: str, kind: str, given: argparse.Namespace, choose: Callable[[argparse.Namespace], Iterable[RunningServer]]
) -> None:
    require_server_support(program)
    name = os.environ.get("SIGNAL", "TERM").upper().removeprefix("SIG")
    if f"SIG{name}" not in signal.Signals.__members__:
        raise ToolError(f"SIGNAL={name}: there is no such signal")
    servers = list(choose(given))
    if absent := [word for word in given.named if not any(server.is_named(word) for server in servers)]:
        raise ToolError(f"No {kind} server to stop: {', '.join(absent)}")
    if not servers:
        raise ToolError(f"No {kind} server to stop")
    for server in servers:
        if not given.named or any(server.is_named(word) for word in given.named):
            server.process.stop(signal.Signals[f"SIG{name}"])
