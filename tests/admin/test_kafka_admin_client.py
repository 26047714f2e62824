"""The admin client's core on a cluster in memory: where requests go, and what becomes of the answers."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from twisted.internet import selectreactor, task

import kafkapy.aio
import kafkapy.tx
from kafkapy import KafkaAdminClient, OffsetAndMetadata, OffsetSpec, TopicPartition
from kafkapy.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    AlterConfigOp,
    ConfigResource,
    GroupState,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetTimestamp,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from kafkapy.admin.kafka_python.core import KafkaPythonCore
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.network_client import NetworkClient
from kafkapy.errors import (
    IllegalArgumentError,
    IncompatibleBrokerVersion,
    KafkaConfigurationError,
    KafkaTimeoutError,
    NoError,
    NonEmptyGroupError,
    NotControllerError,
    OffsetOutOfRangeError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_configs import AlterConfigsResponse
from kafkapy.protocol.messages.create_partitions import CreatePartitionsResponse
from kafkapy.protocol.messages.create_topics import CreateTopicsResponse
from kafkapy.protocol.messages.delete_groups import DeleteGroupsResponse
from kafkapy.protocol.messages.delete_records import DeleteRecordsResponse
from kafkapy.protocol.messages.delete_topics import DeleteTopicsResponse
from kafkapy.protocol.messages.describe_configs import DescribeConfigsResponse
from kafkapy.protocol.messages.describe_groups import DescribeGroupsResponse
from kafkapy.protocol.messages.describe_producers import DescribeProducersResponse
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsResponse
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupResponse
from kafkapy.protocol.messages.list_groups import ListGroupsResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse
from kafkapy.protocol.messages.list_transactions import ListTransactionsResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.runtime.completion import spawn
from tests.fake_broker import FakeBroker
from tests.memory_driver import MemoryCluster, MemoryDriver

T = TypeVar("T")
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Setup:
    def __init__(self, brokers: int = 2) -> None:
        self.cluster = MemoryCluster(brokers)
        self.cluster.add_topic("t", [0, 1])
        self.driver = MemoryDriver(self.cluster)
        self.client = NetworkClient(
            self.driver, ClientConfig(bootstrap_servers="broker-0:9092", request_timeout_ms=2000)
        )
        self.run(self.client.bootstrap())
        self.admin = KafkaPythonCore(self.client)

    def run(self, coroutine: Coroutine[Any, Any, T], within_ms: int = 3000) -> T:
        return self.driver.result_of(spawn(coroutine), within_ms)

    def on(self, api_key: ApiKey, handler: Any) -> None:
        """The same on all brokers; a handler of two arguments is told the broker's id, too."""
        for broker in self.cluster.brokers.values():
            broker.handlers[api_key] = handler(broker.node_id) if callable(handler) and _takes_id(handler) else handler

    def asked(self, api_key: ApiKey) -> list[tuple[int, int, Any]]:
        """(broker, version, request) in the order of brokers."""
        return [
            (node_id, version, message)
            for node_id, broker in self.cluster.brokers.items()
            for key, version, message in broker.requests
            if key is api_key
        ]

    def limit(self, api_key: ApiKey, highest: int) -> None:
        for broker in self.cluster.brokers.values():
            broker.ranges[api_key] = (0, highest)
        self.reconnect()

    def reconnect(self) -> None:
        """So that what brokers serve is asked anew."""
        for node_id in self.cluster.brokers:
            self.client.disconnect(node_id)


def _takes_id(handler: Any) -> bool:
    return list(inspect.signature(handler).parameters) == ["node_id"]


@pytest.fixture
def setup() -> Setup:
    return Setup()


# --- topics


def created(*codes: int) -> Any:
    results = list(codes)

    def handle(request: Any) -> CreateTopicsResponse:
        topic = CreateTopicsResponse.CreatableTopicResult
        code = results.pop(0)
        return CreateTopicsResponse(
            topics=[topic(name=t.name, error_code=code, error_message=None) for t in request.topics]
        )

    return handle


