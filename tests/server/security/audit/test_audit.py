"""What the audit records at each level, and what a line has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.acl_types import (
    AccessControlEntry,
    AclBinding,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.network.request import RequestContext
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.security.acl.decision import BY_DEFAULT_DENIED, BY_SUPER_USER, MATCHING_ACL, AclDecision
from kafkapy.security.authentication import Authentication, AuthenticationOutcome
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.security.audit.audit import Audit
from kafkapy.server.security.audit.audit_config import AuditConfig
from kafkapy.server.security.audit.audit_records import MAX_TEXT
from kafkapy.server.security.audit.audited_authorizer import AuditedAuthorizer
from kafkapy.server.security.decision_log import RequestedAction
from tests.waiting import HANG_SECONDS

NOW = 1_700_000_000_123
WRITE = RequestedAction(ACLOperation.WRITE, ResourceType.TOPIC, "LITERAL", "orders")
BY_ACL = AclDecision(
    True,
    MATCHING_ACL,
    AclBinding(
        AclPattern(ResourceType.TOPIC, "ord", ACLResourcePatternType.PREFIXED),
        AccessControlEntry("User:alice", "*", ACLOperation.ALL, ACLPermissionType.ALLOW),
    ),
)


class Lines:
    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, lines: Sequence[bytes]) -> None:
        self.lines += lines

    def stopping(self) -> None: ...

    def close(self) -> None: ...


class Recorded:
    """An audit of a level, and what it has written."""

    def __init__(self, level: str, **configs: str) -> None:
        self._sink = Lines()
        names = {f"kafkapy.audit.{name.replace('_', '.')}": value for name, value in configs.items()}
        config = AuditConfig.take_from({"kafkapy.audit.level": level, **names}, Path("logs"))
        assert config is not None
        self.audit = Audit(config, self._sink, lambda: NOW)
        self.audit.log.broker_id = 7
        self.audit.log.start()

    def lines(self) -> list[dict[str, Any]]:
        assert self.audit.log.flush(HANG_SECONDS)
        return [json.loads(line) for line in self._sink.lines]


def context(**attributes: Any) -> RequestContext:
    made = RequestContext("c", "/10.0.0.7", "OUT", "SASL_SSL", KafkaPrincipal("User", "alice"))
    made.authentication = Authentication("SCRAM-SHA-512", "TLSv1.3", "TLS_AES_256_GCM_SHA384")
    made.client_id, made.api_key = "billing", ApiKey.PRODUCE
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def test_the_line_of_a_refusal() -> None:
    recorded = Recorded("denied", file="-")
    recorded.audit.on_decision(context(), WRITE, BY_DEFAULT_DENIED)
    assert recorded.lines() == [
        {
            "time": "2023-11-14T22:13:20.123Z",
            "broker": 7,
            "event": "decision",
            "principal": "User:alice",
            "host": "10.0.0.7",
            "listener": "OUT",
            "protocol": "SASL_SSL",
            "mechanism": "SCRAM-SHA-512",
            "tls": "TLSv1.3",
            "cipher": "TLS_AES_256_GCM_SHA384",
            "client_id": "billing",
            "api": "Produce",
            "operation": "WRITE",
            "resource_type": "TOPIC",
            "resource": "orders",
            "pattern_type": "LITERAL",
            "count": 1,
            "decision": "denied",
            "rule": "DefaultDeny",
        }
    ]


def test_the_acl_that_decided() -> None:
    recorded = Recorded("all", file="-")
    recorded.audit.on_decision(context(), WRITE, BY_ACL)
    (line,) = recorded.lines()
    assert (line["decision"], line["rule"]) == ("allowed", "MatchingAcl")
    assert line["acl"] == {
        "resource_type": "TOPIC",
        "resource": "ord",
        "pattern_type": "PREFIXED",
        "principal": "User:alice",
        "host": "*",
        "operation": "ALL",
        "permission": "ALLOW",
    }


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("denied", ["denied", "failure"]),
        ("changes", ["denied", "success", "failure"]),
        ("all", ["allowed", "denied", "denied", "success", "failure"]),
    ],
)
def test_levels(level: str, expected: list[str]) -> None:
    recorded = Recorded(level, file="-")
    audit = recorded.audit
    audit.on_decision(context(), WRITE, BY_ACL)
    audit.on_decision(context(), WRITE, BY_DEFAULT_DENIED)
    audit.on_decision(context(), WRITE._replace(log_if_denied=False), BY_DEFAULT_DENIED)
    audit.on_authentication(context(), AuthenticationOutcome(mechanism="PLAIN"))
    audit.on_authentication(context(), AuthenticationOutcome("wrong password", "PLAIN", "mallory"))
    lines = recorded.lines()
    assert [line.get("decision") or line["outcome"] for line in lines] == expected
    assert lines[-1]["claimed"] == "mallory"
    assert lines[-1]["reason"] == "wrong password"
    assert "principal" not in lines[-1], "nothing is proved"
    assert "api" not in lines[-1]
    assert sum("listing" in line for line in lines) == (level == "all")


def test_names_from_outside_end_no_line_and_have_a_bound() -> None:
    recorded = Recorded("denied", file="-")
    sender = context(client_id='a"\n{"event":"x"}')
    recorded.audit.on_decision(sender, WRITE._replace(name="x" * 30_000), BY_DEFAULT_DENIED)
    (line,) = recorded.lines()
    assert line["client_id"] == 'a"\n{"event":"x"}'
    assert line["resource"] == "x" * MAX_TEXT + "…"
    assert b"\n" not in recorded._sink.lines[0]


def test_principals_that_are_left_out() -> None:
    recorded = Recorded("all", file="-", ignore_principals="User:alice")
    recorded.audit.on_decision(context(), WRITE, BY_DEFAULT_DENIED)
    recorded.audit.on_decision(context(principal=KafkaPrincipal("User", "bob")), WRITE, BY_DEFAULT_DENIED)
    recorded.audit.on_authentication(context(), AuthenticationOutcome("wrong password"))
    assert [line.get("principal", "none") for line in recorded.lines()] == ["User:bob", "none"]


class Brokers(Authorizer):
    """Allows everything, but only the principal `broker` is one; tells the audit of each decision."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

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
        allowed = operation is not ACLOperation.CLUSTER_ACTION or context.principal.name == "broker"
        action = RequestedAction(operation, resource_type, "LITERAL", name, 1, log_if_allowed, log_if_denied)
        self._audit.on_decision(context, action, BY_SUPER_USER if allowed else BY_DEFAULT_DENIED)
        return allowed


