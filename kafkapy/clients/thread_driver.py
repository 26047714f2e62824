"""A driver with a thread of its own: below the synchronous clients."""

from __future__ import annotations

import atexit
import heapq
import itertools
import logging
import os
import selectors
import socket
import threading
import time as _time
import weakref
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kafkapy.clients.completion import Completion, spawn
from kafkapy.clients.driver import DEFAULT_SOCKET_OPTIONS, Channel, SocketOptions
from kafkapy.clients.driver_threads import run_in_daemon_thread
from kafkapy.clients.socket_transport import SocketTransport
from kafkapy.common.time import SystemTime, Time
from kafkapy.errors import IllegalStateError, KafkaTimeoutError

T = TypeVar("T")

_log = logging.getLogger("kafkapy.clients")
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_MAX_SELECT_SECONDS = 60.0
_ONE = (1).to_bytes(8, "little")
"""What an eventfd counts up by; to a pipe it is any eight bytes."""


class ThreadTimer:
    """An entry of the heap of timers."""

    __slots__ = ("f",)

    def __init__(self, f: Callable[[], object]) -> None:
        self.f: Callable[[], object] | None = f

    def cancel(self) -> None:
        self.f = None


class _Watch:
    """What to call when a socket is ready."""

    __slots__ = ("reader", "writer")

    def __init__(self) -> None:
        self.reader: Callable[[], None] | None = None
        self.writer: Callable[[], None] | None = None


class ThreadDriver:
    """Runs a client on a daemon thread; `call` is the door for the threads of the user.

    Invariant: `_selector`, `_timers` and all that runs through here belong to the driver's thread. Other threads only
    append to `_ready` (a deque: atomic) and wake the loop if it may be asleep.
    A child of `fork` has no such thread: there, `call` raises `IllegalStateError`, and the sockets are closed without a
    word to the broker.
    """

    def __init__(self, name: str = "kafkapy", time: Time | None = None) -> None:
        self.time: Time = time or SystemTime()
        self._name = name
        self._selector = selectors.DefaultSelector()
        self._ready: deque[Callable[[], object]] = deque()
        self._timers: list[tuple[float, int, ThreadTimer]] = []
        self._sequence = itertools.count()
        self._waker = _Waker()
        self._may_sleep = False
        self._running = False
        self._forked = False
        self._thread: threading.Thread | None = None
        self._thread_id = 0
        self._ended = False
        self._waiters: set[_Waiter] = set()
        self._selector.register(self._waker.reader, _READ, self._waker)
        _drivers.add(self)

    # --- life

    def start(self) -> None:
        """Start the thread. Harmless if it runs."""
        if self._thread is None:
            self._running = True
            self._thread = threading.Thread(target=self._run, name=f"{self._name}-io", daemon=True)
            self._thread.start()

    def stop(self, timeout_ms: float = 5_000) -> None:
        """End the thread and close what is open; nothing runs afterwards. Harmless if it was stopped."""
        if not self._running or self._forked:
            return
        self.call_soon_threadsafe(self._halt)
        if self._thread is not None and threading.get_ident() != self._thread_id:
            self._thread.join(timeout_ms / 1000)

    @property
    def running(self) -> bool:
        return self._running and not self._forked

    def in_driver_thread(self) -> bool:
        return threading.get_ident() == self._thread_id

    def _halt(self) -> None:
        self._running = False

    def _run(self) -> None:
        self._thread_id = threading.get_ident()
        try:
            while self._running:
                self._turn()
        finally:
            self._ended = True
            self._may_sleep = False
            for waiter in list(self._waiters):
                waiter.abort()
            self._close_all()

    def _close_all(self) -> None:
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        self._waker.close()

    def _after_fork_in_child(self) -> None:
        if self._thread is None:
            return  # it had not begun: the child may start it
        self._forked = True
        self._running = False
        self._ready.clear()
        self._timers.clear()
        try:
            self._close_all()
        except Exception:
            pass  # the parent was in the midst of a change; the descriptors end with the child

    # --- the door

    def call(self, f: Callable[..., Any], *args: Any, timeout_ms: float | None = None) -> Any:
        """Run a function, or a coroutine function over completions, on the driver's thread; wait for what it gives.

        Raises what it raises; KafkaTimeoutError if it takes longer than `timeout_ms` (a coroutine is cancelled then, as
        it is by Ctrl-C); IllegalStateError if the driver is stopped, or belongs to the parent of this process.
        """
        self._check_usable()
        waiter = _Waiter(f, args)
        self._waiters.add(waiter)
        self.call_soon_threadsafe(waiter.run)
        if self._ended:
            waiter.abort()
        try:
            finished = waiter.wait(timeout_ms)
        except BaseException:
            self.call_soon_threadsafe(waiter.cancel)
            raise
        finally:
            self._waiters.discard(waiter)
        if not finished:
            self.call_soon_threadsafe(waiter.cancel)
            raise KafkaTimeoutError(f"Timed out after {timeout_ms:g} ms")
        return waiter.result()

    def _check_usable(self) -> None:
        if self._forked:
            raise IllegalStateError(
                "This Kafka client was made before the process forked; make a new one in the child process"
            )
        if not self._running:
            raise IllegalStateError("The Kafka client is closed")
        if threading.get_ident() == self._thread_id:
            raise IllegalStateError(
                "A blocking method of a Kafka client was called on the client's own thread (from a callback), "
                "where it would wait for itself"
            )

    # --- the driver's interface

    def connect(
        self, host: str, port: int, channel: Channel, options: SocketOptions = DEFAULT_SOCKET_OPTIONS
    ) -> SocketTransport:
        return SocketTransport(self, host, port, channel, options)

    def call_later(self, delay_ms: float, f: Callable[[], object]) -> ThreadTimer:
        timer = ThreadTimer(f)
        due = _time.monotonic() + delay_ms / 1000
        heapq.heappush(self._timers, (due, next(self._sequence), timer))
        return timer

    def call_soon(self, f: Callable[[], object]) -> None:
        self._ready.append(f)

    def call_soon_threadsafe(self, f: Callable[[], object]) -> None:
        self._ready.append(f)
        if self._may_sleep:
            self._may_sleep = False
            self._waker.wake()

    def sleep(self, ms: float) -> Completion[None]:
        completion: Completion[None] = Completion()
        self.call_later(ms, lambda: completion.set_result(None))
        return completion

    def run_in_thread(self, f: Callable[[], T]) -> Completion[T]:
        return run_in_daemon_thread(self, f)

    # --- sockets

    def add_reader(self, sock: socket.socket, f: Callable[[], None]) -> None:
        self._watch(sock, _READ, f)

    def remove_reader(self, sock: socket.socket) -> None:
        self._watch(sock, _READ, None)

    def add_writer(self, sock: socket.socket, f: Callable[[], None]) -> None:
        self._watch(sock, _WRITE, f)

    def remove_writer(self, sock: socket.socket) -> None:
        self._watch(sock, _WRITE, None)

    def _watch(self, sock: socket.socket, event: int, f: Callable[[], None] | None) -> None:
        key = self._selector.get_map().get(sock)
        watch: _Watch = key.data if key is not None else _Watch()
        if event == _READ:
            watch.reader = f
        else:
            watch.writer = f
        events = (_READ if watch.reader else 0) | (_WRITE if watch.writer else 0)
        if key is None:
            if events:
                self._selector.register(sock, events, watch)
        elif not events:
            self._selector.unregister(sock)
        elif events != key.events:
            self._selector.modify(sock, events, watch)

    # --- the loop

    def _turn(self) -> None:
        self._may_sleep = True
        # After the flag, so that what another thread appends is either seen here or wakes the selector.
        timeout = 0.0 if self._ready else self._seconds_to_next_timer()
        events = self._selector.select(timeout)
        self._may_sleep = False
        for key, mask in events:
            watch = key.data
            if watch is self._waker:
                watch.drain()
                continue
            if mask & _READ and watch.reader is not None:
                self._guard(watch.reader)
            if mask & _WRITE and watch.writer is not None:
                self._guard(watch.writer)
        for _ in range(len(self._ready)):
            self._guard(self._ready.popleft())
        if self._timers:
            self._run_timers()

    def _seconds_to_next_timer(self) -> float:
        timers = self._timers
        while timers and timers[0][2].f is None:
            heapq.heappop(timers)
        if not timers:
            return _MAX_SELECT_SECONDS
        return min(max(0.0, timers[0][0] - _time.monotonic()), _MAX_SELECT_SECONDS)

    def _run_timers(self) -> None:
        now = _time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            f, timer.f = timer.f, None
            if f is not None:
                self._guard(f)

    def _guard(self, f: Callable[[], object]) -> None:
        try:
            f()
        except Exception:
            _log.exception("A callback of the Kafka client's thread failed")