def test_create_topics_takes_three_forms(setup: Setup) -> None:
    setup.on(ApiKey.CREATE_TOPICS, created(0, 0, 0))
    setup.run(setup.admin.create_topics(["a", "b"]))
    setup.run(setup.admin.create_topics([NewTopic("c", 2, 1, topic_configs={"x": "1"})]))
    answer = setup.run(
        setup.admin.create_topics({"d": {"assignments": {0: [1, 2]}, "configs": {"y": 2}}}, timeout_ms=70)
    )
    first, second, third = [message for _, _, message in setup.asked(ApiKey.CREATE_TOPICS)]
    assert [(t.name, t.num_partitions, t.replication_factor) for t in first.topics] == [("a", -1, -1), ("b", -1, -1)]
    assert (second.topics[0].num_partitions, second.topics[0].configs[0].value) == (2, "1")
    assert (third.topics[0].assignments[0].broker_ids, third.topics[0].configs[0].value) == ([1, 2], "2")
    assert (first.timeout_ms, third.timeout_ms) == (2000, 70)
    assert answer["topics"][0] == {
        "name": "d",
        "topic_id": None,
        "error_code": 0,
        "error_message": None,
        "topic_config_error_code": 0,
        "num_partitions": -1,
        "replication_factor": -1,
    }


def test_errors_are_raised_or_told(setup: Setup) -> None:
    setup.on(ApiKey.CREATE_TOPICS, created(36, 36))
    with pytest.raises(TopicAlreadyExistsError):
        setup.run(setup.admin.create_topics(["a"]))
    assert setup.run(setup.admin.create_topics(["a"], raise_errors=False))["topics"][0]["error_code"] == 36
    with pytest.raises(ValueError, match="No valid topics"):
        setup.run(setup.admin.create_topics([]))


def test_requests_for_the_controller_go_to_the_new_one_when_it_moves(setup: Setup) -> None:
    code = NotControllerError.errno or 0
    setup.cluster.brokers[0].handlers[ApiKey.CREATE_TOPICS] = created(code)
    setup.cluster.brokers[1].handlers[ApiKey.CREATE_TOPICS] = created(0)
    setup.cluster.controller_id = 1
    assert setup.run(setup.admin.create_topics(["a"]))["topics"][0]["error_code"] == 0
    assert [node_id for node_id, _, _ in setup.asked(ApiKey.CREATE_TOPICS)] == [0, 1]


def test_a_controller_that_is_gone_is_waited_for(setup: Setup) -> None:
    setup.cluster.down.add(0)
    setup.cluster.brokers[0].cut()
    setup.on(ApiKey.CREATE_TOPICS, created(0))
    setup.cluster.controller_id = 1
    setup.run(setup.admin.create_topics(["a"]))
    setup.cluster.down.add(1)
    setup.cluster.brokers[1].cut()
    with pytest.raises(KafkaTimeoutError, match="CreateTopics timed out after 2000 ms"):
        setup.run(setup.admin.create_topics(["a"]), 10_000)


def test_old_brokers_need_counts(setup: Setup) -> None:
    setup.limit(ApiKey.CREATE_TOPICS, 3)
    setup.on(ApiKey.CREATE_TOPICS, created(0))
    with pytest.raises(IncompatibleBrokerVersion, match="num_partitions and replication_factor must be given"):
        setup.run(setup.admin.create_topics(["a"]))
    setup.run(setup.admin.create_topics([NewTopic("a", 1, 1)]))


def test_topics_are_deleted_by_name_or_id(setup: Setup) -> None:
    result = DeleteTopicsResponse.DeletableTopicResult
    setup.on(ApiKey.DELETE_TOPICS, lambda request: DeleteTopicsResponse(responses=[result(name="a")]))
    by_id = uuid.uuid4()
    assert setup.run(setup.admin.delete_topics(["a", by_id]))["topics"][0]["name"] == "a"
    (_, _, request) = setup.asked(ApiKey.DELETE_TOPICS)[0]
    assert [(t.name, t.topic_id) for t in request.topics] == [("a", bytes(16)), (None, by_id.bytes)]
    setup.limit(ApiKey.DELETE_TOPICS, 5)
    setup.run(setup.admin.delete_topics(["a"]))
    assert setup.asked(ApiKey.DELETE_TOPICS)[-1][2].topic_names == ["a"]