def test_the_audit_does_not_record_itself_but_those_that_pretend() -> None:
    recorded = Recorded("all", topic="audit")
    authorizer = Brokers(recorded.audit)
    recorded.audit.watch(authorizer)
    broker = KafkaPrincipal("User", "broker")
    own = context(client_id="kafkapy-audit-3", principal=broker)
    assert authorizer.authorize(own, ACLOperation.WRITE, ResourceType.TOPIC, "audit")
    assert recorded.lines() == []
    authorizer.authorize(own, ACLOperation.WRITE, ResourceType.TOPIC, "orders")
    authorizer.authorize(context(client_id="other", principal=broker), ACLOperation.WRITE, ResourceType.TOPIC, "audit")
    authorizer.authorize(context(client_id="kafkapy-audit-3"), ACLOperation.WRITE, ResourceType.TOPIC, "audit")
    shown = [(line["principal"], line["operation"], line["resource"]) for line in recorded.lines()]
    assert shown == [
        ("User:broker", "WRITE", "orders"),
        ("User:broker", "WRITE", "audit"),
        ("User:alice", "CLUSTER_ACTION", "kafka-cluster"),
        ("User:alice", "WRITE", "audit"),
    ]


class OnlyOwnTopics(Authorizer):
    def authorize(
        self, context: RequestContext, operation: ACLOperation, resource_type: ResourceType, name: str, **options: Any
    ) -> bool:
        return name.startswith(context.principal.name)


@pytest.mark.parametrize("reports_allowed", [True, False])
def test_an_authorizer_of_ones_own(reports_allowed: bool) -> None:
    told: list[tuple[str, bool, str]] = []
    audited = AuditedAuthorizer(
        OnlyOwnTopics(),
        lambda _, action, decision: told.append((action.name, decision.allowed, decision.rule)),
        reports_allowed,
    )
    assert audited.filter_authorized(
        context(), ACLOperation.READ, ResourceType.TOPIC, ["alice-1", "bob-1", "alice-1"]
    ) == {"alice-1"}
    assert not audited.authorize(context(), ACLOperation.READ, ResourceType.TOPIC, "carol-1")
    denied = [("bob-1", False, "OnlyOwnTopics"), ("carol-1", False, "OnlyOwnTopics")]
    assert told == [("alice-1", True, "OnlyOwnTopics")] * reports_allowed + denied
