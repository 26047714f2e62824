"""The group APIs from the request's bytes to the response's, over the real coordinator and metadata cache."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest
from twisted.internet.task import Clock

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.coordinator.transaction.config import TransactionConfig
from kafkapy.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkapy.network.connection_quotas import ConnectionLimits
from kafkapy.network.large_requests import LargeRequests
from kafkapy.network.request import RequestContext
from kafkapy.network.send_queue import Part
from kafkapy.network.socket_server import SocketServer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkapy.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkapy.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.runtime.clock import MockClock
from kafkapy.server.api_handlers import HANDLERS, Handlers
from kafkapy.server.authorizer import Authorizer
from kafkapy.server.handlers.find_coordinator import FindCoordinatorHandler
from kafkapy.server.handlers.group_offsets import GroupOffsetsHandler
from kafkapy.server.handlers.groups import GroupsHandler
from kafkapy.server.kafka_apis import KafkaApis
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.quotas.quota_managers import QuotaManagers
from kafkapy.zk.errors import ZooKeeperError
from tests.coordinator.group.group_harness import DELAY, GROUP, Harness, subscription
from tests.server.broker_core import Client, HeldThreads

M = TypeVar("M", bound=Message)

LISTENER = "PLAINTEXT"
GROUP_APIS = [
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.DELETE_GROUPS,
    ApiKey.OFFSET_DELETE,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
]


class FakeAuthorizer(Authorizer):
    """Allows all but what a test denies."""

    enabled = True

    def __init__(self) -> None:
        self.denied: set[tuple[str, str, str]] = set()

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        **options: object,
    ) -> bool:
        return (operation.name, resource_type.name, name) not in self.denied


class FakeZooKeeper:
    def __init__(self) -> None:
        self.offsets: dict[tuple[str, object], int] = {}
        self.broken = False

    def get_consumer_offset(self, group: str, partition: object) -> int | None:
        if self.broken:
            raise ZooKeeperError("down")
        return self.offsets.get((group, partition))

    def set_or_create_consumer_offset(self, group: str, partition: object, offset: int) -> None:
        if self.broken:
            raise ZooKeeperError("down")
        self.offsets[group, partition] = offset


class Broker:
    def __init__(self) -> None:
        self.clock = HeldThreads()
        self.h = Harness(clock=self.clock)
        self.authorizer = FakeAuthorizer()
        self.zk = FakeZooKeeper()
        self.created: list[str] = []
        self.config = SimpleNamespace(offset_metadata_max_bytes=4096, inter_broker_protocol_version="3.9-IV0")
        self.cache = MetadataCache(0, MockClock())
        topics: Any = SimpleNamespace(create_internal_topic=lambda name, request: self.created.append(name))
        config, zk_client, authorizer = (cast(Any, part) for part in (self.config, self.zk, self.authorizer))
        groups = self.h.coordinator
        transactions = TransactionCoordinator(TransactionConfig(), self.h.log, self.clock)
        of_groups = {
            "find_coordinator": FindCoordinatorHandler(
                groups, transactions, self.cache, topics, authorizer, self.clock
            ),
            "groups": GroupsHandler(groups, authorizer, config, self.clock),
            "group_offsets": GroupOffsetsHandler(
                groups, self.cache, authorizer, config, zk_client, self.clock.in_thread, self.clock
            ),
        }
        no_others: dict[str, Any] = dict.fromkeys(Handlers._fields)
        handlers = Handlers(**(no_others | of_groups))
        in_thread = MockClock().in_thread
        self.sockets = SocketServer(Clock(), GROUP_APIS, 1 << 24, ConnectionLimits(), in_thread, in_thread)
        self.apis = KafkaApis(
            {api: HANDLERS[api](handlers) for api in GROUP_APIS},
            self.clock,
            LargeRequests(self.clock.in_thread),
            QuotaManagers(self.clock),
        )
        self.update({"t": [0, 0]})

    def update(self, topics: dict[str, list[int]]) -> None:
        """Topics with the leader of each partition."""
        state = UpdateMetadataRequest.UpdateMetadataPartitionState
        request = UpdateMetadataRequest(
            topic_states=[
                UpdateMetadataRequest.UpdateMetadataTopicState(
                    topic_name=name,
                    partition_states=[state(partition_index=n, leader=leader) for n, leader in enumerate(leaders)],
                )
                for name, leaders in topics.items()
            ],
            live_brokers=[
                UpdateMetadataRequest.UpdateMetadataBroker(
                    id=n,
                    endpoints=[
                        UpdateMetadataRequest.UpdateMetadataEndpoint(port=9092 + n, host=f"host{n}", listener=LISTENER)
                    ],
                )
                for n in range(2)
            ],
        )
        self.cache.update(request)

    def send(self, body: Message, version: int) -> list[Any]:
        """The list gets the response, as the client reads it, when it is there."""
        client = Client(self.sockets, self.apis, "me", LISTENER)
        answers: list[Any] = []
        send_parts = client.transport.send_parts

        def sent(parts: Iterable[Part]) -> None:
            send_parts(parts)
            answers.append(client.response())
            assert len(answers) == 1

        client.transport.send_parts = sent  # type: ignore[method-assign]
        client.send(body, version)
        return answers

    def ask(self, body: Message, version: int) -> Any:
        answers = self.send(body, version)
        assert answers, "no answer yet"
        return answers[0]


@pytest.fixture
def broker() -> Broker:
    return Broker()


def deny(broker: Broker, operation: str, resource_type: str, name: str) -> None:
    broker.authorizer.denied.add((operation, resource_type, name))


# -------------------------------------------------------------------------------------------------- FindCoordinator


@pytest.mark.parametrize("version", range(7))
def test_find_coordinator(broker: Broker, version: int) -> None:
    broker.update({"__consumer_offsets": [1] * 50})
    keys = {"coordinator_keys": ["g1", "g2"]} if version >= 4 else {"key": "g1"}
    response = broker.ask(FindCoordinatorRequest(**keys), version)
    found = response.coordinators if version >= 4 else [response]
    assert [(f.error_code, f.node_id, f.host, f.port) for f in found] == [(0, 1, "host1", 9093)] * len(found)
    if version >= 4:
        assert [f.key for f in found] == ["g1", "g2"]
        assert found[0].error_message == ""
    elif version >= 1:
        assert response.error_message == "NONE"


def test_find_coordinator_has_the_topic_created(broker: Broker) -> None:
    response = broker.ask(FindCoordinatorRequest(key="g"), 3)
    assert (Errors.for_code(response.error_code), response.node_id, response.host, response.port) == (
        Errors.COORDINATOR_NOT_AVAILABLE,
        -1,
        "",
        -1,
    )
    assert response.error_message == Errors.COORDINATOR_NOT_AVAILABLE.message
    assert broker.created == ["__consumer_offsets"]


@pytest.mark.parametrize("leader", [-1, 9])
def test_find_coordinator_without_a_live_leader(broker: Broker, leader: int) -> None:
    broker.update({"__consumer_offsets": [leader] * 50})
    [found] = broker.ask(FindCoordinatorRequest(coordinator_keys=["g"]), 6).coordinators
    assert Errors.for_code(found.error_code) is Errors.COORDINATOR_NOT_AVAILABLE
    assert broker.created == []


@pytest.mark.parametrize(
    ("key_type", "version", "error", "message"),
    [
        (1, 4, Errors.COORDINATOR_NOT_AVAILABLE, ""),
        (2, 5, Errors.INVALID_REQUEST, ""),
        (2, 6, Errors.COORDINATOR_NOT_AVAILABLE, ""),
        (9, 4, Errors.INVALID_REQUEST, Errors.INVALID_REQUEST.message),
    ],
)
def test_find_other_coordinators(broker: Broker, key_type: int, version: int, error: Errors, message: str) -> None:
    [found] = broker.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"]), version).coordinators
    assert (Errors.for_code(found.error_code), found.error_message, found.node_id) == (error, message, -1)


@pytest.mark.parametrize(
    ("key_type", "denied", "error"),
    [
        (0, ("DESCRIBE", "GROUP", "x"), Errors.GROUP_AUTHORIZATION_FAILED),
        (1, ("DESCRIBE", "TRANSACTIONAL_ID", "x"), Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (2, ("CLUSTER_ACTION", "CLUSTER", "kafka-cluster"), Errors.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_find_coordinator_denied(broker: Broker, key_type: int, denied: tuple[str, str, str], error: Errors) -> None:
    deny(broker, *denied)
    [found] = broker.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x"]), 6).coordinators
    assert Errors.for_code(found.error_code) is error


# -------------------------------------------------------------------------------------------------- membership


def join_request(version: int, member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000 if version else -1,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription("t"))],
    )


@pytest.mark.parametrize(("protocol", "refused"), [("2.2", True), ("2.3-IV0", False)])
@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (SyncGroupRequest(group_id=GROUP), 4),
        (HeartbeatRequest(group_id=GROUP), 4),
        (
            OffsetCommitRequest(
                group_id=GROUP,
                topics=[
                    OffsetCommitRequest.OffsetCommitRequestTopic(
                        name="t", partitions=[OffsetCommitRequest.OffsetCommitRequestPartition(committed_offset=5)]
                    )
                ],
            ),
            8,
        ),
    ],
)
def test_static_members_are_refused_before_2_3(
    broker: Broker, protocol: str, refused: bool, request_: Any, version: int
) -> None:
    def error() -> Errors:
        answer = broker.ask(request_, version)
        first = answer.topics[0].partitions[0] if version == 8 else answer
        return Errors.for_code(first.error_code)

    broker.config.inter_broker_protocol_version = protocol
    request_.group_instance_id = None
    assert error() is not Errors.UNSUPPORTED_VERSION
    request_.group_instance_id = "i"
    assert (error() is Errors.UNSUPPORTED_VERSION) == refused


def test_joining_as_a_static_member_is_refused_before_2_3_whoever_asks(broker: Broker) -> None:
    broker.config.inter_broker_protocol_version = "2.2"
    deny(broker, "READ", "GROUP", GROUP)
    request = join_request(5)
    request.group_instance_id = "i"
    for version, protocol_name in ((5, ""), (7, None)):
        answer = broker.ask(request, version)
        assert Errors.for_code(answer.error_code) is Errors.UNSUPPORTED_VERSION
        assert (answer.generation_id, answer.protocol_name, answer.leader, answer.member_id) == (
            -1, protocol_name, "", "",
        )  # fmt: skip
    assert Errors.for_code(broker.ask(join_request(5), 5).error_code) is Errors.GROUP_AUTHORIZATION_FAILED


def stable(broker: Broker, version: int = 9) -> str:
    """The member of a group of one."""
    answers = broker.send(join_request(version), version)
    if version >= 4:
        answers = broker.send(join_request(version, answers[0].member_id), version)
    assert not answers
    broker.h.advance(DELAY)
    member_id: str = answers[0].member_id
    v = min(version, 5)
    protocol = {"protocol_type": "consumer", "protocol_name": "range"} if v >= 5 else {}
    assigned = [SyncGroupRequest.SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")]
    request = SyncGroupRequest(group_id=GROUP, generation_id=1, member_id=member_id, assignments=assigned, **protocol)
    assert broker.ask(request, v).assignment == b"all"
    return member_id


@pytest.mark.parametrize("version", range(10))
def test_the_life_of_a_member_in_all_versions(broker: Broker, version: int) -> None:
    member_id = stable(broker, version)
    assert member_id.startswith("me-")
    beat = HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=member_id)
    assert broker.ask(beat, min(version, 4)).error_code == 0
    described = broker.ask(DescribeGroupsRequest(groups=[GROUP]), min(version, 5)).groups[0]
    assert (described.group_state, described.members[0].client_host) == ("Stable", "/127.0.0.1")
    [listed] = broker.ask(ListGroupsRequest(), min(version, 5)).groups
    assert (listed.group_id, listed.protocol_type) == (GROUP, "consumer")
    v = min(version, 5)
    leaving = (
        LeaveGroupRequest(group_id=GROUP, members=[LeaveGroupRequest.MemberIdentity(member_id=member_id)])
        if v >= 3
        else LeaveGroupRequest(group_id=GROUP, member_id=member_id)
    )
    assert broker.ask(leaving, v).error_code == 0
    [deleted] = broker.ask(DeleteGroupsRequest(groups_names=[GROUP, GROUP]), min(version, 2)).results
    assert deleted.error_code == 0


@pytest.mark.parametrize(("version", "name"), [(0, ""), (6, ""), (7, None), (9, None)])
def test_a_refused_join_names_no_protocol(broker: Broker, version: int, name: str | None) -> None:
    response = broker.ask(join_request(version, "ghost"), version)
    assert (response.error_code, response.protocol_name, response.member_id, response.generation_id) == (
        25,
        name,
        "ghost",
        -1,
    )
    deny(broker, "READ", "GROUP", GROUP)
    response = broker.ask(join_request(version, "ghost"), version)
    assert (response.error_code, response.protocol_name, response.member_id) == (30, name, "")


def test_sync_v5_must_name_the_protocol(broker: Broker) -> None:
    request = SyncGroupRequest(group_id=GROUP, generation_id=1, member_id="m", protocol_type="consumer")
    assert Errors.for_code(broker.ask(request, 5).error_code) is Errors.INCONSISTENT_GROUP_PROTOCOL
    assert Errors.for_code(broker.ask(request, 4).error_code) is Errors.UNKNOWN_MEMBER_ID


def test_membership_denied(broker: Broker) -> None:
    deny(broker, "READ", "GROUP", GROUP)
    for request, version in (
        (HeartbeatRequest(group_id=GROUP), 4),
        (LeaveGroupRequest(group_id=GROUP), 5),
        (SyncGroupRequest(group_id=GROUP, protocol_type="", protocol_name=""), 5),
    ):
        assert Errors.for_code(broker.ask(request, version).error_code) is Errors.GROUP_AUTHORIZATION_FAILED


# -------------------------------------------------------------------------------------------------- offsets


def commit_request(offsets: dict[str, list[int]], **more: Any) -> OffsetCommitRequest:
    """Offset 10 + p for the partitions p."""
    partition = OffsetCommitRequest.OffsetCommitRequestPartition
    return OffsetCommitRequest(
        group_id=GROUP,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    partition(partition_index=p, committed_offset=10 + p, committed_metadata="note") for p in partitions
                ],
            )
            for name, partitions in offsets.items()
        ],
        **more,
    )


def results(response: Any) -> dict[tuple[str, int], Errors]:
    return {
        (topic.name, p.partition_index): Errors.for_code(p.error_code)
        for topic in response.topics
        for p in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 10))
def test_commit_and_fetch_in_all_versions(broker: Broker, version: int) -> None:
    assert results(broker.ask(commit_request({"t": [0, 1]}), version)) == dict.fromkeys(
        (("t", 0), ("t", 1)), Errors.NONE
    )
    if version >= 8:
        wanted = [OffsetFetchRequest.OffsetFetchRequestTopics(name="t", partition_indexes=[0, 1, 9])]
        groups = [
            OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=wanted),
            OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=None),
            OffsetFetchRequest.OffsetFetchRequestGroup(group_id="nobody", topics=None),
        ]
        some, everything, nobody = broker.ask(OffsetFetchRequest(groups=groups), version).groups
        assert (nobody.group_id, nobody.error_code, nobody.topics) == ("nobody", 0, [])
    else:
        wanted_old = [OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1, 9])]
        some = broker.ask(OffsetFetchRequest(group_id=GROUP, topics=wanted_old), version)
        everything = broker.ask(OffsetFetchRequest(group_id=GROUP, topics=None), version) if version >= 2 else some
    assert some.error_code == 0
    [topic] = some.topics
    assert [(p.partition_index, p.committed_offset, p.metadata, p.error_code) for p in topic.partitions] == [
        (0, 10, "note", 0),
        (1, 11, "note", 0),
        (9, -1, "", 0),
    ]
    assert everything.topics[0].partitions[:2] == topic.partitions[:2]


def test_commit_to_what_is_not_there(broker: Broker) -> None:
    request = commit_request({"t": [5, 0], "gone": [0, 1]})
    assert results(broker.ask(request, 8)) == {
        ("t", 5): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        ("t", 0): Errors.NONE,
        ("gone", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        ("gone", 1): Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
    only_unknown = commit_request({"gone": [0]}, generation_id_or_member_epoch=5, member_id="ghost")
    assert results(broker.ask(only_unknown, 8)) == {("gone", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION}
    assert results(broker.ask(commit_request({}), 8)) == {}


def test_commit_denied(broker: Broker) -> None:
    deny(broker, "READ", "TOPIC", "t")
    assert results(broker.ask(commit_request({"t": [0, 7]}), 8)) == {
        ("t", 0): Errors.TOPIC_AUTHORIZATION_FAILED,
        ("t", 7): Errors.TOPIC_AUTHORIZATION_FAILED,
    }
    deny(broker, "READ", "GROUP", GROUP)
    assert results(broker.ask(commit_request({"t": [0]}), 8)) == {("t", 0): Errors.GROUP_AUTHORIZATION_FAILED}


def test_a_commit_is_answered_when_it_is_in_the_log(broker: Broker) -> None:
    broker.h.log.hold = True
    answers = broker.send(commit_request({"t": [0], "gone": [0]}), 8)
    assert answers == []
    broker.h.log.release()
    assert results(answers[0]) == {("gone", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION, ("t", 0): Errors.NONE}


def fetch_request(*topics: str) -> OffsetFetchRequest:
    wanted = [OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=[0]) for name in topics]
    return OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=wanted)])


def test_fetch_denied(broker: Broker) -> None:
    broker.update({"t": [0], "u": [0]})
    broker.ask(commit_request({"t": [0], "u": [0]}), 8)
    deny(broker, "DESCRIBE", "TOPIC", "u")
    [group] = broker.ask(fetch_request("u", "t"), 8).groups
    assert {
        topic.name: (topic.partitions[0].committed_offset, topic.partitions[0].error_code) for topic in group.topics
    } == {
        "t": (10, 0),
        "u": (-1, Errors.TOPIC_AUTHORIZATION_FAILED.code),
    }
    everything = OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUP, topics=None)])
    assert [topic.name for topic in broker.ask(everything, 8).groups[0].topics] == ["t"]
    deny(broker, "DESCRIBE", "GROUP", GROUP)
    [group] = broker.ask(fetch_request("t"), 8).groups
    assert (group.error_code, group.topics) == (Errors.GROUP_AUTHORIZATION_FAILED.code, [])


@pytest.mark.parametrize("version", [1, 2, 7])
def test_a_group_error_before_v8(broker: Broker, version: int) -> None:
    broker.h.coordinator.on_resignation(broker.h.coordinator.partition_for(GROUP), 2)
    wanted = [OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
    response = broker.ask(OffsetFetchRequest(group_id=GROUP, topics=wanted), version)
    if version >= 2:
        assert (response.error_code, response.topics) == (Errors.NOT_COORDINATOR.code, [])
    else:
        [partition] = response.topics[0].partitions
        assert (partition.error_code, partition.committed_offset) == (Errors.NOT_COORDINATOR.code, -1)


def test_version_0_keeps_offsets_in_zookeeper(broker: Broker) -> None:
    request = commit_request({"t": [0, 5]})
    unknown = Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert results(broker.ask(request, 0)) == {("t", 5): unknown, ("t", 0): Errors.NONE}
    assert broker.zk.offsets == {(GROUP, ("t", 0)): 10}
    assert broker.h.log.appended == 0
    wanted = [OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1, 9])]
    fetch = OffsetFetchRequest(group_id=GROUP, topics=wanted)
    [topic] = broker.ask(fetch, 0).topics
    assert [(p.partition_index, p.committed_offset, Errors.for_code(p.error_code)) for p in topic.partitions] == [
        (0, 10, Errors.NONE),
        (1, -1, unknown),
        (9, -1, unknown),
    ]
    broker.zk.broken = True
    assert results(broker.ask(commit_request({"t": [0]}), 0)) == {("t", 0): Errors.UNKNOWN_SERVER_ERROR}
    assert results(broker.ask(fetch, 0))["t", 0] is Errors.UNKNOWN_SERVER_ERROR
    deny(broker, "DESCRIBE", "TOPIC", "t")
    assert set(results(broker.ask(fetch, 0)).values()) == {Errors.TOPIC_AUTHORIZATION_FAILED}
    deny(broker, "DESCRIBE", "GROUP", GROUP)
    assert set(results(broker.ask(fetch, 0)).values()) == {Errors.GROUP_AUTHORIZATION_FAILED}


def test_version_0_bounds_metadata_too(broker: Broker) -> None:
    request = commit_request({"t": [0]})
    request.topics[0].partitions[0].committed_metadata = "m" * 4097
    assert results(broker.ask(request, 0)) == {("t", 0): Errors.OFFSET_METADATA_TOO_LARGE}


def delete_request(offsets: dict[str, list[int]]) -> OffsetDeleteRequest:
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition
    return OffsetDeleteRequest(
        group_id=GROUP,
        topics=[
            OffsetDeleteRequest.OffsetDeleteRequestTopic(
                name=name, partitions=[partition(partition_index=p) for p in ps]
            )
            for name, ps in offsets.items()
        ],
    )


def test_delete_offsets(broker: Broker) -> None:
    broker.ask(commit_request({"t": [0, 1]}), 8)
    response = broker.ask(delete_request({"t": [0, 22], "gone": [0]}), 0)
    assert response.error_code == 0
    assert results(response) == {
        ("t", 22): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        ("gone", 0): Errors.UNKNOWN_TOPIC_OR_PARTITION,
        ("t", 0): Errors.NONE,
    }
    assert broker.h.offsets() == {("t", 1): 11}
    deny(broker, "READ", "TOPIC", "t")
    assert results(broker.ask(delete_request({"t": [1]}), 0)) == {("t", 1): Errors.TOPIC_AUTHORIZATION_FAILED}
    deny(broker, "DELETE", "GROUP", GROUP)
    response = broker.ask(delete_request({"t": [1]}), 0)
    assert (Errors.for_code(response.error_code), response.topics) == (Errors.GROUP_AUTHORIZATION_FAILED, [])


def test_delete_offsets_of_nobody(broker: Broker) -> None:
    response = broker.ask(delete_request({"gone": [0]}), 0)
    assert (Errors.for_code(response.error_code), response.topics) == (Errors.GROUP_ID_NOT_FOUND, [])


# -------------------------------------------------------------------------------------------------- administration


def test_describe_with_authorized_operations(broker: Broker) -> None:
    stable(broker)
    deny(broker, "DESCRIBE", "GROUP", "secret")
    deny(broker, "DELETE", "GROUP", GROUP)
    request = DescribeGroupsRequest(groups=[GROUP, "secret", "nobody"], include_authorized_operations=True)
    secret, group, nobody = broker.ask(request, 5).groups
    assert (secret.group_id, Errors.for_code(secret.error_code)) == ("secret", Errors.GROUP_AUTHORIZATION_FAILED)
    assert secret.authorized_operations == -(2**31)
    assert group.authorized_operations == 1 << 3 | 1 << 8  # READ, DESCRIBE
    assert (nobody.group_state, nobody.authorized_operations) == ("Dead", 1 << 3 | 1 << 6 | 1 << 8)
    without = broker.ask(DescribeGroupsRequest(groups=[GROUP]), 5).groups[0]
    assert without.authorized_operations == -(2**31)


def test_list_shows_what_may_be_described(broker: Broker) -> None:
    stable(broker)
    broker.h.commit({("t", 0): 1}, group_id="other")
    deny(broker, "DESCRIBE", "GROUP", "other")
    assert {g.group_id for g in broker.ask(ListGroupsRequest(), 5).groups} == {GROUP, "other"}
    deny(broker, "DESCRIBE", "CLUSTER", "kafka-cluster")
    [group] = broker.ask(ListGroupsRequest(), 5).groups
    assert (group.group_id, group.group_state, group.group_type) == (GROUP, "Stable", "classic")


def test_delete_denied(broker: Broker) -> None:
    broker.h.commit({("t", 0): 1})
    deny(broker, "DELETE", "GROUP", "secret")
    response = broker.ask(DeleteGroupsRequest(groups_names=["secret", GROUP]), 2)
    assert {r.group_id: Errors.for_code(r.error_code) for r in response.results} == {
        GROUP: Errors.NONE,
        "secret": Errors.GROUP_AUTHORIZATION_FAILED,
    }


def test_the_new_group_protocol_is_not_served(broker: Broker) -> None:
    beat = broker.ask(ConsumerGroupHeartbeatRequest(group_id=GROUP), 0)
    assert (Errors.for_code(beat.error_code), beat.error_message) == (Errors.UNSUPPORTED_VERSION, None)
    described = broker.ask(ConsumerGroupDescribeRequest(group_ids=["a", "b"]), 0).groups
    assert [(g.group_id, Errors.for_code(g.error_code)) for g in described] == [
        ("a", Errors.UNSUPPORTED_VERSION),
        ("b", Errors.UNSUPPORTED_VERSION),
    ]
