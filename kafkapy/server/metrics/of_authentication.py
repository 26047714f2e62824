"""Authentications, by listener."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kafkapy.network.authentication_counts import AuthenticationCounts
from kafkapy.server.metrics.metric import BrokerMetric, Sample, counter
from kafkapy.server.metrics.sources import Sources


def _of(metric: str, doc: str, value: Callable[[AuthenticationCounts], int], also: str = "") -> BrokerMetric:
    def samples(sources: Sources) -> Sequence[Sample]:
        counts = sources.sockets.authentications.by_listener
        return [((listener,), value(of_listener)) for listener, of_listener in counts.items()]

    name = f"kafka_server_socket_server_metrics_{metric.replace('-', '_').removesuffix('_total')}_total"
    kafka = f"kafka.server:type=socket-server-metrics,listener=... ({metric}){also}"
    return counter(name, kafka, doc, samples, "listener")


AUTHENTICATION_METRICS: tuple[BrokerMetric, ...] = (
    _of("successful-authentication-total",
        "Connections whose client was authenticated: by SASL, or, where there is none, by a TLS handshake.",
        lambda counts: counts.successful),
    _of("failed-authentication-total", "Connections whose client was refused.", lambda counts: counts.failed),
    _of("successful-authentication-no-reauth-total",
        "Of those that were authenticated: clients that would not authenticate again where sessions end.",
        lambda counts: counts.without_reauthentication),
    _of("successful-reauthentication-total", "Times that a client was authenticated again.",
        lambda counts: counts.successful_again),
    _of("failed-reauthentication-total", "Connections whose client was refused then.",
        lambda counts: counts.failed_again),
    _of("expired-connections-killed-count",
        "Connections that were closed because their client went on after the end of its session.",
        lambda counts: counts.expired, ", kafka.network:type=SocketServer,name=ExpiredConnectionsKilledCount"),
)  # fmt: skip
