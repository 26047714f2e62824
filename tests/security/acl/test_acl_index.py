"""Rules of Kafka's authorizer one by one (cases of `AclAuthorizerTest`)."""

from __future__ import annotations

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
from kafkapy.security.acl import acl_index
from kafkapy.security.acl.acl_index import AclIndex
from kafkapy.security.acl.decision import DEFAULT_ALLOW, DEFAULT_DENY, SUPER_USER
from kafkapy.security.principal import KafkaPrincipal, parse_principal

ALICE = KafkaPrincipal("User", "alice")
HOST = "10.0.0.1"
TOPIC, LITERAL, PREFIXED = ResourceType.TOPIC, ACLResourcePatternType.LITERAL, ACLResourcePatternType.PREFIXED


def acl(text: str) -> AclBinding:
    """`allow User:alice READ acme-* from *`, as rules are told; a name that ends with `-*` is a prefix."""
    permission, principal, operation, name, _, host = text.split()
    pattern = AclPattern(TOPIC, name[:-1], PREFIXED) if name.endswith("-*") else AclPattern(TOPIC, name)
    return AclBinding(
        pattern,
        AccessControlEntry(principal, host, ACLOperation[operation], ACLPermissionType[permission.upper()]),
    )


def index_of(*texts: str, **options: object) -> AclIndex:
    index = AclIndex(**options)  # type: ignore[arg-type]
    for binding in map(acl, texts):
        index = index.changed({binding.pattern: index.entries(binding.pattern) | {binding.entry}})
    return index


def may(index: AclIndex, operation: str, name: str, principal: KafkaPrincipal = ALICE, host: str = HOST) -> bool:
    return index.decide(principal, host, ACLOperation[operation], TOPIC, name).allowed


def test_without_rules_only_super_users_and_those_of_the_default_may() -> None:
    assert index_of().decide(ALICE, HOST, ACLOperation.READ, ResourceType.TOPIC, "t").rule == DEFAULT_DENY
    assert (
        index_of(super_users=[ALICE]).decide(ALICE, HOST, ACLOperation.READ, ResourceType.TOPIC, "t").rule == SUPER_USER
    )
    open_index = index_of("allow User:bob READ t from *", allow_everyone_if_no_acl_found=True)
    assert open_index.decide(ALICE, HOST, ACLOperation.READ, ResourceType.TOPIC, "other").rule == DEFAULT_ALLOW
    assert open_index.decide(ALICE, HOST, ACLOperation.READ, ResourceType.TOPIC, "t").rule == DEFAULT_DENY


def test_a_super_user_is_not_denied() -> None:
    index = index_of("deny User:alice ALL * from *", "deny User:* ALL * from *", super_users=[ALICE])
    assert may(index, "ALTER", "t")
    assert index.decide_by_resource_type(ALICE, HOST, ACLOperation.READ, ResourceType.TOPIC).rule == SUPER_USER


def test_deny_comes_before_allow() -> None:
    index = index_of("allow User:* ALL * from *", "deny User:alice READ acme-* from 10.0.0.1")
    assert not may(index, "READ", "acme-orders")
    assert may(index, "READ", "acme-orders", host="10.0.0.2")
    assert may(index, "READ", "acme-orders", parse_principal("User:bob"))
    assert may(index, "WRITE", "acme-orders")


@pytest.mark.parametrize(
    ("operation", "implied"),
    [
        *((operation, {"DESCRIBE"}) for operation in ("READ", "WRITE", "DELETE", "ALTER")),
        ("ALTER_CONFIGS", {"DESCRIBE_CONFIGS"}),
        ("DESCRIBE_CONFIGS", set()),
        ("CREATE", set()),
        ("CLUSTER_ACTION", set()),
        ("ALL", {operation.name for operation in ACLOperation if operation > 2}),
    ],
)
def test_an_allowed_operation_implies_others_and_a_denied_one_does_not(operation: str, implied: set[str]) -> None:
    allowing = index_of(f"allow User:alice {operation} t from *")
    denying = index_of(f"deny User:alice {operation} t from *", "allow User:alice ALL t from *")
    for other in (member.name for member in ACLOperation if member > ACLOperation.ANY):
        assert may(allowing, other, "t") == (other == operation or other in implied)
        assert may(denying, other, "t") == (other != operation and operation != "ALL")


def test_nested_prefixes_do_not_hide_each_other() -> None:
    """KAFKA-14265."""
    index = index_of(
        "allow User:alice READ f-* from *",
        "allow User:bob READ f-a-* from *",
        "allow User:bob READ f-b-* from *",
        "allow User:bob READ f-a-b-* from *",
    )
    assert may(index, "READ", "f-a-b-c")
    assert may(index, "READ", "f-zz")
    assert not may(index, "READ", "f")
    assert not may(index, "READ", "g-a")
    assert may(index, "READ", "f-b-1", KafkaPrincipal("User", "bob"))