def test_topics_are_described_and_listed(setup: Setup) -> None:
    assert setup.run(setup.admin.list_topics()) == ["t"]
    (topic,) = setup.run(setup.admin.describe_topics(["t"]))
    assert (topic["name"], topic["error_code"], [p["leader_id"] for p in topic["partitions"]]) == ("t", 0, [0, 1])
    (missing,) = setup.run(setup.admin.describe_topics(["nope"]))
    assert missing["error_code"] == 3


def test_waiting_for_topics(setup: Setup) -> None:
    setup.cluster.add_topic("slow", [-1])
    waiting = spawn(setup.admin.wait_for_topics(["slow", "t"]))
    setup.driver.advance(500)
    assert not waiting.done
    setup.cluster.add_topic("slow", [0])
    setup.driver.result_of(waiting, 500)
    with pytest.raises(KafkaTimeoutError, match="UnknownTopicOrPartitionError"):
        setup.run(setup.admin.wait_for_topics(["never"], timeout_ms=300))


# --- partitions


def test_more_partitions(setup: Setup) -> None:
    setup.on(ApiKey.CREATE_PARTITIONS, lambda request: CreatePartitionsResponse())
    wanted: dict[str, Any] = {"a": 3, "b": NewPartitions(4, [[1]]), "c": {"count": 5, "assignments": [[2], [3]]}}
    setup.run(setup.admin.create_partitions(wanted, validate_only=True))
    ((_, _, request),) = setup.asked(ApiKey.CREATE_PARTITIONS)
    assert request.validate_only
    assert [(t.name, t.count, t.assignments and [a.broker_ids for a in t.assignments]) for t in request.topics] == [
        ("a", 3, None),
        ("b", 4, [[1]]),
        ("c", 5, [[2], [3]]),
    ]


def deleted(codes: dict[tuple[int, int], list[int]]) -> Any:
    """(broker, partition) -> error codes of one request after the other."""

    def handler(node_id: int) -> Any:
        def handle(request: Any) -> DeleteRecordsResponse:
            part = DeleteRecordsResponse.DeleteRecordsPartitionResult
            topic = DeleteRecordsResponse.DeleteRecordsTopicResult
            return DeleteRecordsResponse(
                topics=[
                    topic(
                        name=t.name,
                        partitions=[
                            part(
                                partition_index=p.partition_index,
                                low_watermark=p.offset,
                                error_code=codes[node_id, p.partition_index].pop(0),
                            )
                            for p in t.partitions
                        ],
                    )
                    for t in request.topics
                ]
            )

        return handle

    return handler


def test_records_are_deleted_at_the_leaders_also_when_they_move(setup: Setup) -> None:
    setup.on(ApiKey.DELETE_RECORDS, deleted({(0, 0): [0], (1, 1): [6], (0, 1): [0]}))
    results = spawn(setup.admin.delete_records({P0: 5, P1: 7}))
    setup.driver.run()
    setup.cluster.add_topic("t", [0, 0])
    assert setup.driver.result_of(results, 1000) == {
        P0: {"partition_index": 0, "low_watermark": 5, "error_code": 0},
        P1: {"partition_index": 1, "low_watermark": 7, "error_code": 0},
    }


def test_errors_of_partitions(setup: Setup) -> None:
    setup.on(ApiKey.DELETE_RECORDS, deleted({(0, 0): [1]}))
    with pytest.raises(OffsetOutOfRangeError, match="topic t partition 0"):
        setup.run(setup.admin.delete_records({P0: 5}))
    with pytest.raises(UnknownTopicOrPartitionError, match="not known: t-9"):
        setup.run(setup.admin.delete_records({TopicPartition("t", 9): 5}), 10)


def offsets(request: Any) -> ListOffsetsResponse:
    """Earliest 10, latest 20, a time: itself."""
    answer = {-2: 10, -1: 20}
    part = ListOffsetsResponse.ListOffsetsPartitionResponse
    topic = ListOffsetsResponse.ListOffsetsTopicResponse
    return ListOffsetsResponse(
        topics=[
            topic(
                name=t.name,
                partitions=[
                    part(partition_index=p.partition_index, offset=answer.get(p.timestamp, p.timestamp), leader_epoch=3)
                    for p in t.partitions
                ],
            )
            for t in request.topics
        ]
    )


