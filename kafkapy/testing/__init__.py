"""A real Kafka for tests: up in half a second, with faults to order, and a pytest plugin (docs/testing.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.testing.cluster import KafkaCluster
    from kafkapy.testing.server_process import ClusterError

_HOMES = {"KafkaCluster": "cluster", "ClusterError": "server_process"}

__all__ = ["ClusterError", "KafkaCluster"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names("kafkapy.testing", _HOMES)
