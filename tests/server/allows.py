"""An authorizer for tests of handlers."""

from __future__ import annotations

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.network.request import RequestContext
from kafkapy.server.authorizer import Authorizer


class Allows(Authorizer):
    """Nothing but what a test allows: (operation, resource type, name)."""

    def __init__(self, *allowed: tuple[str, str, str]) -> None:
        self.allowed = set(allowed)
        self.told: list[tuple[str, str, str]] = []
        """Refusals that are for the log: of what the client has asked for."""

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        *,
        log_if_allowed: bool = True,
        log_if_denied: bool = True,
        count: int = 1,
    ) -> bool:
        asked = operation.name, resource_type.name, name
        if asked in self.allowed:
            return True
        if log_if_denied:
            self.told.append(asked)
        return False

    def authorize_by_resource_type(
        self, context: RequestContext, operation: ACLOperation, resource_type: ResourceType
    ) -> bool:
        return any((operation.name, resource_type.name) == allowed[:2] for allowed in self.allowed)
