"""Metrics of a client's connections and requests, under the names of the Java client and kafka-python."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from kafkapy.clients.client_apis import Api
from kafkapy.common.sampled_stat import SampledStat, average, frequency, largest, rate

Figures = dict[str, float]


class ApiTimes(NamedTuple):
    """Latency and throttle time of an API's answered requests, in ms."""

    latency: SampledStat
    throttle: SampledStat


class NodeMetrics:
    """Metrics of one broker: bytes of requests and of responses, and times by API."""

    __slots__ = ("_stat", "by_api", "received", "sent")

    def __init__(self, stat: partial[SampledStat]) -> None:
        self._stat = stat
        self.sent = stat()
        self.received = stat()
        self.by_api: dict[Api, ApiTimes] = {}

    def answered(self, api_key: Api, size: int, latency_ms: float, throttle_ms: int, now: float) -> None:
        self.received.record(size, now)
        times = self.by_api.get(api_key)
        if times is None:
            times = self.by_api[api_key] = ApiTimes(self._stat(), self._stat())
        times.latency.record(latency_ms, now)
        times.throttle.record(throttle_ms, now)


class NetworkMetrics:
    """Metrics of all brokers. Written on the driver's thread, read from any thread."""

    def __init__(self, num_samples: int, window_ms: float) -> None:
        self.stat = partial(SampledStat, num_samples, window_ms)
        self.nodes: dict[int, NodeMetrics] = {}
        self.created = self.stat()
        self.closed = self.stat()

    def of_node(self, node_id: int) -> NodeMetrics:
        found = self.nodes.get(node_id)
        if found is None:
            found = self.nodes[node_id] = NodeMetrics(self.stat)
        return found

    def adopt(self, node_id: int, bootstrap_id: int) -> None:
        """Continue a bootstrap server's metrics under the id of its broker."""
        if bootstrap_id in self.nodes:
            self.nodes.setdefault(node_id, self.nodes.pop(bootstrap_id))

    def latencies(self, api_key: Api) -> list[SampledStat]:
        """Return the latencies of an API's requests, one stat for each broker."""
        return [node.by_api[api_key].latency for node in list(self.nodes.values()) if api_key in node.by_api]

    def throttles(self, api_key: Api) -> list[SampledStat]:
        return [node.by_api[api_key].throttle for node in list(self.nodes.values()) if api_key in node.by_api]

    def figures(self, now: float, connections: int, in_flight: int) -> Figures:
        """Return the group `<prefix>-metrics`. `connections`: the current number of connections."""
        nodes = list(self.nodes.values())
        sent, received = [node.sent for node in nodes], [node.received for node in nodes]
        return {
            "connection-count": connections,
            "connection-creation-rate": self.created.frequency(now),
            "connection-creation-total": self.created.count,
            "connection-close-rate": self.closed.frequency(now),
            "connection-close-total": self.closed.count,
            "network-io-rate": frequency([*sent, *received], now),
            "network-io-total": sum(stat.count for stat in (*sent, *received)),
            "requests-in-flight": in_flight,
            **_traffic(nodes, now),
        }

    def node_figures(self, prefix: str, now: float) -> dict[str, Figures]:
        """Return the groups `<prefix>-node-metrics.node-<id>`. Bootstrap servers have negative ids."""
        groups = list(self.nodes.items())
        return {f"{prefix}-node-metrics.node-{node_id}": _traffic((node,), now) for node_id, node in groups}


def timing(stats: Collection[SampledStat], now: float, count: str, time: str) -> Figures:
    """Return `<count>-rate` and `-total`, `<time>-avg` and `-max` of timed events."""
    return {
        f"{count}-rate": frequency(stats, now),
        f"{count}-total": sum(stat.count for stat in stats),
        f"{time}-avg": average(stats, now),
        f"{time}-max": largest(stats, now),
    }


def _traffic(nodes: Collection[NodeMetrics], now: float) -> Figures:
    sent, received = [node.sent for node in nodes], [node.received for node in nodes]
    times = [times for node in nodes for times in list(node.by_api.values())]
    latency, throttle = [each.latency for each in times], [each.throttle for each in times]
    return {
        "outgoing-byte-rate": rate(sent, now),
        "outgoing-byte-total": sum(stat.total for stat in sent),
        "request-rate": frequency(sent, now),
        "request-total": sum(stat.count for stat in sent),
        "request-size-avg": average(sent, now),
        "request-size-max": largest(sent, now),
        "incoming-byte-rate": rate(received, now),
        "incoming-byte-total": sum(stat.total for stat in received),
        "response-rate": frequency(received, now),
        "response-total": sum(stat.count for stat in received),
        "request-latency-avg": average(latency, now),
        "request-latency-max": largest(latency, now),
        "throttle-time-avg": average(throttle, now),
        "throttle-time-max": largest(throttle, now),
    }
