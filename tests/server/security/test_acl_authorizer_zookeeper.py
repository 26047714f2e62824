"""Two brokers' authorizers on one ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkapy.common.acl_types import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.time import SystemTime
from kafkapy.network.request import RequestContext
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.security.acl_authorizer import AclAuthorizer
from kafkapy.zk.acl_store import ResourceZNode, ZkAclStore
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

CONTEXT = RequestContext("c", "/10.0.0.1", "PLAINTEXT", principal=KafkaPrincipal("User", "alice"))
READS = AccessControlEntry("User:alice", "*", ACLOperation.READ, ACLPermissionType.ALLOW)
WRITES = READS._replace(operation=ACLOperation.WRITE)
TOPIC = AclPattern(ResourceType.TOPIC, "t")
PREFIX = AclPattern(ResourceType.GROUP, "acme-", ACLResourcePatternType.PREFIXED)


class Broker:
    def __init__(self, zk_connect: str) -> None:
        self.zk_client = KafkaZkClient.connect(zk_connect, 6000)
        self.authorizer = AclAuthorizer(ZkAclStore(self.zk_client, SystemTime()))
        self.authorizer.startup()

    def stop(self) -> None:
        self.authorizer.shutdown()
        self.zk_client.close()

    def may(self, operation: ACLOperation, resource_type: ResourceType, name: str) -> bool:
        return self.authorizer.authorize(CONTEXT, operation, resource_type, name)


@pytest.fixture
def brokers(zk_connect: str) -> Iterator[tuple[Broker, Broker]]:
    both = Broker(zk_connect), Broker(zk_connect)
    yield both
    for broker in both:
        broker.stop()


def test_what_one_broker_writes_the_other_one_hears(brokers: tuple[Broker, Broker], zk_connect: str) -> None:
    one, two = brokers
    created = one.authorizer.create_acls(
        CONTEXT, [AclBinding(TOPIC, READS), AclBinding(TOPIC, WRITES), AclBinding(PREFIX, READS)]
    )
    assert [result.code for result in created] == [0, 0, 0]
    assert one.zk_client.get_data_and_version("/kafka-acl/Topic/t") == (ResourceZNode.encode([READS, WRITES]), 0)
    wait_until(
        lambda: (
            two.may(ACLOperation.WRITE, ResourceType.TOPIC, "t")
            and two.may(ACLOperation.READ, ResourceType.GROUP, "acme-1")
        )
    )
    assert two.authorizer.create_acls(CONTEXT, [AclBinding(TOPIC, READS._replace(principal="User:bob"))])[0].code == 0
    deleted = one.authorizer.delete_acls(CONTEXT, [AclBindingFilter()])
    assert len(deleted[0]) == 4
    wait_until(
        lambda: (
            not two.may(ACLOperation.WRITE, ResourceType.TOPIC, "t")
            and not two.may(ACLOperation.READ, ResourceType.GROUP, "acme-1")
        )
    )
    assert one.zk_client.get_children("/kafka-acl/Topic") == []
    assert one.zk_client.get_children("/kafka-acl-extended/prefixed/Group") == []


def test_brokers_that_write_at_once_lose_nothing(brokers: tuple[Broker, Broker]) -> None:
    expected = set()
    for number in range(20):
        for broker, name in zip(brokers, "ab", strict=True):
            entry = READS._replace(principal=f"User:{name}{number}")
            expected.add(AclBinding(TOPIC, entry))
            assert broker.authorizer.create_acls(CONTEXT, [AclBinding(TOPIC, entry)])[0].code == 0
    for broker in brokers:
        wait_until(lambda broker=broker: set(broker.authorizer.acls(AclBindingFilter())) == expected)  # type: ignore[misc]
