"""A driver with a background thread, for the synchronous clients."""

from __future__ import annotations

import atexit
import os
import threading
import time as _time
import weakref
from collections.abc import Callable, Coroutine
from queue import SimpleQueue
from typing import Any, TypeVar

from kafkapy.clients.interrupts import Shield, shield
from kafkapy.clients.selector_loop import SelectorLoop, seconds_until
from kafkapy.clients.socket_transport import Loop
from kafkapy.common.time import SystemTime, Time
from kafkapy.errors import IllegalStateError, KafkaTimeoutError
from kafkapy.runtime.completion import Completion, spawn

T = TypeVar("T")


class ThreadDriver(SelectorLoop, Loop):
    """Runs a client in the background of the user's threads, which use `call`.

    A daemon thread runs the loop. A user's thread that waits in `call` runs the loop itself, while the daemon thread
    sleeps: this avoids a switch of threads for each result, the most expensive part of a call.

    Invariant: the thread that runs the loop holds `_turning`. That is the daemon thread, unless there is a `_guest`;
    then it sleeps until it is notified by `_rest`. `_waiters` are the calls without an outcome.

    A child of `fork` has no such thread: there, `call` raises `IllegalStateError`, and the sockets are closed without
    sending anything to the broker.
    """

    def __init__(self, name: str = "kafkapy", time: Time | None = None) -> None:
        super().__init__()
        self.time: Time = time or SystemTime()
        self._name = name
        self._running = False
        self._forked = False
        self._thread: threading.Thread | None = None
        self._ended = False
        self._waiters: set[_Waiter] = set()
        self._turning = threading.Lock()
        self._guest: _Waiter | None = None
        self._resting = False
        self._rest: SimpleQueue[None] = SimpleQueue()
        _drivers.add(self)

    # --- life

    def start(self) -> None:
        """Start the thread. Idempotent."""
        if self._thread is None:
            self._running = True
            self._thread = threading.Thread(target=self._run, name=f"{self._name}-io", daemon=True)
            self._thread.start()

    def stop(self, timeout_ms: float = 5_000) -> None:
        """End the thread and close all connections; no callback runs afterwards. Idempotent."""
        if not self._running or self._forked:
            return
        self.call_soon_threadsafe(self._halt)
        if self._thread is not None and not self.in_driver_thread():
            self._thread.join(timeout_ms / 1000)

    @property
    def running(self) -> bool:
        return self._running and not self._forked

    def in_driver_thread(self) -> bool:
        """Return whether this thread is running the client at present (in a callback, for instance)."""
        return self.baton.holder == threading.get_ident()

    def _halt(self) -> None:
        self._running = False

    def _run(self) -> None:
        try:
            while self._running:
                if self._guest is None:
                    with self._turning:
                        self.turn(ready=self._has_guest)
                else:
                    self._resting = True
                    if self._guest is not None:  # else the guest left before this thread could begin to wait
                        self._rest.get()
                    self._resting = False
        finally:
            self._ended = True
            for waiter in list(self._waiters):
                waiter.abort()
            with self._turning, self.baton:
                self.close()
                self.forget()

    def _has_guest(self) -> bool:
        return self._guest is not None

    def _after_fork_in_child(self) -> None:
        if self._thread is None:
            return  # it was not started: the child may start it
        self._forked = True
        self._running = False
        self.forget()
        try:
            self.close()
        except Exception:
            pass  # the parent's state was inconsistent; the descriptors are closed with the child

    # --- calls

    def call(self, f: Callable[..., Any], *args: Any, timeout_ms: float | None = None) -> Any:
        """Run a function, or a coroutine function over completions, as the client's code; wait for its result and
        return it.

        Raises its error; KafkaTimeoutError if it takes longer than `timeout_ms` (a coroutine is cancelled then, as it
        is by Ctrl-C); IllegalStateError if the driver is stopped, or belongs to the parent process.
        """
        self._check_usable()
        deadline = None if timeout_ms is None else _time.monotonic() + max(0.0, timeout_ms) / 1000
        waiter = _Waiter(f, args)
        self._waiters.add(waiter)
        try:
            self._run_here(waiter, deadline)
            finished = waiter.finished or self._wait_for(waiter, deadline)
        except BaseException:
            self._give_up(waiter)
            raise
        finally:
            self._waiters.discard(waiter)
        if not finished:
            self._give_up(waiter)
            raise KafkaTimeoutError(f"Timed out after {timeout_ms:g} ms")
        return waiter.result()

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        """Run `f` immediately on this thread if no thread runs the client at present; else the running thread does
        it."""
        if self._guest is None and not self._ready and self._running:
            cover = shield()
            if cover is not None:
                try:
                    if self.baton.try_take():
                        try:
                            self.run_with_baton(f)
                        finally:
                            self.baton.give_back()
                        return
                finally:
                    cover.lowered()
        self.call_soon_threadsafe(f)

    def _run_here(self, waiter: _Waiter, deadline: float | None) -> None:
        """Run the call and the loop on this thread until the call has an outcome, or leave both to another thread.

        If another thread runs the client (in a callback that sleeps), wait for it until the deadline.
        """
        cover = shield()
        if cover is None:
            self.call_soon_threadsafe(waiter.run)
            return
        try:
            if self._guest is None:
                self._guest = (
                    waiter  # set before the baton is released, so that the daemon thread does not run in between
                )
            if not self.baton.take_by(deadline):
                return  # a callback of the user blocks the client
            try:
                if not self._ended:
                    self.run_with_baton(waiter.run)
                    if waiter.finished:
                        self.glance()
            finally:
                self.baton.give_back()
            if not waiter.finished and self._guest is waiter:
                self._turn_for(waiter, deadline, cover)
        finally:
            cover.held = True
            if self._guest is waiter:  # else another guest has replaced it
                self._guest = None
            if self._resting:
                self._rest.put(None)
            cover.lowered()

    def _turn_for(self, waiter: _Waiter, deadline: float | None, cover: Shield) -> None:
        """Run the loop in place of the daemon thread."""
        self.wake()
        if not self._turning.acquire(timeout=seconds_until(deadline)):
            return
        try:
            while self._guest is waiter and not waiter.finished and self._running:
                cover.check()
                cover.held = False
                events = self.select(deadline)
                cover.held = True
                if not self.baton.take_by(deadline):
                    break  # the next `select` returns these events again
                try:
                    self.work_off(events, waiter.is_finished)
                finally:
                    self.baton.give_back()
                if deadline is not None and _time.monotonic() >= deadline:
                    break
        finally:
            self._turning.release()

    def _wait_for(self, waiter: _Waiter, deadline: float | None) -> bool:
        """Wait while another thread runs the loop; return False after the deadline."""
        if self._ended:
            waiter.abort()
        return waiter.wait(seconds_until(deadline))

    def _give_up(self, waiter: _Waiter) -> None:
        waiter.given_up = True
        self.call_soon_threadsafe(waiter.cancel)

    def _check_usable(self) -> None:
        if self._forked:
            raise IllegalStateError(
                "This Kafka client was made before the process forked; make a new one in the child process"
            )
        if not self._running:
            raise IllegalStateError("The Kafka client is closed")
        if self.in_driver_thread():
            raise IllegalStateError(
                "A blocking method of a Kafka client was called on the client's own thread (from a callback), "
                "where it would wait for itself"
            )


