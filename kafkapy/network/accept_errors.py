"""Logs why connections cannot be accepted."""

from __future__ import annotations

import errno
import logging
import os
import time
from collections.abc import Callable
from typing import Any, Final

from twisted.logger import globalLogPublisher

from kafkapy.network.transport import PlaintextPort

log = logging.getLogger("kafkapy.network.SocketServer")

QUIET_SECONDS: Final = 10.0
"""Pause after a log line about an error, which may occur for every client that tries to connect."""

_NO_DESCRIPTOR: Final = (
    ". They are closed until others have gone; allow the broker more open files (ulimit -n), or limit connections "
    "(max.connections)"
)
_NAMESPACE: Final = f"{PlaintextPort.__module__}.{PlaintextPort.__qualname__}"


class AcceptErrors:
    """An observer of Twisted's log that reports accept errors, which Twisted logs at a low level.

    If no descriptor is free, Twisted accepts with one that it reserves for this, and closes the connection at once: the
    client is notified, and the listener does not spin.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """`now`: a monotonic clock, seconds."""
        self._now = now
        self._quiet_until = 0.0

    def start(self) -> None:
        globalLogPublisher.addObserver(self)  # type: ignore[arg-type]

    def stop(self) -> None:
        globalLogPublisher.removeObserver(self)  # type: ignore[arg-type]

    def __call__(self, event: dict[str, Any]) -> None:
        if event.get("log_namespace") != _NAMESPACE or self._now() < self._quiet_until:
            return
        self._quiet_until = self._now() + QUIET_SECONDS
        name = event.get("acceptError", "EMFILE")
        advice = _NO_DESCRIPTOR if name == "EMFILE" else ""
        log.error("Error accepting connections: %s%s", os.strerror(getattr(errno, name)), advice)