class _Waker:
    """Ends the selector's sleep from another thread: an eventfd where there are such, else a pipe."""

    def __init__(self) -> None:
        if hasattr(os, "eventfd"):
            self.reader = self._writer = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        else:
            self.reader, self._writer = os.pipe()
            os.set_blocking(self.reader, False)
            os.set_blocking(self._writer, False)

    def wake(self) -> None:
        try:
            os.write(self._writer, _ONE)
        except OSError:
            pass  # full: it is awake anyway; closed: nothing runs any more

    def drain(self) -> None:
        try:
            os.read(self.reader, 4096)
        except BlockingIOError:
            pass

    def close(self) -> None:
        fds = {self.reader, self._writer}
        self.reader = self._writer = -1  # first: the numbers may belong to others soon
        for fd in fds:
            os.close(fd)


class _Waiter:
    """A call on its way to the driver's thread and back.

    Invariant: `_lock` is held until the call has an outcome, and is released once.
    """

    __slots__ = ("_args", "_completion", "_error", "_f", "_finished", "_lock", "_value")

    def __init__(self, f: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._f = f
        self._args = args
        self._completion: Completion[Any] | None = None
        self._value: Any = None
        self._error: BaseException | None = None
        self._finished = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def run(self) -> None:
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
        if not self._finished:
            self._finished = True
            self._value = value
            self._error = error
            self._lock.release()

    def abort(self) -> None:
        """The loop has ended: there will be no outcome."""
        self._finish(None, IllegalStateError("The Kafka client was closed"))

    def cancel(self) -> None:
        if self._completion is not None:
            self._completion.cancel()

    def wait(self, timeout_ms: float | None) -> bool:
        return self._lock.acquire(timeout=-1 if timeout_ms is None else max(0.0, timeout_ms) / 1000)

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


_drivers: weakref.WeakSet[ThreadDriver] = weakref.WeakSet()


def _forget_parents_drivers() -> None:
    for driver in list(_drivers):
        driver._after_fork_in_child()


def _stop_all() -> None:
    """At the interpreter's exit, before its modules go: a daemon thread must not run into that."""
    for driver in list(_drivers):
        driver.stop(timeout_ms=1_000)


os.register_at_fork(after_in_child=_forget_parents_drivers)
atexit.register(_stop_all)
