"""The transactional APIs (KIP-98, KIP-447, KIP-664, KIP-890). Each handler authorizes, verifies, acts and responds."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from kafkapy.common.acl_types import ACLOperation, ResourceType
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
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from kafkapy.record.record_batch import NO_SEQUENCE
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.coordinators.txn_markers import TxnMarkerWriter
from kafkapy.server.coordinators.txn_verifier import FIRST_BATCHED, TxnVerifier
from kafkapy.server.metadata.metadata_cache import MetadataCache

Results = dict[TopicPartition, Errors]
Offsets = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
Question = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
P = TypeVar("P")
T = TypeVar("T")

log = logging.getLogger("kafkapy.coordinator.transaction.TransactionCoordinator")

DISCONNECT_GRACE_MS = 100
"""How long an EndTxn that another request has overtaken waits for a disconnect, which shows that its client has
ended."""
_FIRST_WITH_FENCED = 2
"""Earlier versions of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn have INVALID_PRODUCER_EPOCH for
PRODUCER_FENCED."""
_FIRST_COMMIT_WITH_ABORTABLE = 4


@dataclass(eq=False)
class TransactionsHandler:
    """Checks requests and passes them to the coordinators of transactions and groups."""

    _transactions: TransactionCoordinator
    _groups: GroupCoordinator
    _verifier: TxnVerifier
    _markers: TxnMarkerWriter
    _cache: MetadataCache
    _authorizer: Authorizer
    _clock: Clock
    _pending_starts: deque[Completion[None]] = field(default_factory=deque)
    """Transactions that start after all requests received so far. If there are any, `_start_pending` runs or is
    scheduled."""

    # ------------------------------------------------------------------------------------------------ partitions

    async def handle_add_partitions_to_txn(self, request: Request) -> AddPartitionsToTxnResponse:
        """Add partitions to transactions. From v4 on brokers send the request, with several transactions, mostly to
        verify partitions."""
        if request.api_version >= FIRST_BATCHED:
            return await self._add_for_broker(request)
        body: AddPartitionsToTxnRequest = request.body
        question = Question(
            transactional_id=body.v3_and_below_transactional_id,
            producer_id=body.v3_and_below_producer_id,
            producer_epoch=body.v3_and_below_producer_epoch,
            topics=body.v3_and_below_topics,
        )
        results, is_refused = await self._verify_partitions(request, question)
        if not is_refused:
            await self._start_after_others(question.transactional_id)
            results = await self._add_partitions(request, question, results)
        request.keep(results)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=await self._added(results))

    async def _add_for_broker(self, request: Request) -> AddPartitionsToTxnResponse:
        """Start all transactions' operations before waiting for the first."""
        body: AddPartitionsToTxnRequest = request.body
        if not self._authorizer.authorize(
            request.context, ACLOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME
        ):
            raise KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)
        asked: list[Completion[Results]] = []
        for question in body.transactions:
            await self._clock.checkpoint()
            results, is_refused = await self._verify_partitions(request, question)
            if is_refused:
                asked.append(Completion.of(results))
            elif question.verify_only:
                producer = ProducerIdAndEpoch(question.producer_id, question.producer_epoch)
                known = self._transactions.verify_partitions(question.transactional_id, producer, results)
                asked.append(Completion.of(known))
            else:
                asked.append(spawn(self._add_partitions(request, question, results)))
        request.keep(asked)
        response = AddPartitionsToTxnResponse()
        for question, answer in zip(body.transactions, asked, strict=True):
            await self._clock.checkpoint()
            response.results_by_transaction.append(
                AddPartitionsToTxnResponse.AddPartitionsToTxnResult(
                    transactional_id=question.transactional_id, topic_results=await self._added(await answer)
                )
            )
        return response

    async def _verify_partitions(self, request: Request, question: Question) -> tuple[Results, bool]:
        """Return each partition's error, and whether any partition is refused: then none is added."""
        of_client = request.api_version < FIRST_BATCHED
        denied: Errors | None = None
        if of_client and not self._may_write(request, question.transactional_id):
            denied = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        results: Results = {}
        is_refused = denied is not None
        for topic in question.topics:
            refusal = denied
            if denied is None and of_client and not self._may_add(request, topic.name):
                refusal = Errors.TOPIC_AUTHORIZATION_FAILED
            for chunk in chunks(topic.partitions):
                await self._clock.checkpoint()
                for index in chunk:
                    error = refusal
                    if error is None and not self._cache.contains(topic.name, index):
                        error = Errors.UNKNOWN_TOPIC_OR_PARTITION
                    is_refused = is_refused or error is not None
                    results[TopicPartition(topic.name, index)] = error or Errors.OPERATION_NOT_ATTEMPTED
        return results, is_refused

    async def _add_partitions(self, request: Request, question: Question, names: Results) -> Results:
        """Add all of `names`; return the same error for each."""
        producer = ProducerIdAndEpoch(question.producer_id, question.producer_epoch)
        error = await self._transactions.add_partitions(question.transactional_id, producer, names)
        request.keep(names)
        return dict.fromkeys(names, _known_to(request, error))

    async def _start_after_others(self, transactional_id: str) -> None:
        """Give requests of open transactions priority, so that on a busy broker producers wait before their
        transactions instead of at the end. The connection's next request waits for the response."""
        if self._transactions.is_open(transactional_id):
            return
        start: Completion[None] = Completion()
        self._pending_starts.append(start)
        if len(self._pending_starts) == 1:
            self._clock.later(0, lambda: spawn(self._start_pending()))
        await start

    async def _start_pending(self) -> None:
        while self._pending_starts:
            self._pending_starts[0].set_result(None)
            self._pending_starts.popleft()
            await self._clock.checkpoint()

    def _may_add(self, request: Request, topic: str) -> bool:
        return topic not in INTERNAL_TOPICS and self._authorizer.authorize(
            request.context, ACLOperation.WRITE, ResourceType.TOPIC, topic
        )

    def _may_write(self, request: Request, transactional_id: str) -> bool:
        return self._authorizer.authorize(
            request.context, ACLOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
        )

    async def _added(self, results: Results) -> list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult]:
        return await self._by_topic(
            results.items(),
            AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult,
            AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult,
        )

    async def _by_topic(
        self,
        results: Iterable[tuple[TopicPartition, Errors]],
        topic_result: Callable[[str, list[P]], T],
        partition_result: Callable[[int, int], P],
    ) -> list[T]:
        """Group the results by topic; a small number without yielding."""
        topics: list[T] = []
        partitions: dict[str, list[P]] = {}
        for number, chunk in enumerate(chunks(results)):
            if number:
                await self._clock.checkpoint()
            for (topic, index), error in chunk:
                of_topic = partitions.get(topic)
                if of_topic is None:
                    of_topic = partitions[topic] = []
                    topics.append(topic_result(topic, of_topic))
                of_topic.append(partition_result(index, error.code))
        return topics

    async def handle_add_offsets_to_txn(self, request: Request) -> AddOffsetsToTxnResponse:
        """Add the group's partition of `__consumer_offsets` to the transaction."""
        body: AddOffsetsToTxnRequest = request.body
        if not self._may_write(request, body.transactional_id):
            return AddOffsetsToTxnResponse(error_code=Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code)
        if not self._authorizer.authorize(request.context, ACLOperation.READ, ResourceType.GROUP, body.group_id):
            return AddOffsetsToTxnResponse(error_code=Errors.GROUP_AUTHORIZATION_FAILED.code)
        name = TopicPartition(GROUP_METADATA_TOPIC, self._groups.partition_for(body.group_id))
        producer = ProducerIdAndEpoch(body.producer_id, body.producer_epoch)
        await self._start_after_others(body.transactional_id)
        error = await self._transactions.add_partitions(body.transactional_id, producer, [name])
        return AddOffsetsToTxnResponse(error_code=_known_to(request, error).code)

    # ------------------------------------------------------------------------------------------------ the end

    async def handle_end_txn(self, request: Request) -> EndTxnResponse:
        body: EndTxnRequest = request.body
        transactional_id, connection = body.transactional_id, request.context.number
        if not self._may_write(request, transactional_id):
            return EndTxnResponse(error_code=Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code)
        producer = ProducerIdAndEpoch(body.producer_id, body.producer_epoch)
        is_overtaken = self._transactions.is_overtaken(transactional_id, producer, connection)
        if is_overtaken and not await self._is_still_connected(request):
            log.info("%s has asked for the end of a transaction and left: it is not ended", transactional_id)
            return EndTxnResponse(error_code=Errors.COORDINATOR_NOT_AVAILABLE.code)
        error = await self._transactions.end_transaction(transactional_id, producer, body.committed, connection)
        return EndTxnResponse(error_code=_known_to(request, error).code)

    async def _is_still_connected(self, request: Request) -> bool:
        """Return whether the client is still connected after a grace period: a disconnect arrives shortly after the
        last request."""
        grace: Completion[None] = Completion()
        self._clock.later(DISCONNECT_GRACE_MS, lambda: grace.set_result(None))
        await grace
        return request.channel.has_peer()

    async def handle_write_txn_markers(self, request: Request) -> WriteTxnMarkersResponse:
        """Write markers for other coordinators, or for an operator's tool that ends a hanging transaction
        (KIP-664)."""
        body: WriteTxnMarkersRequest = request.body
        authorizer, context = self._authorizer, request.context
        if not (
            authorizer.authorize(context, ACLOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME, log_if_denied=False)
            or authorizer.authorize(context, ACLOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
        ):
            raise KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)
        outcomes = await self._markers.write(body.markers)
        request.keep(outcomes)
        response = WriteTxnMarkersResponse()
        for marker, outcome in zip(body.markers, outcomes, strict=True):
            await self._clock.checkpoint()
            if not outcome:
                continue  # without partitions: omitted from the response, as in Kafka
            topics = await self._by_topic(
                outcome.items(),
                WriteTxnMarkersResponse.WritableTxnMarkerTopicResult,
                WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult,
            )
            response.markers.append(
                WriteTxnMarkersResponse.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics)
            )
        return response

    # ------------------------------------------------------------------------------------------------ offsets

    async def handle_txn_offset_commit(self, request: Request) -> TxnOffsetCommitResponse:
        """Respond when the offsets are in the log; they become visible when the transaction is committed."""
        body: TxnOffsetCommitRequest = request.body
        refused, accepted = await self._check_offsets(request, body)
        request.keep(refused, accepted)
        committed: Iterable[tuple[TopicPartition, Errors]] = ()
        if accepted:
            commit = copy(body)  # the request keeps its body: a large one is freed in a thread
            commit.topics = accepted
            refusal = await self._verify_offsets(commit, request.api_version)
            if refusal is None:
                committed = await self._commit_offsets(request, commit)
            else:
                committed = (
                    (TopicPartition(t.name, p.partition_index), refusal) for t in accepted for p in t.partitions
                )
        topics = await self._by_topic(
            chain(refused.items(), committed),
            TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic,
            TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition,
        )
        return TxnOffsetCommitResponse(topics=topics)

    async def _check_offsets(self, request: Request, body: TxnOffsetCommitRequest) -> tuple[Results, list[Offsets]]:
        """Return the refused partitions with their errors, and the others, without duplicates."""
        refused: Results = {}
        accepted: dict[str, dict[int, TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition]] = {}
        of_all = self._refusal_of_offsets(request, body)
        for topic in body.topics:
            name, error = topic.name, of_all
            if error is None and not self._authorizer.authorize(
                request.context, ACLOperation.READ, ResourceType.TOPIC, name
            ):
                error = Errors.TOPIC_AUTHORIZATION_FAILED
            for chunk in chunks(topic.partitions):
                await self._clock.checkpoint()
                for partition in chunk:
                    index = partition.partition_index
                    if error is not None:
                        refused[TopicPartition(name, index)] = error
                    elif self._cache.contains(name, index):
                        accepted.setdefault(name, {})[index] = partition
                    else:
                        refused[TopicPartition(name, index)] = Errors.UNKNOWN_TOPIC_OR_PARTITION
        request.keep(accepted)
        return refused, [Offsets(name=name, partitions=list(good.values())) for name, good in accepted.items()]

    def _refusal_of_offsets(self, request: Request, body: TxnOffsetCommitRequest) -> Errors | None:
        if not self._may_write(request, body.transactional_id):
            return Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if not self._authorizer.authorize(request.context, ACLOperation.READ, ResourceType.GROUP, body.group_id):
            return Errors.GROUP_AUTHORIZATION_FAILED
        return None

    async def _verify_offsets(self, body: TxnOffsetCommitRequest, version: int) -> Errors | None:
        """Return the error if the group's partition of `__consumer_offsets` does not belong to the transaction."""
        error = self._groups.begin_transactional_commit(body.group_id)
        if error is not Errors.NONE:
            return _loading_known_to(version, error)
        group_partition = TopicPartition(GROUP_METADATA_TOPIC, self._groups.partition_for(body.group_id))
        producer = ProducerIdAndEpoch(body.producer_id, body.producer_epoch)
        refused = await self._verifier.verify(body.transactional_id, producer, {group_partition: NO_SEQUENCE})
        if not refused:
            return None
        error = refused[group_partition]
        if version < _FIRST_COMMIT_WITH_ABORTABLE:
            error = _without_abortable(error)
        return _loading_known_to(version, STORE_OFFSETS_ERRORS.get(error, error))

    async def _commit_offsets(
        self, request: Request, body: TxnOffsetCommitRequest
    ) -> Iterator[tuple[TopicPartition, Errors]]:
        commit = self._groups.new_transactional_commit(body)
        errors = await self._groups.commit_offsets(body.group_id, commit)
        return ((name, _loading_known_to(request.api_version, error)) for name, error in errors.items())

    # ------------------------------------------------------------------------------------------------ administration

    async def handle_describe_transactions(self, request: Request) -> DescribeTransactionsResponse:
        body: DescribeTransactionsRequest = request.body
        response = DescribeTransactionsResponse()
        for transactional_id in body.transactional_ids:
            await self._clock.checkpoint()
            if self._may_see(request, transactional_id):
                state = self._transactions.describe_transaction(transactional_id)
                state.topics = [
                    topic
                    for topic in state.topics
                    if self._authorizer.authorize(
                        request.context, ACLOperation.DESCRIBE, ResourceType.TOPIC, topic.topic
                    )
                ]
            else:
                state = DescribeTransactionsResponse.TransactionState(
                    transactional_id=transactional_id,
                    error_code=Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code,
                )
            response.transaction_states.append(state)
        return response

    async def handle_list_transactions(self, request: Request) -> ListTransactionsResponse:
        body: ListTransactionsRequest = request.body
        response = await self._transactions.list_transactions(body)
        listed, response.transaction_states = response.transaction_states, []
        request.keep(listed)
        for chunk in chunks(listed):
            await self._clock.checkpoint()
            response.transaction_states += [s for s in chunk if self._may_see(request, s.transactional_id)]
        return response

    def _may_see(self, request: Request, transactional_id: str) -> bool:
        return self._authorizer.authorize(
            request.context, ACLOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, transactional_id
        )


def _known_to(request: Request, error: Errors) -> Errors:
    if error is Errors.PRODUCER_FENCED and request.api_version < _FIRST_WITH_FENCED:
        return Errors.INVALID_PRODUCER_EPOCH
    return error


def _loading_known_to(version: int, error: Errors) -> Errors:
    """Replace COORDINATOR_LOAD_IN_PROGRESS, which is fatal for producers before 2.0 (KAFKA-7296)."""
    if error is Errors.COORDINATOR_LOAD_IN_PROGRESS and version < 2:
        return Errors.COORDINATOR_NOT_AVAILABLE
    return error


def _without_abortable(error: Errors) -> Errors:
    return Errors.INVALID_TXN_STATE if error is Errors.TRANSACTION_ABORTABLE else error
