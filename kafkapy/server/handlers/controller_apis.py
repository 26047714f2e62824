"""The active controller's APIs: ISR changes, controlled shutdowns, producer ids, elections, reassignments,
features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TypeVar

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.stored_errors import raisable_copy
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
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion
from kafkapy.server.admin.controller import Controller
from kafkapy.server.api_error import CloseConnection
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.in_time import MIN_TIME_LIMIT_MS, in_time
from kafkapy.server.metadata.metadata_cache import MetadataCache

V = TypeVar("V")

_Elections = tuple[ElectLeadersResponse, dict[TopicPartition, tuple[int, ElectLeadersResponse.PartitionResult]]]
"""The response, and for each partition with a new leader: the leader, and the partition's part of the response."""


@dataclass(eq=False)
class ControllerApisHandler:
    """Passes requests to this broker's controller and responds with its result."""

    _authorizer: Authorizer
    _controller: Controller
    _clock: Clock
    _metadata_cache: MetadataCache

    def _ask(
        self,
        request: Request,
        function: Callable[..., object],
        *args: object,
        made: Callable[[Any], object] | None = None,
    ) -> Completion[Any]:
        """Call `function(*args, callback)`; return the argument of the callback, which is called in another thread.

        `made`: converts the result, unless that is an error; called in the callback's thread, because it may take
        long.
        """
        answer: Completion[Any] = Completion()

        def callback(result: object) -> None:
            if made is not None and not isinstance(result, KafkaError):
                request.keep(result)
                result = made(result)
            self._clock.from_thread(answer.set_result, result)

        function(*args, callback)
        return answer

    async def _ask_in_time(
        self,
        request: Request,
        timeout_ms: int,
        function: Callable[..., object],
        *args: object,
        made: Callable[[Any], object] | None = None,
    ) -> Any:
        """As `_ask`; REQUEST_TIMED_OUT if the controller takes longer, for example because ZooKeeper is
        disconnected."""
        asked = self._ask(request, function, *args, made=made)
        answer = await in_time(self._clock, max(timeout_ms, MIN_TIME_LIMIT_MS), asked)
        return KafkaError(Errors.REQUEST_TIMED_OUT) if answer is None else answer

    def _require(self, request: Request, operation: ACLOperation) -> None:
        """Raise `KafkaError` CLUSTER_AUTHORIZATION_FAILED unless the sender may do the operation on the cluster."""
        if not self._authorizer.authorize(request.context, operation, ResourceType.CLUSTER, CLUSTER_NAME):
            raise KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)

    def _require_controller(self) -> None:
        if not self._controller.is_active:
            raise KafkaError(Errors.NOT_CONTROLLER)

    async def handle_alter_partition(self, request: Request) -> AlterPartitionResponse:
        self._require(request, ACLOperation.CLUSTER_ACTION)
        self._require_controller()
        controller = self._controller
        response: AlterPartitionResponse = await self._ask(
            request, controller.alter_partition, request.body, request.api_version
        )
        return response

    async def handle_controlled_shutdown(self, request: Request) -> ControlledShutdownResponse:
        self._require(request, ACLOperation.CLUSTER_ACTION)
        body: ControlledShutdownRequest = request.body
        remaining: set[TopicPartition] = _checked(
            await self._ask(request, self._controller.controlled_shutdown, body.broker_id, body.broker_epoch)
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
        self._require(request, ACLOperation.CLUSTER_ACTION)
        self._require_controller()
        response: AllocateProducerIdsResponse = await self._ask(
            request, self._controller.allocate_producer_ids, request.body
        )
        return response

    async def handle_elect_leaders(self, request: Request) -> ElectLeadersResponse:
        """Respond when this broker's metadata has the new leaders, or after the time-out (Kafka's
        `DelayedElectLeader`)."""
        body: ElectLeadersRequest = request.body
        if not self._authorizer.authorize(request.context, ACLOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME):
            response = await self._no_elections(body, Errors.CLUSTER_AUTHORIZATION_FAILED)
            if request.api_version >= 1:  # version 0 has errors of partitions only
                response.error_code = Errors.CLUSTER_AUTHORIZATION_FAILED.code
            return response
        deadline_ms = self._clock.monotonic_ms() + body.timeout_ms
        asked = self._partitions_to_elect(body)
        answer: _Elections | KafkaError = await self._ask_in_time(
            request,
            body.timeout_ms,
            self._controller.elect_leaders,
            asked,
            ElectionType(body.election_type),
            # If all partitions are requested, those that already have the preferred leader are omitted.
            made=partial(_elections, report_all=body.topic_partitions is not None),
        )
        if isinstance(answer, KafkaError):
            return await self._no_elections(body, answer.error)
        response, expected = answer

        def is_late(partition: TopicPartition) -> bool:
            state = self._metadata_cache.partition_state(*partition)
            return state is None or state.leader != expected[partition][0]

        remaining_ms = max(0, deadline_ms - self._clock.monotonic_ms())
        await self._metadata_cache.wait_for(lambda: not any(map(is_late, expected)), remaining_ms)
        for partition, (_, result) in expected.items():
            await self._clock.checkpoint()
            if is_late(partition):
                result.error_code = Errors.REQUEST_TIMED_OUT.code
        return response

    async def _no_elections(self, body: ElectLeadersRequest, error: Errors) -> ElectLeadersResponse:
        return await self._clock.in_thread(_no_elections, self._partitions_to_elect(body), KafkaError(error, ""))

    def _partitions_to_elect(self, body: ElectLeadersRequest) -> Iterator[TopicPartition]:
        topics = body.topic_partitions
        if topics is None:
            return iter(self._metadata_cache.all_partitions())
        return (TopicPartition(topic.topic, index) for topic in topics for index in topic.partitions)

    async def handle_alter_partition_reassignments(self, request: Request) -> AlterPartitionReassignmentsResponse:
        self._require(request, ACLOperation.ALTER)
        body: AlterPartitionReassignmentsRequest = request.body
        asked = (
            (TopicPartition(topic.name, partition.partition_index), partition.replicas)
            for topic in body.topics
            for partition in topic.partitions
        )
        response: AlterPartitionReassignmentsResponse = _checked(
            await self._ask_in_time(
                request, body.timeout_ms, self._controller.alter_partition_reassignments, asked, made=_altered
            )
        )
        return response

    async def handle_list_partition_reassignments(self, request: Request) -> ListPartitionReassignmentsResponse:
        self._require(request, ACLOperation.DESCRIBE)
        body: ListPartitionReassignmentsRequest = request.body
        asked: Iterable[TopicPartition] | None = None
        if body.topics is not None:
            asked = (TopicPartition(topic.name, index) for topic in body.topics for index in topic.partition_indexes)
        response: ListPartitionReassignmentsResponse = _checked(
            await self._ask_in_time(
                request, body.timeout_ms, self._controller.list_partition_reassignments, asked, made=_reassigning
            )
        )
        return response

    async def handle_update_features(self, request: Request) -> UpdateFeaturesResponse:
        self._require(request, ACLOperation.ALTER)
        results: dict[str, KafkaError] = _checked(
            await self._ask_in_time(
                request, request.body.timeout_ms, self._controller.update_features, request.body, request.api_version
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
    """Return the controller's result; raise it if it is an error for the whole request."""
    if isinstance(answer, KafkaError):
        raise raisable_copy(answer)
    return answer


class _ByTopic(dict[str, V]):
    """The topics' parts of a response, each created on first access."""

    def __init__(self, made: Callable[[str], V]) -> None:
        super().__init__()
        self._made = made

    def __missing__(self, topic: str) -> V:
        part = self[topic] = self._made(topic)
        return part


def _elections(results: dict[TopicPartition, KafkaError | int], report_all: bool) -> _Elections:
    topics = _ByTopic(lambda name: ElectLeadersResponse.ReplicaElectionResult(topic=name))
    expected = {}
    for partition, result in results.items():
        if report_all or not _is(result, Errors.ELECTION_NOT_NEEDED):
            answer = ElectLeadersResponse.PartitionResult(
                partition_id=partition.partition, error_code=_code(result), error_message=_message(result)
            )
            topics[partition.topic].partition_result.append(answer)
            if isinstance(result, int):
                expected[partition] = (result, answer)
    return ElectLeadersResponse(replica_election_results=list(topics.values())), expected


def _no_elections(partitions: Iterable[TopicPartition], error: KafkaError) -> ElectLeadersResponse:
    response, _ = _elections(dict.fromkeys(partitions, error), report_all=True)
    return response


def _is(result: KafkaError | int, error: Errors) -> bool:
    return isinstance(result, KafkaError) and result.error is error


def _altered(results: dict[TopicPartition, KafkaError | None]) -> AlterPartitionReassignmentsResponse:
    topics = _ByTopic(lambda name: AlterPartitionReassignmentsResponse.ReassignableTopicResponse(name=name))
    for partition, result in results.items():
        topics[partition.topic].partitions.append(
            AlterPartitionReassignmentsResponse.ReassignablePartitionResponse(
                partition_index=partition.partition, error_code=_code(result), error_message=_message(result)
            )
        )
    return AlterPartitionReassignmentsResponse(responses=list(topics.values()))


def _reassigning(assignments: dict[TopicPartition, ReplicaAssignment]) -> ListPartitionReassignmentsResponse:
    topics = _ByTopic(lambda name: ListPartitionReassignmentsResponse.OngoingTopicReassignment(name=name))
    for partition, assignment in assignments.items():
        topics[partition.topic].partitions.append(
            ListPartitionReassignmentsResponse.OngoingPartitionReassignment(
                partition_index=partition.partition,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding_replicas),
                removing_replicas=list(assignment.removing_replicas),
            )
        )
    return ListPartitionReassignmentsResponse(topics=list(topics.values()))


def _code(result: KafkaError | int | None) -> int:
    return result.error.code if isinstance(result, KafkaError) else Errors.NONE.code


def _message(result: KafkaError | int | None) -> str | None:
    return (result.message or None) if isinstance(result, KafkaError) else None


# --- forwarding -----------------------------------------------------------------------------------------------------


async def handle_envelope(request: Request) -> NoReturn:
    """Close the connection, as Apache's broker does. Envelopes are requests forwarded by other brokers (KIP-590),
    which do so only in KRaft mode.
    """
    raise CloseConnection("it sent an Envelope, and brokers forward no requests in ZooKeeper mode")