class _Waiter:
    """A call on its way to the driver's thread and back.

    Invariant: `_lock` is held until the call has an outcome, and is released once.
    """

    __slots__ = ("_args", "_completion", "_error", "_f", "_lock", "_value", "finished", "given_up")

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._f = f
        self._args = args
        self._completion: Completion[Any] | None = None
        self._value: Any = None
        self._error: BaseException | None = None
        self.finished = False
        self.given_up = False
        """Whether the caller no longer waits; then the call is not started."""
        self._lock = threading.Lock()
        self._lock.acquire()

    def run(self) -> None:
        if self.given_up:
            return
        try:
            value = self._f(*self._args)
            if isinstance(value, Coroutine):
                value = spawn(value)
        except BaseException as error:
            self._finish(None, error)
            return
        if isinstance(value, Completion):
            self._completion = value
            value.add_callback(self._completed)
        else:
            self._finish(value, None)

    def _completed(self, completion: Completion[Any]) -> None:
        error = completion.exception()
        self._finish(completion.result() if error is None else None, error)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        if not self.finished:
            self.finished = True
            self._value = value
            self._error = error
            self._lock.release()

    def is_finished(self) -> bool:
        return self.finished

    def abort(self) -> None:
        """End the wait with an error, because the loop has ended."""
        self._finish(None, IllegalStateError("The Kafka client was closed"))

    def cancel(self) -> None:
        if self._completion is not None:
            self._completion.cancel()

    def wait(self, seconds: float) -> bool:
        return self._lock.acquire(timeout=seconds)

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


_drivers: weakref.WeakSet[ThreadDriver] = weakref.WeakSet()


def _forget_parents_drivers() -> None:
    for driver in list(_drivers):
        driver._after_fork_in_child()


def _stop_all() -> None:
    """Stop all drivers at the interpreter's exit, before its modules are torn down under the daemon threads."""
    for driver in list(_drivers):
        driver.stop(timeout_ms=1_000)


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_forget_parents_drivers)
atexit.register(_stop_all)
