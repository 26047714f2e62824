"""Runs a server process: properties file, logging, signals, exit status."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kafkapy.clients.software import VERSION_LINE
from kafkapy.common.capabilities import STOP_SIGNALS
from kafkapy.common.config_def import ConfigException
from kafkapy.common.properties import load_file

log = logging.getLogger("kafkapy.http")


class HttpProcess(Protocol):
    """A server that `run_command` runs."""

    @property
    def failure(self) -> BaseException | None:
        """The error that has made the server stop the reactor, so that the exit status is 1; None: there was none."""
        ...

    def start(self) -> None:
        """Do the part of the start that may block, on a separate thread. Raises errors whose messages are for the
        user."""
        ...

    def open(self) -> None:
        """Accept requests; on the reactor's thread. Raises ConfigException."""
        ...

    def stop(self) -> None:
        """Stop; may block, so it is called on a separate thread."""
        ...


Make = Callable[[dict[str, str], Any], HttpProcess]
"""Properties and the reactor -> the server. Raises ConfigException."""
MakeOfFiles = Callable[[dict[str, str], Sequence[str], Any], HttpProcess]
"""The same, with the other files of the command line."""


class ServerCommand(NamedTuple):
    """A command that runs a server. `module`: below `kafkapy.tools`; `takes_files`: more files may follow the properties."""

    name: str
    module: str
    usage: str
    takes_files: bool = False


def run_server(name: str, arguments: Sequence[str], make: Make) -> int:
    """Run the server and return the exit status: 1, with a message on stderr, for an invalid configuration."""
    usage = f"USAGE: {name}.sh [-daemon] {name.removesuffix('-start')}.properties [--override property=value]*"
    command = ServerCommand(name, name.replace("-", "_"), usage)
    return run_command(command, arguments, lambda properties, _, reactor: make(properties, reactor))


def run_command(command: ServerCommand, arguments: Sequence[str], make: MakeOfFiles) -> int:
    """As `run_server`."""
    words = list(arguments)
    if words in (["--help"], ["-h"]):
        print(command.usage)
        return 0
    if words == ["--version"]:
        print(VERSION_LINE)
        return 0
    if words[:1] == ["-daemon"]:
        return _start_daemon(command, words[1:])
    try:
        properties, files = _properties(words, command)
        from kafkapy.common.logging_setup import setup_logging

        setup_logging()
        from twisted.internet import reactor

        server = make(properties, files, reactor)
    except (ConfigException, ValueError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    return _run(server, reactor)


def _start_daemon(server: ServerCommand, arguments: list[str]) -> int:
    """Start the server in a session of its own, its output in the log directory, where Confluent's scripts have it."""
    from kafkapy.common.logging_setup import default_log_dir

    directory = Path(default_log_dir())
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", f"kafkapy.tools.{server.module}", *arguments]
    with open(directory / f"{server.name.removesuffix('-start')}.out", "ab") as out:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    return 0


def _properties(words: list[str], command: ServerCommand) -> tuple[dict[str, str], list[str]]:
    properties: dict[str, str] | None = None
    overrides = {}
    files = []
    while words:
        word = words.pop(0)
        if word == "--override" and words and "=" in words[0]:
            key, _, value = words.pop(0).partition("=")
            overrides[key.strip()] = value.strip()
        elif properties is None and not word.startswith("-"):
            properties = load_file(word)
        elif command.takes_files and not word.startswith("-"):
            files.append(word)
        else:
            raise ValueError(f"Not understood: {word}. {command.usage}")
    if properties is None:
        raise ValueError(command.usage)
    return properties | overrides, files


def _fail(sentence: str) -> int:
    print(" ".join(sentence.split()), file=sys.stderr)
    return 1


def _run(server: HttpProcess, reactor: Any) -> int:
    from twisted.internet.defer import Deferred
    from twisted.internet.threads import deferToThread

    status = 0

    async def start() -> None:
        nonlocal status
        try:
            await deferToThread(server.start)
            server.open()
            log.info("The server is started, and takes requests")
        except Exception as error:
            expected = type(error).__module__.startswith("kafkapy.")
            log.error("Exiting: %s", error, exc_info=None if expected else error)
            status = _fail(str(error))
            reactor.stop()

    def stop_on(number: int, _: Any) -> None:
        log.info("Terminating due to signal %s", signal.Signals(number).name)
        reactor.callFromThread(stop_reactor, reactor)

    def install() -> None:
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, stop_on)
        Deferred.fromCoroutine(start())

    reactor.callWhenRunning(install)
    reactor.addSystemEventTrigger("before", "shutdown", lambda: deferToThread(server.stop))
    reactor.run(installSignalHandlers=False)
    logging.shutdown()
    return status if server.failure is None else _fail(str(server.failure))


def stop_reactor(reactor: Any) -> None:
    """Stop the reactor, unless it is stopping already; on its thread."""
    if reactor.running and not reactor._stopped:
        reactor.stop()
