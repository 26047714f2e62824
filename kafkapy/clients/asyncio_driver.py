"""A driver on an asyncio event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TypeVar

from kafkapy.clients.driver import TimerHandle
from kafkapy.clients.socket_transport import Loop
from kafkapy.common.time import SystemTime, Time

T = TypeVar("T")


class AsyncioDriver(Loop):
    """Runs a client on the loop that is running when it is made (or `loop`), on the thread of that loop.

    The loop must be able to watch sockets (`add_reader`), as all but Windows' proactor loop are.
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
        try:
            self.loop.call_soon_threadsafe(f)
        except RuntimeError:
            pass  # the loop is closed: whoever waits there is gone

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        self.loop.call_soon(f)

    def add_reader(self, sock: socket.socket, f: Callable[[], None]) -> None:
        self.loop.add_reader(sock, f)

    def remove_reader(self, sock: socket.socket) -> None:
        if not self.loop.is_closed():
            self.loop.remove_reader(sock)

    def add_writer(self, sock: socket.socket, f: Callable[[], None]) -> None:
        self.loop.add_writer(sock, f)

    def remove_writer(self, sock: socket.socket) -> None:
        if not self.loop.is_closed():
            self.loop.remove_writer(sock)
