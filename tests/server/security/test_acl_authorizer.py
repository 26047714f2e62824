"""ACLs of several brokers that share a ZooKeeper (cases of `AclAuthorizerTest`)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kafkapy.common.acl_types import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    AclPatternFilter,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.time import MockTime
from kafkapy.network.request import RequestContext
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.security.acl.decision import AclDecision
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.authorizer import AclDeletion, AllowAll, Authorizer
from kafkapy.server.security.acl_authorizer import MAX_UPDATE_RETRIES, AclAuthorizer
from kafkapy.server.security.decision_log import RequestedAction
from kafkapy.zk.acl_store import VersionedAcls
from kafkapy.zk.errors import ZooKeeperClientTimeoutError, ZooKeeperError
from tests.server.security.acl_zookeeper import FakeAclStore

ALICE = KafkaPrincipal("User", "alice")
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LITERAL, PREFIXED, MATCH = (ACLResourcePatternType[name] for name in ("LITERAL", "PREFIXED", "MATCH"))
READ, WRITE, DESCRIBE = ACLOperation.READ, ACLOperation.WRITE, ACLOperation.DESCRIBE
ALLOW, DENY = ACLPermissionType.ALLOW, ACLPermissionType.DENY
OK = (Errors.NONE, None)


def context(
    principal: KafkaPrincipal = ALICE, host: str = "10.0.0.1", api_key: ApiKey = ApiKey.FETCH
) -> RequestContext:
    made = RequestContext("c", f"/{host}", "PLAINTEXT", principal=principal)
    made.api_key = api_key
    return made


def acl(
    name: str,
    operation: ACLOperation = READ,
    permission: ACLPermissionType = ALLOW,
    pattern_type: ACLResourcePatternType = LITERAL,
    principal: str = "User:alice",
    host: str = "*",
) -> AclBinding:
    return AclBinding(AclPattern(TOPIC, name, pattern_type), AccessControlEntry(principal, host, operation, permission))


def broker(store: FakeAclStore, **options: Any) -> AclAuthorizer:
    untyped: Any = store
    made = AclAuthorizer(untyped, time=MockTime(), **options)
    made.startup()
    return made


@pytest.fixture
def store() -> FakeAclStore:
    return FakeAclStore()


def create(authorizer: AclAuthorizer, *bindings: AclBinding) -> None:
    assert authorizer.create_acls(context(), bindings) == [OK] * len(bindings)


def test_what_was_there_is_loaded_and_what_changes_is_heard(store: FakeAclStore) -> None:
    one = broker(store)
    create(one, acl("a"), acl("b-", pattern_type=PREFIXED))
    two = broker(store)
    for name in ("a", "b-1"):
        assert two.authorize(context(), ACLOperation.READ, ResourceType.TOPIC, name)
    create(two, acl("c"))
    assert two.authorize(context(), ACLOperation.READ, ResourceType.TOPIC, "c"), (
        "the one that has created it need not hear of it"
    )
    assert not one.authorize(context(), ACLOperation.READ, ResourceType.TOPIC, "c")
    store.deliver()
    assert one.authorize(context(), ACLOperation.READ, ResourceType.TOPIC, "c")
    assert one.delete_acls(context(), [AclBindingFilter(AclPatternFilter(TOPIC, "a", LITERAL))]) == [
        [AclDeletion(acl("a"))]
    ]
    store.deliver()
    for authorizer in (one, two):
        assert not authorizer.authorize(context(), ACLOperation.READ, ResourceType.TOPIC, "a")


def test_a_new_session_reads_everything_again(store: FakeAclStore) -> None:
    one, two = broker(store), broker(store)
    create(one, acl("a"))
    store.notifications.clear()
    store.reloads[1]()
    assert two.authorize(context(), ACLOperation.READ, ResourceType.TOPIC, "a")


def test_brokers_that_change_the_same_resource_lose_nothing(store: FakeAclStore) -> None:
    one, two = broker(store), broker(store)
    create(one, acl("t"))
    create(two, acl("t", WRITE))
    create(one, acl("t", ACLOperation.ALTER))
    assert {entry.operation for entry in store.nodes[acl("t").pattern].entries} == {READ, WRITE, ACLOperation.ALTER}
    assert {binding.entry.operation for binding in one.acls(AclBindingFilter())} == {READ, WRITE, ACLOperation.ALTER}
    assert two.delete_acls(context(), [AclBindingFilter()])[0] == [
        AclDeletion(binding) for binding in sorted([acl("t"), acl("t", WRITE), acl("t", ACLOperation.ALTER)])
    ]
    assert store.nodes == {}
    create(one, acl("t", DESCRIBE))
    assert {entry.operation for entry in store.nodes[acl("t").pattern].entries} == {DESCRIBE}


def test_an_update_that_never_comes_first_fails(store: FakeAclStore) -> None:
    authorizer = broker(store)
    versions = iter(range(1, 1000))

    def another_comes_first(pattern: AclPattern) -> None:
        store.nodes[pattern] = VersionedAcls(frozenset([acl("t", WRITE).entry]), next(versions))

    store.before_update = another_comes_first
    (result,) = authorizer.create_acls(context(), [acl("t")])
    assert result.error is Errors.UNKNOWN_SERVER_ERROR
    assert store.updates == MAX_UPDATE_RETRIES + 1
    store.before_update = lambda pattern: None
    create(authorizer, acl("t"))


def test_many_are_written_together(store: FakeAclStore) -> None:
    one, two = broker(store), broker(store)
    bindings = [acl(f"t-{n}", principal=f"User:u-{n}") for n in range(120)]
    create(one, *bindings)
    assert store.requests_of_many == 3
    assert store.notifications == [binding.pattern for binding in bindings]
    store.deliver()
    for authorizer in (one, two):
        assert set(authorizer.acls(AclBindingFilter())) == set(bindings)
    assert two.delete_acls(context(), [AclBindingFilter()])[0] == [AclDeletion(binding) for binding in bindings]
    assert store.nodes == {} and len(store.notifications) == 120 and store.requests_of_many == 6


def test_of_many_those_that_another_broker_changes_meanwhile_lose_nothing(store: FakeAclStore) -> None:
    one, two = broker(store), broker(store)
    create(two, *(acl(f"t-{n}", WRITE) for n in range(3)))
    create(one, *(acl(f"t-{n}") for n in range(10)))
    store.deliver()
    create(two, acl("t-0", DESCRIBE))
    result = one.delete_acls(
        context(), [AclBindingFilter(), AclBindingFilter(AclPatternFilter(TOPIC, "none", LITERAL))]
    )
    assert len(result[0]) == 14 and result[1] == []
    assert store.nodes == {}
    assert len(one.acls(AclBindingFilter())) == 0


def test_of_many_each_has_its_own_error(store: FakeAclStore, caplog: pytest.LogCaptureFixture) -> None:
    authorizer = broker(store)
    bindings = [acl(f"t-{n}") for n in range(10)]
    bindings[3] = acl("t-3", principal="nobody")
    results = authorizer.create_acls(context(), bindings)
    assert [index for index, result in enumerate(results) if result != OK] == [3]
    assert "expected a string in format principalType" in (results[3].message or "")
    assert len(store.nodes) == len(store.notifications) == 9


def test_of_many_that_no_broker_can_be_told_of_each_is_answered(store: FakeAclStore) -> None:
    authorizer = broker(store)

    def fail(patterns: Any) -> None:
        raise ZooKeeperClientTimeoutError("away")

    store.notify_many = fail  # type: ignore[method-assign]
    results = authorizer.create_acls(context(), [acl(f"t-{n}") for n in range(10)])
    assert {result.error for result in results} == {Errors.REQUEST_TIMED_OUT}


def test_what_has_not_changed_is_not_told(store: FakeAclStore) -> None:
    authorizer = broker(store)
    create(authorizer, acl("t"))
    assert store.notifications == [acl("t").pattern]
    create(authorizer, acl("t"))
    assert authorizer.delete_acls(context(), [AclBindingFilter(AclPatternFilter(TOPIC, "none", LITERAL))]) == [[]]
    assert store.notifications == [acl("t").pattern]


def test_each_acl_has_an_answer_of_its_own(store: FakeAclStore) -> None:
    authorizer = broker(store, prefixes_supported=lambda: False)
    results = authorizer.create_acls(
        context(),
        [
            acl("good"),
            acl("p-", pattern_type=PREFIXED),
            acl("a/b"),
            acl("t", ACLOperation.UNKNOWN),
            acl("bad", principal="alice"),
            acl("bad"),
            acl("."),
        ],
    )
    assert [result.error for result in results] == [
        Errors.NONE,
        *[Errors.INVALID_REQUEST] * 3,
        *[Errors.UNKNOWN_SERVER_ERROR] * 3,
    ]
    assert all((result.message or "").startswith("Failed to create ACL") for result in results[1:4])
    assert results[4].message == "expected a string in format principalType:principalName but got alice"
    assert authorizer.acls(AclBindingFilter()) == [acl("good")]


def test_zookeeper_failing_is_the_answer_of_those_it_fails(
    store: FakeAclStore, caplog: pytest.LogCaptureFixture
) -> None:
    authorizer = broker(store)
    create(authorizer, acl("a"), acl("b"), acl("c"))

    def fail(pattern: AclPattern) -> None:
        if pattern.name == "a":
            raise ZooKeeperClientTimeoutError("no connection")
        if pattern.name == "b":
            raise ZooKeeperError("no")

    store.before_update = fail
    bindings = [acl(name, WRITE) for name in "abc"]
    results = authorizer.create_acls(context(), bindings)
    assert [result.error for result in results] == [Errors.REQUEST_TIMED_OUT, Errors.UNKNOWN_SERVER_ERROR, Errors.NONE]
    assert (
        "ACLs of ResourcePattern(resourceType=TOPIC, name=b, patternType=LITERAL) could not be updated" in caplog.text
    )
    (deleted,) = authorizer.delete_acls(context(), [AclBindingFilter()])
    assert {(d.binding.pattern.name, d.error.error.name) for d in deleted} == {
        ("a", "REQUEST_TIMED_OUT"),
        ("b", "UNKNOWN_SERVER_ERROR"),
        ("c", "NONE"),
    }
    assert {binding.pattern.name for binding in authorizer.acls(AclBindingFilter())} == {"a", "b"}


def test_the_first_filter_that_matches_has_deleted_it(store: FakeAclStore) -> None:
    authorizer = broker(store)
    create(authorizer, acl("a"), acl("a", WRITE), acl("ab-", pattern_type=PREFIXED), acl("z"))
    filters = [
        AclBindingFilter(
            AclPatternFilter(TOPIC, "a", ACLResourcePatternType.ANY), AccessControlEntryFilter(operation=WRITE)
        ),
        AclBindingFilter(AclPatternFilter(TOPIC, "a", LITERAL)),
        AclBindingFilter(AclPatternFilter(ResourceType.ANY, "ab-c", MATCH)),
        AclBindingFilter(AclPatternFilter(TOPIC, "a/", LITERAL)),
        AclBindingFilter(AclPatternFilter(GROUP)),
    ]
    deleted = [[deletion.binding for deletion in deletions] for deletions in authorizer.delete_acls(context(), filters)]
    assert deleted == [[acl("a", WRITE)], [acl("a")], [acl("ab-", pattern_type=PREFIXED)], [], []]
    assert authorizer.acls(AclBindingFilter()) == [acl("z")]


def test_a_filter_for_one_pattern_deletes_what_is_not_in_memory_yet(store: FakeAclStore) -> None:
    one, two = broker(store), broker(store)
    create(one, acl("a"), acl("b"))
    (deleted,) = two.delete_acls(context(), [AclBindingFilter(AclPatternFilter(TOPIC, "a", LITERAL))])
    assert deleted == [AclDeletion(acl("a"))]
    assert two.delete_acls(context(), [AclBindingFilter(AclPatternFilter(TOPIC, None, LITERAL))]) == [[]]


def test_all_users_but_one_of_a_resource_keep_their_rights(store: FakeAclStore) -> None:
    """CVE-2024-27309."""
    one, two = broker(store, allow_everyone_if_no_acl_found=True), broker(store, allow_everyone_if_no_acl_found=True)
    create(one, acl("t", WRITE, DENY), acl("t", READ, principal="User:bob"))
    store.deliver()
    one.delete_acls(context(), [AclBindingFilter(entry_filter=AccessControlEntryFilter("User:bob"))])
    store.deliver()
    for authorizer in (one, two):
        assert not authorizer.authorize(context(), ACLOperation.WRITE, ResourceType.TOPIC, "t")
        assert not authorizer.authorize(
            context(KafkaPrincipal("User", "bob")), ACLOperation.WRITE, ResourceType.TOPIC, "t"
        )
        assert authorizer.authorize(context(), ACLOperation.WRITE, ResourceType.TOPIC, "other")


def test_authorized_operations_and_many_names(store: FakeAclStore) -> None:
    authorizer = broker(store)
    create(authorizer, acl("t"), acl("t", ACLOperation.ALTER_CONFIGS), acl("u", ACLOperation.ALL))
    bits = {READ, DESCRIBE, ACLOperation.ALTER_CONFIGS, ACLOperation.DESCRIBE_CONFIGS}
    assert authorizer.authorized_operations(context(), ResourceType.TOPIC, "t") == sum(1 << bit for bit in bits)
    assert authorizer.authorized_operations(context(), ResourceType.TOPIC, "u") == AllowAll().authorized_operations(
        context(), ResourceType.TOPIC, "u"
    )
    assert authorizer.authorized_operations(context(), ResourceType.TOPIC, "v") == 0
    assert authorizer.filter_authorized(context(), ACLOperation.READ, ResourceType.TOPIC, ["t", "v", "u", "t"]) == {
        "t",
        "u",
    }


@pytest.mark.parametrize(
    ("resource_type", "bits"),
    [
        (ResourceType.TOPIC, 0b1101_1111_1000),
        (ResourceType.GROUP, 0b1_0100_1000),
        (ResourceType.CLUSTER, 0b1_1111_1010_0000),
        (ResourceType.TRANSACTIONAL_ID, 0b1_0001_0000),
        (ResourceType.DELEGATION_TOKEN, 0b1_0000_0000),
        (ResourceType.USER, 0b110_0000_0000_0000),
    ],
)
def test_without_authorizer_every_operation_of_the_type_is_allowed(resource_type: ResourceType, bits: int) -> None:
    assert AllowAll().authorized_operations(context(), resource_type, "x") == bits


# --- the log --------------------------------------------------------------------------------------------------------------


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(r.levelname, r.getMessage()) for r in caplog.records if r.name == "kafkapy.authorizer.logger"]


def test_refusals_are_logged_at_info_and_permissions_at_debug(
    store: FakeAclStore, caplog: pytest.LogCaptureFixture
) -> None:
    authorizer = broker(store)
    create(authorizer, acl("acme-", pattern_type=PREFIXED))
    caplog.set_level(logging.DEBUG, "kafkapy.authorizer.logger")
    authorizer.authorize(context(), ACLOperation.READ, ResourceType.TOPIC, "acme-1", count=3)
    authorizer.authorize(context(), ACLOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, "acme-1")
    authorizer.authorize(context(), ACLOperation.WRITE, ResourceType.TOPIC, "acme-1", log_if_denied=False)
    authorizer.authorized_operations(context(), ResourceType.TOPIC, "acme-1")
    authorizer.authorize_by_resource_type(context(), ACLOperation.WRITE, ResourceType.TRANSACTIONAL_ID)
    assert lines(caplog) == [
        (
            "DEBUG",
            "Principal = User:alice is Allowed Operation = Read from host = 10.0.0.1 on resource = Topic:LITERAL:acme-1 "
            "for request = Fetch with resourceRefCount = 3 based on rule MatchingAcl(acl=StandardAcl(resourceType=TOPIC, "
            "resourceName=acme-, patternType=PREFIXED, principal=User:alice, host=*, operation=READ, permissionType=ALLOW))",
        ),
        (
            "INFO",
            "Principal = User:alice is Denied Operation = DescribeConfigs from host = 10.0.0.1 on resource = "
            "Topic:LITERAL:acme-1 for request = Fetch with resourceRefCount = 1 based on rule DefaultDeny",
        ),
        (
            "INFO",
            "Principal = User:alice is Denied Operation = Write from host = 10.0.0.1 on resource = "
            "TransactionalId:UNKNOWN:NONE for request = Fetch with resourceRefCount = 0 based on rule DefaultDeny",
        ),
    ]
    caplog.clear()
    caplog.set_level(5, "kafkapy.authorizer.logger")
    authorizer.authorized_operations(context(), ResourceType.GROUP, "g")
    assert len(lines(caplog)) == 3


def test_a_name_begins_no_line_of_its_own(store: FakeAclStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kafkapy.authorizer.logger")
    broker(store).authorize(
        context(KafkaPrincipal("User", "a\nb")), ACLOperation.READ, ResourceType.GROUP, "g\nPrincipal = User:admin"
    )
    ((_, text),) = lines(caplog)
    assert "\n" not in text and "User:a\\nb" in text


def test_every_decision_is_told_to_the_audit(store: FakeAclStore) -> None:
    heard: list[tuple[RequestContext, RequestedAction, AclDecision]] = []
    authorizer = broker(store, super_users=[ALICE], on_decision=lambda *told: heard.append(told))
    asked = context()
    authorizer.authorize(asked, ACLOperation.READ, ResourceType.TOPIC, "t")
    authorizer.authorize_by_resource_type(asked, ACLOperation.READ, ResourceType.TOPIC)
    assert heard == [
        (asked, RequestedAction(ACLOperation.READ, ResourceType.TOPIC, "LITERAL", "t"), AclDecision(True, "SuperUser")),
        (
            asked,
            RequestedAction(ACLOperation.READ, ResourceType.TOPIC, "UNKNOWN", "NONE", 0),
            AclDecision(True, "SuperUser"),
        ),
    ]


# --- authorizers of one's own ---------------------------------------------------------------------------------------------


class OwnTopics(Authorizer):
    """Topics that begin with the sender's name, and ACLs for the rest."""

    def __init__(self, *bindings: AclBinding) -> None:
        self.bindings = bindings

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        **options: object,
    ) -> bool:
        return name.startswith(context.principal.name)

    def acls(self, acl_filter: AclBindingFilter) -> list[AclBinding]:
        return [binding for binding in self.bindings if acl_filter.matches(binding)]


def test_one_of_ones_own_needs_one_method() -> None:
    authorizer = OwnTopics()
    assert authorizer.enabled
    assert authorizer.filter_authorized(context(), ACLOperation.READ, ResourceType.TOPIC, ["alice-1", "bob"]) == {
        "alice-1"
    }
    assert authorizer.authorized_operations(context(), ResourceType.GROUP, "bob") == 0
    assert not authorizer.authorize_by_resource_type(context(), ACLOperation.WRITE, ResourceType.TOPIC)
    assert OwnTopics(acl("t", WRITE)).authorize_by_resource_type(context(), ACLOperation.WRITE, ResourceType.TOPIC)
    for refused in (
        lambda: Authorizer.acls(authorizer, AclBindingFilter()),
        lambda: authorizer.create_acls(context(), []),
        lambda: authorizer.delete_acls(context(), []),
    ):
        with pytest.raises(KafkaError) as error:
            refused()
        assert error.value.error is Errors.SECURITY_DISABLED
