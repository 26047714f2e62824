"""The transactional APIs (KIP-98, KIP-447, KIP-664, KIP-890): who is allowed to ask, and then the coordinators' answers."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC, INTERNAL_TOPICS
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group_coordinator import GroupCoordinator
from kafkapy.coordinator.group.group_events import STORE_OFFSETS_ERRORS
from kafkapy.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kafkapy.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafkapy.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafkapy.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitResponse
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kafkapy.record.record_batch import NO_SEQUENCE
from kafkapy.runtime.clock import Clock, Steps, at_once, in_steps, in_turns, portions, some_of, work_off
from kafkapy.runtime.completion import Completion
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.coordinators.txn_markers import Marker, Outcome, TxnMarkerWriter
from kafkapy.server.coordinators.txn_verifier import FIRST_BATCHED, TxnVerifier
from kafkapy.server.handlers.group_offsets import AT_ONCE
from kafkapy.server.metadata.metadata_cache import MetadataCache

Results = dict[TopicPartition, Errors]
T = TypeVar(
    "T",
    AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult,
    TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic,
    WriteTxnMarkersResponse.WritableTxnMarkerTopicResult,
)
Offsets = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
Question = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction

log = logging.getLogger("kafkapy.coordinator.transaction.TransactionCoordinator")

A_MOMENT_MS = 100
_FIRST_WITH_FENCED = 2
"""Versions of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn before it know PRODUCER_FENCED by another name."""
_FIRST_COMMIT_WITH_ABORTABLE = 4


@dataclass(eq=False)
class TransactionsHandler:
    """Checks what is asked for, and passes it on to the coordinators of transactions and groups."""

    _transactions: TransactionCoordinator
    _groups: GroupCoordinator
    _verifier: TxnVerifier
    _markers: TxnMarkerWriter
    _cache: MetadataCache
    _authorizer: Authorizer
    _clock: Clock
    _beginnings: deque[Callable[[], None]] = field(default_factory=deque)
    """Transactions that begin when all requests that are there have been handled. A timer runs while there are any."""

    # ------------------------------------------------------------------------------------------------ partitions

    def handle_add_partitions_to_txn(
        self, request: Request
    ) -> AddPartitionsToTxnResponse | Awaitable[AddPartitionsToTxnResponse]:
        """From v4 on brokers ask, for several transactions at once, and mostly whether partitions are known already."""
        body: AddPartitionsToTxnRequest = request.body
        if request.api_version >= FIRST_BATCHED:
            return self._add_several(request)
        question = Question(
            transactional_id=body.v3_and_below_transactional_id,
            producer_id=body.v3_and_below_producer_id,
            producer_epoch=body.v3_and_below_producer_epoch,
            topics=body.v3_and_below_topics,
        )
        if request.size > AT_ONCE:
            return self._add_many(request, question)
        added = self._add(request, question)
        return _response_to_client(added.result()) if added.done else _added_later(added)

    async def _add_many(self, request: Request, question: Question) -> AddPartitionsToTxnResponse:
        [result] = await self._add_large(request, [question])
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=result.topic_results)

    async def _add_several(self, request: Request) -> AddPartitionsToTxnResponse:
        body: AddPartitionsToTxnRequest = request.body
        if not self._authorizer.authorize(request.context, "CLUSTER_ACTION", "CLUSTER", CLUSTER_NAME):
            raise KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)
        response = AddPartitionsToTxnResponse()
        if request.size > AT_ONCE:
            response.results_by_transaction = await self._add_large(request, body.transactions)
            return response
        waiting = [(question.transactional_id, self._add(request, question)) for question in body.transactions]
        for transactional_id, added in waiting:
            response.results_by_transaction.append(
                AddPartitionsToTxnResponse.AddPartitionsToTxnResult(
                    transactional_id=transactional_id, topic_results=_added(await added)
                )
            )
        return response

    async def _add_large(
        self, request: Request, questions: Sequence[Question]
    ) -> list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult]:
        """As `_add` for each, with turns for others. Its transaction still gets all partitions in one go."""
        results = []
        waiting = []
        async for question in in_turns(self._clock, questions):
            result = AddPartitionsToTxnResponse.AddPartitionsToTxnResult(transactional_id=question.transactional_id)
            results.append(result)
            errors, is_refused = await work_off(self._clock, self._sort_out(request, question))
            added = Completion.of(errors) if is_refused else self._add_all(request, question, errors)
            if added.done:
                result.topic_results = await self._answer(added.result(), _added, "results_by_partition")
            else:
                waiting.append((result, added))
        for result, added in waiting:
            result.topic_results = await self._answer(await added, _added, "results_by_partition")
        return results

    async def _answer(self, results: Results, made: Callable[[Results], list[T]], partitions: str) -> list[T]:
        return await work_off(self._clock, _in_parts(results, made, attrgetter(partitions)))

    def _sort_out(self, request: Request, question: Question) -> Steps[tuple[Results, bool]]:
        """Each partition once, with its error if any is refused; and is any?"""
        of_client = request.api_version < FIRST_BATCHED
        denied = of_client and not self._may_write(request, question.transactional_id)
        error = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if denied else Errors.OPERATION_NOT_ATTEMPTED
        errors: Results = {}
        is_refused = denied
        for topic in question.topics:
            for some in portions(topic.partitions):
                names = [TopicPartition(topic.name, index) for index in some]
                errors.update(dict.fromkeys(names, error))
                refused = {} if denied else self._refused(request, names, of_client)
                if refused:
                    is_refused = True
                    errors.update(refused)
                yield
        return errors, is_refused

    def _add(self, request: Request, question: Question) -> Completion[Results]:
        """All or none of the partitions are added."""
        names = _partitions(question.topics)
        of_client = request.api_version < FIRST_BATCHED
        transactional_id = question.transactional_id
        if of_client and not self._may_write(request, transactional_id):
            return Completion.of(dict.fromkeys(names, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        refused = self._refused(request, names, of_client)
        if refused:
            return Completion.of({name: refused.get(name, Errors.OPERATION_NOT_ATTEMPTED) for name in names})
        return self._add_all(request, question, names)

    def _add_all(self, request: Request, question: Question, names: Collection[TopicPartition]) -> Completion[Results]:
        """None of them is refused."""
        transactional_id = question.transactional_id
        producer = ProducerIdAndEpoch(question.producer_id, question.producer_epoch)
        if question.verify_only:
            return Completion.of(self._transactions.verify_partitions(transactional_id, producer, names))
        done: Completion[Results] = Completion()

        def added(error: Errors) -> None:
            done.set_result(dict.fromkeys(names, _known_to(request, error)))

        def add() -> None:
            self._transactions.add_partitions(transactional_id, producer, names, added)

        if request.api_version < FIRST_BATCHED:
            self._add_behind_others(transactional_id, add)
        else:
            add()
        return done

    def _add_behind_others(self, transactional_id: str, add: Callable[[], None]) -> None:
        """What begins gives way to what has begun: where many producers keep a broker busy, they wait before their transactions,
        not at the ends. The connection's next request waits for the answer."""
        if self._transactions.is_open(transactional_id):
            add()
            return
        self._beginnings.append(add)
        if len(self._beginnings) == 1:
            self._clock.later(0, self._let_begin)

    def _let_begin(self) -> None:
        beginnings = self._beginnings
        try:
            while beginnings:
                beginnings.popleft()()
                if self._clock.turn_is_over():
                    break
        finally:
            if beginnings:
                self._clock.later(0, self._let_begin)

    def _refused(self, request: Request, names: Iterable[TopicPartition], of_client: bool) -> Results:
        refused = {}
        for name in names:
            if of_client and (
                name.topic in INTERNAL_TOPICS
                or not self._authorizer.authorize(request.context, "WRITE", "TOPIC", name.topic)
            ):
                refused[name] = Errors.TOPIC_AUTHORIZATION_FAILED
            elif not self._cache.contains(*name):
                refused[name] = Errors.UNKNOWN_TOPIC_OR_PARTITION
        return refused

    def _may_write(self, request: Request, transactional_id: str) -> bool:
        return self._authorizer.authorize(request.context, "WRITE", "TRANSACTIONAL_ID", transactional_id)

    async def handle_add_offsets_to_txn(self, request: Request) -> AddOffsetsToTxnResponse:
        """The group's partition of `__consumer_offsets` belongs to the transaction."""
        body: AddOffsetsToTxnRequest = request.body
        if not self._may_write(request, body.transactional_id):
            return AddOffsetsToTxnResponse(error_code=Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code)
        if not self._authorizer.authorize(request.context, "READ", "GROUP", body.group_id):
            return AddOffsetsToTxnResponse(error_code=Errors.GROUP_AUTHORIZATION_FAILED.code)
        name = TopicPartition(GROUP_METADATA_TOPIC, self._groups.partition_for(body.group_id))
        done: Completion[Errors] = Completion()
        producer = ProducerIdAndEpoch(body.producer_id, body.producer_epoch)
        self._add_behind_others(
            body.transactional_id,
            lambda: self._transactions.add_partitions(body.transactional_id, producer, [name], done.set_result),
        )
        return AddOffsetsToTxnResponse(error_code=_known_to(request, await done).code)

    # ------------------------------------------------------------------------------------------------ the end

    def handle_end_txn(self, request: Request) -> EndTxnResponse | Awaitable[EndTxnResponse]:
        body: EndTxnRequest = request.body
        if not self._may_write(request, body.transactional_id):
            return EndTxnResponse(error_code=Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code)
        producer = ProducerIdAndEpoch(body.producer_id, body.producer_epoch)
        number = request.context.number
        if self._transactions.is_overtaken(body.transactional_id, producer, number):
            return self._end_if_stayed(request, producer)
        done = self._end(request, producer)
        return _ended(request, done.result()) if done.done else _ended_later(request, done)

    async def _end_if_stayed(self, request: Request, producer: ProducerIdAndEpoch) -> EndTxnResponse:
        if not await self._has_stayed(request):
            log.info(
                "%s has asked for the end of a transaction and left: it is not ended", request.body.transactional_id
            )
            return EndTxnResponse(error_code=Errors.COORDINATOR_NOT_AVAILABLE.code)
        return _ended(request, await self._end(request, producer))

    def _end(self, request: Request, producer: ProducerIdAndEpoch) -> Completion[Errors]:
        body: EndTxnRequest = request.body
        done: Completion[Errors] = Completion()
        self._transactions.end_transaction(
            body.transactional_id, producer, body.committed, done.set_result, request.context.number
        )
        return done

    async def _has_stayed(self, request: Request) -> bool:
        """Is the client that has sent this still there a moment later? That it has gone comes right behind its last request."""
        moment: Completion[None] = Completion()
        self._clock.later(A_MOMENT_MS, lambda: moment.set_result(None))
        await moment
        return request.channel.has_peer()

    def handle_write_txn_markers(self, request: Request) -> Awaitable[WriteTxnMarkersResponse] | None:
        """From coordinators, and from operators who end a hanging transaction (KIP-664)."""
        body: WriteTxnMarkersRequest = request.body
        authorizer, context = self._authorizer, request.context
        if not (
            authorizer.authorize(context, "ALTER", "CLUSTER", CLUSTER_NAME)
            or authorizer.authorize(context, "CLUSTER_ACTION", "CLUSTER", CLUSTER_NAME)
        ):
            raise KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)
        if request.size > AT_ONCE:
            return self._write_many(body.markers)
        at_once(self._markers.write(body.markers, partial(_respond_markers, request)))
        return None

    async def _write_many(self, markers: Sequence[Marker]) -> WriteTxnMarkersResponse:
        written: Completion[list[Outcome]] = Completion()
        await work_off(self._clock, self._markers.write(markers, written.set_result))
        outcomes = await written
        outcomes.reverse()  # to be taken out: very many would take long to be freed together
        response = WriteTxnMarkersResponse()
        async for marker in in_turns(self._clock, markers):
            if outcome := outcomes.pop():
                topics = await self._answer(outcome, _written, "partitions")
                response.markers.append(_result_of_marker(marker, topics))
        return response

    # ------------------------------------------------------------------------------------------------ offsets

    async def handle_txn_offset_commit(self, request: Request) -> TxnOffsetCommitResponse | None:
        """Answered when the offsets are in the log; they hold once the transaction is committed."""
        body: TxnOffsetCommitRequest = request.body
        is_large = request.size > AT_ONCE
        steps = self._sort_out_offsets(request, body)
        errors, accepted = await work_off(self._clock, steps) if is_large else at_once(steps)
        if accepted:
            commit = copy(body)  # as a whole a large one is freed in a thread
            commit.topics = accepted
            errors.update(await self._commit_offsets(commit, request.api_version))
        topics = await self._answer(errors, _committed, "partitions") if is_large else _committed(errors)
        return TxnOffsetCommitResponse(topics=topics)

    def _sort_out_offsets(self, request: Request, body: TxnOffsetCommitRequest) -> Steps[tuple[Results, list[Offsets]]]:
        """The partitions that are refused, and why; and the others, each once."""
        refused: Results = {}
        accepted: dict[str, dict[int, TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition]] = {}
        of_all = self._refusal_of_offsets(request, body)
        for topic in body.topics:
            name, error = topic.name, of_all
            if error is None and not self._authorizer.authorize(request.context, "READ", "TOPIC", name):
                error = Errors.TOPIC_AUTHORIZATION_FAILED
            for some in portions(topic.partitions):
                for partition in some:
                    index = partition.partition_index
                    if error is not None:
                        refused[TopicPartition(name, index)] = error
                    elif self._cache.contains(name, index):
                        accepted.setdefault(name, {})[index] = partition
                    else:
                        refused[TopicPartition(name, index)] = Errors.UNKNOWN_TOPIC_OR_PARTITION
                yield
        return refused, [Offsets(name=name, partitions=list(good.values())) for name, good in accepted.items()]

    def _refusal_of_offsets(self, request: Request, body: TxnOffsetCommitRequest) -> Errors | None:
        if not self._may_write(request, body.transactional_id):
            return Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if not self._authorizer.authorize(request.context, "READ", "GROUP", body.group_id):
            return Errors.GROUP_AUTHORIZATION_FAILED
        return None

    async def _commit_offsets(self, body: TxnOffsetCommitRequest, version: int) -> Results:
        names = [TopicPartition(topic.name, p.partition_index) for topic in body.topics for p in topic.partitions]
        group_partition = TopicPartition(GROUP_METADATA_TOPIC, self._groups.partition_for(body.group_id))
        producer = ProducerIdAndEpoch(body.producer_id, body.producer_epoch)
        refused = await self._verifier.verify(body.transactional_id, producer, {group_partition: NO_SEQUENCE})
        if refused:
            error = refused[group_partition]
            if version < _FIRST_COMMIT_WITH_ABORTABLE:
                error = _without_abortable(error)
            return dict.fromkeys(names, _loading_known_to(version, STORE_OFFSETS_ERRORS.get(error, error)))
        done: Completion[OffsetCommitResponse] = Completion()
        self._groups.commit_transactional_offsets(body, done.set_result)
        response = await done
        return {
            TopicPartition(topic.name, partition.partition_index): _loading_known_to(
                version, Errors.for_code(partition.error_code)
            )
            for topic in response.topics
            for partition in topic.partitions
        }

    # ------------------------------------------------------------------------------------------------ administration

    def handle_describe_transactions(
        self, request: Request
    ) -> DescribeTransactionsResponse | Awaitable[DescribeTransactionsResponse]:
        return in_steps(self._clock, self._describe(request, request.body))

    def _describe(self, request: Request, body: DescribeTransactionsRequest) -> Steps[DescribeTransactionsResponse]:
        states = []
        for transactional_id in body.transactional_ids:
            yield
            if self._may_see(request, transactional_id):
                state = self._transactions.describe_transaction(transactional_id)
                state.topics = [
                    topic
                    for topic in state.topics
                    if self._authorizer.authorize(request.context, "DESCRIBE", "TOPIC", topic.topic)
                ]
            else:
                state = DescribeTransactionsResponse.TransactionState(
                    transactional_id=transactional_id,
                    error_code=Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code,
                )
            states.append(state)
        return DescribeTransactionsResponse(transaction_states=states)

    def handle_list_transactions(
        self, request: Request
    ) -> ListTransactionsResponse | Awaitable[ListTransactionsResponse]:
        return in_steps(self._clock, self._list(request))

    def _list(self, request: Request) -> Steps[ListTransactionsResponse]:
        body: ListTransactionsRequest = request.body
        response = yield from self._transactions.list_transactions(body)
        response.transaction_states = [
            state for state in response.transaction_states if self._may_see(request, state.transactional_id)
        ]
        return response

    def _may_see(self, request: Request, transactional_id: str) -> bool:
        return self._authorizer.authorize(request.context, "DESCRIBE", "TRANSACTIONAL_ID", transactional_id)


