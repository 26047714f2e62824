"""A real Kafka for tests: it starts in half a second, can inject faults, and has a pytest plugin (docs/testing.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.testing.cluster import KafkaCluster as KafkaCluster
    from kafkapy.testing.server_process import ClusterError as ClusterError
else:
    __all__, __getattr__ = lazy_names(__name__, {"cluster": "KafkaCluster", "server_process": "ClusterError"})
