"""The audit's records, and their JSON.

A record is created at its event and written in the audit's thread, so it copies mutable state. Texts that clients
choose are truncated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from kafkapy.network.request import RequestContext
from kafkapy.security.acl.decision import AclDecision
from kafkapy.security.authentication import Authentication, AuthenticationOutcome
from kafkapy.server.authorizer import host_of
from kafkapy.server.security.decision_log import RequestedAction

MAX_TEXT: Final = 512
"""Limit in characters of a name that a client chooses, which may have 32 KB."""

_to_json: Final = json.JSONEncoder(separators=(",", ":")).encode


class AuditedSender(NamedTuple):
    """The sender of a request: principal, address, and authentication."""

    principal: str
    host: str
    listener: str
    security_protocol: str
    authentication: Authentication
    client_id: str
    api: str | None

    @classmethod
    def of(cls, context: RequestContext) -> AuditedSender:
        """Copy the sender from a context, which is the connection's and changes with its next request."""
        api_key = context.api_key
        return cls(
            capped(str(context.principal)),
            host_of(context),
            context.listener_name,
            context.security_protocol,
            context.authentication,
            capped(context.client_id or ""),
            None if api_key is None else api_key.title,
        )

    def fields(self) -> dict[str, Any]:
        mechanism, tls_version, tls_cipher, _ = self.authentication
        return {
            "principal": self.principal,
            "host": self.host,
            "listener": self.listener,
            "protocol": self.security_protocol,
            "mechanism": mechanism,
            "tls": tls_version,
            "cipher": tls_cipher,
            "client_id": self.client_id,
            "api": self.api,
        }


class Decided(NamedTuple):
    """A decision of the authorizer."""

    action: RequestedAction
    decision: AclDecision

    @classmethod
    def of(cls, action: RequestedAction, decision: AclDecision) -> Decided:
        return cls(action if len(action.name) <= MAX_TEXT else action._replace(name=capped(action.name)), decision)

    def fields(self) -> dict[str, Any]:
        action, decision = self
        asked_for = action.log_if_allowed if decision.allowed else action.log_if_denied
        return {
            "operation": action.operation.name,
            "resource_type": action.resource_type.name,
            "resource": action.name,
            "pattern_type": action.pattern_type,
            "count": action.reference_count,
            "decision": "allowed" if decision.allowed else "denied",
            "rule": decision.rule,
            "acl": None if decision.acl is None else _acl(decision),
            # A listing shows only what the sender may see: no operation was refused.
            "listing": None if asked_for else True,
        }


class Authenticated(NamedTuple):
    """A successful or failed authentication."""

    outcome: AuthenticationOutcome

    def fields(self) -> dict[str, Any]:
        failure, mechanism, claimed = self.outcome[:3]
        fields: dict[str, Any] = {"outcome": "success" if failure is None else "failure"}
        if failure is not None:
            # Without authentication, the name is only the client's claim.
            fields |= {"principal": None, "claimed": claimed and capped(claimed), "reason": capped(failure)}
        if mechanism is not None:
            fields["mechanism"] = mechanism
        return fields


class Changed(NamedTuple):
    """A change, or a failed attempt."""

    change: str
    """For example `CreateAcl`."""
    error: str
    """Name of the error; NONE."""
    what: Mapping[str, Any]

    def fields(self) -> dict[str, Any]:
        outcome = "success" if self.error == "NONE" else "failure"
        error = None if self.error == "NONE" else self.error
        return {"change": self.change, "outcome": outcome, "error": error, **_all_capped(self.what)}


class Lost(NamedTuple):
    """Records that could not be written, or did not fit into the queue."""

    records: int

    def fields(self) -> dict[str, Any]:
        return {"count": self.records}


_EVENTS: Final = {Decided: "decision", Authenticated: "authentication", Changed: "change", Lost: "lost"}


class AuditedEvent(NamedTuple):
    """One line."""

    timestamp_ms: int
    sender: AuditedSender | None
    """None: the broker itself."""
    details: Decided | Authenticated | Changed | Lost

    def to_json(self, broker_id: int) -> bytes:
        """Return the line without its line end; unknown fields are left out.

        Example:
            >>> AuditedEvent(1_700_000_000_123, None, Lost(3)).to_json(1)
            b'{"time":"2023-11-14T22:13:20.123Z","broker":1,"event":"lost","count":3}'
        """
        seconds, ms = divmod(self.timestamp_ms, 1000)
        time = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"
        fields: dict[str, Any] = {"time": time, "broker": broker_id, "event": _EVENTS[type(self.details)]}
        if self.sender is not None:
            fields |= self.sender.fields()
        fields |= self.details.fields()
        return _to_json({name: value for name, value in fields.items() if value is not None}).encode()


def capped(text: str) -> str:
    """Return at most `MAX_TEXT` characters of the text, with a mark if it was truncated."""
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _all_capped(what: Any) -> Any:
    match what:
        case str():
            return capped(what)
        case Mapping():
            return {capped(str(name)): _all_capped(value) for name, value in what.items()}
    return what


def _acl(decision: AclDecision) -> dict[str, Any]:
    assert decision.acl is not None
    (resource_type, name, pattern_type), (principal, host, operation, permission_type) = decision.acl
    return {
        "resource_type": resource_type.name,
        "resource": name,
        "pattern_type": pattern_type.name,
        "principal": principal,
        "host": host,
        "operation": operation.name,
        "permission": permission_type.name,
    }