def test_offsets_are_looked_up_at_the_leaders(setup: Setup) -> None:
    setup.on(ApiKey.LIST_OFFSETS, offsets)
    found = setup.run(setup.admin.list_partition_offsets({P0: OffsetSpec.LATEST, P1: 15}, "read_committed"))
    assert (found[P0].offset, found[P1].offset, found[P0].leader_epoch) == (20, 15, 3)
    assert [(node_id, message.isolation_level) for node_id, _, message in setup.asked(ApiKey.LIST_OFFSETS)] == [
        (0, 1),
        (1, 1),
    ]
    setup.limit(ApiKey.LIST_OFFSETS, 6)
    with pytest.raises(IncompatibleBrokerVersion):
        setup.run(setup.admin.list_partition_offsets({P0: OffsetSpec.MAX_TIMESTAMP}))


def test_what_no_offset_can_be_looked_up_by_is_named(setup: Setup) -> None:
    with pytest.raises(ValueError, match="it is 'committed'"):
        setup.run(setup.admin.list_partition_offsets({P0: 0}, "committed"))
    with pytest.raises(ValueError, match="not -100"):
        setup.run(setup.admin.list_partition_offsets({P0: -100}))


# --- configs


def described_configs(request: Any) -> DescribeConfigsResponse:
    config = DescribeConfigsResponse.DescribeConfigsResourceResult
    result = DescribeConfigsResponse.DescribeConfigsResult
    configs = [
        config(name="set", value="1", config_source=1, config_type=5),
        config(name="default", value="2", config_source=5),
        config(name="fixed", value="3", config_source=4, read_only=True),
    ]
    return DescribeConfigsResponse(
        results=[
            result(resource_type=r.resource_type, resource_name=r.resource_name, configs=configs)
            for r in request.resources
        ]
    )


def altered(response: Any) -> Any:
    def handle(request: Any) -> Any:
        entry = response.AlterConfigsResourceResponse
        return response(
            responses=[
                entry(
                    resource_type=r.resource_type,
                    resource_name=r.resource_name,
                    error_code=40 if r.resource_name == "bad" else 0,
                    error_message="no",
                )
                for r in request.resources
            ]
        )

    return handle


def test_configs_are_shown_through_a_filter(setup: Setup) -> None:
    setup.on(ApiKey.DESCRIBE_CONFIGS, described_configs)
    shown = {
        name: sorted(
            setup.run(setup.admin.describe_configs([ConfigResource("topic", "t")], config_filter=name))["topic"]["t"]
        )
        for name in ("modified", "all", "dynamic", "default", "static")
    }
    assert shown == {
        "modified": ["set"],
        "all": ["default", "fixed", "set"],
        "dynamic": ["default", "set"],
        "default": ["default", "fixed"],
        "static": ["fixed"],
    }


def test_a_brokers_configs_are_asked_of_itself(setup: Setup) -> None:
    setup.on(ApiKey.DESCRIBE_CONFIGS, described_configs)
    setup.run(setup.admin.describe_configs([ConfigResource("broker", "1")]))
    assert [node_id for node_id, _, _ in setup.asked(ApiKey.DESCRIBE_CONFIGS)] == [1]
    with pytest.raises(ValueError, match="a number"):
        setup.run(setup.admin.describe_configs([ConfigResource("broker", "one")]))


