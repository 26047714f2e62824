"""Audits the decisions of an operator's own authorizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kafkapy.common.acl_types import AclBinding, AclBindingFilter, ACLOperation, ResourceType
from kafkapy.network.request import RequestContext
from kafkapy.security.acl.decision import AclDecision
from kafkapy.server.api_error import ApiError
from kafkapy.server.authorizer import AclDeletion, Authorizer
from kafkapy.server.security.decision_log import DecisionListener, RequestedAction


class AuditedAuthorizer(Authorizer):
    """Delegates to another authorizer. The rule of its decisions is the name of its class.

    As with `AclAuthorizer` the audit does not record `authorized_operations`, because no operation is executed.
    """

    def __init__(self, authorizer: Authorizer, on_decision: DecisionListener, reports_allowed: bool) -> None:
        """Wrap an authorizer.

        Args:
            authorizer: Makes the decisions.
            on_decision: Called with each decision.
            reports_allowed: Whether `on_decision` is also called for allowed operations.
        """
        self._authorizer = authorizer
        self._on_decision = on_decision
        self._reports_allowed = reports_allowed
        self._rule = type(authorizer).__name__
        self.enabled = authorizer.enabled

    def configure(self, configs: Mapping[str, str]) -> None:
        self._authorizer.configure(configs)

    def startup(self) -> None:
        self._authorizer.startup()

    def shutdown(self) -> None:
        self._authorizer.shutdown()

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
        """See `Authorizer`."""
        allowed = self._authorizer.authorize(
            context,
            operation,
            resource_type,
            name,
            log_if_allowed=log_if_allowed,
            log_if_denied=log_if_denied,
            count=count,
        )
        if self._reports_allowed or not allowed:
            action = RequestedAction(operation, resource_type, "LITERAL", name, count, log_if_allowed, log_if_denied)
            self._on_decision(context, action, AclDecision(allowed, self._rule))
        return allowed

    def authorize_by_resource_type(
        self, context: RequestContext, operation: ACLOperation, resource_type: ResourceType
    ) -> bool:
        """See `Authorizer`."""
        allowed = self._authorizer.authorize_by_resource_type(context, operation, resource_type)
        if self._reports_allowed or not allowed:
            action = RequestedAction(operation, resource_type, "UNKNOWN", "NONE", 0)
            self._on_decision(context, action, AclDecision(allowed, self._rule))
        return allowed

    def filter_authorized(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        names: Iterable[str],
        *,
        log_if_allowed: bool = True,
        log_if_denied: bool = True,
    ) -> set[str]:
        """See `Authorizer`."""
        counts: dict[str, int] = {}
        for name in names:
            counts[name] = counts.get(name, 0) + 1
        found = self._authorizer.filter_authorized(
            context, operation, resource_type, counts, log_if_allowed=log_if_allowed, log_if_denied=log_if_denied
        )
        for name, count in counts.items():
            allowed = name in found
            if self._reports_allowed or not allowed:
                action = RequestedAction(
                    operation, resource_type, "LITERAL", name, count, log_if_allowed, log_if_denied
                )
                self._on_decision(context, action, AclDecision(allowed, self._rule))
        return found

    def authorized_operations(self, context: RequestContext, resource_type: ResourceType, name: str) -> int:
        """See `Authorizer`."""
        return self._authorizer.authorized_operations(context, resource_type, name)

    def acls(self, acl_filter: AclBindingFilter) -> Iterable[AclBinding]:
        """See `Authorizer`."""
        return self._authorizer.acls(acl_filter)

    def create_acls(self, context: RequestContext, bindings: Sequence[AclBinding]) -> list[ApiError]:
        """See `Authorizer`."""
        return self._authorizer.create_acls(context, bindings)

    def delete_acls(self, context: RequestContext, filters: Sequence[AclBindingFilter]) -> list[list[AclDeletion]]:
        """See `Authorizer`."""
        return self._authorizer.delete_acls(context, filters)
