"""A driver on a Twisted reactor."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any, TypeVar

from twisted.internet.interfaces import IReadWriteDescriptor
from twisted.python import threadable
from zope.interface import implementer

from kafkapy.clients.socket_transport import Loop
from kafkapy.common.time import SystemTime, Time

T = TypeVar("T")


@implementer(IReadWriteDescriptor)
class _ReactorWatch:
    """A socket's callbacks, with the reactor's interface."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.reader: Callable[[], None] | None = None
        self.writer: Callable[[], None] | None = None

    def fileno(self) -> int:
        return self.sock.fileno()

    def doRead(self) -> None:
        if self.reader is not None:
            self.reader()

    def doWrite(self) -> None:
        if self.writer is not None:
            self.writer()

    def connectionLost(self, reason: Any) -> None:
        """Call the reader and writer after a hang-up, or when the reactor stops: their system call returns the
        error."""
        for f in (self.reader, self.writer):
            if f is not None:
                f()
                return

    def logPrefix(self) -> str:
        return "kafkapy"


class _DelayedCall:
    """A timer whose `cancel` is harmless after it has fired; Twisted's raises then."""

    __slots__ = ("_call",)

    def __init__(self, call: Any) -> None:
        self._call = call

    def cancel(self) -> None:
        if self._call.active():
            self._call.cancel()


class TwistedDriver(Loop):
    """Runs a client on the reactor's thread. `reactor` None: the global one."""

    def __init__(self, reactor: Any = None, time: Time | None = None) -> None:
        if reactor is None:
            from twisted.internet import reactor as global_reactor

            _check_where(global_reactor)
            reactor = global_reactor
        self.reactor = reactor
        self.time: Time = time or SystemTime()
        self._watches: dict[socket.socket, _ReactorWatch] = {}

    def call_later(self, delay_ms: float, f: Callable[[], object]) -> _DelayedCall:
        return _DelayedCall(self.reactor.callLater(delay_ms / 1000, f))

    def call_soon(self, f: Callable[[], object]) -> None:
        self.reactor.callLater(0, f)

    def call_soon_threadsafe(self, f: Callable[[], object]) -> None:
        self.reactor.callFromThread(f)

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        self.reactor.callLater(0, f)

    def add_reader(self, sock: socket.socket, f: Callable[[], None]) -> None:
        watch = self._watch(sock)
        watch.reader = f
        self.reactor.addReader(watch)

    def remove_reader(self, sock: socket.socket) -> None:
        watch = self._watches.get(sock)
        if watch is not None and watch.reader is not None:
            watch.reader = None
            self.reactor.removeReader(watch)
            self._forget(watch)

    def add_writer(self, sock: socket.socket, f: Callable[[], None]) -> None:
        watch = self._watch(sock)
        watch.writer = f
        self.reactor.addWriter(watch)

    def remove_writer(self, sock: socket.socket) -> None:
        watch = self._watches.get(sock)
        if watch is not None and watch.writer is not None:
            watch.writer = None
            self.reactor.removeWriter(watch)
            self._forget(watch)

    def _watch(self, sock: socket.socket) -> _ReactorWatch:
        watch = self._watches.get(sock)
        if watch is None:
            watch = self._watches[sock] = _ReactorWatch(sock)
        return watch

    def _forget(self, watch: _ReactorWatch) -> None:
        if watch.reader is None and watch.writer is None:
            self._watches.pop(watch.sock, None)


def _check_where(reactor: Any) -> None:
    """Raise RuntimeError where no callback would run: on another thread than the reactor's, or in a plain asyncio
    loop."""
    if getattr(reactor, "running", False):
        if not threadable.isInIOThread():  # type: ignore[no-untyped-call]
            raise RuntimeError(
                "Clients for Twisted are made in the reactor's thread (reactor.callFromThread); in others take kafkapy's own"
            )
    elif not hasattr(reactor, "_asyncioEventloop") and asyncio._get_running_loop() is not None:
        raise RuntimeError(
            "Clients for Twisted need its reactor, and here only asyncio's loop runs: take kafkapy.aio, or install asyncioreactor"
        )
