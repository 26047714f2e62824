"""How the controller's answers go over the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.network.request import RequestContext
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from kafkapy.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from kafkapy.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from kafkapy.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from kafkapy.protocol.messages.update_features import UpdateFeaturesRequest
from kafkapy.runtime.clock import MockClock
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.authorizer import AllowAll, Authorizer
from kafkapy.server.handlers.controller_apis import ControllerApisHandler

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class FakeController:
    """Gives the answer it was made with; remembers what it was asked."""

    def __init__(self, answer: object, is_active: bool = True) -> None:
        self.is_active = is_active
        self.asked: tuple[object, ...] | None = None
        self._answer = answer

    def __getattr__(self, name: str) -> Callable[..., None]:
        def ask(*args: Any) -> None:
            *self_asked, callback = args
            self.asked = (name, *(list(a) if isinstance(a, Iterator) else a for a in self_asked))
            callback(self._answer)

        return ask


class Cache:
    """Knows these leaders; time never passes."""

    def __init__(self, leaders: dict[TopicPartition, int]) -> None:
        self._leaders = leaders
        self.timeout_ms: int | None = None

    def all_partitions(self) -> list[TopicPartition]:
        return list(self._leaders)

    def partition_state(self, topic: str, partition: int) -> object:
        leader = self._leaders.get(TopicPartition(topic, partition))
        return None if leader is None else SimpleNamespace(leader=leader)

    async def wait_for(self, predicate: Callable[[], bool], timeout_ms: int) -> bool:
        self.timeout_ms = timeout_ms
        return predicate()


class Denies(Authorizer):
    enabled = True

    def __init__(self, operation: str) -> None:
        self.operation = operation

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        **options: object,
    ) -> bool:
        return operation.name != self.operation


def call(
    handler: Callable[..., Awaitable[Any]],
    body: Any,
    answer: object = None,
    *,
    version: int | None = None,
    active: bool = True,
    leaders: dict[TopicPartition, int] | None = None,
    denied: str | None = None,
) -> tuple[Any, FakeController, Cache]:
    controller, cache = FakeController(answer, active), Cache(leaders or {})
    parts: tuple[Any, ...] = (Denies(denied) if denied else AllowAll(), controller, MockClock(), cache)

    async def run() -> Any:
        return await handler(ControllerApisHandler(*parts), request(body, version))

    return asyncio.run(run()), controller, cache


def failure(handler: Callable[..., Awaitable[Any]], body: Any, answer: object = None, **options: Any) -> Errors:
    with pytest.raises(KafkaError) as caught:
        call(handler, body, answer, **options)
    return caught.value.error


# --- brokers ask ----------------------------------------------------------------------------------------------------


def test_alter_partition_hands_request_and_version_on() -> None:
    body, answer = AlterPartitionRequest(), AlterPartitionResponse(error_code=7)
    response, controller, _ = call(ControllerApisHandler.handle_alter_partition, body, answer, version=2)
    assert response is answer
    assert controller.asked == ("alter_partition", body, 2)


def test_allocate_producer_ids() -> None:
    body, answer = AllocateProducerIdsRequest(broker_id=1), AllocateProducerIdsResponse(producer_id_start=5)
    response, controller, _ = call(ControllerApisHandler.handle_allocate_producer_ids, body, answer)
    assert response is answer
    assert controller.asked == ("allocate_producer_ids", body)


def test_controlled_shutdown_lists_what_is_left() -> None:
    body = ControlledShutdownRequest(broker_id=2, broker_epoch=33)
    response, controller, _ = call(ControllerApisHandler.handle_controlled_shutdown, body, {T1, T0})
    assert controller.asked == ("controlled_shutdown", 2, 33)
    assert [(p.topic_name, p.partition_index) for p in response.remaining_partitions] == [("t", 0), ("t", 1)]
    error = KafkaError(Errors.STALE_BROKER_EPOCH)
    assert failure(ControllerApisHandler.handle_controlled_shutdown, body, error) is Errors.STALE_BROKER_EPOCH


@pytest.mark.parametrize(
    ("handler", "body"),
    [
        (ControllerApisHandler.handle_alter_partition, AlterPartitionRequest()),
        (ControllerApisHandler.handle_allocate_producer_ids, AllocateProducerIdsRequest()),
    ],
)
def test_only_the_controller_answers(handler: Any, body: Any) -> None:
    assert failure(handler, body, active=False) is Errors.NOT_CONTROLLER


@pytest.mark.parametrize(
    ("handler", "body", "operation"),
    [
        (ControllerApisHandler.handle_alter_partition, AlterPartitionRequest(), "CLUSTER_ACTION"),
        (ControllerApisHandler.handle_allocate_producer_ids, AllocateProducerIdsRequest(), "CLUSTER_ACTION"),
        (ControllerApisHandler.handle_controlled_shutdown, ControlledShutdownRequest(), "CLUSTER_ACTION"),
        (ControllerApisHandler.handle_alter_partition_reassignments, AlterPartitionReassignmentsRequest(), "ALTER"),
        (ControllerApisHandler.handle_list_partition_reassignments, ListPartitionReassignmentsRequest(), "DESCRIBE"),
        (ControllerApisHandler.handle_update_features, UpdateFeaturesRequest(), "ALTER"),
    ],
)
def test_authorization(handler: Any, body: Any, operation: str) -> None:
    assert failure(handler, body, denied=operation) is Errors.CLUSTER_AUTHORIZATION_FAILED


# --- elections ------------------------------------------------------------------------------------------------------


def elect_request(*partitions: TopicPartition) -> ElectLeadersRequest:
    return ElectLeadersRequest(
        topic_partitions=[
            ElectLeadersRequest.TopicPartitions(topic=p.topic, partitions=[p.partition]) for p in partitions
        ],
        timeout_ms=500,
    )


def results(response: ElectLeadersResponse) -> dict[str, tuple[int, str | None]]:
    return {
        f"{topic.topic}-{partition.partition_id}": (partition.error_code, partition.error_message)
        for topic in response.replica_election_results
        for partition in topic.partition_result
    }


def test_elect_leaders_waits_until_this_broker_knows_the_leaders() -> None:
    answer = {T0: 1, U0: KafkaError(Errors.ELECTION_NOT_NEEDED)}
    response, controller, cache = call(
        ControllerApisHandler.handle_elect_leaders, elect_request(T0, U0), answer, leaders={T0: 1}
    )
    assert controller.asked == ("elect_leaders", [T0, U0], ElectionType.PREFERRED)
    assert cache.timeout_ms == 500
    assert response.error_code == 0
    assert results(response) == {
        "t-0": (0, None),
        "u-0": (Errors.ELECTION_NOT_NEEDED.code, Errors.ELECTION_NOT_NEEDED.message),
    }


def test_elect_leaders_times_out() -> None:
    answer = {T0: 1, T1: 2}
    response, _, _ = call(
        ControllerApisHandler.handle_elect_leaders, elect_request(T0, T1), answer, leaders={T0: 3, T1: 2}
    )
    assert results(response) == {"t-0": (Errors.REQUEST_TIMED_OUT.code, None), "t-1": (0, None)}


def test_elect_leaders_of_all_partitions_leaves_out_those_that_are_well() -> None:
    body = ElectLeadersRequest(topic_partitions=None, election_type=1)
    answer = {T0: 1, U0: KafkaError(Errors.ELECTION_NOT_NEEDED)}
    response, controller, _ = call(ControllerApisHandler.handle_elect_leaders, body, answer, leaders={T0: 1, U0: 1})
    assert controller.asked == ("elect_leaders", [T0, U0], ElectionType.UNCLEAN)
    assert results(response) == {"t-0": (0, None)}


def test_elect_leaders_elsewhere() -> None:
    answer = KafkaError(Errors.NOT_CONTROLLER)
    response, _, _ = call(ControllerApisHandler.handle_elect_leaders, elect_request(T0), answer)
    assert response.error_code == 0
    assert results(response) == {"t-0": (Errors.NOT_CONTROLLER.code, None)}


def test_elections_of_partitions_that_are_named_twice_elsewhere() -> None:
    body = elect_request(U0, T0, U0, T1)
    response, _, _ = call(ControllerApisHandler.handle_elect_leaders, body, KafkaError(Errors.NOT_CONTROLLER))
    told = [(t.topic, [p.partition_id for p in t.partition_result]) for t in response.replica_election_results]
    assert told == [("u", [0]), ("t", [0, 1])]


@pytest.mark.parametrize(("version", "error"), [(0, Errors.NONE), (1, Errors.CLUSTER_AUTHORIZATION_FAILED)])
def test_elect_leaders_without_permission(version: int, error: Errors) -> None:
    """Version 0 has no error beside those of partitions."""
    handler = ControllerApisHandler.handle_elect_leaders
    response, controller, _ = call(handler, elect_request(T0), denied="ALTER", version=version)
    assert controller.asked is None
    assert response.error_code == error.code
    assert results(response) == {"t-0": (Errors.CLUSTER_AUTHORIZATION_FAILED.code, None)}


# --- reassignments --------------------------------------------------------------------------------------------------


def test_alter_partition_reassignments() -> None:
    topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    partition = AlterPartitionReassignmentsRequest.ReassignablePartition
    body = AlterPartitionReassignmentsRequest(
        topics=[
            topic(name="t", partitions=[partition(partition_index=0, replicas=[1, 2]), partition(partition_index=1)]),
        ]
    )
    answer = {T0: None, T1: KafkaError(Errors.NO_REASSIGNMENT_IN_PROGRESS)}
    response, controller, _ = call(ControllerApisHandler.handle_alter_partition_reassignments, body, answer)
    assert controller.asked == ("alter_partition_reassignments", [(T0, [1, 2]), (T1, None)])
    (answered,) = response.responses
    assert answered.name == "t"
    assert [(p.partition_index, p.error_code, p.error_message) for p in answered.partitions] == [
        (0, 0, None),
        (1, Errors.NO_REASSIGNMENT_IN_PROGRESS.code, Errors.NO_REASSIGNMENT_IN_PROGRESS.message),
    ]
    error = KafkaError(Errors.NOT_CONTROLLER)
    assert failure(ControllerApisHandler.handle_alter_partition_reassignments, body, error) is Errors.NOT_CONTROLLER


def test_list_partition_reassignments() -> None:
    asked = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(name="t", partition_indexes=[0, 1])
    answer = {T0: ReplicaAssignment((2, 1), (2,), (1,))}
    body = ListPartitionReassignmentsRequest(topics=[asked])
    response, controller, _ = call(ControllerApisHandler.handle_list_partition_reassignments, body, answer)
    assert controller.asked == ("list_partition_reassignments", [T0, T1])
    (topic,) = response.topics
    (partition,) = topic.partitions
    assert (topic.name, partition.partition_index) == ("t", 0)
    assert (partition.replicas, partition.adding_replicas, partition.removing_replicas) == ([2, 1], [2], [1])
    _, controller, _ = call(
        ControllerApisHandler.handle_list_partition_reassignments, ListPartitionReassignmentsRequest(topics=None), {}
    )
    assert controller.asked == ("list_partition_reassignments", None)


@pytest.mark.parametrize(
    ("handle", "body", "answer"),
    [
        (ControllerApisHandler.handle_elect_leaders, elect_request(T0, T1), {T0: 1, T1: 1}),
        (
            ControllerApisHandler.handle_alter_partition_reassignments,
            AlterPartitionReassignmentsRequest(topics=[]),
            {T0: None, T1: None},
        ),
        (
            ControllerApisHandler.handle_list_partition_reassignments,
            ListPartitionReassignmentsRequest(topics=None),
            {T0: ReplicaAssignment((2, 1), (2,), (1,))},
        ),
    ],
)
def test_the_controllers_thread_makes_the_answer_and_the_request_keeps_what_it_is_made_of(
    handle: Callable[..., Coroutine[Any, Any, Any]], body: Any, answer: dict[TopicPartition, object]
) -> None:
    results: list[object] = []
    clock: Any = MockClock()

    def from_thread(function: Callable[[object], object], result: object) -> None:
        results.append(result)
        function(result)

    clock.from_thread = from_thread
    parts: tuple[Any, ...] = (AllowAll(), FakeController(answer), clock, Cache({T0: 1, T1: 1}))
    asked = request(body)
    assert asyncio.run(handle(ControllerApisHandler(*parts), asked)) is not None
    assert answer not in results
    assert asked.kept == [answer]


# --- features -------------------------------------------------------------------------------------------------------


def test_update_features() -> None:
    body = UpdateFeaturesRequest()
    answer = {"f": KafkaError(Errors.INVALID_REQUEST, "no"), "g": KafkaError(Errors.NONE)}
    response, controller, _ = call(ControllerApisHandler.handle_update_features, body, answer, version=1)
    assert controller.asked == ("update_features", body, 1)
    assert [(r.feature, r.error_code, r.error_message) for r in response.results] == [
        ("f", Errors.INVALID_REQUEST.code, "no"),
        ("g", 0, "NONE"),
    ]


# --- time -----------------------------------------------------------------------------------------------------------


class SilentController:
    """ZooKeeper is away: it answers later, or never."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[object], None]] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args: self.callbacks.append(args[-1])