def test_configs_are_altered_incrementally(setup: Setup) -> None:
    setup.on(ApiKey.DESCRIBE_CONFIGS, described_configs)
    setup.on(ApiKey.INCREMENTAL_ALTER_CONFIGS, altered(IncrementalAlterConfigsResponse))
    configs = {"set": ("append", 5), "default": (AlterConfigOp.DELETE, "x")}
    resources = [ConfigResource("topic", "t", configs), ConfigResource("topic", "bad", {"set": "1"})]
    assert setup.run(setup.admin.alter_configs(resources)) == {
        "topic": {"t": "OK", "bad": "[Error 40] InvalidConfigurationError: no"}
    }
    ((_, _, request),) = setup.asked(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    assert [(c.name, c.config_operation, c.value) for c in request.resources[0].configs] == [
        ("set", 2, "5"),
        ("default", 1, None),
    ]
    with pytest.raises(ValueError, match=r"Unrecognized configs: \{'nonsense'\}"):
        setup.run(setup.admin.alter_configs([ConfigResource("topic", "t", {"nonsense": "1"})]))


def test_old_brokers_are_told_all_that_shall_stay(setup: Setup) -> None:
    setup.on(ApiKey.DESCRIBE_CONFIGS, described_configs)
    setup.on(ApiKey.ALTER_CONFIGS, altered(AlterConfigsResponse))
    for broker in setup.cluster.brokers.values():
        del broker.ranges[ApiKey.INCREMENTAL_ALTER_CONFIGS]
    setup.reconnect()
    setup.run(setup.admin.alter_configs([ConfigResource("topic", "t", {"default": "9"})]))
    setup.run(setup.admin.reset_configs([ConfigResource("topic", "t", ["set"])]))
    requests = [message for _, _, message in setup.asked(ApiKey.ALTER_CONFIGS)]
    written = sorted(sorted((c.name, c.value) for c in request.resources[0].configs) for request in requests)
    assert written == [[], [("default", "9"), ("set", "1")]]


def test_reset_without_names_resets_what_is_set(setup: Setup) -> None:
    setup.on(ApiKey.DESCRIBE_CONFIGS, described_configs)
    setup.on(ApiKey.INCREMENTAL_ALTER_CONFIGS, altered(IncrementalAlterConfigsResponse))
    setup.run(setup.admin.reset_configs([ConfigResource("topic", "t")]))
    ((_, _, request),) = setup.asked(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    assert [(c.name, c.config_operation) for c in request.resources[0].configs] == [("set", 1)]


# --- groups


def coordinated_by(node_id: int, *codes: int) -> Any:
    left = list(codes)

    def handle(request: Any) -> FindCoordinatorResponse:
        code = left.pop(0) if left else 0
        row = FindCoordinatorResponse.Coordinator
        rows = [row(key=key, node_id=node_id, error_code=code) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=rows)

    return handle


def committed(request: Any) -> OffsetFetchResponse:
    group = OffsetFetchResponse.OffsetFetchResponseGroup
    topic = OffsetFetchResponse.OffsetFetchResponseTopics
    part = OffsetFetchResponse.OffsetFetchResponsePartitions
    topics = [topic(name="t", partitions=[part(partition_index=0, committed_offset=4, metadata="m")])]
    return OffsetFetchResponse(groups=[group(group_id=g.group_id, topics=topics) for g in request.groups])


def test_offsets_of_groups_come_from_their_coordinator(setup: Setup) -> None:
    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(1, 15, 14))
    setup.on(ApiKey.OFFSET_FETCH, committed)
    found = setup.run(setup.admin.list_group_offsets(["g", "h"]))
    assert found == {group: {P0: OffsetAndMetadata(4, "m", -1)} for group in ("g", "h")}
    assert [node_id for node_id, _, _ in setup.asked(ApiKey.OFFSET_FETCH)] == [1]
    setup.run(setup.admin.list_group_offsets({"g": [P0, P1]}))
    request = setup.asked(ApiKey.OFFSET_FETCH)[-1][2]
    assert [(t.name, t.partition_indexes) for t in request.groups[0].topics] == [("t", [0, 1])]


def test_a_coordinator_that_moves_is_followed(setup: Setup) -> None:
    commit = OffsetCommitResponse
    answers = {0: [16], 1: [0]}

    def handler(node_id: int) -> Any:
        def handle(request: Any) -> Any:
            part = commit.OffsetCommitResponsePartition(partition_index=0, error_code=answers[node_id].pop(0))
            return commit(topics=[commit.OffsetCommitResponseTopic(name="t", partitions=[part])])

        return handle

    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(0))
    setup.on(ApiKey.OFFSET_COMMIT, handler)
    result = spawn(setup.admin.alter_group_offsets("g", {P0: OffsetAndMetadata(3)}))
    setup.driver.run()
    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(1))
    assert setup.driver.result_of(result, 1000) == {P0: NoError}


def test_a_coordinator_that_is_gone_is_looked_for_anew(setup: Setup) -> None:
    """It was the coordinator when somebody was asked last; that it cannot be reached is no answer of its own."""
    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(1))
    setup.on(ApiKey.OFFSET_FETCH, committed)
    setup.run(setup.admin.list_group_offsets("g"))
    setup.cluster.brokers.pop(1).cut()
    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(0))
    assert setup.run(setup.admin.list_group_offsets(["g"])) == {"g": {P0: OffsetAndMetadata(4, "m", -1)}}


