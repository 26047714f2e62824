"""CreateTopics, DeleteTopics, CreatePartitions and automatic creation on the reactor: who is refused, who waits."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafkapy.common.uuid import ZERO_UUID
from kafkapy.common.wire_enums import ConfigSourceType
from kafkapy.network.request import AnswerChannel, Request, RequestContext
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.create_partitions import CreatePartitionsRequest
from kafkapy.protocol.messages.create_topics import CreateTopicsRequest
from kafkapy.protocol.messages.delete_topics import DeleteTopicsRequest
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.runtime.clock import MockClock
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.admin.auto_topic_creation import AutoTopicCreationManager
from kafkapy.server.admin.zk_admin_manager import CreatableTopic, CreatePartitionsTopic, TopicChange
from kafkapy.server.api_error import ApiError
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.handlers.topics import TopicsHandler
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.quotas.quota_managers import QuotaManagers
from tests.server.broker_core import HeldThreads

TOPIC_ID = bytes(range(16))
REFUSED = ApiError(Errors.INVALID_CONFIG, "no")


class FakeAdminManager:
    """Says yes to all but topics named `refused`; remembers what it was asked for."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.time_limit_ms: list[int] = []

    def with_time_limit(self, timeout_ms: int, work: Callable[[], Any]) -> Any:
        self.time_limit_ms.append(timeout_ms)
        return work()

    def create_topics(
        self,
        topics: Iterable[CreatableTopic],
        brokers: Mapping[int, str | None],
        validate_only: bool = False,
        count: Callable[[int], object] = int,
    ) -> list[TopicChange]:
        topics = list(topics)
        self.calls.append(([topic.name for topic in topics], dict(brokers), validate_only))
        return [
            TopicChange(topic.name, REFUSED)
            if topic.name == "refused"
            else TopicChange(
                topic.name,
                assignment={p: [1] for p in range(topic.num_partitions)},
                configs={config.name: config.value or "" for config in topic.configs},
                topic_id=ZERO_UUID if validate_only else TOPIC_ID,
            )
            for topic in topics
        ]

    def delete_topics(self, topics: Iterable[str]) -> dict[str, Errors]:
        topics = list(topics)
        self.calls.append(topics)
        return {name: Errors.UNKNOWN_SERVER_ERROR if name == "refused" else Errors.NONE for name in topics}

    def create_partitions(
        self,
        topics: Iterable[CreatePartitionsTopic],
        validate_only: bool = False,
        count: Callable[[int], object] = int,
    ) -> list[TopicChange]:
        return [
            TopicChange(topic.name, REFUSED)
            if topic.name == "refused"
            else TopicChange(topic.name, assignment={p: [1] for p in range(topic.count)})
            for topic in topics
        ]


class Harness:
    def __init__(self, **properties: str) -> None:
        self.clock = MockClock()
        self.cache = MetadataCache(1, self.clock)
        self.admin = FakeAdminManager()
        config = KafkaConfig.from_properties({"zookeeper.connect": "unused:1", **properties})
        self.denied: set[tuple[str, str, str]] = set()
        self.controller: Any = SimpleNamespace(
            is_active=True, is_topic_queued_for_deletion=lambda topic: topic == "dying"
        )
        authorizer: Any = SimpleNamespace(
            authorize=lambda context, operation, kind, name, **_: (operation.name, kind.name, name) not in self.denied
        )
        self.config = config
        admin: Any = self.admin
        self.handler = TopicsHandler(
            self.controller,
            self.cache,
            self.clock.in_thread,
            admin,
            authorizer,
            DynamicBrokerConfig(config),
            config,
            self.clock,
            QuotaManagers(self.clock),
        )
        self.update({})

    def update(self, topics: Mapping[str, Mapping[int, int]], topic_id: bytes = TOPIC_ID) -> None:
        """The controller says: topic → partition → leader (-2: deleted)."""
        state = UpdateMetadataRequest.UpdateMetadataPartitionState
        self.cache.update(
            UpdateMetadataRequest(
                controller_id=1,
                live_brokers=[UpdateMetadataRequest.UpdateMetadataBroker(id=1, rack="r1")],
                topic_states=[
                    UpdateMetadataRequest.UpdateMetadataTopicState(
                        topic_name=topic,
                        topic_id=topic_id,
                        partition_states=[state(partition_index=p, leader=leader) for p, leader in leaders.items()],
                    )
                    for topic, leaders in topics.items()
                ],
            )
        )

    def call(self, body: Any, version: int = 5) -> Completion[Any]:
        self.request = request = SimpleNamespace(body=body, api_version=version, context=None)
        handlers: dict[type, Callable[..., Coroutine[Any, Any, Any]]] = {
            CreateTopicsRequest: self.handler.handle_create_topics,
            DeleteTopicsRequest: self.handler.handle_delete_topics,
            CreatePartitionsRequest: self.handler.handle_create_partitions,
        }
        return spawn(handlers[type(body)](request))


