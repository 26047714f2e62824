"""All metrics. `docs/metrics.md` is generated from this table."""

from __future__ import annotations

from collections.abc import Sequence

from kafkapy.server.metrics import (
    of_audit,
    of_authentication,
    of_controller,
    of_groups,
    of_quotas,
    of_replication,
    of_requests,
    of_topics,
    of_transactions,
)
from kafkapy.server.metrics.metric import BrokerMetric, gauge

LEFT_OUT = gauge(
    "kafkapy_metrics_left_out_series",
    "",
    "How many series of a metric are not on the page, where it has more than kafkapy.metrics.max.series.",
    lambda _: (),
    "metric",
)
"""Its value comes from `exposition.pieces`."""

SECTIONS: tuple[tuple[str, Sequence[BrokerMetric]], ...] = (
    ("Requests, connections, the event loop", of_requests.REQUEST_METRICS),
    ("Authentication", of_authentication.AUTHENTICATION_METRICS),
    ("Topics and partitions", of_topics.TOPIC_METRICS),
    ("Replication, what waits, logs", of_replication.REPLICATION_METRICS),
    ("Controller and ZooKeeper", of_controller.CONTROLLER_METRICS),
    ("Consumer groups", of_groups.GROUP_METRICS),
    ("Transactions", of_transactions.TRANSACTION_METRICS),
    ("Client quotas", of_quotas.QUOTA_METRICS),
    ("The audit", of_audit.AUDIT_METRICS),
    ("About the metrics", (LEFT_OUT,)),
)

METRICS: tuple[BrokerMetric, ...] = tuple(metric for _, metrics in SECTIONS for metric in metrics)
