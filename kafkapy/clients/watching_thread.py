"""Watches sockets on a thread, for event loops that can't, such as asyncio's default loop on Windows."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from kafkapy.clients.selector_loop import SelectorLoop

_CHECK_SECONDS = 60.0
"""How often a thread checks whether an event loop that does not respond is closed."""


class WatchingThread:
    """A thread that sleeps in a selector; its events are served on the event loop's thread, then it sleeps again.

    Invariant: `_sockets` is not None exactly while a thread runs or is about to end. Only the sleep happens on that
    thread. A thread without a socket ends after its sleep; the next socket starts a new one.
    """

    def __init__(self, post: Callable[[Callable[[], object]], bool]) -> None:
        """`post`: schedules a function on the event loop, thread-safe; returns False if the loop is closed."""
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
