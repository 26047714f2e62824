"""The authorizer's log: a line for each decision (`AclAuthorizer.logAuditMessage`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from kafkapy.common.acl_types import ACLOperation, ResourceType, pascal_case
from kafkapy.common.logger_levels import LEVELS
from kafkapy.network.request import RequestContext
from kafkapy.security.acl.decision import AclDecision
from kafkapy.server.authorizer import host_of

log = logging.getLogger("kafkapy.authorizer.logger")

_ALLOWED: Final = LEVELS["DEBUG"]
_DENIED: Final = LEVELS["INFO"]
_ASIDE: Final = LEVELS["TRACE"]
"""The level of decisions without an executed operation, and of refusals in listings."""


class RequestedAction(NamedTuple):
    """The checked operation (Kafka's `Action`)."""

    operation: ACLOperation
    resource_type: ResourceType
    pattern_type: str
    """LITERAL; UNKNOWN for a check of any resource of the type."""
    name: str
    reference_count: int = 1
    """How often the request refers to the resource."""
    log_if_allowed: bool = True
    log_if_denied: bool = True


DecisionListener = Callable[[RequestContext, RequestedAction, AclDecision], object]


class DecisionLog:
    """Logs refusals at INFO, allowed operations at DEBUG, less relevant decisions at TRACE; calls a listener."""

    def __init__(self, listener: DecisionListener | None = None, reports_allowed: bool = True) -> None:
        """`reports_allowed`: whether the listener is also called for allowed operations."""
        self._listener = listener
        self._tells_allowed = listener is not None and reports_allowed
        self._tells_denied = listener is not None

    def wants(self, allowed: bool, log_if_allowed: bool, log_if_denied: bool) -> bool:
        """Return whether a `RequestedAction` for `write` is needed."""
        if self._tells_allowed if allowed else self._tells_denied:
            return True
        return log.isEnabledFor(_level(allowed, log_if_allowed, log_if_denied))

    @property
    def wants_asides(self) -> bool:
        """Return whether the log includes decisions without an executed operation."""
        return log.isEnabledFor(_ASIDE)

    def write(self, context: RequestContext, action: RequestedAction, decision: AclDecision) -> None:
        level = _level(decision.allowed, action.log_if_allowed, action.log_if_denied)
        if log.isEnabledFor(level):
            log.log(level, "%s", _text(context, action, decision))
        if self._listener is not None and (self._tells_allowed or not decision.allowed):
            self._listener(context, action, decision)


def _level(allowed: bool, log_if_allowed: bool, log_if_denied: bool) -> int:
    if allowed:
        return _ALLOWED if log_if_allowed else _ASIDE
    return _DENIED if log_if_denied else _ASIDE


def _text(context: RequestContext, action: RequestedAction, decision: AclDecision) -> str:
    operation = pascal_case(action.operation)
    resource_type = pascal_case(action.resource_type)
    api_key = context.api_key
    line = (
        f"Principal = {context.principal} is {'Allowed' if decision.allowed else 'Denied'} Operation = {operation} "
        f"from host = {host_of(context)} on resource = {resource_type}:{action.pattern_type}:{action.name} "
        f"for request = {'' if api_key is None else api_key.title} with resourceRefCount = {action.reference_count} "
        f"based on rule {decision}"
    )
    # Names are untrusted: none of them may start a new line.
    return line if line.isprintable() else line.encode("unicode_escape").decode()
