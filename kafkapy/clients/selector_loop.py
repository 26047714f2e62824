"""An event loop of sockets, timers and callbacks that any thread may run, one thread at a time."""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import selectors
import socket
import sys
import threading
import time as _time
from collections import deque
from collections.abc import Callable

_log = logging.getLogger("kafkapy.clients")
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_MAX_SELECT_SECONDS = 0.5 if sys.platform == "win32" else 60.0
"""On Windows a signal (Ctrl-C) does not end the sleep in `select`, so its handler runs only after that."""

_ONE = (1).to_bytes(8, "little")
"""The increment of an eventfd; for a socket the eight bytes have no meaning."""

_CHANGES_WHILE_ASLEEP = ("EpollSelector", "KqueueSelector", "DevpollSelector")
"""Selectors that honour sockets registered while they sleep."""


def seconds_until(deadline: float | None) -> float:
    """Return the time-out for acquiring a lock; -1 (no limit) for None."""
    return -1 if deadline is None else min(max(0.0, deadline - _time.monotonic()), threading.TIMEOUT_MAX)


class LoopTimer:
    """A timer in the loop's heap."""

    __slots__ = ("f",)

    def __init__(self, f: Callable[[], object]) -> None:
        self.f: Callable[[], object] | None = f

    def cancel(self) -> None:
        self.f = None


class SocketWatch:
    """The callbacks of a socket; None when it isn't watched any more."""

    __slots__ = ("reader", "writer")

    def __init__(self) -> None:
        self.reader: Callable[[], None] | None = None
        self.writer: Callable[[], None] | None = None


class Baton:
    """A lock: only the holding thread runs the client and may access its state."""

    __slots__ = ("_lock", "holder")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.holder = 0
        """The holding thread's identity; 0 for none."""

    def __enter__(self) -> None:
        self._lock.acquire()
        self.holder = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def take_by(self, deadline: float | None) -> bool:
        """Acquire the baton; return False if other threads hold it until `deadline` (monotonic seconds; None: no
        limit)."""
        if not self._lock.acquire(timeout=seconds_until(deadline)):
            return False
        self.holder = threading.get_ident()
        return True

    def try_take(self) -> bool:
        """Acquire the baton if it is free; return whether it was."""
        if not self._lock.acquire(blocking=False):
            return False
        self.holder = threading.get_ident()
        return True

    def give_back(self) -> None:
        self.holder = 0
        self._lock.release()