def test_offsets_are_reset_into_the_range_of_the_partition(setup: Setup) -> None:
    written: dict[int, int] = {}

    def commit(request: Any) -> OffsetCommitResponse:
        part, topic = OffsetCommitResponse.OffsetCommitResponsePartition, OffsetCommitResponse.OffsetCommitResponseTopic
        parts = request.topics[0].partitions
        written.update({p.partition_index: p.committed_offset for p in parts})
        return OffsetCommitResponse(
            topics=[topic(name="t", partitions=[part(partition_index=p.partition_index) for p in parts])]
        )

    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(0))
    setup.on(ApiKey.OFFSET_FETCH, committed)
    setup.on(ApiKey.LIST_OFFSETS, offsets)
    setup.on(ApiKey.OFFSET_COMMIT, commit)
    for spec, expected in ((3, 10), (15, 15), (99, 20), (OffsetSpec.EARLIEST, 10), (OffsetTimestamp(17), 17)):
        result = setup.run(setup.admin.reset_group_offsets("g", {P0: spec}))
        assert result == {P0: {"error": NoError, "offset": expected}}
        assert written[0] == expected


def test_groups_are_listed_from_all_brokers(setup: Setup) -> None:
    def handler(node_id: int) -> Any:
        group = ListGroupsResponse.ListedGroup(group_id=f"g{node_id}", protocol_type="consumer", group_state="Empty")
        return lambda request: ListGroupsResponse(groups=[group])

    setup.on(ApiKey.LIST_GROUPS, handler)
    listed = setup.run(setup.admin.list_groups(states_filter=[GroupState.EMPTY, "stable"]))
    assert [group["group_id"] for group in listed] == ["g0", "g1"]
    assert setup.asked(ApiKey.LIST_GROUPS)[0][2].states_filter == ["Empty", "Stable"]
    setup.limit(ApiKey.LIST_GROUPS, 3)
    with pytest.raises(IncompatibleBrokerVersion):
        setup.run(setup.admin.list_groups(states_filter=["Empty"]))


def test_a_broker_that_loads_its_groups_is_asked_again(setup: Setup) -> None:
    left = [Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.COORDINATOR_LOAD_IN_PROGRESS]

    def handler(node_id: int) -> Any:
        def answer(request: Any) -> ListGroupsResponse:
            code = left.pop().code if node_id == 1 and left else 0
            group = ListGroupsResponse.ListedGroup(group_id=f"g{node_id}", protocol_type="consumer")
            return ListGroupsResponse(error_code=code, groups=[] if code else [group])

        return answer

    setup.on(ApiKey.LIST_GROUPS, handler)
    assert setup.run(setup.admin.list_consumer_groups()) == [("g0", "consumer"), ("g1", "consumer")]
    assert left == []


def test_members_are_removed_one_by_one_from_old_brokers(setup: Setup) -> None:
    setup.limit(ApiKey.LEAVE_GROUP, 2)
    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(0))
    setup.on(ApiKey.LEAVE_GROUP, lambda request: LeaveGroupResponse())
    assert setup.run(setup.admin.remove_group_members("g", [MemberToRemove("m")])) == {"m": NoError}
    assert setup.asked(ApiKey.LEAVE_GROUP)[0][2].member_id == "m"


# --- values


def test_acls_that_make_no_sense() -> None:
    everything = ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
    topic = ResourcePattern(ResourceType.TOPIC, "t")
    read, allow = ACLOperation.READ, ACLPermissionType.ALLOW
    ACLFilter(None, None, ACLOperation.ANY, ACLPermissionType.ANY, everything)
    assert ACL("User:x", "*", read, allow, topic) == ACL("User:x", "*", read, allow, topic)
    for make in (
        lambda: ResourcePattern(ResourceType.ANY, "t"),
        lambda: ResourcePattern(ResourceType.TOPIC, "t", ACLResourcePatternType.MATCH),
        lambda: ACL("User:x", "*", ACLOperation.ANY, allow, topic),
        lambda: ACL("User:x", "*", read, allow, everything),
        lambda: ACLFilter(None, None, 3, allow, everything),  # type: ignore[arg-type]
    ):
        with pytest.raises(IllegalArgumentError):
            make()