def _ended(request: Request, error: Errors) -> EndTxnResponse:
    return EndTxnResponse(error_code=_known_to(request, error).code)


async def _ended_later(request: Request, done: Completion[Errors]) -> EndTxnResponse:
    return _ended(request, await done)


def _response_to_client(results: Results) -> AddPartitionsToTxnResponse:
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_added(results))


async def _added_later(added: Completion[Results]) -> AddPartitionsToTxnResponse:
    return _response_to_client(await added)


def _known_to(request: Request, error: Errors) -> Errors:
    if error is Errors.PRODUCER_FENCED and request.api_version < _FIRST_WITH_FENCED:
        return Errors.INVALID_PRODUCER_EPOCH
    return error


def _loading_known_to(version: int, error: Errors) -> Errors:
    """Producers before 2.0 might not survive an error that says that something is loading (KAFKA-7296)."""
    if error is Errors.COORDINATOR_LOAD_IN_PROGRESS and version < 2:
        return Errors.COORDINATOR_NOT_AVAILABLE
    return error


def _without_abortable(error: Errors) -> Errors:
    return Errors.INVALID_TXN_STATE if error is Errors.TRANSACTION_ABORTABLE else error


def _partitions(topics: Iterable[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]) -> Collection[TopicPartition]:
    """Each once, in order."""
    return dict.fromkeys(TopicPartition(topic.name, index) for topic in topics for index in topic.partitions)