def test_the_rule_that_decides_is_the_longest_prefix_then_the_wildcard_then_the_name() -> None:
    texts = [f"allow User:alice READ {name} from *" for name in ("a-b-*", "a-*", "*", "a-b-c")]
    for number, text in enumerate(texts):
        assert index_of(*texts[number:]).decide(ALICE, HOST, ACLOperation.READ, ResourceType.TOPIC, "a-b-c").acl == acl(
            text
        )


def test_a_prefix_of_a_star_is_no_wildcard() -> None:
    prefixed = AclPattern(TOPIC, "*", PREFIXED)
    entry = AccessControlEntry("User:alice", "*", ACLOperation.READ, ACLPermissionType.ALLOW)
    index = AclIndex({prefixed: [entry]})
    assert not may(index, "READ", "t")
    assert may(index, "READ", "*t")


def test_several_rules_of_one_resource_survive_the_removal_of_one() -> None:
    """CVE-2024-27309."""
    index = index_of("deny User:alice READ t from *", "allow User:* READ t from *", "allow User:* WRITE t from *")
    pattern = AclPattern(TOPIC, "t")
    index = index.changed({pattern: index.entries(pattern) - {acl("allow User:* WRITE t from *").entry}})
    assert not may(index, "READ", "t")
    assert may(index, "READ", "t", KafkaPrincipal("User", "bob"))
    assert not may(index, "WRITE", "t")


def test_entries_of_another_release_count_as_entries_but_match_nothing() -> None:
    entry = AccessControlEntry("User:alice", "*", ACLOperation.UNKNOWN, ACLPermissionType.UNKNOWN)
    index = AclIndex({AclPattern(TOPIC, "t"): [entry]}, allow_everyone_if_no_acl_found=True)
    assert not may(index, "READ", "t")
    assert may(index, "READ", "u")


def test_by_resource_type() -> None:
    def any_topic(*texts: str, operation: str = "WRITE", **options: object) -> bool:
        return index_of(*texts, **options).decide_by_resource_type(ALICE, HOST, ACLOperation[operation], TOPIC).allowed

    assert not any_topic()
    assert any_topic("allow User:alice WRITE t from *")
    assert any_topic("allow User:* ALL t-* from 10.0.0.1")
    assert not any_topic("allow User:alice WRITE t from 10.0.0.2")
    assert not any_topic("allow User:alice READ t from *", operation="DESCRIBE"), "implied ones do not count"
    assert not any_topic("allow User:alice WRITE t from *", "deny User:alice ALL t from *")
    assert not any_topic("allow User:alice WRITE t-a-* from *", "deny User:* WRITE t-* from *")
    assert not any_topic("allow User:alice WRITE t-a from *", "deny User:* WRITE t-* from *")
    assert any_topic("allow User:alice WRITE t-* from *", "deny User:* WRITE t-a-* from *")
    assert any_topic("allow User:alice WRITE t-* from *", "deny User:* WRITE t- from *"), "a name dominates no prefix"
    assert any_topic("allow User:alice WRITE * from *", "deny User:* WRITE t-* from *")
    assert not any_topic("allow User:alice WRITE * from *", "deny User:* WRITE * from *")
    assert any_topic(allow_everyone_if_no_acl_found=True)
    assert any_topic("deny User:alice WRITE t-* from *", allow_everyone_if_no_acl_found=True)
    assert not any_topic("deny User:alice WRITE * from *", allow_everyone_if_no_acl_found=True)


@pytest.mark.parametrize(("operation", "resource_type"), [("ANY", "TOPIC"), ("UNKNOWN", "TOPIC"), ("READ", "ANY")])
def test_by_resource_type_refuses_what_is_for_filters(operation: str, resource_type: str) -> None:
    with pytest.raises(ValueError, match="non-filter"):
        index_of().decide_by_resource_type(ALICE, HOST, ACLOperation[operation], ResourceType[resource_type])


def test_kept_decisions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acl_index, "MAX_DECISIONS", 10)
    index = index_of("allow User:alice READ t-* from *")
    for number in range(100):
        assert may(index, "READ", f"t-{number}")
        index.decide_by_resource_type(KafkaPrincipal("User", str(number)), HOST, ACLOperation.READ, ResourceType.TOPIC)
        assert len(index._decisions) <= 10 and len(index._type_decisions) <= 10
    index._decisions.clear()
    assert may(index, "READ", "t-" + "x" * 30_000)
    assert not index._decisions


def test_the_text_of_a_decision() -> None:
    index = index_of("deny User:alice READ acme-* from *")
    assert str(index.decide(ALICE, HOST, ACLOperation.READ, ResourceType.TOPIC, "acme-1")) == (
        "MatchingAcl(acl=StandardAcl(resourceType=TOPIC, resourceName=acme-, patternType=PREFIXED, "
        "principal=User:alice, host=*, operation=READ, permissionType=DENY))"
    )
    assert str(index.decide(ALICE, HOST, ACLOperation.READ, ResourceType.TOPIC, "t")) == "DefaultDeny"
