"""The index decides as a scan of all ACLs does."""

from __future__ import annotations

import random

import pytest

from kafkapy.common.acl_types import (
    CONCRETE_PATTERN_TYPES,
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    AclPatternFilter,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.security.acl.acl_index import AclIndex
from kafkapy.security.principal import KafkaPrincipal, parse_principal
from tests.security.acl.naive import Naive

NAMES = ["*", "a", "ab", "abc", "abcd", "abd", "b", "ba", "z", "acme-orders", "acme-"]
PRINCIPALS = ["User:*", "User:alice", "User:bob", "User:team,a=1", "Group:alice"]
HOSTS = ["*", "10.0.0.1", "10.0.0.2"]
OPERATIONS = [operation for operation in ACLOperation if operation > ACLOperation.ANY]
TYPES = [ResourceType.TOPIC, ResourceType.GROUP]
PERMISSIONS = [ACLPermissionType.ALLOW, ACLPermissionType.ALLOW, ACLPermissionType.DENY]


def random_acl(chance: random.Random) -> AclBinding:
    pattern = AclPattern(chance.choice(TYPES), chance.choice(NAMES), chance.choice(CONCRETE_PATTERN_TYPES))
    operations = [*OPERATIONS, ACLOperation.ALL, ACLOperation.UNKNOWN]
    entry = AccessControlEntry(
        chance.choice(PRINCIPALS), chance.choice(HOSTS), chance.choice(operations), chance.choice(PERMISSIONS)
    )
    return AclBinding(pattern, entry)


def grouped(acls: list[AclBinding]) -> dict[AclPattern, list[AccessControlEntry]]:
    entries: dict[AclPattern, list[AccessControlEntry]] = {}
    for acl in acls:
        entries.setdefault(acl.pattern, []).append(acl.entry)
    return entries


def bits_by_decision(
    index: AclIndex, principal: KafkaPrincipal, host: str, resource_type: ResourceType, name: str
) -> int:
    return sum(
        1 << operation
        for operation in OPERATIONS
        if index.decide(principal, host, operation, resource_type, name).allowed
    )


def compare(index: AclIndex, naive: Naive, chance: random.Random) -> None:
    for _ in range(40):
        principal, host = parse_principal(chance.choice(PRINCIPALS)), chance.choice(HOSTS)
        operation, resource_type, name = chance.choice(OPERATIONS), chance.choice(TYPES), chance.choice(NAMES)
        decision = index.decide(principal, host, operation, resource_type, name)
        asked = (str(principal), host, operation, resource_type)
        assert decision.allowed == naive.authorize(*asked, name), (naive, asked, name)
        if decision.acl is not None:
            assert decision.acl in naive.acls
        where = (principal, host, resource_type, name)
        assert index.allowed_operations(*where) == bits_by_decision(index, *where)
        by_type = index.decide_by_resource_type(principal, host, operation, resource_type)
        assert by_type.allowed == naive.authorize_by_resource_type(*asked), (naive, asked)


@pytest.mark.parametrize("seed", range(60))
def test_decisions_are_those_of_a_scan(seed: int) -> None:
    chance = random.Random(seed)
    acls = [random_acl(chance) for _ in range(chance.choice([0, 1, 3, 10, 30, 80]))]
    allow_everyone, supers = chance.random() < 0.5, ["User:bob"] if chance.random() < 0.3 else []
    index = AclIndex(grouped(acls), map(parse_principal, supers), allow_everyone)
    compare(index, Naive(acls, supers, allow_everyone), chance)


@pytest.mark.parametrize("seed", range(40))
def test_changes_lead_to_the_same_index_as_loading(seed: int) -> None:
    chance = random.Random(1000 + seed)
    allow_everyone = chance.random() < 0.5
    index = AclIndex(allow_everyone_if_no_acl_found=allow_everyone)
    acls: set[AclBinding] = set()
    for _ in range(25):
        earlier, before = index, set(acls)
        acl = random_acl(chance)
        others = {other for other in acls if other.pattern == acl.pattern}
        if chance.random() < 0.4 and acls:
            acl = chance.choice(sorted(acls))
            others = {other for other in acls if other.pattern == acl.pattern} - {acl}
            acls.discard(acl)
        else:
            others.add(acl)
            acls.add(acl)
        index = index.changed({acl.pattern: {other.entry for other in others}})
        assert set(index.acls()) == acls
        compare(index, Naive(sorted(acls), (), allow_everyone), chance)
        compare(earlier, Naive(sorted(before), (), allow_everyone), chance)
    for pattern in {acl.pattern for acl in acls}:
        index = index.changed({pattern: ()})
    assert not index._acls and not index._by_principal and not index._by_type


def test_filters_find_what_a_scan_finds() -> None:
    chance = random.Random(7)
    acls = [random_acl(chance) for _ in range(200)]
    index = AclIndex(grouped(acls))
    for _ in range(500):
        pattern_filter = AclPatternFilter(
            chance.choice([ResourceType.ANY, *TYPES]),
            chance.choice([None, *NAMES]),
            chance.choice(list(ACLResourcePatternType)[1:]),
        )
        found = set(index.acls(AclBindingFilter(pattern_filter)))
        assert found == {acl for acl in acls if pattern_filter.matches(acl.pattern)}


def test_principals_are_compared_by_type_and_name() -> None:
    acl = AclBinding(
        AclPattern(ResourceType.TOPIC, "t"),
        AccessControlEntry("User:a:b", "*", ACLOperation.READ, ACLPermissionType.ALLOW),
    )
    index = AclIndex({acl.pattern: [acl.entry]})
    assert index.decide(KafkaPrincipal("User", "a:b"), "h", ACLOperation.READ, ResourceType.TOPIC, "t").acl == acl
    assert not index.decide(KafkaPrincipal("Group", "a:b"), "h", ACLOperation.READ, ResourceType.TOPIC, "t").allowed