def _by_topic(results: Results) -> dict[str, list[tuple[int, int]]]:
    """The numbers of the partitions with their error codes."""
    topics: dict[str, list[tuple[int, int]]] = {}
    for name, error in results.items():
        topics.setdefault(name.topic, []).append((name.partition, error.code))
    return topics


def _in_parts(
    results: Results, made: Callable[[Results], list[T]], partitions_of: Callable[[T], list[Any]]
) -> Steps[list[T]]:
    """What `made` makes of the results. They are gone then: very many would take long to be freed together."""
    topics: dict[str, T] = {}
    for some in some_of(results.items()):
        for topic in made(dict(some)):
            whole = topics.setdefault(topic.name, topic)
            if whole is not topic:
                partitions_of(whole).extend(partitions_of(topic))
        yield
    while results:
        results.popitem()
        yield
    return list(topics.values())


def _added(results: Results) -> list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult]:
    partition = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
    return [
        AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult(
            name=topic,
            results_by_partition=[
                partition(partition_index=index, partition_error_code=code) for index, code in errors
            ],
        )
        for topic, errors in _by_topic(results).items()
    ]


def _committed(results: Results) -> list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic]:
    partition = TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition
    return [
        TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(
            name=topic, partitions=[partition(partition_index=index, error_code=code) for index, code in errors]
        )
        for topic, errors in _by_topic(results).items()
    ]


def _written(results: Results) -> list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult]:
    partition = WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult
    return [
        WriteTxnMarkersResponse.WritableTxnMarkerTopicResult(
            name=topic, partitions=[partition(partition_index=index, error_code=code) for index, code in errors]
        )
        for topic, errors in _by_topic(results).items()
    ]


def _result_of_marker(
    marker: Marker, topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult]
) -> WriteTxnMarkersResponse.WritableTxnMarkerResult:
    return WriteTxnMarkersResponse.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)


def _respond_markers(request: Request, outcomes: list[Outcome]) -> None:
    body: WriteTxnMarkersRequest = request.body
    response = WriteTxnMarkersResponse()
    for marker, outcome in zip(body.markers, outcomes, strict=True):
        if not outcome:
            continue  # it names no partitions: Kafka does not mention it
        response.markers.append(_result_of_marker(marker, _written(outcome)))
    request.respond(response)
