"""The servers of the dedicated mode: the internal REST server, and the page of metrics."""

from __future__ import annotations

import threading
from typing import Any, Final

from kafkapy.common.extras import MissingExtra, need
from kafkapy.connect.metric_names import ConnectMetricName
from kafkapy.connect.metrics_page import LISTENER, MetricsListener
from kafkapy.mirror.config.maker_config import MirrorMakerConfig
from kafkapy.mirror.internal_rest import InternalRestServer
from kafkapy.mirror.replication_policy import SourceAndTarget

_JOIN_S: Final = 10.0


class FlowMetrics:
    """The metrics of all flows: those of each worker and its tasks, with the label `flow`, for example `A->B`.

    Invariant: `_herders` are those of the started flows.
    """

    def __init__(self) -> None:
        self._herders: dict[SourceAndTarget, Any] = {}
        self._expected: list[SourceAndTarget] = []

    def expect(self, pairs: list[SourceAndTarget]) -> None:
        """Be unready until each of these flows was added and is ready."""
        self._expected = pairs

    def add(self, pair: SourceAndTarget, herder: Any) -> None:
        """Add a flow with its herder. Thread-safe."""
        self._herders[pair] = herder

    def read(self) -> dict[ConnectMetricName, float | str]:
        """Return the present values."""
        return {
            name._replace(tags=(("flow", str(pair)), *name.tags)): value
            for pair, herder in list(self._herders.items())
            for name, value in herder.worker.metrics.read().items()
        }

    def unready(self) -> str:
        """Return which flows are not ready; empty: all are."""
        herders = self._herders
        waiting = [str(pair) for pair in self._expected if pair not in herders or not herders[pair].is_ready]
        return f"These flows are starting up: {', '.join(waiting)}" if waiting or not self._expected else ""


class MirrorServers:
    """Runs Twisted's reactor on a thread of its own from `start` to `stop`, once in a process."""

    def __init__(self, rest: InternalRestServer | None, page: MetricsListener | None, reactor: Any) -> None:
        """
        Args:
            rest: For other nodes; None: there is none.
            page: Serves metrics and health; None: there is none.
            reactor: Twisted's, not running.
        """
        self._rest = rest
        self._page = page
        self._flows = FlowMetrics()
        self._reactor = reactor
        self._thread = threading.Thread(target=self._run, name="mirror-servers", daemon=True)

    @classmethod
    def of(cls, config: MirrorMakerConfig) -> MirrorServers | None:
        """Return the servers of the configs; None: there are none. Raises ConfigException.

        Args:
            config: Of the dedicated mode.
        """
        properties = config.originals
        has_page = bool(properties.get(LISTENER, "").strip())
        if not (has_page or config.is_internal_rest_enabled):
            return None
        try:
            need("rest", "twisted", by="The page of metrics" if has_page else "The internal REST server")
        except MissingExtra as missing:
            raise ValueError(str(missing)) from None
        from twisted.internet import reactor

        rest = InternalRestServer(properties, reactor) if config.is_internal_rest_enabled else None
        return cls(rest, MetricsListener.of(properties, reactor, "MirrorMaker."), reactor)

    @property
    def url(self) -> str | None:
        """Return the URL for other nodes, after `start`; None: there is no server for them."""
        return None if self._rest is None else self._rest.url

    def start(self, pairs: list[SourceAndTarget]) -> None:
        """Listen. Raises ConfigException.

        Args:
            pairs: The flows of the process.
        """
        self._thread.start()
        self._flows.expect(pairs)
        if self._page is not None:
            self._page.listen()
            self._page.serve(self._flows.read, self._flows.unready)
        if self._rest is not None:
            self._rest.start()

    def add(self, pair: SourceAndTarget, herder: Any) -> None:
        """Add a flow with its herder. Thread-safe."""
        self._flows.add(pair, herder)
        if self._rest is not None:
            self._rest.add(pair, herder)

    def stop(self) -> None:
        """Close the servers and end the reactor."""
        if not self._thread.is_alive():
            return
        for server in (self._rest, self._page):
            if server is not None:
                server.stop()
        self._reactor.callFromThread(self._reactor.stop)
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        self._reactor.run(installSignalHandlers=False)
