"""A driver on an asyncio event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from kafkapy.clients.driver import TimerHandle
from kafkapy.clients.socket_transport import Loop
from kafkapy.common.time import SystemTime, Time

if TYPE_CHECKING:
    from kafkapy.clients.watching_thread import WatchingThread

T = TypeVar("T")


class AsyncioDriver(Loop):
    """Runs a client on the event loop that is running at construction (or `loop`), on the thread of that loop.

    For a loop that can't watch sockets (Windows' default loop has no `add_reader`), a thread watches them.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None, time: Time | None = None) -> None:
        try:
            self.loop = loop or asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "Clients for asyncio are made where their loop runs: inside a coroutine, such as asyncio.run(main()) runs"
            ) from None
        self.time: Time = time or SystemTime()

    def call_later(self, delay_ms: float, f: Callable[[], object]) -> TimerHandle:
        return self.loop.call_later(delay_ms / 1000, f)

    def call_soon(self, f: Callable[[], object]) -> None:
        self.loop.call_soon(f)

    def call_soon_threadsafe(self, f: Callable[[], object]) -> None:
        self._post(f)

    def _post(self, f: Callable[[], object]) -> bool:
        try:
            self.loop.call_soon_threadsafe(f)
        except RuntimeError:
            return False  # the loop is closed: no callback will run any more
        return True

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        self.loop.call_soon(f)

    @cached_property
    def _helper(self) -> WatchingThread:
        from kafkapy.clients.watching_thread import WatchingThread

        return WatchingThread(self._post)

    def add_reader(self, sock: socket.socket, f: Callable[[], None]) -> None:
        try:
            self.loop.add_reader(sock, f)
        except NotImplementedError:
            self._helper.add_reader(sock, f)

    def remove_reader(self, sock: socket.socket) -> None:
        if not self.loop.is_closed():
            try:
                self.loop.remove_reader(sock)
            except NotImplementedError:
                self._helper.remove_reader(sock)

    def add_writer(self, sock: socket.socket, f: Callable[[], None]) -> None:
        try:
            self.loop.add_writer(sock, f)
        except NotImplementedError:
            self._helper.add_writer(sock, f)

    def remove_writer(self, sock: socket.socket) -> None:
        if not self.loop.is_closed():
            try:
                self.loop.remove_writer(sock)
            except NotImplementedError:
                self._helper.remove_writer(sock)
