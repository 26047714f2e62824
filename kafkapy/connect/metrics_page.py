"""The metrics of a Connect worker for Prometheus, and its health, on a listener of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.prometheus_text import CONTENT_TYPE, head, label, sample
from kafkapy.connect.metric_names import ConnectMetricName, ReadMetrics

log = logging.getLogger("kafkapy.connect")

LISTENER: Final = "kafkapy.metrics.listener"
"""The config of a worker that names the address: `host:port`. Default: there is no page."""


def prometheus_name(name: ConnectMetricName) -> str:
    """Return the name that Prometheus's JMX exporter makes of Kafka's.

    Example:
        >>> prometheus_name(ConnectMetricName("batch-size-avg", "connector-task-metrics", "", ()))
        'kafka_connect_connector_task_metrics_batch_size_avg'
    """
    return f"{name.domain}_{name.group}_{name.name}".lower().replace("-", "_").replace(".", "_")


def prometheus_kind(name: ConnectMetricName) -> str:
    """Return `counter` for a metric that only grows, otherwise `gauge`."""
    return "counter" if name.name.endswith("-total") else "gauge"


def metrics_text(values: Mapping[ConnectMetricName, Any]) -> str:
    """Return the page. A value that is text becomes a label of its metric's name, with the number 1.

    Example:
        >>> print(metrics_text({ConnectMetricName("status", "connector-metrics", "Its state.", ()): "running"}), end="")
        # HELP kafka_connect_connector_metrics_status Its state.
        # TYPE kafka_connect_connector_metrics_status gauge
        kafka_connect_connector_metrics_status{status="running"} 1
    """
    families: dict[str, list[tuple[ConnectMetricName, Any]]] = {}
    for name, value in values.items():
        families.setdefault(prometheus_name(name), []).append((name, value))
    return "".join(_family(full, samples) for full, samples in sorted(families.items()))


def _family(full: str, samples: Iterable[tuple[ConnectMetricName, Any]]) -> str:
    lines = []
    for name, value in samples:
        labels = [label(tag, text) for tag, text in name.tags]
        if isinstance(value, str):
            labels.append(label(name.name.replace("-", "_"), value))
            value = 1
        lines.append(sample(full, labels, value))
    return head(full, prometheus_kind(name), name.description) + "".join(lines)


class MetricsListener:
    """Serves `/metrics`, `/healthz` and `/readyz` from `listen` to `stop`.

    `/healthz` answers 200 as long as the process's event loop runs; `/readyz` answers 200 while the worker serves
    requests, and otherwise 503 with the reason.
    """

    def __init__(self, address: str, reactor: Any, process: str = "A Connect worker.") -> None:
        """
        Args:
            address: `host:port`; an empty host stands for all addresses.
            reactor: Twisted's.
            process: A sentence that names the process, for the page at `/`. Default: it is a worker.

        Raises:
            ConfigException: The address has another form.
        """
        from kafkapy.server.metrics.config import HttpAddress

        try:
            found = HttpAddress.take_from({LISTENER: address}, LISTENER)
        except ValueError as error:
            raise ConfigException(str(error)) from None
        assert found is not None
        self._address = found
        self._reactor = reactor
        self._process = process
        self._read: ReadMetrics = dict
        self._unready: Callable[[], str] = lambda: "The worker is starting up"
        self._site: Any = None

    @classmethod
    def of(
        cls, properties: Mapping[str, str], reactor: Any, process: str = "A Connect worker."
    ) -> MetricsListener | None:
        """Return the listener of a process's properties; None: there is none. Raises ConfigException."""
        address = properties.get(LISTENER, "").strip()
        return cls(address, reactor, process) if address else None

    @property
    def port(self) -> int:
        """Return the port, after `listen`."""
        return int(self._site.port)

    def listen(self) -> None:
        """Listen at the address, which the log tells; not on the reactor's thread. Raises ConfigException."""
        from twisted.internet.defer import ensureDeferred
        from twisted.internet.threads import blockingCallFromThread
        from twisted.web.resource import Resource

        from kafkapy.network.http_site import HttpSite, health_pages
        from kafkapy.network.socket_server import ListenError

        listener = self

        class Page(Resource):
            isLeaf = True

            def render_GET(self, request: Any) -> bytes:
                request.setHeader("content-type", CONTENT_TYPE)
                return metrics_text(listener._read()).encode()

        page: Any = Page
        pages = {"metrics": page(), **health_pages(lambda: self._unready())}
        self._site = HttpSite(self._reactor, pages, self._process)
        host, port = self._address
        try:
            blockingCallFromThread(self._reactor, lambda: ensureDeferred(self._site.listen(host, port, LISTENER)))
        except ListenError as error:
            raise ConfigException(str(error)) from None
        log.info("Metrics are served at port %d", self.port)

    def serve(self, read: ReadMetrics, unready: Callable[[], str]) -> None:
        """Show metrics from now on.

        Args:
            read: Returns the present values.
            unready: Returns why the worker does not serve requests; empty: it does.
        """
        self._read = read
        self._unready = unready

    def stop(self) -> None:
        """Stop listening; not on the reactor's thread."""
        from twisted.internet.defer import ensureDeferred
        from twisted.internet.threads import blockingCallFromThread

        if self._site is not None:
            blockingCallFromThread(self._reactor, lambda: ensureDeferred(self._site.stop()))