@pytest.fixture
def harness() -> Harness:
    return Harness()


def result_of(waiting: Completion[Any]) -> Any:
    """What it came to, or the error."""
    assert waiting.done, "still waiting"
    return waiting.exception() or waiting.result()


def create_request(*names: str, partitions: int = 1, **kwargs: Any) -> CreateTopicsRequest:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics=topics, **kwargs)


def errors(response: Any) -> list[tuple[str | None, Errors]]:
    results = getattr(response, "topics", None) or getattr(response, "responses", None) or response.results
    return [(result.name, Errors.for_code(result.error_code)) for result in results]


# ---------------------------------------------------------------------------------------------------- create


def test_created_when_all_leaders_are_known(harness: Harness) -> None:
    waiting = harness.call(create_request("t", partitions=2))
    assert not waiting.done
    harness.update({"t": {0: 1}})
    harness.update({"t": {1: -1}})
    assert not waiting.done
    harness.update({"t": {1: 1}})
    (result,) = result_of(waiting).topics
    assert (result.error_code, result.error_message, result.topic_id) == (0, None, TOPIC_ID)
    assert (result.num_partitions, result.replication_factor, result.topic_config_error_code) == (2, 1, 0)
    assert harness.admin.calls == [(["t"], {1: "r1"}, False)]


def test_answer_has_the_configs(harness: Harness) -> None:
    request = create_request("t", validate_only=True)
    request.topics[0].configs = [CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="5")]
    (result,) = result_of(harness.call(request)).topics
    assert result.topic_id == ZERO_UUID
    configs = {config.name: config for config in result.configs}
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == (
        "5",
        ConfigSourceType.DYNAMIC_TOPIC_CONFIG,
    )
    assert configs["cleanup.policy"].config_source == ConfigSourceType.DEFAULT_CONFIG


def test_create_times_out_though_the_topic_exists(harness: Harness) -> None:
    waiting = harness.call(create_request("t", "refused", timeout_ms=1000))
    harness.clock.advance(1000)
    timed_out, refused = result_of(waiting).topics
    assert (timed_out.error_code, timed_out.error_message) == (Errors.REQUEST_TIMED_OUT.code, None)
    assert (timed_out.num_partitions, timed_out.configs) == (-1, [])
    assert (refused.error_code, refused.error_message) == (REFUSED.code, "no")
    at_once = harness.call(create_request("u", timeout_ms=0))
    assert errors(result_of(at_once)) == [("u", Errors.REQUEST_TIMED_OUT)]


def test_create_refused_before_zookeeper(harness: Harness) -> None:
    harness.update({"there": {0: 1}})
    harness.denied = {("CREATE", "CLUSTER", "kafka-cluster"), ("CREATE", "TOPIC", "mine")}
    request = create_request("there", "twice", "mine", "__cluster_metadata", "twice")
    response = result_of(harness.call(request))
    assert [(r.name, Errors.for_code(r.error_code), r.error_message) for r in response.topics] == [
        ("there", Errors.TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."),
        ("twice", Errors.INVALID_REQUEST, "Found multiple entries for this topic."),
        ("mine", Errors.TOPIC_AUTHORIZATION_FAILED, "Authorization failed."),
        ("__cluster_metadata", Errors.INVALID_REQUEST, "Creation of internal topic __cluster_metadata is prohibited."),
        ("twice", Errors.INVALID_REQUEST, "Found multiple entries for this topic."),
    ]
    for version in range(8):
        response.encode(version)


def test_configs_are_hidden_from_who_may_not_describe_them(harness: Harness) -> None:
    harness.denied = {("DESCRIBE_CONFIGS", "TOPIC", "t")}
    (result,) = result_of(harness.call(create_request("t", validate_only=True))).topics
    assert (result.error_code, result.topic_config_error_code) == (0, Errors.TOPIC_AUTHORIZATION_FAILED.code)
    assert (result.num_partitions, result.configs) == (-1, [])


def test_only_the_controller_acts(harness: Harness) -> None:
    harness.controller.is_active = False
    bodies: list[Message] = [
        create_request("t"),
        DeleteTopicsRequest(topic_names=["t"]),
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=2)]),
    ]
    for body in bodies:
        assert errors(result_of(harness.call(body))) == [("t", Errors.NOT_CONTROLLER)]
    assert harness.admin.calls == []