def test_a_password_is_salted_as_the_broker_expects_it() -> None:
    upsertion = UserScramCredentialUpsertion("u", "scram-sha-256", "pencil", 4096, salt=b"salt")
    assert upsertion.mechanism is ScramMechanism.SCRAM_SHA_256
    assert len(upsertion.salted_password) == 32


# --- the faces


def test_options() -> None:
    with pytest.raises(KafkaConfigurationError, match="Unrecognized configs: colour"):
        KafkaAdminClient(colour="red")  # type: ignore[call-arg]  # there is none
    with pytest.raises(KafkaConfigurationError, match="proxy_url is not supported"):
        KafkaAdminClient(proxy_url="socks5://x")  # type: ignore[call-arg]  # kafka-python's alone


def test_all_three_faces() -> None:
    with FakeBroker() as broker:
        with KafkaAdminClient(bootstrap_servers=broker.address) as admin:
            assert admin.list_topics() == []
            assert str(inspect.signature(admin.delete_topics)).startswith("(topics")
            assert not inspect.iscoroutinefunction(admin.delete_topics)

        async def work() -> list[str]:
            async with kafkapy.aio.KafkaAdminClient(bootstrap_servers=broker.address) as admin:
                topics: list[str] = await admin.list_topics()
                return topics

        assert asyncio.run(work()) == []
        found: list[Any] = []

        def main(reactor: Any) -> Any:
            admin = kafkapy.tx.KafkaAdminClient(reactor, bootstrap_servers=broker.address)
            started = admin.start().addCallback(lambda a: a.list_topics()).addCallback(found.append)
            return started.addCallback(lambda _: admin.stop())

        with pytest.raises(SystemExit) as end:
            task.react(main, _reactor=selectreactor.SelectReactor())
        assert (end.value.code, found) == (0, [[]])


def test_no_broker() -> None:
    with pytest.raises(KafkaTimeoutError, match="Unable to bootstrap"):
        KafkaAdminClient(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=150)


def test_groups_under_kafka_python_2_s_names(setup: Setup) -> None:
    subscription = ConsumerProtocolSubscription(topics=["t"]).to_version_prefixed_bytes(0)
    share = ConsumerProtocolAssignment.TopicPartition(topic="t", partitions=[0, 1])
    assignment = ConsumerProtocolAssignment(assigned_partitions=[share]).to_version_prefixed_bytes(0)
    member = DescribeGroupsResponse.DescribedGroupMember(
        member_id="m", client_id="c", client_host="h", member_metadata=subscription, member_assignment=assignment
    )
    group = DescribeGroupsResponse.DescribedGroup(
        group_id="g", group_state="Stable", protocol_type="consumer", protocol_data="range", members=[member]
    )
    listed = ListGroupsResponse.ListedGroup(group_id="g", protocol_type="consumer", group_state="Stable")
    deleted = DeleteGroupsResponse.DeletableGroupResult(group_id="g", error_code=68)
    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(1))
    setup.on(ApiKey.DESCRIBE_GROUPS, lambda request: DescribeGroupsResponse(groups=[group]))
    setup.on(ApiKey.LIST_GROUPS, lambda request: ListGroupsResponse(groups=[listed]))
    setup.on(ApiKey.OFFSET_FETCH, committed)
    setup.on(ApiKey.DELETE_GROUPS, lambda request: DeleteGroupsResponse(results=[deleted]))
    admin = setup.admin
    assert setup.run(admin.list_consumer_groups(broker_ids=[0])) == [("g", "consumer")]
    (described,) = setup.run(admin.describe_consumer_groups(["g"]))
    assert (described.group, described.state, described.protocol) == ("g", "Stable", "range")
    (seen,) = described.members
    assert (seen.client_host, seen.member_metadata.topics, seen.member_assignment.partitions()) == (
        "h",
        ["t"],
        [P0, P1],
    )
    assert setup.run(admin.list_consumer_group_offsets("g")) == {P0: OffsetAndMetadata(4, "m", -1)}
    assert setup.run(admin.delete_consumer_groups(["g"])) == [("g", NonEmptyGroupError)]


