"""What only the active controller answers: ISR changes, shutdowns, producer ids, elections, reassignments, features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from kafkapy.clients.completion import Completion
from kafkapy.common.clock import Clock, in_turns
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse
from kafkapy.protocol.messages.alter_partition import AlterPartitionResponse
from kafkapy.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from kafkapy.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from kafkapy.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from kafkapy.protocol.messages.update_features import UpdateFeaturesResponse
from kafkapy.server.admin.controller import Controller
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.in_time import LEAST_PATIENCE_MS, in_time
from kafkapy.server.metadata.metadata_cache import MetadataCache

V = TypeVar("V")


@dataclass(eq=False)
class ControllerApisHandler:
    """Passes requests on to this broker's controller and answers when that has."""

    _authorizer: Authorizer
    _controller: Controller
    _clock: Clock
    _metadata_cache: MetadataCache

    def _ask(self, function: Callable[..., object], *args: object) -> Completion[Any]:
        """Call `function(*args, callback)`; the one argument of the callback (from any thread) comes back on the reactor."""
        answer: Completion[Any] = Completion()
        function(*args, lambda result: self._clock.from_thread(answer.set_result, result))
        return answer

    async def _ask_in_time(self, timeout_ms: int, function: Callable[..., object], *args: object) -> Any:
        """As `_ask`; REQUEST_TIMED_OUT if the controller takes longer, as it does while ZooKeeper is away."""
        answer = await in_time(self._clock, max(timeout_ms, LEAST_PATIENCE_MS), self._ask(function, *args))
        return KafkaError(Errors.REQUEST_TIMED_OUT) if answer is None else answer

    def _require(self, request: Request, operation: str) -> None:
        """`KafkaError` CLUSTER_AUTHORIZATION_FAILED unless the sender may do that to the cluster."""
        if not self._authorizer.authorize(request.context, operation, "CLUSTER", CLUSTER_NAME):
            raise KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)

    def _require_controller(self) -> None:
        if not self._controller.is_active:
            raise KafkaError(Errors.NOT_CONTROLLER)

    async def handle_alter_partition(self, request: Request) -> AlterPartitionResponse:
        self._require(request, "CLUSTER_ACTION")
        self._require_controller()
        controller = self._controller
        response: AlterPartitionResponse = await self._ask(
            controller.alter_partition, request.body, request.api_version
        )
        return response

    async def handle_controlled_shutdown(self, request: Request) -> ControlledShutdownResponse:
        self._require(request, "CLUSTER_ACTION")
        body: ControlledShutdownRequest = request.body
        remaining: set[TopicPartition] = _checked(
            await self._ask(self._controller.controlled_shutdown, body.broker_id, body.broker_epoch)
        )
        return ControlledShutdownResponse(
            remaining_partitions=[
                ControlledShutdownResponse.RemainingPartition(
                    topic_name=partition.topic, partition_index=partition.partition
                )
                for partition in sorted(remaining)
            ]
        )

    async def handle_allocate_producer_ids(self, request: Request) -> AllocateProducerIdsResponse:
        self._require(request, "CLUSTER_ACTION")
        self._require_controller()
        response: AllocateProducerIdsResponse = await self._ask(self._controller.allocate_producer_ids, request.body)
        return response

    async def handle_elect_leaders(self, request: Request) -> ElectLeadersResponse:
        """Answers when this broker has heard of the new leaders or the time is over (Kafka's `DelayedElectLeader`)."""
        body: ElectLeadersRequest = request.body
        partitions = self._partitions_to_elect(body)
        if not self._authorizer.authorize(request.context, "ALTER", "CLUSTER", CLUSTER_NAME):
            failed = KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED, "")
            return _elect_leaders_response(dict.fromkeys(partitions, failed), failed.error)
        deadline_ms = self._clock.monotonic_ms() + body.timeout_ms
        results: dict[TopicPartition, KafkaError | int] | KafkaError = await self._ask_in_time(
            body.timeout_ms, self._controller.elect_leaders, partitions, ElectionType(body.election_type)
        )
        if isinstance(results, KafkaError):
            results = dict.fromkeys(partitions, KafkaError(results.error, ""))
        told = in_turns(self._clock, results.items())
        expected = {partition: leader async for partition, leader in told if isinstance(leader, int)}

        def late() -> list[TopicPartition]:
            states = ((p, self._metadata_cache.partition_state(*p), leader) for p, leader in expected.items())
            return [partition for partition, state, leader in states if state is None or state.leader != leader]

        await self._metadata_cache.wait_for(lambda: not late(), max(0, deadline_ms - self._clock.monotonic_ms()))
        results.update(dict.fromkeys(late(), KafkaError(Errors.REQUEST_TIMED_OUT, "")))
        if body.topic_partitions is None:
            # Asked for all: those that have the right leader already are of no interest.
            told = in_turns(self._clock, results.items())
            results = {p: r async for p, r in told if not _is(r, Errors.ELECTION_NOT_NEEDED)}
        return _elect_leaders_response(results)

    def _partitions_to_elect(self, body: ElectLeadersRequest) -> list[TopicPartition]:
        if body.topic_partitions is None:
            return self._metadata_cache.all_partitions()
        asked = (TopicPartition(topic.topic, index) for topic in body.topic_partitions for index in topic.partitions)
        return list(dict.fromkeys(asked))

    async def handle_alter_partition_reassignments(self, request: Request) -> AlterPartitionReassignmentsResponse:
        self._require(request, "ALTER")
        body: AlterPartitionReassignmentsRequest = request.body
        asked = {
            TopicPartition(topic.name, partition.partition_index): partition.replicas
            for topic in body.topics
            for partition in topic.partitions
        }
        results: dict[TopicPartition, KafkaError | None] = _checked(
            await self._ask_in_time(body.timeout_ms, self._controller.alter_partition_reassignments, asked)
        )
        return AlterPartitionReassignmentsResponse(
            responses=[
                AlterPartitionReassignmentsResponse.ReassignableTopicResponse(
                    name=topic,
                    partitions=[
                        AlterPartitionReassignmentsResponse.ReassignablePartitionResponse(
                            partition_index=index, error_code=_code(result), error_message=_message(result)
                        )
                        for index, result in partitions
                    ],
                )
                for topic, partitions in _by_topic(results).items()
            ]
        )

    async def handle_list_partition_reassignments(self, request: Request) -> ListPartitionReassignmentsResponse:
        self._require(request, "DESCRIBE")
        body: ListPartitionReassignmentsRequest = request.body
        asked: Iterable[TopicPartition] | None = None
        if body.topics is not None:
            asked = [TopicPartition(topic.name, index) for topic in body.topics for index in topic.partition_indexes]
        reassigning: dict[TopicPartition, ReplicaAssignment] = _checked(
            await self._ask_in_time(body.timeout_ms, self._controller.list_partition_reassignments, asked)
        )
        return ListPartitionReassignmentsResponse(
            topics=[
                ListPartitionReassignmentsResponse.OngoingTopicReassignment(
                    name=topic,
                    partitions=[
                        ListPartitionReassignmentsResponse.OngoingPartitionReassignment(
                            partition_index=index,
                            replicas=list(assignment.replicas),
                            adding_replicas=list(assignment.adding_replicas),
                            removing_replicas=list(assignment.removing_replicas),
                        )
                        for index, assignment in partitions
                    ],
                )
                for topic, partitions in _by_topic(reassigning).items()
            ]
        )

    async def handle_update_features(self, request: Request) -> UpdateFeaturesResponse:
        self._require(request, "ALTER")
        results: dict[str, KafkaError] = _checked(
            await self._ask_in_time(
                request.body.timeout_ms, self._controller.update_features, request.body, request.api_version
            )
        )
        return UpdateFeaturesResponse(
            error_message=None,
            results=[
                UpdateFeaturesResponse.UpdatableFeatureResult(
                    feature=feature, error_code=result.error.code, error_message=result.message
                )
                for feature, result in results.items()
            ],
        )


