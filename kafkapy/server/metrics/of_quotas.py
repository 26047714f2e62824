"""Client quotas: usage and throttle times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import nlargest

from kafkapy.runtime.chunks import chunks
from kafkapy.server.metrics.metric import BrokerMetric, Omitted, Read, Sample, gauge
from kafkapy.server.metrics.sources import Sources
from kafkapy.server.quotas.client_quota_callback import CLIENT_ID_TAG, USER_TAG, Tags
from kafkapy.server.quotas.client_quota_manager import ClientQuotaManager, ClientSensors
from kafkapy.server.quotas.controller_mutation_quota_manager import MutationSensors
from kafkapy.server.quotas.quota_managers import QuotaManagers

_LABELS = "user", "client_id", "tags"
_CLIENT = ",user=...,client-id=... ({})"
_SOCKETS = "kafka.server:type=socket-server-metrics"
_THROTTLE = "For how long clients that were throttled because of it lately had to wait, ms, in the mean."

_Manager = Callable[[QuotaManagers], ClientQuotaManager]
_Value = Callable[[ClientSensors, int], float | None]
"""Reads a value of sensors at a time; None: there is no value."""


def _of_clients(manager: _Manager, value: _Value) -> Read:
    def read(sources: Sources) -> Iterator[Sample | Omitted | None]:
        if sources.quotas is None:
            return
        now = sources.time.monotonic_ms()
        found: list[tuple[tuple[str, ...], float]] = []
        for chunk in chunks(list(manager(sources.quotas).sensors())):
            for sensors in chunk:
                told = value(sensors, now)
                if told is not None:
                    found.append((_labels(sensors.tags), told))
            yield None
        yield from _largest(found, sources.snapshot.limit)

    return read


def _labels(tags: Tags) -> tuple[str, str, str]:
    others = ",".join(f"{name}={value}" for name, value in tags.items() if name not in (USER_TAG, CLIENT_ID_TAG))
    return tags.get(USER_TAG, ""), tags.get(CLIENT_ID_TAG, ""), others


def _largest(found: list[tuple[tuple[str, ...], float]], limit: int) -> Iterator[Sample | Omitted]:
    """Yield the `limit` largest samples, and the number of those left out."""
    yield from found if len(found) <= limit else nlargest(limit, found, key=lambda sample: sample[1])
    yield Omitted(max(len(found) - limit, 0))


def _rate(sensors: ClientSensors, now: int) -> float:
    return sensors.per_second(now)


def _throttle(sensors: ClientSensors, now: int) -> float | None:
    return None if sensors.throttle_times is None else sensors.throttle_times.average(now)


def _tokens(sensors: ClientSensors, now: int) -> float | None:
    return sensors.tokens(now) if isinstance(sensors, MutationSensors) else None


def _exempt(sources: Sources) -> list[Sample]:
    quotas = sources.quotas
    return [] if quotas is None else [((), quotas.requests.exempt.per_second(sources.time.monotonic_ms()))]


def _addresses(sources: Sources) -> Iterator[Sample | Omitted]:
    if sources.quotas is not None:
        yield from _largest([((ip,), rate) for ip, rate in sources.quotas.ips.per_second()], sources.snapshot.limit)


def _address_throttle(sources: Sources) -> list[Sample]:
    quotas = sources.quotas
    return [] if quotas is None else [((), quotas.ips.throttle_times.average(sources.time.monotonic_ms()))]


def _of(group: str, metric: str, doc: str, manager: _Manager, value: _Value) -> BrokerMetric:
    name = f"kafka_server_{group.lower()}_{metric.replace('-', '_')}"
    kafka = f"kafka.server:type={group}{_CLIENT.format(metric)}"
    return gauge(name, kafka, doc, _of_clients(manager, value), *_LABELS)


QUOTA_METRICS: tuple[BrokerMetric, ...] = (
    _of("Produce", "byte-rate",
        "Bytes a second that the clients which share a quota have produced. Kept while there is any producer_byte_rate. "
        "The user is sanitized; it or the client id is empty where the quota is not divided by it; a plug-in's other tags are "
        "in the third label.", lambda q: q.produce, _rate),
    _of("Produce", "throttle-time", _THROTTLE, lambda q: q.produce, _throttle),
    _of("Fetch", "byte-rate", "Bytes a second that were fetched, while there is any consumer_byte_rate.",
        lambda q: q.fetch, _rate),
    _of("Fetch", "throttle-time", _THROTTLE, lambda q: q.fetch, _throttle),
    _of("Request", "request-time",
        "Share of a thread that requests have taken, percent, while there is any request_percentage.",
        lambda q: q.requests, _rate),
    _of("Request", "throttle-time", _THROTTLE, lambda q: q.requests, _throttle),
    gauge(
        "kafka_server_request_exempt_request_time", "kafka.server:type=Request (exempt-request-time)",
        "The same of requests that are never throttled: other brokers', and Produce without an answer.", _exempt),
    _of("ControllerMutation", "mutation-rate",
        "Partitions made and deleted a second, while there is any controller_mutation_rate.",
        lambda q: q.mutations, _rate),
    _of("ControllerMutation", "tokens", "How many more may be at once; less than 0 while there may be none.",
        lambda q: q.mutations, _tokens),
    _of("ControllerMutation", "throttle-time", _THROTTLE, lambda q: q.mutations, _throttle),
    gauge(
        "kafka_server_socket_server_metrics_connection_accept_rate", f"{_SOCKETS},ip=... (connection-accept-rate)",
        "Connections a second from an address that has a connection_creation_rate.", _addresses, "ip"),
    gauge(
        "kafka_server_socket_server_metrics_ip_connection_accept_throttle_time",
        f"{_SOCKETS},listener=... (ip-connection-accept-throttle-time)",
        "For how long connections over this rate were kept before they were closed, ms, in the mean; of all listeners.",
        _address_throttle),
)  # fmt: skip