# ---------------------------------------------------------------------------------------------------- delete


def delete_by_id(*ids: bytes) -> DeleteTopicsRequest:
    states = [DeleteTopicsRequest.DeleteTopicState(topic_id=topic_id) for topic_id in ids]
    return DeleteTopicsRequest(topics=states, timeout_ms=1000)


def test_deleted_when_the_metadata_has_it_no_more(harness: Harness) -> None:
    harness.update({"t": {0: 1}})
    names = ["t", "unknown", "t"]
    waiting = harness.call(DeleteTopicsRequest(topic_names=names, timeout_ms=1000))
    assert not waiting.done
    harness.update({"t": {0: -2}})
    assert errors(result_of(waiting)) == [
        ("t", Errors.NONE),
        ("unknown", Errors.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", Errors.NONE),
    ]
    assert harness.admin.calls == [["t"]]


def test_delete_by_id(harness: Harness) -> None:
    harness.update({"t": {0: 1}})
    unknown = bytes(15) + b"\x07"
    waiting = harness.call(delete_by_id(TOPIC_ID, unknown), 6)
    harness.update({"t": {0: -2}})
    first, second = result_of(waiting).responses
    assert (first.name, first.topic_id, first.error_code) == ("t", TOPIC_ID, 0)
    assert (second.name, second.topic_id, second.error_code) == (None, unknown, Errors.UNKNOWN_TOPIC_ID.code)


def test_delete_times_out(harness: Harness) -> None:
    harness.update({"t": {0: 1}, "refused": {0: 1}})
    request = DeleteTopicsRequest(topic_names=["t", "refused"], timeout_ms=1000)
    waiting = harness.call(request)
    harness.clock.advance(1000)
    assert errors(result_of(waiting)) == [("t", Errors.REQUEST_TIMED_OUT), ("refused", Errors.UNKNOWN_SERVER_ERROR)]


def test_delete_refused(harness: Harness) -> None:
    harness.update({"t": {0: 1}})
    both = DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name="t", topic_id=TOPIC_ID)])
    failure = result_of(harness.call(both, 6))
    assert isinstance(failure, KafkaError)
    assert failure.message == "Topic name and topic ID can not both be specified."
    harness.denied = {("DELETE", "TOPIC", "t")}
    by_name = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000)
    assert errors(result_of(harness.call(by_name))) == [("t", Errors.TOPIC_AUTHORIZATION_FAILED)]
    harness.denied = {("DESCRIBE", "TOPIC", "t")}
    (hidden,) = result_of(harness.call(delete_by_id(TOPIC_ID), 6)).responses
    assert (hidden.name, hidden.error_code) == (None, Errors.TOPIC_AUTHORIZATION_FAILED.code)
    assert harness.admin.calls == []


def test_deletion_switched_off() -> None:
    harness = Harness(**{"delete.topic.enable": "false"})
    request = DeleteTopicsRequest(topic_names=["t"])
    assert errors(result_of(harness.call(request, 2))) == [("t", Errors.INVALID_REQUEST)]
    assert errors(result_of(harness.call(request, 3))) == [("t", Errors.TOPIC_DELETION_DISABLED)]


# ---------------------------------------------------------------------------------------------------- partitions


