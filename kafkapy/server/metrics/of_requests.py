"""Requests, connections, the event loop."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterator

from kafkapy.common.metrics import Histogram
from kafkapy.common.metrics_requests import RequestStats
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.runtime.stall_meter import BOUNDS
from kafkapy.server.metrics.metric import BrokerMetric, Buckets, Sample, counter, gauge, histograms, summaries, summary
from kafkapy.server.metrics.sources import Sources
from kafkapy.version import __version__

_FDS = "/proc/self/fd"
_REQUESTS = "kafka.network:type=RequestMetrics,name={},request=..."


def _by_request(sources: Sources) -> Iterator[tuple[str, tuple[RequestStats, ...]]]:
    """Yield the statistics of each API with requests so far; Fetch in total, of consumers and of followers, as in Kafka."""
    requests = sources.requests
    for api_key in ApiKey:
        own = requests.clients[api_key]
        if api_key is not ApiKey.FETCH:
            if own.count:
                yield api_key.title, (own,)
            continue
        followers = requests.fetch_of_followers
        if own.count or followers.count:
            yield "Fetch", (own, followers)
        if own.count:
            yield "FetchConsumer", (own,)
        if followers.count:
            yield "FetchFollower", (followers,)


def _counts(sources: Sources) -> Iterator[Sample]:
    for request, all_stats in _by_request(sources):
        yield (request,), sum(stats.count for stats in all_stats)


def _errors(sources: Sources) -> Iterator[Sample]:
    for request, all_stats in _by_request(sources):
        codes = {code for stats in all_stats for code in stats.errors}
        for code in sorted(codes):
            count = sum(stats.errors.get(code, 0) for stats in all_stats)
            yield (request, Errors.for_code(code).name), count


def _times(of: Callable[[RequestStats], Histogram]) -> Callable[[Sources], Iterator[Sample]]:
    def read(sources: Sources) -> Iterator[Sample]:
        for request, all_stats in _by_request(sources):
            for stats in all_stats:
                stats.fold()
            yield (request,), summary(*map(of, all_stats))

    return read


def _idle(sources: Sources) -> float:
    return sources.idle.value()


def _turns(sources: Sources) -> Iterator[Sample]:
    for kind, turns in sources.meter.by_kind():
        yield (kind,), Buckets(BOUNDS, turns.counts, turns.seconds)


def _open_fds(sources: Sources) -> float:
    # On Linux 6.2 and later the size is the number of open files; before, the entries are counted.
    try:
        return os.stat(_FDS).st_size or len(os.listdir(_FDS))
    except FileNotFoundError:  # macOS
        return len(os.listdir("/dev/fd"))


def _disk(name: bytes) -> Callable[[Sources], float | Iterator[Sample]]:
    def read(sources: Sources) -> float | Iterator[Sample]:
        try:
            with open("/proc/self/io", "rb") as file:
                return next(int(line.split()[1]) for line in file if line.startswith(name))
        except OSError:
            return iter(())  # unreadable in some containers

    return read


def _resident_bytes(sources: Sources) -> float | Iterator[Sample]:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:  # macOS has no call for the current size
        return iter(())


REQUEST_METRICS: tuple[BrokerMetric, ...] = (
    counter(
        "kafka_network_requestmetrics_requests_total", _REQUESTS.format("RequestsPerSec"),
        "Requests that were answered.", _counts, "request"),
    counter(
        "kafka_network_requestmetrics_errors_total", _REQUESTS.format("ErrorsPerSec") + ",error=...",
        "Error codes in answers, one for each partition, topic ... that has one. Answers without an error, and errors of "
        "single topics in Metadata, are not counted.", _errors, "request", "error"),
    summaries(
        "kafka_network_requestmetrics_totaltimems", _REQUESTS.format("TotalTimeMs"),
        "From the receipt of a request until its answer is sent, ms: local, remote and send time. There is no queue in "
        "front of the handlers, nor one behind them.", _times(lambda stats: stats.total), "request"),
    summaries(
        "kafka_network_requestmetrics_localtimems", _REQUESTS.format("LocalTimeMs"),
        "Until the handler has returned, ms.", _times(lambda stats: stats.local), "request"),
    summaries(
        "kafka_network_requestmetrics_remotetimems", _REQUESTS.format("RemoteTimeMs"),
        "What the answer waited for after that: followers, records, a time, ZooKeeper, the controller, ms.",
        _times(lambda stats: stats.remote), "request"),
    summaries(
        "kafka_network_requestmetrics_responsesendtimems", _REQUESTS.format("ResponseSendTimeMs"),
        "Until the client has taken the whole answer, ms.", _times(lambda stats: stats.send), "request"),
    summaries(
        "kafka_network_requestmetrics_throttletimems", _REQUESTS.format("ThrottleTimeMs"),
        "For how long clients were throttled, ms; only requests that were.",
        _times(lambda stats: stats.throttle), "request"),
    gauge(
        "kafka_network_socketserver_networkprocessoravgidle_percent",
        "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
        "Share of the last minute in which the event loop, which does the work of Kafka's network and I/O threads, had "
        "nothing to do, 0 to 1.", _idle),
    gauge(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
        "The same: there is one event loop for both.", _idle),
    histograms(
        "kafkapy_reactor_turn_seconds", "",
        "How long the turns of the event loop took, in which all other requests wait: by the longest item of a turn (an "
        "API, or the function, timer or part that was at work). Turns of less than 1 ms are all \"short\". One of more "
        "than 0.1 s is a line in the log, which names the request and how much of it was CPU.", _turns, "work"),
    gauge(
        "kafka_server_socket_server_metrics_connection_count",
        "kafka.server:type=socket-server-metrics (connection-count)",
        "Connections that are open.", lambda s: s.sockets.connection_count),
    counter(
        "kafka_server_socket_server_metrics_connection_creation_total",
        "kafka.server:type=socket-server-metrics (connection-creation-total)",
        "Connections that were accepted.", lambda s: s.sockets.accepted),
    counter(
        "kafkapy_connections_refused_total", "",
        "Connections that were refused, or closed for others, because of max.connections or max.connections.per.ip.",
        lambda s: s.sockets.refused),
    gauge(
        "kafka_server_kafkaserver_brokerstate", "kafka.server:type=KafkaServer,name=BrokerState",
        "3: running, 6: shutting down in a controlled way. Before and after there is no endpoint.",
        lambda s: 6 if s.is_stopping() else 3),
    gauge(
        "kafka_server_kafkaserver_clusterid", "kafka.server:type=KafkaServer,name=ClusterId",
        "1, with the ids and the version as labels.",
        lambda s: [((s.cluster_id, str(s.broker_id), __version__), 1)], "cluster", "broker", "version"),
    counter(
        "process_cpu_seconds_total", "java.lang:type=OperatingSystem (ProcessCpuTime)",
        "CPU time of the broker's process, seconds.", lambda s: time.process_time()),
    gauge(
        "process_resident_memory_bytes", "", "Memory of the broker's process.", _resident_bytes),
    gauge(
        "process_open_fds", "java.lang:type=OperatingSystem (OpenFileDescriptorCount)",
        "Open file descriptors: segments in use, their indexes, connections.", _open_fds),
    gauge(
        "process_max_fds", "java.lang:type=OperatingSystem (MaxFileDescriptorCount)",
        "How many there may be.", lambda s: resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    gauge(
        "kafka_server_kafkaserver_linux_disk_read_bytes", "kafka.server:type=KafkaServer,name=linux-disk-read-bytes",
        "Bytes that the broker's process has read from disks.", _disk(b"read_bytes")),
    gauge(
        "kafka_server_kafkaserver_linux_disk_write_bytes", "kafka.server:type=KafkaServer,name=linux-disk-write-bytes",
        "Bytes that the broker's process has had written to disks.", _disk(b"write_bytes")),
)  # fmt: skip
