"""DescribeAcls, CreateAcls, DeleteAcls: who may, what is refused and how (Kafka's `AclApis`)."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.acl_types import (
    AccessControlEntry,
    AclBinding,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.time import MockTime
from kafkapy.network.request import RequestContext
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kafkapy.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from kafkapy.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kafkapy.runtime.completion import spawn
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.api_error import CloseConnection
from kafkapy.server.authorizer import AllowAll, Authorizer
from kafkapy.server.handlers.acls import AclsHandler
from kafkapy.server.security.acl_authorizer import AclAuthorizer
from kafkapy.zk.acl_store import VersionedAcls
from tests.server.security.acl_zookeeper import FakeAclStore

ADMIN, ALICE = KafkaPrincipal("User", "admin"), KafkaPrincipal("User", "alice")
TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
LITERAL, PREFIXED = ACLResourcePatternType.LITERAL, ACLResourcePatternType.PREFIXED
ANY, MATCH = ACLResourcePatternType.ANY, ACLResourcePatternType.MATCH
READ, ALTER, DESCRIBE = ACLOperation.READ, ACLOperation.ALTER, ACLOperation.DESCRIBE
ALLOW = ACLPermissionType.ALLOW

Creation = CreateAclsRequest.AclCreation
Filter = DeleteAclsRequest.DeleteAclsFilter
Matching = DeleteAclsResponse.DeleteAclsMatchingAcl


async def at_once(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


class Broker:
    def __init__(self, authorizer: Authorizer | None = None) -> None:
        self.store = FakeAclStore()
        store: Any = self.store
        self.authorizer = authorizer or AclAuthorizer(store, [ADMIN], time=MockTime())
        in_thread: Any = at_once
        self.handler = AclsHandler(self.authorizer, in_thread)

    def call(self, body: Message, principal: KafkaPrincipal = ADMIN, version: int = 3) -> Any:
        request: Any = SimpleNamespace(
            body=body, api_version=version, context=RequestContext("c", "/10.0.0.1", "PLAINTEXT", principal=principal)
        )
        handlers: dict[type[Message], Callable[[Any], Any]] = {
            DescribeAclsRequest: self.handler.handle_describe_acls,
            CreateAclsRequest: self.handler.handle_create_acls,
            DeleteAclsRequest: self.handler.handle_delete_acls,
        }
        return spawn(handlers[type(body)](request)).result()


def creation(name: str = "t", **fields: Any) -> Creation:
    made = {
        "resource_type": TOPIC,
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": READ,
        "permission_type": ALLOW,
    }
    return Creation(**{**made, **fields})


def acl_filter(**fields: Any) -> Filter:
    anything = {
        "resource_type_filter": ResourceType.ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ACLOperation.ANY,
        "permission_type": ACLPermissionType.ANY,
    }
    return Filter(**{**anything, **fields})


def describe(**fields: Any) -> DescribeAclsRequest:
    wanted = acl_filter(**fields)
    names = (
        *("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter"),
        *("operation", "permission_type"),
    )
    return DescribeAclsRequest(**{name: getattr(wanted, name) for name in names})


def create(*creations: Creation) -> CreateAclsRequest:
    return CreateAclsRequest(creations=list(creations))


def results(response: CreateAclsResponse) -> list[tuple[Errors, str | None]]:
    return [(Errors.for_code(result.error_code), result.error_message) for result in response.results]


def described(response: DescribeAclsResponse) -> dict[tuple[int, str, int], list[tuple[str, str, int, int]]]:
    return {
        (r.resource_type, r.resource_name, r.pattern_type): sorted(
            (acl.principal, acl.host, acl.operation, acl.permission_type) for acl in r.acls
        )
        for r in response.resources
    }


def test_acls_are_created_described_and_deleted() -> None:
    broker = Broker()
    response = broker.call(
        create(
            creation(),
            creation(operation=ALTER),
            creation("acme-", resource_pattern_type=PREFIXED, resource_type=GROUP),
        )
    )
    assert results(response) == [(Errors.NONE, "")] * 3
    entries = [("User:alice", "*", 3, 3), ("User:alice", "*", 7, 3)]
    group = {(GROUP, "acme-", PREFIXED): [("User:alice", "*", 3, 3)]}
    assert described(broker.call(describe())) == {(TOPIC, "t", LITERAL): entries, **group}
    assert described(broker.call(describe(resource_type_filter=GROUP, resource_name_filter="acme-1"))) == {}
    match = describe(resource_name_filter="acme-1", pattern_type_filter=MATCH)
    assert described(broker.call(match)) == group

    deleted = broker.call(DeleteAclsRequest(filters=[acl_filter(operation=ALTER), acl_filter(host_filter="h")]))
    assert [(result.error_code, result.error_message) for result in deleted.filter_results] == [(0, None)] * 2
    assert [result.matching_acls for result in deleted.filter_results] == [
        [
            Matching(
                error_message=None,
                resource_type=TOPIC,
                resource_name="t",
                pattern_type=LITERAL,
                principal="User:alice",
                host="*",
                operation=ALTER,
                permission_type=ALLOW,
            )
        ],
        [],
    ]
    assert described(broker.call(describe())) == {(TOPIC, "t", LITERAL): entries[:1], **group}


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        (describe(), DESCRIBE),
        (create(creation()), ALTER),
        (DeleteAclsRequest(filters=[acl_filter(host_filter="h")]), ALTER),
    ],
)
def test_they_need_the_right_to_the_cluster(body: Message, operation: ACLOperation) -> None:
    broker = Broker()
    with pytest.raises(KafkaError) as error:
        broker.call(body, ALICE)
    assert error.value.error is Errors.CLUSTER_AUTHORIZATION_FAILED
    broker.call(create(creation("kafka-cluster", resource_type=CLUSTER, operation=operation)))
    assert isinstance(broker.call(body, ALICE), Message)
    if operation is ALTER:
        assert isinstance(broker.call(describe(), ALICE), DescribeAclsResponse), "ALTER implies DESCRIBE"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (describe(), "No Authorizer is configured on the broker"),
        (create(creation()), "No Authorizer is configured."),
        (DeleteAclsRequest(filters=[acl_filter()]), "No Authorizer is configured."),
    ],
)
def test_without_authorizer_there_are_no_acls(body: Message, message: str) -> None:
    with pytest.raises(KafkaError, match=message) as error:
        Broker(AllowAll()).call(body)
    assert error.value.error is Errors.SECURITY_DISABLED


@pytest.mark.parametrize(
    ("refused", "error", "message"),
    [
        (creation("other", resource_type=CLUSTER), Errors.INVALID_REQUEST, "kafka-cluster"),
        (creation(""), Errors.INVALID_REQUEST, "Invalid empty resource name"),
        (creation("a/b"), Errors.INVALID_REQUEST, "Failed to create ACL"),
        (creation(operation=99), Errors.INVALID_REQUEST, "Failed to create ACL"),
        (creation(permission_type=-3), Errors.INVALID_REQUEST, "Failed to create ACL"),
        (creation(resource_type=8), Errors.INVALID_REQUEST, "Failed to create ACL"),
        (creation(resource_pattern_type=5), Errors.INVALID_REQUEST, "Failed to create ACL"),
        (creation(principal="alice"), Errors.UNKNOWN_SERVER_ERROR, "principalType:principalName"),
    ],
)
def test_what_is_no_acl_is_refused_by_itself(refused: Creation, error: Errors, message: str) -> None:
    first, second, third = results(Broker().call(create(creation("a"), refused, creation("b"))))
    assert first == third == (Errors.NONE, "")
    assert second[0] is error
    assert message in (second[1] or "")


@pytest.mark.parametrize(
    "fields",
    [
        {"resource_type": ResourceType.ANY},
        {"resource_pattern_type": ANY},
        {"resource_pattern_type": MATCH},
        {"operation": ACLOperation.ANY},
        {"permission_type": ACLPermissionType.ANY},
    ],
)
def test_what_is_for_filters_only_fails_the_whole_request(fields: dict[str, Any]) -> None:
    broker = Broker()
    with pytest.raises(KafkaError) as error:
        broker.call(create(creation("a"), creation(**fields)))
    assert error.value.error is Errors.UNKNOWN_SERVER_ERROR
    assert not broker.store.nodes


@pytest.mark.parametrize("principal", [ADMIN, ALICE])
@pytest.mark.parametrize(
    "body",
    [
        *(
            create(creation("t", **fields))
            for fields in ({"resource_type": 0}, {"resource_pattern_type": 0}, {"operation": 0}, {"permission_type": 0})
        ),
        *(
            body
            for field in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
            for body in (describe(**{field: 0}), DeleteAclsRequest(filters=[acl_filter(**{field: 0})]))
        ),
    ],
)
def test_unknown_elements_close_the_connection(body: Message, principal: KafkaPrincipal) -> None:
    with pytest.raises(CloseConnection, match=r"(?i)unknown elements"):
        Broker().call(body, principal)


def test_filters_with_codes_of_a_later_release_match_nothing() -> None:
    broker = Broker()
    broker.call(create(creation()))
    for field in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type"):
        assert broker.call(describe(**{field: 99})).resources == []
        deleted = broker.call(DeleteAclsRequest(filters=[acl_filter(**{field: 99})]))
        assert deleted.filter_results[0].matching_acls == []


def test_entries_of_a_later_release_are_not_shown() -> None:
    broker = Broker()
    known = AclBinding(AclPattern(TOPIC, "t"), AccessControlEntry("User:a", "*", READ, ALLOW))
    unknown = known.entry._replace(operation=ACLOperation.UNKNOWN)
    broker.store.nodes[known.pattern] = VersionedAcls(frozenset([known.entry, unknown]), 0)
    broker.authorizer.startup()
    assert described(broker.call(describe())) == {(TOPIC, "t", LITERAL): [("User:a", "*", READ, ALLOW)]}


codes = st.integers(-128, 127) | st.integers(0, 8)
names = st.text(max_size=6) | st.sampled_from(["*", "t", "kafka-cluster", "a/b", "..", "\0"])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.builds(Creation, codes, names, codes, names | st.just("User:a"), names, codes, codes), max_size=4),
    st.data(),
)
def test_nothing_that_is_sent_is_an_unexpected_error(creations: list[Creation], data: st.DataObject) -> None:
    broker = Broker()
    optional = names | st.none()
    filters = data.draw(
        st.lists(st.builds(Filter, codes, optional, codes, optional, optional, codes, codes), max_size=4)
    )
    for body in (create(*creations), DeleteAclsRequest(filters=filters), describe()):
        try:
            response = broker.call(body)
        except (KafkaError, CloseConnection):
            continue
        assert response.encode(3)
    assert all(pattern.name and "/" not in pattern.name for pattern in broker.store.nodes)
