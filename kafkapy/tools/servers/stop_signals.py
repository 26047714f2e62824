"""The signals that shut a server down in order (Kafka's `LoggingSignalHandler`, and a JVM's shutdown hooks)."""

from __future__ import annotations

import contextlib
import logging
import signal
from typing import Any

from twisted.internet.error import ReactorNotRunning

from kafkapy.common.capabilities import STOP_SIGNALS

log = logging.getLogger("kafkapy.common.utils.LoggingSignalHandler")


class StopSignals:
    """The first signal stops the reactor; while it stops, further signals have no effect.

    Twisted does not handle SIGHUP, which is sent when a terminal closes: without a handler it would end the broker
    like `kill -9`.
    """

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._stopping = False

    def install(self) -> None:
        """Install the handlers. Call it when the reactor runs, since the reactor installs its own. SIGHUP stays
        ignored under `nohup`."""
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, _: self._reactor.callFromThread(self._stop, number))

    def _stop(self, number: int) -> None:
        log.info("Terminating process due to signal %s", signal.Signals(number).name)
        if not self._stopping:
            self._stopping = True
            with contextlib.suppress(ReactorNotRunning):  # the reactor was stopping already
                self._reactor.stop()