def test_partitions_added_when_all_leaders_are_known(harness: Harness) -> None:
    harness.update({"t": {0: 1}})
    topics = [CreatePartitionsTopic(name=name, count=2) for name in ("t", "twice", "twice", "dying", "mine", "refused")]
    harness.denied = {("ALTER", "TOPIC", "mine")}
    waiting = harness.call(CreatePartitionsRequest(topics=topics, timeout_ms=1000))
    assert not waiting.done
    harness.update({"t": {1: 1}})
    assert [(r.name, Errors.for_code(r.error_code), r.error_message) for r in result_of(waiting).results] == [
        ("t", Errors.NONE, None),
        ("twice", Errors.INVALID_REQUEST, "Duplicate topic in request."),
        ("dying", Errors.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion."),
        ("mine", Errors.TOPIC_AUTHORIZATION_FAILED, "The topic authorization is failed."),
        ("refused", Errors.INVALID_CONFIG, "no"),
    ]


def test_partitions_only_validated(harness: Harness) -> None:
    topics = [CreatePartitionsTopic(name="t", count=2)]
    request = CreatePartitionsRequest(topics=topics, timeout_ms=1000, validate_only=True)
    assert errors(result_of(harness.call(request))) == [("t", Errors.NONE)]


# ---------------------------------------------------------------------------------------------------- automatic


class AutomaticCreation:
    def __init__(self) -> None:
        harness = Harness(**{"num.partitions": "3"})
        clock = MockClock()
        self.now = clock.monotonic_ms
        self.count: object = None
        self.requests: list[tuple[list[CreatableTopic], Completion[Any]]] = []
        self.manager = AutoTopicCreationManager(
            harness.config,
            cast(Any, SimpleNamespace(create_topics=None)),
            harness.cache,
            self.in_thread,  # type: ignore[arg-type]  # for one function only
            QuotaManagers(clock),
        )
        context = RequestContext("c", "/127.0.0.1", "L")
        self.request = Request(AnswerChannel(), context, ApiCodec(ApiKey.METADATA, 12), 1, None)

    def in_thread(
        self, function: object, topics: list[CreatableTopic], brokers: object, validate_only: bool, count: object
    ) -> Completion[Any]:
        assert not validate_only
        self.count = count
        assert brokers == {1: "r1"}
        self.requests.append((topics, Completion()))
        return self.requests[-1][1]

    def ask(self, *names: str) -> Completion[Any]:
        return spawn(self.manager.create_topics(names, self.request))


def test_topics_are_made_once() -> None:
    auto = AutomaticCreation()
    first = auto.ask("a", "b", "bad name", "a")
    assert result_of(auto.ask("a")) == {"a": Errors.UNKNOWN_TOPIC_OR_PARTITION}
    ((topics, done),) = auto.requests
    assert [(topic.name, topic.num_partitions, topic.replication_factor) for topic in topics] == [
        ("a", 3, 1),
        ("b", 3, 1),
    ]
    done.set_result([TopicChange("a"), TopicChange("b", ApiError(Errors.TOPIC_ALREADY_EXISTS, "Topic 'b' exists"))])
    assert result_of(first) == {
        "a": Errors.LEADER_NOT_AVAILABLE,
        "b": Errors.LEADER_NOT_AVAILABLE,
        "bad name": Errors.INVALID_TOPIC_EXCEPTION,
    }
    again = auto.ask("a")
    auto.requests[1][1].set_result([TopicChange("a", ApiError(Errors.INVALID_REPLICATION_FACTOR, "few"))])
    assert result_of(again) == {"a": Errors.INVALID_REPLICATION_FACTOR}


def test_a_failed_creation_may_be_tried_again() -> None:
    auto = AutomaticCreation()
    failed = auto.ask("a")
    auto.requests[0][1].set_exception(RuntimeError("broken"))
    assert isinstance(result_of(failed), RuntimeError)
    auto.ask("a")
    assert len(auto.requests) == 2


def test_internal_topics_have_their_own_numbers_and_configs() -> None:
    auto = AutomaticCreation()
    auto.manager.create_internal_topic("__consumer_offsets", auto.request)
    auto.manager.create_internal_topic("__consumer_offsets", auto.request)
    auto.manager.create_internal_topic("__transaction_state", auto.request)
    (offsets, _), (transactions, _) = auto.requests
    assert [(t.name, t.num_partitions, t.replication_factor) for t in (*offsets, *transactions)] == [
        ("__consumer_offsets", 50, 3),
        ("__transaction_state", 50, 3),
    ]
    assert {config.name: config.value for config in offsets[0].configs} == {
        "compression.type": "producer",
        "cleanup.policy": "compact",
        "segment.bytes": "104857600",
    }
    assert {config.name: config.value for config in transactions[0].configs} == {
        "compression.type": "uncompressed",
        "cleanup.policy": "compact",
        "min.insync.replicas": "2",
        "segment.bytes": "104857600",
        "unclean.leader.election.enable": "false",
    }


class Stuck:
    """A thread that waits for ZooKeeper."""

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Completion[Any]:
        return Completion()


@pytest.mark.parametrize(("timeout_ms", "answered_ms"), [(5000, 5000), (0, 1000)])
def test_nobody_waits_longer_for_zookeeper_than_asked(timeout_ms: int, answered_ms: int) -> None:
    harness = Harness()
    harness.update({"t": {0: 1}})
    harness.handler._in_thread = Stuck()
    create = CreateTopicsRequest(
        topics=[CreatableTopic(name="new", num_partitions=1, replication_factor=1)], timeout_ms=timeout_ms
    )
    grow = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=2)], timeout_ms=timeout_ms)
    delete = DeleteTopicsRequest(topic_names=["t"], timeout_ms=timeout_ms)
    answers = [harness.call(body) for body in (create, grow, delete)]
    harness.clock.advance(answered_ms - 1)
    assert not any(answer.done for answer in answers)
    harness.clock.advance(1)
    created, grown, deleted = (answer.result() for answer in answers)
    timed_out = Errors.REQUEST_TIMED_OUT.code
    assert [created.topics[0].error_code, grown.results[0].error_code, deleted.responses[0].error_code] == [
        timed_out
    ] * 3


