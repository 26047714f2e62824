"""Which signals end a server in good order (Kafka's `LoggingSignalHandler`, and a JVM's shutdown hooks)."""

from __future__ import annotations

import contextlib
import logging
import signal
from typing import Any

from twisted.internet.error import ReactorNotRunning

from kafkapy.common.capabilities import STOP_SIGNALS

log = logging.getLogger("kafkapy.common.utils.LoggingSignalHandler")


class StopSignals:
    """The first of them stops the reactor; while it stops, more of them change nothing.

    Twisted knows no SIGHUP, which comes when a terminal is closed: it would end the broker as `kill -9` does.
    """

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._stopping = False

    def install(self) -> None:
        """To be called when the reactor runs, because it installs handlers of its own. `nohup` goes on to hold."""
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, _: self._reactor.callFromThread(self._stop, number))

    def _stop(self, number: int) -> None:
        log.info("Terminating process due to signal %s", signal.Signals(number).name)
        if not self._stopping:
            self._stopping = True
            with contextlib.suppress(ReactorNotRunning):  # it was about to stop anyhow
                self._reactor.stop()
