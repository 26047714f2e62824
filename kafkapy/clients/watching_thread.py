"""A thread that watches sockets for an event loop that can't, as Windows' default loop of asyncio."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from kafkapy.clients.selector_loop import SelectorLoop

_CHECK_SECONDS = 60.0
"""How often a thread whose event loop does not answer looks whether that is closed."""


class WatchingThread:
    """The thread sleeps in a selector. What it has seen is served on the event loop's thread, and then it sleeps again.

    Everything but the sleep happens on the event loop's thread. Invariant: `_sockets` is not None exactly while a thread
    runs, or has been told to end. A thread without a socket ends when its sleep does; the next socket starts a new one.
    """

    def __init__(self, post: Callable[[Callable[[], object]], bool]) -> None:
        """`post`: has the event loop call a function, from any thread; False if the loop is closed."""
        self._post = post
        self._sockets: SelectorLoop | None = None

    def add_reader(self, sock: socket.socket, f: Callable[[], None]) -> None:
        self._started().add_reader(sock, f)

    def add_writer(self, sock: socket.socket, f: Callable[[], None]) -> None:
        self._started().add_writer(sock, f)

    def remove_reader(self, sock: socket.socket) -> None:
        if self._sockets is not None:
            self._sockets.remove_reader(sock)

    def remove_writer(self, sock: socket.socket) -> None:
        if self._sockets is not None:
            self._sockets.remove_writer(sock)

    def _started(self) -> SelectorLoop:
        if self._sockets is None:
            self._sockets = sockets = SelectorLoop()
            threading.Thread(target=self._run, args=(sockets,), name="kafkapy-sockets", daemon=True).start()
        return self._sockets

    def _run(self, sockets: SelectorLoop) -> None:
        served: SimpleQueue[bool] = SimpleQueue()
        events = sockets.select()
        while self._post(partial(self._serve, sockets, events, served)) and self._goes_on(served):
            events = sockets.select()
        sockets.close()

    def _goes_on(self, served: SimpleQueue[bool]) -> bool:
        while True:
            try:
                return served.get(timeout=_CHECK_SECONDS)
            except Empty:
                if not self._post(lambda: None):
                    return False

    def _serve(self, sockets: SelectorLoop, events: list[Any], served: SimpleQueue[bool]) -> None:
        sockets.dispatch(events)
        if not sockets.watches_any:
            self._sockets = None
        served.put(self._sockets is sockets)