@pytest.mark.parametrize(
    ("handle", "body"),
    [
        (
            ControllerApisHandler.handle_alter_partition_reassignments,
            AlterPartitionReassignmentsRequest(topics=[], timeout_ms=5_000),
        ),
        (
            ControllerApisHandler.handle_list_partition_reassignments,
            ListPartitionReassignmentsRequest(topics=None, timeout_ms=5_000),
        ),
        (ControllerApisHandler.handle_update_features, UpdateFeaturesRequest(timeout_ms=5_000)),
    ],
)
def test_a_controller_that_does_not_answer_is_not_waited_for_longer_than_the_client_waits(
    handle: Callable[..., Coroutine[Any, Any, Any]], body: Any
) -> None:
    clock, controller = MockClock(), SilentController()
    parts: tuple[Any, ...] = (AllowAll(), controller, clock, Cache({}))
    answer: Completion[Any] = spawn(handle(ControllerApisHandler(*parts), request(body)))
    clock.advance(4_999)
    assert not answer.done
    clock.advance(1)
    error = answer.exception()
    assert isinstance(error, KafkaError)
    assert error.error is Errors.REQUEST_TIMED_OUT
    controller.callbacks[0]({})  # nobody hears of it


def test_an_election_that_nobody_answers_for_times_out() -> None:
    clock, controller = MockClock(), SilentController()
    parts: tuple[Any, ...] = (AllowAll(), controller, clock, Cache({T0: 1}))
    body = elect_request(T0, U0)
    body.timeout_ms = 5_000
    answer = spawn(ControllerApisHandler(*parts).handle_elect_leaders(request(body)))
    clock.advance(5_000)
    timed_out = (Errors.REQUEST_TIMED_OUT.code, None)
    assert results(answer.result()) == {"t-0": timed_out, "u-0": timed_out}


def request(body: Any, version: int | None = 0) -> Any:
    """It holds in `kept` what is to be freed with it."""
    kept: list[Any] = []
    return SimpleNamespace(body=body, api_version=version, context=None, kept=kept, keep=kept.append)
