"""Names of metrics, as on a worker's page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

WORKER_DOMAIN: Final = "kafka.connect"

Tags = tuple[tuple[str, str], ...]


class ConnectMetricName(NamedTuple):
    """The name of a metric.

    Attributes:
        name: For example "sink-record-read-rate".
        group: For example "sink-task-metrics".
        description: One sentence.
        tags: Pairs of name and value, for example ("connector", "orders").
        domain: Of Kafka's MBean. Default: that of workers.

    Example:
        >>> ConnectMetricName("partition-count", "sink-task-metrics", "Partitions.", (("task", "0"),)).tags
        (('task', '0'),)
    """

    name: str
    group: str
    description: str
    tags: Tags
    domain: str = WORKER_DOMAIN


ReadMetrics = Callable[[], Mapping[ConnectMetricName, float | str]]
"""Returns the present values of metrics; called on any thread."""
