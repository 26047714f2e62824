"""What the audit records, and its JSON.

A record is made where something happens and written in the audit's thread: it holds what may change meanwhile as it was, and of
what clients choose so much as a line shall have.
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
"""Characters of a name that a client chooses: some may have 32 KB."""

_to_json: Final = json.JSONEncoder(separators=(",", ":")).encode


class AuditedSender(NamedTuple):
    """Who asks, from where, and how that is known."""

    principal: str
    host: str
    listener: str
    security_protocol: str
    authentication: Authentication
    client_id: str
    api: str | None

    @classmethod
    def of(cls, context: RequestContext) -> AuditedSender:
        """As it is at present: the context is the connection's, and goes on to its next request."""
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
            # Of a list that shows what the sender may see: nothing was refused to it.
            "listing": None if asked_for else True,
        }


class Authenticated(NamedTuple):
    """An authentication that has ended, well or not."""

    outcome: AuthenticationOutcome

    def fields(self) -> dict[str, Any]:
        failure, mechanism, claimed = self.outcome[:3]
        fields: dict[str, Any] = {"outcome": "success" if failure is None else "failure"}
        if failure is not None:
            # No one has been authenticated: the name is what was said.
            fields |= {"principal": None, "claimed": claimed and capped(claimed), "reason": capped(failure)}
        if mechanism is not None:
            fields["mechanism"] = mechanism
        return fields


class Changed(NamedTuple):
    """Something was changed, or could not be."""

    change: str
    """`CreateAcl`, for one."""
    error: str
    """Name of the error; NONE."""
    what: Mapping[str, Any]

    def fields(self) -> dict[str, Any]:
        outcome = "success" if self.error == "NONE" else "failure"
        error = None if self.error == "NONE" else self.error
        return {"change": self.change, "outcome": outcome, "error": error, **_all_capped(self.what)}


class Lost(NamedTuple):
    """Records that could not be written, or found no place in the queue."""

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
        """One line without its end; what is not known is left out.

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
    """Not more of it than `MAX_TEXT` characters, with a mark where something is left out."""
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
