"""The server's end of the control connection: executes orders on the reactor; stops the server when the test is
gone."""

from __future__ import annotations

import inspect
import json
import logging
import os
import shutil
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from twisted.internet.protocol import Factory
from twisted.protocols.basic import LineReceiver

from kafkapy.runtime.completion import spawn
from kafkapy.testing.control.wire import MAX_LINE, ControlEnd, end_descriptor, to_line

log = logging.getLogger("kafkapy.testing.control")

Order = Callable[..., object]


class OrderError(Exception):
    """The command failed; the message is sent to the test."""


class ServerEnd:
    """Executes orders.

    Invariant: every order is answered once, when it is done.
    """

    def __init__(self, reactor: Any, end: ControlEnd, orders: dict[str, Order]) -> None:
        self._reactor = reactor
        self._end = end
        self.orders = orders
        """`orders`: functions and coroutine functions by name; results must be JSON-serializable."""
        self._wire = _Wire(self)

    def open(self) -> None:
        """Connect. Call it on the reactor thread."""
        descriptor = end_descriptor(self._end)
        factory = _WireFactory(self._wire)
        self._reactor.adoptStreamConnection(descriptor, socket.AF_UNIX, factory)
        os.close(descriptor)  # the reactor has its own
        self._watch_parent()

    def _watch_parent(self) -> None:
        """Watch the parent process by a pidfd (Linux): a fork of the parent could keep the socket open after its
        end."""
        try:
            watched = os.pidfd_open(self._end.parent)
        except ProcessLookupError:
            self.parent_is_gone()
            return
        except (OSError, AttributeError):
            return
        self._reactor.addReader(_Process(watched, self.parent_is_gone))

    def tell(self, news: str, **more: object) -> None:
        """Send an unsolicited message. Call it on the reactor thread."""
        self._wire.send({"news": news, **more})

    def parent_is_gone(self) -> None:
        """Stop the server, by a clean shutdown if its data is kept; otherwise delete the data and exit at once."""
        if self._end.remove is None:
            self._reactor.callLater(10, os._exit, 1)
            self._reactor.stop()
            return
        shutil.rmtree(self._end.remove, ignore_errors=True)
        os._exit(0)

    def take(self, message: dict[str, Any]) -> None:
        number, name = message.pop("number"), message.pop("order")
        order = self.orders.get(name)
        try:
            if order is None:
                raise OrderError(f"there is no order {name!r}; there are {', '.join(sorted(self.orders))}")
            result = order(**message)
        except Exception as error:
            self._refuse(number, name, error)
            return
        if inspect.isawaitable(result):
            spawn(self._finish(number, name, result))
        else:
            self._wire.send({"number": number, "result": result})

    async def _finish(self, number: int, name: str, work: Awaitable[object]) -> None:
        try:
            result = await work
        except Exception as error:
            self._refuse(number, name, error)
        else:
            self._wire.send({"number": number, "result": result})

    def _refuse(self, number: int, name: str, error: Exception) -> None:
        if not isinstance(error, OrderError):
            log.error("The order %s has failed", name, exc_info=error)
        self._wire.send({"number": number, "error": str(error) or type(error).__name__})


class _Wire(LineReceiver):
    transport: Any
    delimiter = b"\n"
    MAX_LENGTH = MAX_LINE

    def __init__(self, end: ServerEnd) -> None:
        self._end = end
        self._unsent: list[dict[str, Any]] = []

    def connectionMade(self) -> None:
        for message in self._unsent:
            self.transport.write(to_line(message))
        self._unsent = []

    def send(self, message: dict[str, Any]) -> None:
        if self.transport is None:
            self._unsent.append(message)
        else:
            self.transport.write(to_line(message))

    def lineReceived(self, line: bytes) -> None:
        self._end.take(json.loads(line))

    def connectionLost(self, reason: Any = None) -> None:
        self._end.parent_is_gone()


class _WireFactory(Factory):
    noisy = False

    def __init__(self, wire: _Wire) -> None:
        self._wire = wire

    def buildProtocol(self, addr: Any) -> _Wire:
        return self._wire


class _Process:
    """A pidfd: readable when the process has ended."""

    def __init__(self, descriptor: int, ended: Callable[[], None]) -> None:
        self._descriptor = descriptor
        self.doRead = ended

    def fileno(self) -> int:
        return self._descriptor

    def logPrefix(self) -> str:
        return "the test's process"

    def connectionLost(self, reason: Any) -> None:
        os.close(self._descriptor)