def _checked(answer: Any) -> Any:
    """The controller's answer, unless it is an error for the whole request."""
    if isinstance(answer, KafkaError):
        raise answer
    return answer


def _by_topic(results: Mapping[TopicPartition, V]) -> dict[str, list[tuple[int, V]]]:
    topics: dict[str, list[tuple[int, V]]] = {}
    for partition, result in results.items():
        topics.setdefault(partition.topic, []).append((partition.partition, result))
    return topics


def _is(result: KafkaError | int, error: Errors) -> bool:
    return isinstance(result, KafkaError) and result.error is error


def _elect_leaders_response(
    results: Mapping[TopicPartition, KafkaError | int], error: Errors = Errors.NONE
) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=error.code,
        replica_election_results=[
            ElectLeadersResponse.ReplicaElectionResult(
                topic=topic,
                partition_result=[
                    ElectLeadersResponse.PartitionResult(
                        partition_id=index, error_code=_code(result), error_message=_message(result)
                    )
                    for index, result in partitions
                ],
            )
            for topic, partitions in _by_topic(results).items()
        ],
    )


def _code(result: KafkaError | int | None) -> int:
    return result.error.code if isinstance(result, KafkaError) else Errors.NONE.code


def _message(result: KafkaError | int | None) -> str | None:
    return (result.message or None) if isinstance(result, KafkaError) else None


# --- features -------------------------------------------------------------------------------------------------------


# --- forwarding -----------------------------------------------------------------------------------------------------


def handle_envelope(request: Request) -> None:
    """A request that another broker passes on (KIP-590). In ZooKeeper mode brokers don't, unless they migrate to KRaft: so the
    only answer is to hang up, as Apache's broker does.
    """
    request.close_connection("it sent an Envelope, and brokers forward no requests in ZooKeeper mode")
