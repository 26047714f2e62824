"""Starts, restarts and stops the processes of an application."""

from __future__ import annotations

import logging
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkapy.common.capabilities import STOP_SIGNALS
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.streams.lines import JsonLines
from kafkapy.tools.streams.page import Samples
from kafkapy.tools.streams.restarts import RestartPolicy
from kafkapy.tools.streams.worker_statuses import APPLICATION_STOPPED, UNUSABLE

log = logging.getLogger("kafkapy.streams")

_ANSWER_SECONDS: Final = 2.0
"""Timeout of a request for a process's metrics."""


class _Event(NamedTuple):
    """An event of the supervisor's loop: a signal, or the end of a process."""

    process: WorkerProcess | None
    status: int


class WorkerProcess:
    """A process and its socket. A thread of this object reads its messages and waits for its end.

    Args:
        order: Topology, number and configs.
        events: Receives its end.
        now: A monotonic clock, seconds.
    """

    def __init__(self, order: Mapping[str, Any], events: queue.SimpleQueue[_Event]) -> None:
        self.number: int = order["number"]
        self.state = "STARTING"
        self.started_at = time.monotonic()
        self.unusable = ""
        """The reason why it cannot run at all; empty if there is none."""
        self._events = events
        self._answered = threading.Condition()
        self._asked = 0
        self._answer: tuple[int, list[Any]] = (0, [])
        ours, theirs = socket.socketpair()
        with theirs:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "kafkapy.tools.streams.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,  # Ctrl-C of the terminal is for the supervisor
            )
        self._lines = JsonLines(ours)
        self._lines.send(**order)
        threading.Thread(target=self._listen, name=f"process-{self.number}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def stop(self) -> None:
        """Send a request to end."""
        self._popen.terminate()

    def kill(self) -> None:
        """Kill the process."""
        self._popen.kill()

    def metrics(self) -> list[Any]:
        """Return its metrics; none if it does not respond in time. Thread-safe."""
        with self._answered:
            self._asked += 1
            number = self._asked
        if self._lines.send(ask=number):
            with self._answered:
                self._answered.wait_for(lambda: self._answer[0] >= number, _ANSWER_SECONDS)
                if self._answer[0] >= number:
                    return self._answer[1]
        return []

    def _listen(self) -> None:
        for message in self._lines.messages():
            if "state" in message:
                self.state = message["state"]
            elif "unusable" in message:
                self.unusable = message["unusable"]
            elif "answers" in message:
                with self._answered:
                    self._answer = message["answers"], message["metrics"]
                    self._answered.notify_all()
        status = self._popen.wait()
        self._lines.close()
        self._events.put(_Event(self, status))


class Supervisor:
    """Keeps processes running until a signal, or until one of them has reached its limit of restarts.

    Invariants: `_running` has by number the processes whose end was not handled yet; `_due` has the time of the next
    start of each other one. After `_stopping` is set, nothing is started.

    Args:
        orders: Topology, number and configs of each process.
        max_restarts: Limit of consecutive restarts of a process.
        stop_seconds: How long to wait for the end of processes.
    """

    def __init__(self, orders: Sequence[Mapping[str, Any]], max_restarts: int, stop_seconds: float) -> None:
        self._orders = {order["number"]: order for order in orders}
        self._policies = {number: RestartPolicy(max_restarts) for number in self._orders}
        self._stop_seconds = stop_seconds
        self._events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self._running: dict[int, WorkerProcess] = {}
        self._due: dict[int, float] = dict.fromkeys(self._orders, 0.0)
        self._restarts = dict.fromkeys(self._orders, 0)
        self._stopping = False
        self._failure = ""

    # --- page -------------------------------------------------------------------------------------------------------------

    def states(self) -> dict[int, str]:
        """Return the state of each process; STOPPED: it waits for its next start."""
        running = dict(self._running)
        return {number: running[number].state if number in running else "STOPPED" for number in self._orders}

    def samples(self) -> Samples:
        """Return all metrics: those of each process, and its number of restarts."""
        found: list[tuple[str, str, str, Mapping[str, str], float]] = []
        running = dict(self._running)
        for number in self._orders:
            of_process = {"process": str(number)}
            doc = "How often the process was started again."
            found.append(("kafkapy_streams_restarts_total", "counter", doc, of_process, self._restarts[number]))
            if number in running:
                for name, kind, doc, labels, value in running[number].metrics():
                    found.append((name, kind, doc, {**labels, **of_process}, value))
        return found

    # --- work -------------------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Run until the application has ended; only the main thread may call this.

        Returns:
            The exit status: 0 after a clean stop.

        Raises:
            ToolError: A process cannot be kept running; all are stopped.
        """
        before = {number: signal.signal(number, self._signalled) for number in STOP_SIGNALS}
        try:
            while not self._stopping:
                self._start_due()
                self._handle(self._next_event(min(self._due.values(), default=None)))
            clean = self._stop()
        finally:
            for process in list(self._running.values()):
                process.kill()
            for number, handler in before.items():
                signal.signal(number, handler)
        if self._failure:
            raise ToolError(self._failure)
        return 0 if clean else 1

    def _signalled(self, number: int, _frame: object) -> None:
        self._events.put(_Event(None, number))

    def _start_due(self) -> None:
        for number, at in list(self._due.items()):
            if at <= time.monotonic():
                del self._due[number]
                process = self._running[number] = WorkerProcess(self._orders[number], self._events)
                log.info("Process %d is started, with pid %d", number, process.pid)

    def _next_event(self, until: float | None) -> _Event | None:
        timeout = None if until is None else max(0.0, until - time.monotonic())
        try:
            return self._events.get(timeout=timeout)
        except queue.Empty:
            return None

    def _handle(self, event: _Event | None) -> None:
        """Handle a signal, or the end of a process, while the application runs."""
        if event is None:
            return
        process, status = event
        if process is None:
            log.info("%s: all processes are stopped", signal.Signals(status).name)
            self._stopping = True
            return
        del self._running[process.number]
        if status == UNUSABLE:
            self._give_up(process.unusable or f"Process {process.number} cannot run")
        elif status == APPLICATION_STOPPED:
            self._give_up("The application is stopped: an instance has requested it")
        else:
            self._restart(process, status)

    def _restart(self, process: WorkerProcess, status: int) -> None:
        pause = self._policies[process.number].pause_after(time.monotonic() - process.started_at)
        ended = f"Process {process.number} has ended with status {status}"
        if pause is None:
            self._give_up(f"{ended}; it was started again too often")
            return
        log.warning("%s: it is started again in %g s", ended, pause)
        self._restarts[process.number] += 1
        self._due[process.number] = time.monotonic() + pause

    def _give_up(self, failure: str) -> None:
        self._failure = self._failure or failure
        self._stopping = True

    def _stop(self) -> bool:
        """Stop all processes; return whether all have ended without being killed."""
        for process in self._running.values():
            process.stop()
        deadline = time.monotonic() + self._stop_seconds
        clean = True
        while self._running:
            event = self._next_event(deadline)
            if event is not None and event.process is not None:
                del self._running[event.process.number]
                clean = clean and event.status == 0
                continue
            log.warning("Processes are killed: %s", ", ".join(str(number) for number in self._running))
            clean, deadline = False, deadline + self._stop_seconds
            for process in self._running.values():
                process.kill()
        return clean
