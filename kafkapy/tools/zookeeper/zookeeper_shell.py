"""zookeeper-shell: a command-line client for the embedded ZooKeeper and Apache's, with the commands of Apache's
shell."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kafkapy.tools.common.command_line import ToolError, run_words
from kafkapy.tools.zookeeper.shell_commands import ShellError, UnknownCommandError, execute, usage
from kafkapy.tools.zookeeper.tls import tool_security
from kafkapy.zk.client_security import PLAINTEXT, ZkClientSecurity
from kafkapy.zk.embedded.plain_client import PlainClient
from kafkapy.zk.embedded.plain_tree import PlainTree
from kafkapy.zk.paths import reason_invalid
from kafkapy.zk.reachability import cause, why_unreachable
from kafkapy.zk.session_closer import Session

USAGE = "USAGE: zookeeper-shell.sh zookeeper_host:port[/path] [-zk-tls-config-file file] [args...]"
TLS_FILE = "-zk-tls-config-file"
_OWN = """\
\tclose
\tconnect host:port
\thelp
\thistory
\tquit
\tredo cmdno"""
"""Commands of the interactive shell only."""

CONNECT_SECONDS, RETRY_SECONDS = 3.0, 0.1
"""Time limit and pauses of connecting: a server that has just been started listens before it accepts sessions."""

_PING_SECONDS = 10
"""A session expires after 30 s without a ping."""

_WORD = re.compile(r'"[^"]*"|\'[^\']*\'|[^"\'\s]\S*')
_CONNECTED = "\nWATCHER::\n\nWatchedEvent state:{state} type:None path:null zxid: -1"
UNKNOWN_COMMAND = 127


def main(argv: Sequence[str] | None = None) -> int:
    return run_words(USAGE, lambda: f"{USAGE}\n{usage()}\n{_OWN}", run, argv)


def run(arguments: list[str]) -> int:
    """Run the command behind the address, or read commands from stdin. Returns the exit status."""
    security = tool_security(_take_tls_file(arguments))
    if not arguments:
        raise ToolError(USAGE)
    address, *command = arguments
    if command and command[0].startswith("-"):
        raise ToolError(f"{command[0]} is not supported: {USAGE}")
    print(f"Connecting to {address}", flush=True)
    shell = Shell(address, security)
    try:
        if not command:
            return shell.serve()
        print(_CONNECTED.format(state="SyncConnected"), flush=True)
        return shell.run(command[0], command[1:])
    finally:
        shell.close()


def _take_tls_file(arguments: list[str]) -> str | None:
    """Remove the option from the words, at any position, as in Apache's shell."""
    if TLS_FILE not in arguments:
        return None
    at = arguments.index(TLS_FILE)
    if at + 1 == len(arguments):
        raise ToolError(f"{TLS_FILE} needs the path of a properties file: {USAGE}")
    file = arguments[at + 1]
    del arguments[at : at + 2]
    return file


