"""AlterClientQuotas writes, the change notification is heard, the quota holds; and DescribeClientQuotas tells it."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.sanitizer import sanitize
from kafkapy.common.time import MockTime
from kafkapy.protocol.errors import Errors
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.admin.client_quotas import Entity, Filter, QuotaOp, alter_client_quotas, describe_client_quotas
from kafkapy.server.quotas.quota_managers import QuotaManagers
from kafkapy.server.reconfiguration.change_listener import ZkConfigChangeListener
from tests.config_zookeeper import ConfigZooKeeper


class Cluster:
    """A broker's quotas at ZooKeeper; changes are heard when the test says so."""

    def __init__(self) -> None:
        self.time = MockTime()
        self.zookeeper: Any = ConfigZooKeeper()
        self.restart()

    def restart(self) -> None:
        self.quotas = QuotaManagers(self.time)
        self.listener = ZkConfigChangeListener(
            self.zookeeper, self.quotas.handlers(), lambda function, *args: function(*args), self.time
        )
        self.listener.startup()
        self.listener.shutdown()

    def alter(self, entity: Entity, **values: float | None) -> None:
        ops = [QuotaOp(*op) for op in values.items()]
        assert alter_client_quotas(self.zookeeper, entity, ops, validate_only=False).error is Errors.NONE
        self.listener.process_notifications()

    def produce_quota(self, user: str, client_id: str) -> float:
        return self.quotas.produce.quota(KafkaPrincipal("User", user), client_id)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


ORDER: list[Entity] = [
    {"user": "team,a=1", "client-id": "k/1"},
    {"user": "team,a=1", "client-id": None},
    {"user": "team,a=1"},
    {"user": None, "client-id": "k/1"},
    {"user": None, "client-id": None},
    {"user": None},
    {"client-id": "k/1"},
    {"client-id": None},
]


def test_each_level_takes_over_and_gives_way(cluster: Cluster) -> None:
    user, client_id = "team,a=1", "k/1"
    for i in range(7, -1, -1):
        cluster.alter(ORDER[i], producer_byte_rate=10_000 + i)
        assert cluster.produce_quota(user, client_id) == 10_000 + i
    cluster.restart()
    for i in range(8):
        assert cluster.produce_quota(user, client_id) == 10_000 + i
        cluster.alter(ORDER[i], producer_byte_rate=None)
    assert not cluster.quotas.enabled


def test_what_a_hand_writes_into_zookeeper_holds(cluster: Cluster) -> None:
    zookeeper = cluster.zookeeper
    zookeeper.set_or_create_entity_configs("users", "u1/clients/c", {"producer_byte_rate": "11000"})
    zookeeper.create_config_change_notification("users/u1/clients/c")
    cluster.listener.process_notifications()
    assert cluster.produce_quota("u1", "c") == 11_000
    zookeeper.set_or_create_entity_configs("users", "u1/clients/c", {"producer_byte_rate": "nonsense"})
    zookeeper.create_config_change_notification("users/u1/clients/c")
    cluster.listener.process_notifications()
    assert cluster.produce_quota("u1", "c") == 11_000, "what cannot be read is reported, and changes nothing"
    zookeeper.set_or_create_entity_configs("users", "u1/clients/c", {})
    zookeeper.create_config_change_notification("users/u1/clients/c")
    cluster.listener.process_notifications()
    assert not cluster.quotas.enabled


def test_an_address(cluster: Cluster) -> None:
    cluster.alter({"ip": "127.0.0.3"}, connection_creation_rate=8)
    cluster.alter({"ip": None}, connection_creation_rate=9)
    assert [cluster.quotas.ips.quota(ip) for ip in ("127.0.0.3", "127.0.0.4")] == [8, 9]
    cluster.alter({"ip": "127.0.0.3"}, connection_creation_rate=None)
    cluster.alter({"ip": None}, connection_creation_rate=None)
    assert not cluster.quotas.ips.enabled


@pytest.mark.parametrize("name", ["a b*c", "team,a=1", "é/ü", "CN=x,OU=y", "%41", "<default>x"])
def test_odd_names(cluster: Cluster, name: str) -> None:
    cluster.alter({"user": name}, producer_byte_rate=4321)
    cluster.alter({"client-id": name}, producer_byte_rate=1234)
    assert f"/config/users/{sanitize(name)}" in cluster.zookeeper.nodes
    assert cluster.produce_quota(name, "c") == 4321
    assert cluster.produce_quota("other", name) == 1234
    named = Filter(any_name=False, name=name)
    assert describe_client_quotas(cluster.zookeeper, [("user", named)], strict=True) == [
        ({"user": name}, {"producer_byte_rate": 4321.0})
    ]


def test_all_filters(cluster: Cluster) -> None:
    """The matrix of the acceptance checks: each filter, and each pair, strict and not, beside a plain definition."""
    entities: list[Entity] = [
        {"user": "u1"}, {"user": "u2"}, {"user": None}, {"client-id": "c1"}, {"client-id": None},
        {"user": "u1", "client-id": "c1"}, {"user": "u1", "client-id": None}, {"user": None, "client-id": "c1"},
        {"user": None, "client-id": None}, {"user": "u2", "client-id": "c2"},
    ]  # fmt: skip
    for entity in entities:
        cluster.alter(entity, producer_byte_rate=5000, request_percentage=50.5)
    ips: list[Entity] = [{"ip": "10.0.0.9"}, {"ip": None}]
    for entity in ips:
        cluster.alter(entity, connection_creation_rate=7)

    exact, default, any_name = Filter(False, "u1"), Filter(False), Filter(True)
    users = [("user", each) for each in (exact, Filter(any_name=False, name="none"), default, any_name)]
    clients = [("client-id", each) for each in (Filter(any_name=False, name="c1"), default, any_name)]
    addresses = [("ip", each) for each in (Filter(any_name=False, name="10.0.0.9"), default, any_name)]
    matrix = [[], *([each] for each in users + clients + addresses), *([u, c] for u in users for c in clients)]

    def matches(entity: Entity, filters: list[tuple[str, Filter]], strict: bool) -> bool:
        types = {entity_type for entity_type, _ in filters}
        if not types <= set(entity) or (strict and types != set(entity)):
            return False
        return all(wanted.any_name or entity[entity_type] == wanted.name for entity_type, wanted in filters)

    for strict in (False, True):
        for filters in matrix:
            found = [entity for entity, _ in describe_client_quotas(cluster.zookeeper, filters, strict)]
            wanted = [entity for entity in entities + ips if matches(entity, filters, strict)]
            assert sorted(map(str, found)) == sorted(map(str, wanted)), (filters, strict)