def test_a_request_is_unfinished_as_long_as_the_thread_works() -> None:
    """The client has been told that its time is up, but the topics are still there."""
    harness = Harness()
    held = HeldThreads()
    held.holds = True
    harness.handler._in_thread = held.in_thread
    grow = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=2)], timeout_ms=1000)
    answer = harness.call(grow)
    harness.clock.advance(1000)
    assert answer.done
    assert not harness.request.unfinished.done
    held.work()
    assert harness.request.unfinished.done


def test_the_answer_for_many_topics_lets_others_have_their_turn() -> None:
    harness = Harness()
    names = [f"t{index}" for index in range(100)]
    harness.update({name: {0: 1} for name in names})
    now = iter(range(10_000))
    harness.clock.monotonic_ms = lambda: next(now)  # each look takes a millisecond
    body = DeleteTopicsRequest(topic_names=names, timeout_ms=-1)
    assert harness.call(body).done
    assert harness.clock.yields >= 15


def test_who_is_no_controller_refuses_very_many_topics_in_turns() -> None:
    harness = Harness()
    harness.controller.is_active = False
    names = [f"t{index}" for index in range(1000)]
    now = iter(range(100_000))
    harness.clock.monotonic_ms = lambda: next(now)  # each look takes a millisecond
    grow = [CreatePartitionsTopic(name=name, count=2) for name in names]
    for body in (
        create_request(*names),
        DeleteTopicsRequest(topic_names=names, timeout_ms=1000),
        CreatePartitionsRequest(topics=grow, timeout_ms=1000),
    ):
        harness.clock.yields = 0
        assert errors(result_of(harness.call(body))) == [(name, Errors.NOT_CONTROLLER) for name in names]
        assert harness.clock.yields > 10


def test_topics_made_in_passing_count_as_mutations() -> None:
    auto = AutomaticCreation()
    quotas = auto.manager._quotas
    quotas.apply("clients", "app", {"controller_mutation_rate": "1"})
    auto.request.context.client_id = "app"
    auto.ask("a")
    auto.count(500)  # type: ignore[operator]  # as the admin manager does
    (sensors,) = quotas.mutations.sensors()
    assert (sensors.tokens(auto.now()) or 0) < 0, "and it is not refused"  # type: ignore[attr-defined]