class Shell:
    """A session with ZooKeeper, which is kept alive and replaced when it is lost, and the command history."""

    def __init__(self, address: str, security: ZkClientSecurity = PLAINTEXT) -> None:
        """Connect. Raises ToolError if no ZooKeeper answers at the address."""
        self._security = security
        self._address = address
        self._history: list[str] = []
        self._lock = threading.Lock()
        self._client: PlainClient | None = None
        self._closed = threading.Event()
        self._connect()
        threading.Thread(target=self._keep_alive, daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        with self._lock:
            self._disconnect()

    def serve(self) -> int:
        """Run the lines of stdin until `quit` or the end. Returns the status of the last one."""
        print(f"Welcome to ZooKeeper!\n{_CONNECTED.format(state='SyncConnected')}", flush=True)
        status = 0
        for line in self._lines():
            words = [_unquoted(word) for word in _WORD.findall(line)]
            if not words:
                continue
            self._history.append(line)
            if words[0] in ("quit", "exit"):
                print(_CONNECTED.format(state="Closed"))
                return 0
            status = self.run(words[0], words[1:])
        return status

    def run(self, name: str, words: list[str]) -> int:
        """Run one command; a failure is printed on stderr. Returns its exit status."""
        try:
            if name in ("help", "history", "redo", "connect", "close", "quit"):
                return self._run_own(name, words)
            with self._connected() as tree:
                execute(tree, name, words)
        except (ShellError, ToolError) as error:
            sys.stdout.flush()
            if isinstance(error, UnknownCommandError):
                print(f"{usage()}\n{_OWN}", file=sys.stderr)
            print(error, file=sys.stderr, flush=True)
            return UNKNOWN_COMMAND if isinstance(error, UnknownCommandError) else 1
        sys.stdout.flush()
        return 0

    def _run_own(self, name: str, words: list[str]) -> int:
        if name == "help":
            print(f"{usage()}\n{_OWN}")
        elif name == "history":
            print("\n".join(f"{number} - {line}" for number, line in enumerate(self._history)))
        elif name == "redo":
            return self._redo(words)
        elif name in ("close", "connect"):
            with self._lock:
                self._disconnect()
                self._address = words[0] if words else self._address
                if name == "connect":
                    self._connect()
        return 0

    def _redo(self, words: list[str]) -> int:
        number = int(words[0]) if len(words) == 1 and words[0].isdecimal() else -1
        if not 0 <= number < len(self._history) - 1 or self._history[number].startswith("redo"):
            raise ShellError("redo cmdno: the number of a line of `history` that is no redo")
        self._history[-1] = line = self._history[number]
        found = [_unquoted(word) for word in _WORD.findall(line)]
        return self.run(found[0], found[1:])

    @contextmanager
    def _connected(self) -> Iterator[PlainTree]:
        """Run one command. A lost session ends the command; the next command opens another session."""
        with self._lock:
            if self._client is None:
                self._connect()
            assert self._client is not None
            try:
                yield PlainTree(self._client, self._chroot)
            except OSError as error:
                self._client = None
                raise ShellError(
                    f"The connection to ZooKeeper is lost ({cause(error)}), its ephemeral nodes go"
                ) from None

    def _connect(self) -> None:
        hosts, _, path = self._address.partition("/")
        self._chroot = f"/{path.strip('/')}" if path.strip("/") else ""
        try:
            addresses = Session(0, b"", 0, hosts).addresses()
        except ValueError:
            addresses = []
        if not addresses or (self._chroot and reason_invalid(self._chroot)):
            raise ToolError(f"{self._address}: host:port[,host:port]...[/chroot] is expected")
        deadline = time.monotonic() + CONNECT_SECONDS
        while True:
            try:
                self._client = PlainClient(addresses, CONNECT_SECONDS, self._security)
            except OSError:
                if time.monotonic() > deadline:
                    raise ToolError(
                        f"No ZooKeeper can be reached: {why_unreachable(hosts, security=self._security)}"
                    ) from None
                time.sleep(RETRY_SECONDS)
            else:
                return

    def _disconnect(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _keep_alive(self) -> None:
        while not self._closed.wait(_PING_SECONDS):
            with self._lock:
                if self._client is not None:
                    try:
                        PlainTree(self._client).ping()
                    except OSError:
                        self._client = None

    def _lines(self) -> Iterator[str]:
        if not sys.stdin.isatty():
            yield from (line.strip() for line in sys.stdin)
            return
        import readline  # noqa: F401 - gives input() its editing

        while True:
            state = "CLOSED" if self._client is None else "CONNECTED"
            try:
                yield input(f"[zk: {self._address}({state}) {len(self._history)}] ").strip()
            except EOFError:
                print()
                return


def _unquoted(word: str) -> str:
    return word[1:-1] if word[0] in "\"'" else word


if __name__ == "__main__":
    sys.exit(main())
