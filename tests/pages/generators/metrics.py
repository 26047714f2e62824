"""Prints docs/metrics.md, made from the table of metrics: `python -m tests.pages.generators.metrics`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, cast

from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.metric_names import ConnectMetricName
from kafkapy.connect.metrics_page import prometheus_kind, prometheus_name
from kafkapy.connect.runtime.metrics import ConnectMetrics
from kafkapy.connect.runtime.task_metrics import MeasuredSink, MeasuredSource
from kafkapy.connect.runtime.worker_metrics import MeasuredConnector, RebalanceMetrics, WorkerMetrics
from kafkapy.connect.storage import ConnectorTaskId
from kafkapy.mirror.mirror_metrics import MirrorCheckpointMetrics, MirrorSourceMetrics
from kafkapy.server.metrics.config import DEFAULT_MAX_SERIES
from kafkapy.server.metrics.metric import QUANTILES, BrokerMetric
from kafkapy.server.metrics.table import SECTIONS

_INTRODUCTION = f"""\
# Metrics

Generated from the tables in `kafkapy/server/metrics/` by `python -m tests.pages.generators.metrics`; change those,
not this page.

A broker serves its metrics for [Prometheus](https://prometheus.io) where its properties file says so:

    kafkapy.metrics.listener=localhost:9404

Then `curl localhost:9404/metrics` shows them. The host is an address or name of this machine, an empty one
(`:9404`) stands for all its addresses; port 0 takes a free one, and the log tells which. Without that config there
is no endpoint, and requests are not measured. There is no password and no TLS: the page names topics, groups and
log directories, so make it reachable only from where these may be known. A port that is taken is tried again for 10
s, for a predecessor that is about to end; if the address can't be had then, the broker ends with status 1 and says
why.

**Names** are those that public dashboards use: what Prometheus's JMX exporter makes of Apache Kafka's MBeans
(`kafka_<domain>_<type>_<name>` in lower case, `_total` for `PerSec`), and those of kafka_exporter for groups and
topics; a partition's leader and a group's coordinator serve the latter, so that each appears once in a cluster.
Counters begin with 0 when the broker starts. A summary has `_count` and `_sum` since the start; where the broker
keeps them it also has quantiles ({", ".join(map(str, QUANTILES))}) of the last minute, taken from about 1,000 of
its values. `curl -s localhost:9404/metrics | promtool check metrics` finds no error; what it says of style (units,
suffixes and camel case) is about names that Kafka's dashboards use.

**Consumer lag** is counted by the broker that coordinates the group: from the committed offset to the high watermark.
For partitions of which that broker has a replica it looks there; for others it asks their leaders while the page is
made, and waits for half a second at most (one that does not answer keeps its last offset).

**Cost.** The page is made in small pieces between requests, once for all requests at the same time, and compressed
for clients that accept gzip. Counting takes about a microsecond a request.

**Metrics for alerts are complete.** Totals, and metrics by topic or by group and topic, always cover everything. A
metric with one series for each partition has {DEFAULT_MAX_SERIES:,} of them at most, so that a broker with very
many partitions still has a page of bearable size (`kafkapy.metrics.max.series` changes that): partitions that are
under-replicated or below min.insync.replicas come first, and so do groups' partitions with a lag; all metrics show
the same partitions. `kafkapy_metrics_left_out_series` counts the series that are missing.

**Dashboard and alerts.** `config/grafana-dashboard.json` is to be imported into Grafana;
`config/prometheus-alerts.yml` is a file of rules for Prometheus, whose job for the brokers has to be named `kafka`.

**Health.** The same address answers `/healthz` (200 as long as the event loop turns) and `/readyz`: 200 while the
broker is registered in ZooKeeper, knows the controller, answers requests and is not stopping, else 503 and a
sentence that says why not. With `kafkapy.health.listener=localhost:9405` they have an address of their own, which
needs no metrics and answers from the first moment of the start to the last of the stop. A command for containers
and service managers:

    python3 -c "import urllib.request as u; u.urlopen('http://localhost:9405/readyz', timeout=5)"
"""


_MIRROR = """\

## MirrorMaker
Tasks of MirrorMaker add these to their worker's page. In the dedicated mode (`bin/connect-mirror-maker.sh`)
`kafkapy.metrics.listener` in its properties file serves one page for all flows: each metric of a worker or task has
the label `flow` there, for example `A->B`, and `/readyz` names the flows that have not started yet. Topics are those of
the target cluster. `add.source.alias.to.metrics=true` adds the label `source` to metrics of topics.

| metric | kind | labels | in Apache Kafka | meaning |
| --- | --- | --- | --- | --- |"""

_CONNECT = """\
## Connect workers
A worker of Connect serves its metrics in the same way: `kafkapy.metrics.listener=localhost:9404` in its properties
file. Values that are text, such as a state, are a label of a sample with the value 1. `/healthz` and `/readyz` are
there, too; the latter says whether the worker has joined its group. Rates and maxima are those of the last minute.

| metric | kind | labels | in Apache Kafka | meaning |
| --- | --- | --- | --- | --- |"""


def reference() -> str:
    """The page, as Markdown."""
    parts = [part for title, metrics in SECTIONS for part in _section(title, metrics)]
    return "\n".join([_INTRODUCTION, *parts, _CONNECT, *_connect_rows(), _MIRROR, *_mirror_rows(), ""])


def _section(title: str, metrics: Iterable[BrokerMetric]) -> Iterable[str]:
    yield f"## {title}\n"
    yield "| metric | kind | labels | in Apache Kafka | meaning |\n" + "| --- " * 5 + "|"
    for metric in metrics:
        kafka = f"`{metric.kafka}`" if metric.kafka else ""
        labels = ", ".join(metric.labels)
        yield f"| `{metric.name}` | {metric.kind.value} | {labels} | {kafka} | {metric.doc} |"
    yield ""


def _connect_rows() -> Iterable[str]:
    metrics = ConnectMetrics(MockTime())
    task = ConnectorTaskId("...", 0)
    worker, listener = WorkerMetrics(metrics), cast(Any, None)
    worker.count_connectors(lambda: 0)
    RebalanceMetrics(metrics)
    MeasuredConnector(metrics, worker.connectors, listener).describe("...", "", "", "")
    MeasuredSource(task, metrics, listener, worker)
    MeasuredSink(task, metrics, listener)
    return _rows(metrics.read())


def _mirror_rows() -> Iterable[str]:
    place = TopicPartition("", 0)
    checkpoints = MirrorCheckpointMetrics("", "")
    checkpoints.checkpoint_latency(place, "", 0)
    return _rows({**MirrorSourceMetrics(None, "", [place]).read(), **checkpoints.read()})


def _rows(names: Iterable[ConnectMetricName]) -> Iterable[str]:
    rows = {prometheus_name(name): name for name in names}
    for full, name in sorted(rows.items()):
        tags = "".join(f",{tag}=..." for tag, _ in name.tags)
        kafka = f"`{name.domain}:type={name.group}{tags} ({name.name})`"
        labels = ", ".join(tag for tag, _ in name.tags)
        yield f"| `{full}` | {prometheus_kind(name)} | {labels} | {kafka} | {name.description} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
