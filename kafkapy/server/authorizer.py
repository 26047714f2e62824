"""The seam where ACLs come in (KIP-11): every handler asks before it acts or reveals."""

from __future__ import annotations

from typing import Protocol

from kafkapy.network.request import RequestContext


class Authorizer(Protocol):
    """May this sender do that? Operations and resource types by Kafka's names: `READ`, `CLUSTER_ACTION`; `TOPIC`, `GROUP`."""

    enabled: bool

    def authorize(self, context: RequestContext, operation: str, resource_type: str, name: str) -> bool: ...


class AllowAll:
    """No `authorizer.class.name`: everybody may do everything, as in Kafka."""

    enabled = False

    def authorize(self, context: RequestContext, operation: str, resource_type: str, name: str) -> bool:
        return True


CLUSTER_NAME = "kafka-cluster"
"""The one name of the resource type CLUSTER."""
