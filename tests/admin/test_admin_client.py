"""Where requests go and when they are repeated. What the operations say is tested with the tools, against recordings."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.groups import assigned_partitions
from kafkapy.admin.results import value_of, values_of
from kafkapy.admin.topics import NewPartitions, NewTopic
from kafkapy.admin.types import ConfigResource, MemberToRemove
from kafkapy.common.timestamps import LATEST_TIMESTAMP, MAX_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.create_partitions import CreatePartitionsResponse
from kafkapy.protocol.messages.create_topics import CreateTopicsResponse
from kafkapy.protocol.messages.delete_records import DeleteRecordsResponse
from kafkapy.protocol.messages.delete_topics import DeleteTopicsResponse
from kafkapy.protocol.messages.describe_groups import DescribeGroupsResponse
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupResponse
from kafkapy.protocol.messages.list_groups import ListGroupsResponse
from kafkapy.protocol.messages.list_offsets import ListOffsetsResponse
from kafkapy.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsResponse
from kafkapy.protocol.messages.metadata import MetadataResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitResponse
from kafkapy.protocol.messages.offset_delete import OffsetDeleteResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp
from tests.fake_broker import FakeBroker

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class TwoBrokers:
    """Brokers 0 and 1; topic t has partition 0 led by broker 0 and partition 1 led by broker 1, until a test moves them."""

    def __init__(self) -> None:
        self.brokers = [FakeBroker(), FakeBroker()]
        self.controller_id = 0
        self.coordinator_id = 0
        self.leaders = {0: 0, 1: 1}
        for broker in self.brokers:
            broker.handlers[ApiKey.METADATA] = self._metadata
            broker.handlers[ApiKey.FIND_COORDINATOR] = self._coordinator

    def on_all(self, api_key: ApiKey, answer: Any) -> None:
        """`answer(broker id, request)` on both brokers."""
        for broker_id, broker in enumerate(self.brokers):
            broker.handlers[api_key] = partial(answer, broker_id)

    def asked(self, api_key: ApiKey) -> list[int]:
        """How often each broker was asked."""
        return [len(broker.asked(api_key)) for broker in self.brokers]

    def admin(self, **options: Any) -> AdminClient:
        return AdminClient(self.brokers[0].address, **{"retry_backoff_ms": 5, **options})

    def _metadata(self, request: Any) -> MetadataResponse:
        broker, topic = MetadataResponse.MetadataResponseBroker, MetadataResponse.MetadataResponseTopic
        partition = MetadataResponse.MetadataResponsePartition
        partitions = [partition(partition_index=p, leader_id=leader) for p, leader in self.leaders.items()]
        known = {"t": topic(name="t", partitions=partitions)}
        names = list(known) if request.topics is None else [t.name for t in request.topics]
        return MetadataResponse(
            brokers=[broker(node_id=i, host="127.0.0.1", port=b.port) for i, b in enumerate(self.brokers)],
            cluster_id="two",
            controller_id=self.controller_id,
            topics=[known.get(name, topic(name=name, error_code=3)) for name in names],
        )

    def _coordinator(self, request: Any) -> FindCoordinatorResponse:
        node: dict[str, Any] = {
            "node_id": self.coordinator_id,
            "host": "127.0.0.1",
            "port": self.brokers[self.coordinator_id].port,
        }
        if request.key:
            return FindCoordinatorResponse(**node)
        coordinator = FindCoordinatorResponse.Coordinator
        return FindCoordinatorResponse(coordinators=[coordinator(key=key, **node) for key in request.coordinator_keys])


@pytest.fixture
def cluster() -> Iterator[TwoBrokers]:
    cluster = TwoBrokers()
    yield cluster
    for broker in cluster.brokers:
        broker.close()


def listed(request: Any, errors: dict[int, int] | None = None) -> ListOffsetsResponse:
    topic, partition = ListOffsetsResponse.ListOffsetsTopicResponse, ListOffsetsResponse.ListOffsetsPartitionResponse
    errors = errors or {}
    return ListOffsetsResponse(
        topics=[
            topic(
                name=t.name,
                partitions=[
                    partition(partition_index=p.partition_index, offset=10, error_code=errors.get(p.partition_index, 0))
                    for p in t.partitions
                ],
            )
            for t in request.topics
        ]
    )


class TestReachingTheCluster:
    def test_bootstrap_servers_are_tried_in_turn(self, cluster: TwoBrokers, caplog: pytest.LogCaptureFixture) -> None:
        with FakeBroker() as gone:
            port = gone.port
        with AdminClient([f"127.0.0.1:{port}", cluster.brokers[1].address]) as admin:
            assert admin.describe_topics(["t"])["t"]
        assert [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING] == [
            f"Connection to 127.0.0.1:{port} could not be established: Connection refused. Trying on."
        ]

    def test_nobody_can_be_reached_within_the_time(self) -> None:
        with FakeBroker() as gone:
            address = gone.address
        with AdminClient(address, default_api_timeout_ms=300) as admin, pytest.raises(KafkaError) as caught:
            admin.list_topics()
        assert caught.value.error is Errors.REQUEST_TIMED_OUT
        assert caught.value.message == (
            "Call listTopics timed out after 300 ms. Its last failure: "
            f"None of the bootstrap servers could be reached: {address}"
        )

    def test_a_cluster_that_is_not_there_is_not_waited_for_as_long_as_an_operation(self) -> None:
        with FakeBroker() as gone:
            address = gone.address
        with AdminClient(address, bootstrap_timeout_ms=300) as admin, pytest.raises(KafkaError) as caught:
            admin.list_topics()
        assert caught.value.message == (
            f"None of the bootstrap servers could be reached: {address}. Gave up after 300 ms"
        )
        assert AdminClient("b:1").config.bootstrap_timeout_ms == 15_000

    def test_a_cut_connection_is_made_again(self, cluster: TwoBrokers) -> None:
        with cluster.admin() as admin:
            assert list(admin.list_topics()) == ["t"]
            cluster.brokers[0].disconnect()
            assert list(admin.list_topics()) == ["t"]

    def test_one_connection_serves_bootstrap_and_node(self, cluster: TwoBrokers) -> None:
        cluster.on_all(ApiKey.CREATE_TOPICS, lambda broker, request: created("n"))
        with cluster.admin() as admin:
            admin.create_topics([NewTopic("n")])
        assert cluster.asked(ApiKey.API_VERSIONS) == [1, 0]


def created(name: str, error: Errors = Errors.NONE, message: str | None = None) -> CreateTopicsResponse:
    result = CreateTopicsResponse.CreatableTopicResult
    return CreateTopicsResponse(
        topics=[result(name=name, error_code=error.code, error_message=message, num_partitions=1)]
    )


class TestController:
    def test_it_has_moved(self, cluster: TwoBrokers) -> None:
        def answer(broker: int, request: Any) -> CreateTopicsResponse:
            cluster.controller_id = 1
            return created("n", Errors.NONE if broker == 1 else Errors.NOT_CONTROLLER)

        cluster.on_all(ApiKey.CREATE_TOPICS, answer)
        with cluster.admin() as admin:
            assert value_of(admin.create_topics([NewTopic("n", 1, 1)])["n"]).num_partitions == 1
        assert cluster.asked(ApiKey.CREATE_TOPICS)[1] == 1, (
            "the former one may be asked again while metadata is on the way"
        )

    def test_other_errors_are_final_even_retriable_ones(self, cluster: TwoBrokers) -> None:
        cluster.on_all(ApiKey.CREATE_TOPICS, lambda broker, request: created("n", Errors.REQUEST_TIMED_OUT, "late"))
        with cluster.admin() as admin, pytest.raises(KafkaError, match="late"):
            values_of(admin.create_topics([NewTopic("n")]))
        assert cluster.asked(ApiKey.CREATE_TOPICS) == [1, 0]

    def test_there_is_none_for_a_while(self, cluster: TwoBrokers) -> None:
        cluster.controller_id = -1
        asked: list[int] = []

        def metadata(request: Any) -> MetadataResponse:
            asked.append(1)
            if len(asked) == 3:
                cluster.controller_id = 1
            return cluster._metadata(request)

        cluster.brokers[0].handlers[ApiKey.METADATA] = metadata
        cluster.on_all(ApiKey.CREATE_TOPICS, lambda broker, request: created("n"))
        with cluster.admin() as admin:
            values_of(admin.create_topics([NewTopic("n")]))
        assert cluster.asked(ApiKey.CREATE_TOPICS) == [0, 1]

    def test_assignment_and_counts_exclude_each_other(self, cluster: TwoBrokers) -> None:
        cluster.on_all(ApiKey.CREATE_TOPICS, lambda broker, request: created("n"))
        with cluster.admin() as admin:
            admin.create_topics([NewTopic("n", 3, 2, {0: [1, 0]}, {"a": "b"})])
        (request,) = cluster.brokers[0].asked(ApiKey.CREATE_TOPICS)
        (topic,) = request.topics
        assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
        assert [(a.partition_index, a.broker_ids) for a in topic.assignments] == [(0, [1, 0])]
        assert [(c.name, c.value) for c in topic.configs] == [("a", "b")]
        assert request.timeout_ms == 29_000  # the broker gives up before the client does

    @pytest.mark.parametrize("highest", [5, 6])
    def test_topics_are_deleted_by_name_in_every_version(self, cluster: TwoBrokers, highest: int) -> None:
        result = DeleteTopicsResponse.DeletableTopicResult
        cluster.brokers[0].ranges[ApiKey.DELETE_TOPICS] = (0, highest)
        cluster.on_all(ApiKey.DELETE_TOPICS, lambda b, r: DeleteTopicsResponse(responses=[result(name="t")]))
        with cluster.admin() as admin:
            assert admin.delete_topics(["t"]) == {"t": None}
        (request,) = cluster.brokers[0].asked(ApiKey.DELETE_TOPICS)
        assert request.topic_names == (["t"] if highest == 5 else [])
        assert [topic.name for topic in request.topics] == (["t"] if highest == 6 else [])

    def test_create_partitions(self, cluster: TwoBrokers) -> None:
        result = CreatePartitionsResponse.CreatePartitionsTopicResult
        response = CreatePartitionsResponse(results=[result(name="t", error_code=37, error_message="too few")])
        cluster.on_all(ApiKey.CREATE_PARTITIONS, lambda broker, request: response)
        with cluster.admin() as admin, pytest.raises(KafkaError, match="too few"):
            values_of(admin.create_partitions({"t": NewPartitions(1, [[0]])}))


class TestLeaders:
    def test_each_leader_is_asked_for_its_partitions(self, cluster: TwoBrokers) -> None:
        cluster.on_all(ApiKey.LIST_OFFSETS, lambda broker, request: listed(request))
        with cluster.admin() as admin:
            offsets = admin.list_offsets({T0: LATEST_TIMESTAMP, T1: LATEST_TIMESTAMP})
        assert offsets == {T0: OffsetAndTimestamp(10, -1), T1: OffsetAndTimestamp(10, -1)}
        assert cluster.asked(ApiKey.LIST_OFFSETS) == [1, 1]

    def test_only_the_partition_whose_leader_moved_is_asked_for_again(self, cluster: TwoBrokers) -> None:
        def answer(broker: int, request: Any) -> ListOffsetsResponse:
            moved = cluster.leaders[1] == 1
            cluster.leaders[1] = 0
            return listed(request, {1: Errors.NOT_LEADER_OR_FOLLOWER.code} if moved and broker == 1 else None)

        cluster.brokers[0].handlers[ApiKey.LIST_OFFSETS] = listed
        cluster.brokers[1].handlers[ApiKey.LIST_OFFSETS] = lambda request: answer(1, request)
        with cluster.admin() as admin:
            offsets = admin.list_offsets({T0: LATEST_TIMESTAMP, T1: LATEST_TIMESTAMP})
        assert set(offsets.values()) == {OffsetAndTimestamp(10, -1)}
        again = cluster.brokers[0].asked(ApiKey.LIST_OFFSETS)[1]
        assert [p.partition_index for p in again.topics[0].partitions] == [1]

    def test_a_topic_that_does_not_appear_ends_with_the_time(self, cluster: TwoBrokers) -> None:
        with cluster.admin() as admin:
            result = admin.list_offsets({TopicPartition("no", 0): LATEST_TIMESTAMP}, timeout_ms=300)
        error = result[TopicPartition("no", 0)]
        assert isinstance(error, KafkaError)
        assert error.error is Errors.REQUEST_TIMED_OUT

    def test_a_leader_that_is_down_is_asked_for_again(self, cluster: TwoBrokers) -> None:
        answers = iter([None])
        cluster.on_all(ApiKey.LIST_OFFSETS, lambda broker, request: next(answers, listed(request)))
        with cluster.admin() as admin:
            assert admin.list_offsets({T1: LATEST_TIMESTAMP}) == {T1: OffsetAndTimestamp(10, -1)}
        assert cluster.asked(ApiKey.LIST_OFFSETS) == [0, 2]

    def test_a_kind_of_offset_that_the_broker_does_not_know(self, cluster: TwoBrokers) -> None:
        cluster.brokers[0].ranges[ApiKey.LIST_OFFSETS] = (0, 6)
        with cluster.admin() as admin:
            error = admin.list_offsets({T0: MAX_TIMESTAMP})[T0]
        assert isinstance(error, KafkaError)
        assert error.error is Errors.UNSUPPORTED_VERSION

    def test_old_brokers_answer_list_offsets_with_a_list(self, cluster: TwoBrokers) -> None:
        cluster.brokers[0].ranges[ApiKey.LIST_OFFSETS] = (0, 0)

        def answer(request: Any) -> ListOffsetsResponse:
            response = listed(request)
            partition = response.topics[0].partitions[0]
            partition.offset, partition.old_style_offsets = -1, [7]
            return response

        cluster.brokers[0].handlers[ApiKey.LIST_OFFSETS] = answer
        with cluster.admin() as admin:
            assert admin.list_offsets({T0: LATEST_TIMESTAMP}) == {T0: OffsetAndTimestamp(7, -1)}

    def test_delete_records(self, cluster: TwoBrokers) -> None:
        topic, partition = DeleteRecordsResponse.DeleteRecordsTopicResult, DeleteRecordsResponse
        results = [
            partition.DeleteRecordsPartitionResult(partition_index=0, low_watermark=5),
            partition.DeleteRecordsPartitionResult(partition_index=1, error_code=Errors.OFFSET_OUT_OF_RANGE.code),
        ]
        cluster.leaders[1] = 0
        response = DeleteRecordsResponse(topics=[topic(name="t", partitions=results)])
        cluster.brokers[0].handlers[ApiKey.DELETE_RECORDS] = lambda request: response
        with cluster.admin() as admin:
            deleted = admin.delete_records({T0: 5, T1: 99})
        assert deleted[T0] == 5
        failure = deleted[T1]
        assert isinstance(failure, KafkaError)
        assert failure.error is Errors.OFFSET_OUT_OF_RANGE


class TestConfigs:
    def test_a_broker_answers_for_itself_and_any_for_the_rest(self, cluster: TwoBrokers) -> None:
        result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse

        def answer(broker: int, request: Any) -> IncrementalAlterConfigsResponse:
            return IncrementalAlterConfigsResponse(
                responses=[
                    result(resource_type=r.resource_type, resource_name=r.resource_name) for r in request.resources
                ]
            )

        cluster.on_all(ApiKey.INCREMENTAL_ALTER_CONFIGS, answer)
        resources = [
            ConfigResource(ConfigResourceType.TOPIC, "t"),
            ConfigResource(ConfigResourceType.BROKER, ""),
            ConfigResource(ConfigResourceType.BROKER, "1"),
            ConfigResource(ConfigResourceType.BROKER_LOGGER, "1"),
        ]
        with cluster.admin() as admin:
            results = admin.incremental_alter_configs({r: [ConfigChange("a", "b")] for r in resources})
        assert results == dict.fromkeys(resources)
        asked = [broker.asked(ApiKey.INCREMENTAL_ALTER_CONFIGS) for broker in cluster.brokers]
        assert [[r.resource_name for r in request.resources] for requests in asked for request in requests] == [
            ["t", ""],
            ["1", "1"],
        ]

    def test_a_broker_that_is_not_there(self, cluster: TwoBrokers) -> None:
        with cluster.admin() as admin, pytest.raises(KafkaError, match="There is no live broker with id 9"):
            admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, "9")])


def described(group: str, error: Errors = Errors.NONE, state: str = "Stable") -> DescribeGroupsResponse:
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[ConsumerProtocolAssignment.TopicPartition(topic="t", partitions=[1, 0])]
    )
    member = DescribeGroupsResponse.DescribedGroupMember(
        member_id="m", client_id="c", client_host="/h", member_assignment=b"\0\1" + assignment.encode(1)
    )
    return DescribeGroupsResponse(
        groups=[
            DescribeGroupsResponse.DescribedGroup(
                group_id=group, error_code=error.code, group_state=state, protocol_type="consumer", members=[member]
            )
        ]
    )


class TestGroups:
    @pytest.mark.parametrize("highest", [2, 6])
    def test_the_coordinator_is_asked_in_every_version(self, cluster: TwoBrokers, highest: int) -> None:
        for broker in cluster.brokers:
            broker.ranges[ApiKey.FIND_COORDINATOR] = (0, highest)
        cluster.coordinator_id = 1
        cluster.on_all(ApiKey.DESCRIBE_GROUPS, lambda broker, request: described("g"))
        with cluster.admin() as admin:
            group = value_of(admin.describe_groups(["g"])["g"])
        assert (group.state, group.coordinator.id, group.is_consumer_group) == ("Stable", 1, True)
        assert group.members[0].assignment == [T1, T0]
        assert cluster.asked(ApiKey.DESCRIBE_GROUPS) == [0, 1]

    def test_the_coordinator_moves(self, cluster: TwoBrokers) -> None:
        def answer(broker: int, request: Any) -> DescribeGroupsResponse:
            cluster.coordinator_id = 1
            return described("g", Errors.NONE if broker == 1 else Errors.NOT_COORDINATOR)

        cluster.on_all(ApiKey.DESCRIBE_GROUPS, answer)
        with cluster.admin() as admin:
            assert value_of(admin.describe_groups(["g"])["g"]).coordinator.id == 1
        assert cluster.asked(ApiKey.DESCRIBE_GROUPS) == [1, 1]

    def test_all_brokers_are_asked_for_their_groups(self, cluster: TwoBrokers) -> None:
        group = ListGroupsResponse.ListedGroup
        cluster.on_all(
            ApiKey.LIST_GROUPS,
            lambda broker, request: ListGroupsResponse(
                groups=[group(group_id=f"g{broker}", protocol_type="consumer", group_state="Empty")]
            ),
        )
        with cluster.admin() as admin:
            assert [g.group_id for g in admin.list_groups(states=["Empty"])] == ["g0", "g1"]
        assert cluster.brokers[1].asked(ApiKey.LIST_GROUPS)[0].states_filter == ["Empty"]

    def test_a_filter_that_the_broker_does_not_know(self, cluster: TwoBrokers) -> None:
        cluster.brokers[0].ranges[ApiKey.LIST_GROUPS] = (0, 4)
        with cluster.admin() as admin, pytest.raises(KafkaError, match="does not support LIST_GROUPS"):
            admin.list_groups(types=["classic"])

    @pytest.mark.parametrize("highest", [1, 7, 9])
    def test_committed_offsets_in_every_version(self, cluster: TwoBrokers, highest: int) -> None:
        cluster.brokers[0].ranges[ApiKey.OFFSET_FETCH] = (0, highest)
        old, new = OffsetFetchResponse.OffsetFetchResponsePartition, OffsetFetchResponse.OffsetFetchResponsePartitions
        rows: list[dict[str, Any]] = [
            {"partition_index": 0, "committed_offset": 5, "metadata": "m"},
            {"partition_index": 1, "committed_offset": -1},
            {"partition_index": 2, "committed_offset": 5, "error_code": 3},
        ]

        def answer(request: Any) -> OffsetFetchResponse:
            if highest < 8:
                topic = OffsetFetchResponse.OffsetFetchResponseTopic(name="t", partitions=[old(**row) for row in rows])
                return OffsetFetchResponse(topics=[topic])
            topics = [OffsetFetchResponse.OffsetFetchResponseTopics(name="t", partitions=[new(**row) for row in rows])]
            return OffsetFetchResponse(groups=[OffsetFetchResponse.OffsetFetchResponseGroup("g", topics=topics)])

        cluster.brokers[0].handlers[ApiKey.OFFSET_FETCH] = answer
        with cluster.admin() as admin:
            offsets = admin.list_group_offsets("g", [T0, T1])
            assert offsets == {T0: OffsetAndMetadata(5, "m"), T1: None}
            if highest < 2:
                with pytest.raises(KafkaError, match="does not support OFFSET_FETCH"):
                    admin.list_group_offsets("g")

    def test_offsets_are_committed_without_a_member(self, cluster: TwoBrokers) -> None:
        topic, partition = OffsetCommitResponse.OffsetCommitResponseTopic, OffsetCommitResponse
        errors = iter([Errors.REBALANCE_IN_PROGRESS.code, 0])

        def answer(request: Any) -> OffsetCommitResponse:
            committed = partition.OffsetCommitResponsePartition(partition_index=0, error_code=next(errors))
            return OffsetCommitResponse(topics=[topic(name="t", partitions=[committed])])

        cluster.brokers[0].handlers[ApiKey.OFFSET_COMMIT] = answer
        with cluster.admin() as admin, pytest.raises(KafkaError):
            admin.alter_group_offsets("g", {T0: OffsetAndMetadata(5, "m", 3)})
        (request,) = cluster.brokers[0].asked(ApiKey.OFFSET_COMMIT)
        assert (request.group_id, request.member_id, request.generation_id_or_member_epoch) == ("g", "", -1)
        (committed,) = request.topics[0].partitions
        assert (committed.committed_offset, committed.committed_metadata, committed.committed_leader_epoch) == (
            5,
            "m",
            3,
        )

    def test_delete_offsets_raises_what_concerns_the_group(self, cluster: TwoBrokers) -> None:
        cluster.brokers[0].handlers[ApiKey.OFFSET_DELETE] = lambda request: OffsetDeleteResponse(error_code=69)
        with cluster.admin() as admin, pytest.raises(KafkaError) as caught:
            admin.delete_group_offsets("g", [T0])
        assert caught.value.error is Errors.GROUP_ID_NOT_FOUND

    def test_all_members_leave(self, cluster: TwoBrokers) -> None:
        cluster.on_all(ApiKey.DESCRIBE_GROUPS, lambda broker, request: described("g"))
        cluster.brokers[0].ranges[ApiKey.LEAVE_GROUP] = (0, 4)
        member = LeaveGroupResponse.MemberResponse(member_id="m", group_instance_id=None)
        cluster.brokers[0].handlers[ApiKey.LEAVE_GROUP] = lambda request: LeaveGroupResponse(members=[member])
        with cluster.admin() as admin:
            assert admin.remove_group_members("g", reason="maintenance") == {
                MemberToRemove("m", None, "maintenance"): None
            }

    def test_an_assignment_that_cannot_be_read(self) -> None:
        with pytest.raises(KafkaError, match="A member's assignment cannot be read"):
            assigned_partitions(b"\0\1\0\0\0\5")


class TestProperties:
    def test_names_of_kafka(self) -> None:
        admin = AdminClient.from_properties(
            {
                "bootstrap.servers": "a:1",
                "client.id": "me",
                "request.timeout.ms": "5",
                "default.api.timeout.ms": "6",
                "retry.backoff.ms": "7",
                "socket.connection.setup.timeout.ms": "8",
                "send.buffer.bytes": "100",
            }
        )
        assert (admin.config.client_id, admin.config.request_timeout_ms, admin.default_api_timeout_ms) == ("me", 5, 6)
        assert (admin.config.retry_backoff_ms, admin.config.socket_connection_setup_timeout_ms) == (7, 8)
        assert admin.config.send_buffer_bytes == 100

    @pytest.mark.parametrize(
        ("key", "value", "sentence"),
        [
            (
                "request.timeout.ms",
                "x",
                "Invalid value x for configuration request.timeout.ms: Not a number of type INT",
            ),
            ("request.timeout.ms", "-1", "Value must be at least 0"),
            ("security.protocol", "SASL", "Invalid value SASL for configuration security.protocol"),
            ("bootstrap.servers", "", "No resolvable bootstrap urls given"),
        ],
    )
    def test_invalid(self, key: str, value: str, sentence: str) -> None:
        with pytest.raises(KafkaError, match=sentence) as caught:
            AdminClient.from_properties({"bootstrap.servers": "a:1", key: value})
        assert caught.value.error is Errors.INVALID_CONFIG


def test_a_controller_that_has_gone_is_looked_for_anew() -> None:
    """Its broker does not answer any more; another broker knows who has taken over."""

    def metadata(request: Any) -> MetadataResponse:
        struct = MetadataResponse.MetadataResponseBroker
        brokers = [struct(node_id=i, host="127.0.0.1", port=b.port) for i, b in enumerate((gone, other))]
        return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=controllers.pop() if controllers else 1)

    controllers = [0]
    handlers = {
        ApiKey.METADATA: metadata,
        ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda request: ListPartitionReassignmentsResponse(),
    }
    gone = FakeBroker(handlers)
    gone.close()
    with FakeBroker(handlers) as other:
        with AdminClient(other.address, retry_backoff_ms=1) as admin:
            assert admin.list_partition_reassignments() == {}
        assert controllers == []
