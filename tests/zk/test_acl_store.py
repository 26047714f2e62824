"""ACLs in ZooKeeper: Kafka's bytes, compare-and-set, notifications."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from kafkapy.common.acl_types import (
    WILDCARD_PRINCIPAL,
    AccessControlEntry,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.time import MockTime
from kafkapy.zk.acl_store import NO_ACLS, AclChangeZNode, ResourceZNode, VersionedAcls, ZkAclStore
from kafkapy.zk.kafka_zk_client import UNKNOWN_VERSION, KafkaZkClient
from tests.waiting import HANG_SECONDS

ALLOW, DENY = ACLPermissionType.ALLOW, ACLPermissionType.DENY
READ = AccessControlEntry("User:alice", "10.0.0.9", ACLOperation.READ, ALLOW)
WRITE = AccessControlEntry("User:alice", "10.0.0.9", ACLOperation.WRITE, ALLOW)
DENY_ALL = AccessControlEntry(WILDCARD_PRINCIPAL, "*", ACLOperation.ALL, DENY)
T1 = AclPattern(ResourceType.TOPIC, "t1")
PRE = AclPattern(ResourceType.GROUP, "pre-", ACLResourcePatternType.PREFIXED)


# --- bytes, as Kafka 3.9.1 wrote them -------------------------------------------------------------------------------------


def test_entries_are_written_as_kafka_writes_them() -> None:
    assert ResourceZNode.encode([READ]) == (
        b'{"acls":[{"principal":"User:alice","permissionType":"Allow","host":"10.0.0.9","operation":"Read"}],"version":1}'
    )
    assert ResourceZNode.encode({WRITE, READ}) == (
        b'{"acls":[{"principal":"User:alice","permissionType":"Allow","host":"10.0.0.9","operation":"Read"},'
        b'{"principal":"User:alice","permissionType":"Allow","host":"10.0.0.9","operation":"Write"}],"version":1}'
    )
    assert ResourceZNode.encode([DENY_ALL]) == (
        b'{"acls":[{"principal":"User:*","permissionType":"Deny","host":"*","operation":"All"}],"version":1}'
    )


def test_paths_are_kafkas() -> None:
    assert ResourceZNode.path(T1) == "/kafka-acl/Topic/t1"
    assert ResourceZNode.path(PRE) == "/kafka-acl-extended/prefixed/Group/pre-"
    assert ResourceZNode.path(AclPattern(ResourceType.TRANSACTIONAL_ID, "*")) == "/kafka-acl/TransactionalId/*"


@pytest.mark.parametrize("name", ["", ".", "..", "a/", "a\0b"])
def test_a_name_that_zookeeper_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(ValueError):
        ResourceZNode.path(AclPattern(ResourceType.TOPIC, name))


def test_notifications_are_written_as_kafka_writes_them() -> None:
    assert AclChangeZNode.encode(T1) == b"TOPIC:t1"
    assert AclChangeZNode.create_path(T1) == "/kafka-acl-changes/acl_changes_"
    assert AclChangeZNode.encode(PRE) == (
        b'{"version":1,"resourceType":"GROUP","name":"pre-","patternType":"PREFIXED"}'
    )
    assert AclChangeZNode.create_path(PRE) == "/kafka-acl-extended-changes/acl_changes_"
    assert AclChangeZNode.decode_extended(AclChangeZNode.encode(PRE)) == PRE
    assert AclChangeZNode.decode_literal(b"Topic:a:b") == AclPattern(ResourceType.TOPIC, "a:b")


@pytest.mark.parametrize("operation", [o for o in ACLOperation if o > ACLOperation.ANY])
def test_every_operation_is_read_again(operation: ACLOperation) -> None:
    entries = {entry._replace(operation=operation) for entry in (READ, DENY_ALL)}
    assert ResourceZNode.decode(ResourceZNode.encode(entries)) == entries


def test_what_others_wrote_is_read() -> None:
    assert ResourceZNode.decode(None) == ResourceZNode.decode(b"") == ResourceZNode.decode(b"{ no json") == frozenset()
    text = (
        '{"version":1,"more":[],"acls":[{"host":"*","operation":"DESCRIBECONFIGS","permissionType":"ALLOW",'
        '"principal":"User:a:ü"},{"host":"*","operation":"Fly","permissionType":"Perhaps","principal":"User:"}]}'
    )
    assert ResourceZNode.decode(text.encode()) == {
        AccessControlEntry("User:a:ü", "*", ACLOperation.DESCRIBE_CONFIGS, ALLOW),
        AccessControlEntry("User:", "*", ACLOperation.UNKNOWN, ACLPermissionType.UNKNOWN),
    }


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"1",
        b"{}",
        b'{"version":2,"acls":[]}',
        b'{"version":1}',
        b'{"version":1,"acls":[1]}',
        b'{"version":1,"acls":[{}]}',
        b'{"version":1,"acls":[{"principal":"alice","host":"*","operation":"Read","permissionType":"Allow"}]}',
        b'{"version":1,"acls":[{"principal":7,"host":"*","operation":"Read","permissionType":"Allow"}]}',
        b'{"version":1,"acls":[{"principal":"User:a","host":"*","operation":3,"permissionType":"Allow"}]}',
    ],
)
def test_what_are_no_acls_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        ResourceZNode.decode(data)


@pytest.mark.parametrize("data", [b"", b"TOPIC", b"WHAT:t", b"ANY:t", b"\xff:t"])
def test_what_is_no_notification_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        AclChangeZNode.decode_literal(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"version":2,"resourceType":"GROUP","name":"p","patternType":"PREFIXED"}',
        b'{"version":1,"resourceType":"GROUP","name":"p","patternType":"MATCH"}',
        b'{"version":1,"resourceType":"FLEET","name":"p","patternType":"PREFIXED"}',
        b'{"version":1}',
    ],
)
def test_what_is_no_extended_notification_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, KeyError)):
        AclChangeZNode.decode_extended(data)


# --- against ZooKeeper ----------------------------------------------------------------------------------------------------


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.connect(zk_connect, 6000)
    yield client
    client.close()


@pytest.fixture
def store(zk: KafkaZkClient) -> ZkAclStore:
    made = ZkAclStore(zk, MockTime(0))
    made.create_acl_paths()
    made.create_acl_paths()
    return made


@pytest.mark.integration
def test_the_parents_of_all_nodes_are_made(store: ZkAclStore, zk: KafkaZkClient) -> None:
    types = {"Topic", "Group", "Cluster", "TransactionalId", "DelegationToken", "User"}
    assert set(zk.get_children("/kafka-acl")) == set(zk.get_children("/kafka-acl-extended/prefixed")) == types
    assert zk.path_exists("/kafka-acl-changes") and zk.path_exists("/kafka-acl-extended-changes")
    assert list(store.load_all()) == []


@pytest.mark.integration
def test_entries_change_by_compare_and_set(store: ZkAclStore, zk: KafkaZkClient) -> None:
    for pattern in (T1, PRE):
        assert store.get(pattern) == NO_ACLS
        assert store.update(pattern, [READ], UNKNOWN_VERSION) == 0
        assert store.update(pattern, [WRITE], UNKNOWN_VERSION) is None, "there is a node"
        assert store.get(pattern) == VersionedAcls(frozenset([READ]), 0)
        assert store.update(pattern, [READ, WRITE], 0) == 1
        assert store.update(pattern, [WRITE], 0) is None, "it is at another version"
        assert store.update(pattern, [], 0) is None, "it is at another version"
    assert dict(store.load_all()) == {
        T1: VersionedAcls(frozenset([READ, WRITE]), 1),
        PRE: VersionedAcls(frozenset([READ, WRITE]), 1),
    }
    for pattern in (T1, PRE):
        assert store.update(pattern, [], 1) == UNKNOWN_VERSION
        assert store.update(pattern, [], UNKNOWN_VERSION) == UNKNOWN_VERSION, "it is gone already"
        assert store.update(pattern, [READ], 1) is None
    assert list(store.load_all()) == []


@pytest.mark.integration
def test_many_change_by_compare_and_set(store: ZkAclStore, zk: KafkaZkClient) -> None:
    new, there, moved, gone = (AclPattern(ResourceType.TOPIC, name) for name in ("new", "there", "moved", "gone"))
    for pattern in (there, moved):
        store.update(pattern, [READ], UNKNOWN_VERSION)
    store.update(moved, [READ, WRITE], 0)
    updates = [(new, [READ], UNKNOWN_VERSION), (there, [WRITE], 0), (moved, [READ], 0), (gone, [], 0)]
    assert store.update_many(updates) == [0, 1, None, UNKNOWN_VERSION]
    assert store.update_many([(there, [WRITE], 0), (new, [WRITE], UNKNOWN_VERSION), (moved, [], 0), (new, [], 0)]) == [
        1,  # an answer that was lost, and then asked for again, looks like this
        None,
        None,
        UNKNOWN_VERSION,
    ]
    assert [acls.zk_version for acls in store.get_many([new, there, moved, gone])] == [
        UNKNOWN_VERSION,
        1,
        1,
        UNKNOWN_VERSION,
    ]


@pytest.mark.integration
def test_loading_skips_types_of_later_releases_and_names_what_is_broken(store: ZkAclStore, zk: KafkaZkClient) -> None:
    zk.create_recursive("/kafka-acl/Fleet/f", ResourceZNode.encode([READ]))
    zk.create_recursive("/kafka-acl/Topic/empty", None)
    assert dict(store.load_all()) == {AclPattern(ResourceType.TOPIC, "empty"): VersionedAcls(frozenset(), 0)}
    zk.create_recursive("/kafka-acl/Topic/broken", b"{}")
    with pytest.raises(ValueError, match="/kafka-acl/Topic/broken"):
        list(store.load_all())


@pytest.mark.integration
def test_changes_are_told_to_other_brokers(store: ZkAclStore, zk_connect: str) -> None:
    heard: list[AclPattern] = []
    again = threading.Semaphore(0)

    def changed(patterns: Sequence[AclPattern]) -> None:
        heard.extend(patterns)
        again.release(len(patterns))

    store.notify(AclPattern(ResourceType.TOPIC, "before"))
    other = KafkaZkClient.connect(zk_connect, 6000)
    listeners = ZkAclStore(other, MockTime(0)).listeners(changed, lambda: None)
    for listener in listeners:
        listener.startup()
    for pattern in (T1, PRE, T1):
        store.notify(pattern)
        assert again.acquire(timeout=HANG_SECONDS)
    many = [AclPattern(ResourceType.TOPIC, f"t-{n}") for n in range(60)]
    store.notify_many(many)
    for _ in many:
        assert again.acquire(timeout=HANG_SECONDS)
    assert heard == [T1, PRE, T1, *many]
    for listener in listeners:
        listener.shutdown()
    other.close()