class SelectorLoop:
    """An event loop without a thread of its own.

    Invariant: callbacks run, and `_timers` and the watched sockets change, only on the thread that holds `baton`. At
    most one thread is in `turn`; it sleeps there without the baton, so that other threads can run callbacks meanwhile.
    They append to `_ready` (a deque: atomic) and wake the sleeping thread. `_wake_at` is the end of its sleep, never
    later than the first timer.

    No selector is used by two threads at once, which poll's does not allow: `_selector` belongs to the thread in
    `turn`, `_glances` to the holder of `baton`. Both watch the same sockets; only `_selector` has the waker.
    """

    def __init__(self, now: Callable[[], float] | None = None) -> None:
        """`now`: the clock of timers and deadlines, in monotonic seconds; None: the system's."""
        self.now = now or _time.monotonic
        self.baton = Baton()
        self._selector = selectors.DefaultSelector()
        self._glances = selectors.DefaultSelector()
        self._sees_changes = type(self._selector).__name__ in _CHANGES_WHILE_ASLEEP
        self._ready: deque[Callable[[], object]] = deque()
        self._timers: list[tuple[float, int, LoopTimer]] = []
        self._sequence = itertools.count()
        self._wake_at = 0.0
        self._waker = _Waker()
        self._may_sleep = False
        self._closed = False
        self._selector.register(self._waker.reader, _READ, self._waker)

    # --- one turn

    def turn(self, deadline: float | None = None, ready: Callable[[], bool] | None = None) -> None:
        """Sleep until an event (or `deadline`, in seconds of `now`), then run what is due.

        `ready`: called before the sleep; True: don't sleep.
        """
        self.dispatch(self.select(deadline, ready))

    def select(
        self, deadline: float | None = None, ready: Callable[[], bool] | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for events, the first half of `turn`: without the baton. An interrupt loses no event."""
        self._may_sleep = True
        # After the flag is set, so that another thread's callback is either seen here or wakes the selector.
        if self._ready or (ready is not None and ready()):
            timeout = 0.0
        else:
            due = self._wake_at if deadline is None else min(deadline, self._wake_at)
            timeout = max(0.0, due - self.now())
        try:
            events = self._selector.select(timeout)
        except OSError:
            if self._sees_changes:
                raise
            events = []  # a socket was closed during the call, which is an error on Windows
        self._may_sleep = False
        return events

    def dispatch(
        self, events: list[tuple[selectors.SelectorKey, int]], enough: Callable[[], bool] | None = None
    ) -> None:
        """Run callbacks for the events of `select`, the second half of `turn`.

        Events may be outdated by now: a `SocketWatch` without callbacks is skipped. `enough`: returns whether the
        remaining non-urgent work may be left to the next thread that runs the loop.
        """
        with self.baton:
            self.work_off(events, enough)

    def work_off(
        self, events: list[tuple[selectors.SelectorKey, int]], enough: Callable[[], bool] | None = None
    ) -> None:
        """The same as `dispatch`, for a caller that holds the baton."""
        self._serve(events)
        if enough is None or not enough():
            self._run_ready()
            self._run_timers()

    def _serve(self, events: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, mask in events:
            watch = key.data
            if watch is self._waker:
                watch.drain()
                continue
            if mask & _READ and watch.reader is not None:
                self._guard(watch.reader)
            if mask & _WRITE and watch.writer is not None:
                self._guard(watch.writer)

    def glance(self) -> None:
        """Process pending events without sleeping; the caller holds the baton.

        Otherwise a thread that calls repeatedly without waiting would starve the thread in `turn`.
        """
        if self.watches_any:  # Windows' select rejects an empty set
            self._serve(self._glances.select(0))
        self._run_ready()
        self._run_timers()

    def run_with_baton(self, f: Callable[[], object]) -> None:
        """Run `f` and the callbacks that it schedules on this thread; the caller holds the baton."""
        f()
        if self._ready:
            self._run_ready()
            if self._ready:
                self.wake()

    def wake(self) -> None:
        """Wake the thread in `turn` if it sleeps or is about to."""
        if self._may_sleep:
            self._may_sleep = False
            self._waker.wake()

    # --- callbacks and timers

    def call_soon(self, f: Callable[[], object]) -> None:
        self._ready.append(f)

    def call_soon_threadsafe(self, f: Callable[[], object]) -> None:
        self._ready.append(f)
        if self._may_sleep and self.baton.holder != threading.get_ident():
            self.wake()

    def call_later(self, delay_ms: float, f: Callable[[], object]) -> LoopTimer:
        timer = LoopTimer(f)
        due = self.now() + delay_ms / 1000
        heapq.heappush(self._timers, (due, next(self._sequence), timer))
        if due < self._wake_at:
            self._wake_at = due
            self.wake()
        return timer

    def _run_ready(self) -> None:
        ready = self._ready
        for _ in range(len(ready)):
            self._guard(ready.popleft())

    def _run_timers(self) -> None:
        now = self.now()
        timers = self._timers
        while timers:
            due, _, timer = timers[0]
            f = timer.f
            if f is not None and due > now:
                self._wake_at = min(due, now + _MAX_SELECT_SECONDS)
                return
            heapq.heappop(timers)
            timer.f = None
            if f is not None:
                self._guard(f)
        self._wake_at = now + _MAX_SELECT_SECONDS

    def _guard(self, f: Callable[[], object]) -> None:
        try:
            f()
        except Exception:
            _log.exception("A callback of the Kafka client's thread failed")

    # --- sockets

    def add_reader(self, sock: socket.socket, f: Callable[[], None]) -> None:
        self._watch(sock, _READ, f)

    def remove_reader(self, sock: socket.socket) -> None:
        self._watch(sock, _READ, None)

    def add_writer(self, sock: socket.socket, f: Callable[[], None]) -> None:
        self._watch(sock, _WRITE, f)

    def remove_writer(self, sock: socket.socket) -> None:
        self._watch(sock, _WRITE, None)

    @property
    def watches_any(self) -> bool:
        return bool(self._glances.get_map())

    def _watch(self, sock: socket.socket, event: int, f: Callable[[], None] | None) -> None:
        if self._closed:  # and the socket, too
            return
        key = self._selector.get_map().get(sock)
        watch: SocketWatch = key.data if key is not None else SocketWatch()
        if event == _READ:
            watch.reader = f
        else:
            watch.writer = f
        events = (_READ if watch.reader else 0) | (_WRITE if watch.writer else 0)
        for selector in (self._selector, self._glances):
            if key is None:
                if events:
                    selector.register(sock, events, watch)
            elif not events:
                selector.unregister(sock)
            elif events != key.events:
                selector.modify(sock, events, watch)
        if not self._sees_changes:
            self.wake()

    # --- the end

    def close(self) -> None:
        """Close the selector and all sockets that it watches."""
        self._may_sleep = False
        self._closed = True
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
        self._selector.close()
        self._glances.close()
        self._waker.close()

    def forget(self) -> None:
        """Discard all callbacks and timers."""
        self._ready.clear()
        self._timers.clear()


class _Waker:
    """Wakes the selector from another thread: an eventfd if the system has it, else a pair of sockets."""

    def __init__(self) -> None:
        self._sockets: tuple[socket.socket, ...] = ()
        self.reader = -1
        if hasattr(os, "eventfd"):
            self.reader = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            return
        self._sockets = socket.socketpair()
        for each in self._sockets:
            each.setblocking(False)
        self.reader = self._sockets[0].fileno()

    def wake(self) -> None:
        try:
            if self._sockets:
                self._sockets[1].send(_ONE)
            else:
                os.write(self.reader, _ONE)
        except OSError:
            pass  # full: a wake-up is pending; closed: nothing runs any more

    def drain(self) -> None:
        try:
            if self._sockets:
                self._sockets[0].recv(4096)
            else:
                os.read(self.reader, 8)
        except BlockingIOError:
            pass

    def close(self) -> None:
        for each in self._sockets:
            each.close()
        fd, self.reader = self.reader, -1  # before closing: the number may be reused immediately
        if not self._sockets:
            os.close(fd)
