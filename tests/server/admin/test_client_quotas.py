"""The answers and znodes are those of a real Apache Kafka 3.9.1 broker."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.admin.client_quotas import Entity, Filter, QuotaOp, alter_client_quotas, describe_client_quotas
from tests.config_zookeeper import ConfigZooKeeper

ALICE: Entity = {"user": "alice"}
NAMED = Filter(any_name=False, name="alice")
DEFAULT = Filter(any_name=False)
ANY = Filter(any_name=True)


@pytest.fixture
def zookeeper() -> Any:
    return ConfigZooKeeper()


def alter(zookeeper: Any, entity: Entity, *ops: tuple[str, float | None], validate_only: bool = False) -> Any:
    error = alter_client_quotas(zookeeper, entity, [QuotaOp(*op) for op in ops], validate_only)
    return error.error, error.message


def describe(zookeeper: Any, strict: bool = False, **filters: Filter) -> list[tuple[Entity, dict[str, float]]]:
    named = [(name.replace("_", "-"), wanted) for name, wanted in filters.items()]
    return sorted(describe_client_quotas(zookeeper, named, strict), key=str)


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        (ALICE, "users/alice"),
        ({"user": None}, "users/<default>"),
        ({"client-id": "app one*"}, "clients/app%20one%2A"),
        ({"client-id": None}, "clients/<default>"),
        ({"user": "bob@x", "client-id": "c/1"}, "users/bob%40x/clients/c%2F1"),
        ({"client-id": None, "user": None}, "users/<default>/clients/<default>"),
    ],
)
def test_each_entity_has_its_node_and_is_announced(zookeeper: Any, entity: Entity, path: str) -> None:
    assert alter(zookeeper, entity, ("producer_byte_rate", 1e9), ("request_percentage", 50.0)) == (Errors.NONE, None)
    assert zookeeper.nodes[f"/config/{path}"] == (
        b'{"version":1,"config":{"producer_byte_rate":"1000000000","request_percentage":"50.0"}}'
    )
    assert zookeeper.notifications == [path]
    assert describe(zookeeper) == [(entity, {"producer_byte_rate": 1e9, "request_percentage": 50.0})]


def test_the_quota_of_an_address(zookeeper: Any) -> None:
    assert alter(zookeeper, {"ip": "127.0.0.1"}, ("connection_creation_rate", 7.0)) == (Errors.NONE, None)
    assert alter(zookeeper, {"ip": None}, ("connection_creation_rate", 9.0)) == (Errors.NONE, None)
    assert describe(zookeeper, ip=DEFAULT) == [({"ip": None}, {"connection_creation_rate": 9.0})]
    assert len(describe(zookeeper, ip=ANY)) == len(describe(zookeeper)) == 2
    assert describe(zookeeper, strict=True) == []


def test_removing_the_last_quota_removes_the_nodes(zookeeper: Any) -> None:
    both: Entity = {"user": "alice", "client-id": "app"}
    alter(zookeeper, both, ("producer_byte_rate", 5.0))
    alter(zookeeper, ALICE, ("producer_byte_rate", 5.0))
    alter(zookeeper, ALICE, ("producer_byte_rate", None))
    assert "/config/users/alice/clients/app" in zookeeper.nodes
    assert describe(zookeeper) == [(both, {"producer_byte_rate": 5.0})]
    alter(zookeeper, both, ("producer_byte_rate", None))
    assert [node for node in zookeeper.nodes if node.startswith("/config/users")] == []
    assert zookeeper.notifications[-1] == "users/alice/clients/app"


@pytest.mark.parametrize(
    ("entity", "op", "error", "message"),
    [
        (ALICE, ("nope", 1.0), Errors.INVALID_REQUEST, "Invalid configuration key nope"),
        (
            ALICE,
            ("producer_byte_rate", 1.5),
            Errors.INVALID_REQUEST,
            "Configuration producer_byte_rate must be a LONG value",
        ),
        (ALICE, ("SCRAM-SHA-256", 1.0), Errors.UNKNOWN_SERVER_ERROR, None),
        ({}, ("producer_byte_rate", 1.0), Errors.INVALID_REQUEST, "Invalid empty client quota entity"),
        ({"foo": "a"}, ("producer_byte_rate", 1.0), Errors.INVALID_REQUEST, "Unhandled client quota entity type: foo"),
        ({"user": ""}, ("producer_byte_rate", 1.0), Errors.INVALID_REQUEST, "Empty user not supported"),
        (
            {"ip": "127.0.0.1", "user": "a"},
            ("producer_byte_rate", 1.0),
            Errors.INVALID_REQUEST,
            "Invalid quota entity combination, IP entity should not be used with user/client ID entity.",
        ),
        (
            {"ip": "127.0.0.1"},
            ("connection_creation_rate", -1.0),
            Errors.INVALID_REQUEST,
            "Configuration connection_creation_rate must be a INT value",
        ),
        (
            {"ip": "127.0.0.1"},
            ("producer_byte_rate", 1.0),
            Errors.INVALID_REQUEST,
            "Invalid configuration key producer_byte_rate",
        ),
    ],
)
def test_what_cannot_be_a_quota(
    zookeeper: Any, entity: Entity, op: tuple[str, float], error: Errors, message: str | None
) -> None:
    assert alter(zookeeper, entity, op) == (error, message)
    assert zookeeper.nodes == {}


@pytest.mark.parametrize(("value", "text"), [(1.0000001, "1"), (float("nan"), "0"), (1e18, "1000000000000000000")])
def test_whole_numbers_are_stored_as_java_stores_them(zookeeper: Any, value: float, text: str) -> None:
    assert alter(zookeeper, ALICE, ("producer_byte_rate", value)) == (Errors.NONE, None)
    assert zookeeper.get_entity_configs("users", "alice") == {"producer_byte_rate": text}


def test_validate_only_stores_nothing(zookeeper: Any) -> None:
    assert alter(zookeeper, ALICE, ("producer_byte_rate", 1.0), validate_only=True) == (Errors.NONE, None)
    assert alter(zookeeper, ALICE, ("nope", 1.0), validate_only=True)[0] is Errors.INVALID_REQUEST
    assert zookeeper.nodes == {}


def test_filters_choose_by_the_types_and_names_of_an_entity(zookeeper: Any) -> None:
    entities: list[Entity] = [
        ALICE,
        {"user": None},
        {"client-id": "app"},
        {"user": "alice", "client-id": "app"},
        {"user": "alice", "client-id": None},
        {"user": "bob", "client-id": "app"},
    ]
    for entity in entities:
        alter(zookeeper, entity, ("producer_byte_rate", 5.0))
    app = Filter(any_name=False, name="app")

    def chosen(strict: bool = False, **filters: Filter) -> list[int]:
        return sorted(entities.index(entity) for entity, _ in describe(zookeeper, strict, **filters))

    assert chosen() == [0, 1, 2, 3, 4, 5]
    assert chosen(user=NAMED) == [0, 3, 4]
    assert chosen(strict=True, user=NAMED) == [0]
    assert chosen(user=ANY) == [0, 1, 3, 4, 5]
    assert chosen(strict=True, user=DEFAULT) == [1]
    assert chosen(client_id=app) == [2, 3, 5]
    assert chosen(strict=True, client_id=ANY) == [2]
    assert chosen(user=ANY, client_id=app) == [3, 5]
    assert chosen(user=NAMED, client_id=app) == [3]
    assert chosen(user=NAMED, client_id=DEFAULT) == [4]
    assert chosen(user=Filter(any_name=False, name="nobody")) == []


@pytest.mark.parametrize(
    ("filters", "error", "message"),
    [
        ([("", NAMED)], Errors.INVALID_REQUEST, "Unexpected empty filter component entity type"),
        ([("nope", NAMED)], Errors.UNSUPPORTED_VERSION, "Custom entity type 'nope' not supported"),
        ([("user", NAMED), ("user", ANY)], Errors.INVALID_REQUEST, "Duplicate user filter component entity type"),
        ([("client-id", ANY)] * 2, Errors.INVALID_REQUEST, "Duplicate client filter component entity type"),
        (
            [("ip", ANY), ("user", ANY)],
            Errors.INVALID_REQUEST,
            "Invalid entity filter component combination, IP filter component should not be used with user or clientId "
            "filter component.",
        ),
    ],
)
def test_filters_that_contradict_each_other(
    zookeeper: Any, filters: list[tuple[str, Filter]], error: Errors, message: str
) -> None:
    with pytest.raises(KafkaError) as refusal:
        describe_client_quotas(zookeeper, filters, strict=False)
    assert (refusal.value.error, refusal.value.message) == (error, message)