def test_transactions_that_hang_by_their_coordinators(setup: Setup) -> None:
    """One is too old, one is young, one has ended, one has expired since it was listed."""
    minute, now = 60_000, setup.driver.time.milliseconds()
    known = {"old": ("Ongoing", 25), "young": ("Ongoing", 5), "over": ("CompleteCommit", 25)}
    listed = ListTransactionsResponse.TransactionState
    state = DescribeTransactionsResponse.TransactionState

    def describe(request: Any) -> DescribeTransactionsResponse:
        states = []
        for name in request.transactional_ids:
            if name in known:
                what, minutes = known[name]
                start_ms = now - minutes * minute
                states.append(state(transactional_id=name, transaction_state=what, transaction_start_time_ms=start_ms))
            else:
                states.append(state(transactional_id=name, error_code=Errors.TRANSACTIONAL_ID_NOT_FOUND.code))
        return DescribeTransactionsResponse(transaction_states=states)

    def list_all(request: Any) -> ListTransactionsResponse:
        states = [listed(transactional_id=name, transaction_state="Ongoing") for name in (*known, "expired")]
        return ListTransactionsResponse(transaction_states=states)

    setup.on(ApiKey.LIST_TRANSACTIONS, list_all)
    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(1))
    setup.on(ApiKey.DESCRIBE_TRANSACTIONS, describe)
    setup.on(ApiKey.DESCRIBE_PRODUCERS, producers_of({}))
    (hanging,) = setup.run(setup.admin.find_hanging_transactions())
    assert (hanging["transactional_id"], hanging["state"], hanging["coordinator_id"]) == ("old", "Ongoing", 1)
    assert hanging["age_ms"] >= 25 * minute
    assert setup.run(setup.admin.find_hanging_transactions(max_transaction_timeout_ms=30 * minute)) == []


def producers_of(open_since: dict[TopicPartition, dict[int, int]]) -> Any:
    """Partition -> producers that have a transaction open there, and when their last record came; all others have none."""
    message = DescribeProducersResponse

    def handle(request: Any) -> DescribeProducersResponse:
        return message(
            topics=[
                message.TopicResponse(
                    name=topic.name,
                    partitions=[
                        message.PartitionResponse(
                            partition_index=index,
                            active_producers=[
                                message.ProducerState(
                                    producer_id=producer_id, last_timestamp=last_ms, current_txn_start_offset=3
                                )
                                for producer_id, last_ms in open_since.get(
                                    TopicPartition(topic.name, index), {}
                                ).items()
                            ],
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in request.topics
            ]
        )

    return handle


def test_transactions_that_hang_in_a_log_and_no_coordinator_knows(setup: Setup) -> None:
    """Producer 8's coordinator knows of partition 0 alone, and nobody knows of producer 7."""
    now = setup.driver.time.milliseconds()
    long_ago = now - 25 * 60_000
    setup.on(ApiKey.DESCRIBE_PRODUCERS, producers_of({P0: {7: long_ago, 8: long_ago, 9: now}, P1: {8: long_ago}}))
    listed = ListTransactionsResponse.TransactionState(
        transactional_id="tx", producer_id=8, transaction_state="Ongoing"
    )
    topics = [DescribeTransactionsResponse.TopicData(topic="t", partitions=[0])]
    described = DescribeTransactionsResponse.TransactionState(
        transactional_id="tx", producer_id=8, transaction_state="Ongoing", transaction_start_time_ms=now, topics=topics
    )
    setup.on(ApiKey.LIST_TRANSACTIONS, lambda _: ListTransactionsResponse(transaction_states=[listed]))
    setup.on(ApiKey.FIND_COORDINATOR, coordinated_by(1))
    setup.on(ApiKey.DESCRIBE_TRANSACTIONS, lambda _: DescribeTransactionsResponse(transaction_states=[described]))

    def found(**options: Any) -> list[tuple[int, list[TopicPartition]]]:
        hanging = setup.run(setup.admin.find_hanging_transactions(**options))
        assert all(each["transactional_id"] is None and each["age_ms"] >= 25 * 60_000 for each in hanging)
        return [(each["producer_id"], each["topic_partitions"]) for each in hanging]

    assert found() == [(7, [P0]), (8, [P1])]
    assert found(broker_ids=[1]) == [(8, [P1])], "partition 1 is led there"
    assert found(max_transaction_timeout_ms=30 * 60_000) == []
