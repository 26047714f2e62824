"""The broker's audit: receives decisions, authentications and changes, and records those of its level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.common.acl_types import CLUSTER_NAME, ACLOperation, ResourceType
from kafkapy.network.request import RequestContext
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.runtime.clock import Clock
from kafkapy.security.acl.decision import AclDecision
from kafkapy.security.authentication import AuthenticationOutcome
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.security.audit.audit_config import AuditConfig, AuditLevel
from kafkapy.server.security.audit.audit_log import AuditLog, AuditSink
from kafkapy.server.security.audit.audit_records import AuditedEvent, AuditedSender, Authenticated, Changed, Decided
from kafkapy.server.security.audit.changes import TokenOfHmac, audited_handlers
from kafkapy.server.security.decision_log import RequestedAction

CLIENT_ID: Final = "kafkapy-audit-"
"""Prefix of the client id of brokers that write the audit to a topic."""


class Audit:
    """Records the events of its level.

    Invariant: the brokers' own writes of the audit are not recorded; otherwise each record in the topic would cause
    another one.

    Example of a line, of a decision:
        {"time":"2026-11-27T08:00:00.123Z","broker":0,"event":"decision","principal":"User:alice","host":"10.0.0.7",
        "listener":"EXTERNAL","protocol":"SASL_SSL","mechanism":"SCRAM-SHA-512","tls":"TLSv1.3",
    "cipher":"TLS_AES_256_GCM_SHA384","client_id":"billing","api":"Produce","operation":"WRITE","resource_type":"TOPIC",
        "resource":"orders","pattern_type":"LITERAL","count":1,"decision":"denied","rule":"DefaultDeny"}
    """

    def __init__(self, config: AuditConfig, sink: AuditSink, now_ms: Callable[[], int]) -> None:
        """
        Args:
            config: What is recorded.
            sink: Where it goes.
            now_ms: The time, in milliseconds since the epoch.
        """
        self.log = AuditLog(sink, config.queue_max_records)
        self.reports_allowed: Final = config.level >= AuditLevel.ALL
        """Whether `on_decision` is also called for allowed operations."""
        self._level = config.level
        self._topic = config.topic
        self._ignored = config.ignored_principals
        self._now_ms = now_ms
        self._authorizer: Authorizer | None = None

    def watch(self, authorizer: Authorizer) -> None:
        """Use this authorizer, which reports decisions, to recognize requests of brokers."""
        self._authorizer = authorizer

    def on_decision(self, context: RequestContext, action: RequestedAction, decision: AclDecision) -> None:
        """A `DecisionListener`."""
        if not decision.allowed:
            # In a listing, missing access only hides resources.
            if not (action.log_if_denied or self.reports_allowed):
                return
        elif not self.reports_allowed or self._is_of_audit(context, action):
            return
        self._put(AuditedSender.of(context), Decided.of(action, decision))

    def on_authentication(self, context: RequestContext, outcome: AuthenticationOutcome) -> None:
        """An `AuthenticationListener`."""
        # The context's request is the one before the authentication.
        sender = AuditedSender.of(context)._replace(api=None)
        if outcome.failure is not None:
            self.log.put(AuditedEvent(self._now_ms(), sender, Authenticated(outcome)))
        elif self._level >= AuditLevel.CHANGES:
            self._put(sender, Authenticated(outcome))

    def of_changes(self, handlers: Mapping[ApiKey, Any], token_of: TokenOfHmac, clock: Clock) -> Mapping[ApiKey, Any]:
        """Return the handlers, with those that make changes recorded if the level requires it."""
        if self._level < AuditLevel.CHANGES:
            return handlers
        return audited_handlers(handlers, self._on_change, token_of, clock)

    def _on_change(self, sender: AuditedSender, change: Changed) -> None:
        self._put(sender, change)

    def _put(self, sender: AuditedSender, details: Decided | Authenticated | Changed) -> None:
        if not (self._ignored and sender.principal in self._ignored):
            self.log.put(AuditedEvent(self._now_ms(), sender, details))

    def _is_of_audit(self, context: RequestContext, action: RequestedAction) -> bool:
        """Return whether a broker is writing its audit. Clients can use the same client id, so the sender must be
        authorized as a broker.
        """
        if (
            not self._topic
            or context.api_key is not ApiKey.PRODUCE
            or not (context.client_id or "").startswith(CLIENT_ID)
        ):
            return False
        if action.resource_type is ResourceType.CLUSTER:
            # The decision of the check below; Produce itself has no such action.
            return action.operation is ACLOperation.CLUSTER_ACTION
        if action.resource_type is not ResourceType.TOPIC or action.name != self._topic or self._authorizer is None:
            return False
        operation, resource_type = ACLOperation.CLUSTER_ACTION, ResourceType.CLUSTER
        options = {"log_if_allowed": False, "log_if_denied": False}
        return self._authorizer.authorize(context, operation, resource_type, CLUSTER_NAME, **options)
