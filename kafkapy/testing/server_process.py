"""A server process that ends with the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kafkapy.testing.control.client_end import ClientEnd, OrderRefused, ServerGone
from kafkapy.testing.control.wire import ControlEnd

START_SECONDS = 180.0
STOP_SECONDS = 120.0

LOGGING = "level=INFO\nstderr=true\nlevel.kazoo=WARN\nlevel.kafkapy.request=WARN\n"
"""The logging.properties of the process: it logs to stderr only."""

_ROOT = str(Path(__file__).resolve().parents[2])
"""On the child's module path, so that it imports the same kafkapy from any working directory."""


class ClusterError(Exception):
    """A process of the cluster failed; the message has the end of its log."""


class ServerProcess:
    """Starts, stops, pauses and kills a server process.

    Invariant: `process` is not None exactly while the process runs or is paused.
    """

    def __init__(self, name: str, directory: Path, module: str, arguments: Sequence[str], remove: Path | None) -> None:
        """`module`, `arguments`: the server to run. `remove`: a directory that it deletes if this process ends without
        stopping it."""
        self.name = name
        self.directory = directory
        self.output = directory / "server.log"
        """The output of the process, across restarts."""
        self.process: subprocess.Popen[bytes] | None = None
        self._command = [sys.executable, "-m", module, *arguments]
        self._remove = remove
        self._end: ClientEnd | None = None
        self._ready = False
        self._is_paused = False
        directory.mkdir(parents=True, exist_ok=True)

    def environment(self) -> Mapping[str, str]:
        """Environment variables in addition to those of this process."""
        return {}

    # ------------------------------------------------------------------------------------------------ start and stop

    def launch(self) -> None:
        """Start the process without waiting until it is ready."""
        self._ready = False
        self._end = end = ClientEnd(self._news)
        descriptor = end.other_end.fileno()
        control = ControlEnd(descriptor, os.getpid(), None if self._remove is None else str(self._remove))
        path = os.pathsep.join(filter(None, (_ROOT, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, **self.environment(), "PYTHONPATH": path, **control.to_environment()}
        with open(self.output, "ab") as output:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.directory,
                env=environment,
                pass_fds=(descriptor,),
                start_new_session=True,
            )
        end.launched()

    def wait_until_ready(self, seconds: float = START_SECONDS) -> None:
        try:
            self._wire.wait_for_news(lambda: self._ready, seconds)
        except ServerGone as error:
            self.kill()
            raise ClusterError(
                f"{self.name} does not start: {error}. The end of its log:\n{self.last_lines()}"
            ) from None

    def start(self) -> None:
        self.launch()
        self.wait_until_ready()

    def stop(self, seconds: float = STOP_SECONDS) -> int | None:
        """Shut the server down; return its exit status, None if it had to be killed or was not running."""
        process = self.process
        if process is None:
            return None
        self.resume()
        process.terminate()
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        self._ended()
        return status

    def kill(self) -> None:
        """Kill the process (SIGKILL)."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self._ended()

    def _ended(self) -> None:
        assert self._end is not None
        self._end.take_news()
        self._end.close()
        self.process = None
        self._is_paused = False

    def pause(self) -> None:
        """Stop the process (SIGSTOP): connections stay open without answers."""
        self._signal(signal.SIGSTOP)
        self._is_paused = True

    def resume(self) -> None:
        if self._is_paused:
            self._signal(signal.SIGCONT)
            self._is_paused = False

    def _signal(self, number: signal.Signals) -> None:
        if self.process is None:
            raise ClusterError(f"{self.name} is not running")
        self.process.send_signal(number)

    @property
    def is_running(self) -> bool:
        """Whether the process runs; notices its unexpected end, too."""
        if self.process is not None and self.process.poll() is not None:
            self._ended()
        return self.process is not None

    def wait_until_ended(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.is_running:
            if time.monotonic() > deadline:
                raise ClusterError(f"{self.name} is still running after {seconds} s")
            time.sleep(0.005)

    # ------------------------------------------------------------------------------------------------ orders

    @property
    def _wire(self) -> ClientEnd:
        if self._end is None or self.process is None:
            raise ClusterError(f"{self.name} is not running")
        return self._end

    def send(self, order: str, **arguments: object) -> int:
        if self._is_paused:
            raise ClusterError(f"{self.name} is paused and takes no orders: resume it first")
        try:
            return self._wire.send(order, **arguments)
        except ServerGone as error:
            raise ClusterError(f"{self.name}: {error}. The end of its log:\n{self.last_lines()}") from None

    def answer(self, number: int) -> Any:
        try:
            return self._wire.answer(number)
        except ServerGone as error:
            raise ClusterError(f"{self.name}: {error}. The end of its log:\n{self.last_lines()}") from None
        except OrderRefused as error:
            raise ClusterError(f"{self.name}: {error}") from None

    def order(self, order: str, **arguments: object) -> Any:
        return self.answer(self.send(order, **arguments))

    def take_news(self) -> None:
        self._wire.take_news()

    def _news(self, name: str, more: dict[str, Any]) -> None:
        if name == "ready":
            self._ready = True

    # ------------------------------------------------------------------------------------------------ its log

    def log_size(self) -> int:
        return self.output.stat().st_size if self.output.exists() else 0

    def log(self, since: int = 0) -> str:
        """Return its output from this byte on."""
        if not self.output.exists():
            return ""
        with open(self.output, "rb") as file:
            file.seek(since)
            return file.read().decode(errors="replace")

    def last_lines(self, count: int = 20) -> str:
        return "\n".join(self.log(max(0, self.log_size() - 8192)).splitlines()[-count:])
