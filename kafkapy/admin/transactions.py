"""Administration of transactions: list, describe and abort them (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.admin.results import Answer, Results, error_of, failure_of, read, told
from kafkapy.admin.router import TRANSACTION, Call, Router
from kafkapy.admin.types import (
    AbortTransactionSpec,
    PartitionProducerState,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import error_for
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.describe_producers import DescribeProducersRequest
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafkapy.protocol.messages.list_transactions import ListTransactionsRequest
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

_LEADER_MOVED = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.REPLICA_NOT_AVAILABLE, Errors.BROKER_NOT_AVAILABLE)
_LATER = (Errors.COORDINATOR_LOAD_IN_PROGRESS,)


class TransactionOperations(Router):
    async def list_transactions(
        self,
        producer_ids: Iterable[int] = (),
        states: Iterable[TransactionState] = (),
        duration_ms: int | None = None,
        timeout_ms: int | None = None,
    ) -> Results[int, list[TransactionListing]]:
        """Return broker -> the transactions that it coordinates, all or those that match.

        `duration_ms`: only transactions that have been open for longer; below 0: all; needs brokers from 3.8 on.
        """
        call = self.call("listTransactions", timeout_ms)
        nodes = sorted((await self.retry(call, lambda: self.refresh(()))).nodes)
        return await self.listings(call, nodes, producer_ids, states, duration_ms)

    async def listings(
        self,
        call: Call,
        node_ids: Iterable[int],
        producer_ids: Iterable[int],
        states: Iterable[TransactionState],
        duration_ms: int | None,
    ) -> Results[int, list[TransactionListing]]:
        request = ListTransactionsRequest(
            state_filters=[state.value for state in states],
            producer_id_filters=list(producer_ids),
            duration_filter=-1 if duration_ms is None else duration_ms,
        )
        lowest = 0 if duration_ms is None else 1

        async def attempt(left: list[int]) -> Results[int, Answer[Any]]:
            return await self.on_nodes(call, dict.fromkeys(left, request), min_version=lowest)

        def is_loading(answer: Answer[Any] | KafkaError) -> bool:
            error = answer if isinstance(answer, KafkaError) else failure_of(answer.response)
            return error is not None and error.error in _LATER

        return read(await self.each(call, node_ids, attempt, is_loading), _listed)

    async def describe_transactions(
        self, transactional_ids: Iterable[str], timeout_ms: int | None = None
    ) -> Results[str, TransactionDescription]:
        """Return transactional id -> its state at the coordinator."""
        return await self.transaction_descriptions(self.call("describeTransactions", timeout_ms), transactional_ids)

    async def transaction_descriptions(
        self, call: Call, transactional_ids: Iterable[str]
    ) -> Results[str, TransactionDescription]:
        answers = await self.on_coordinators(
            call,
            transactional_ids,
            lambda keys: DescribeTransactionsRequest(transactional_ids=keys),
            lambda _, response: {state.transactional_id: state for state in response.transaction_states},
            kind=TRANSACTION,
        )
        return {key: _described(key, answer) for key, answer in answers.items()}

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], broker_id: int | None = None, timeout_ms: int | None = None
    ) -> Results[TopicPartition, PartitionProducerState]:
        """Return partition -> its active producers, from its leader or the replica on `broker_id`."""
        return await self.producer_states(self.call("describeProducers", timeout_ms), partitions, broker_id)

    async def producer_states(
        self, call: Call, partitions: Iterable[TopicPartition], broker_id: int | None
    ) -> Results[TopicPartition, PartitionProducerState]:
        def make(wanted: list[TopicPartition]) -> DescribeProducersRequest:
            topics = [
                DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=indexes)
                for topic, indexes in indexes_by_topic(wanted).items()
            ]
            return DescribeProducersRequest(topics=topics)

        if broker_id is not None:
            await self.know([broker_id])
            if self.client.metadata.node(broker_id) is None:
                raise call.no_broker(broker_id)
        answers = await self.on_leaders(
            call, partitions, make, _LEADER_MOVED.__contains__, all_must_exist=True, node_id=broker_id
        )
        return read(answers, lambda part: PartitionProducerState([_producer(p) for p in part.active_producers]))

    async def abort_transaction(self, spec: AbortTransactionSpec, timeout_ms: int | None = None) -> None:
        """Write an abort marker into one partition. Raises its error."""
        await self.abort(self.call("abortTransaction", timeout_ms), spec)

    async def abort(self, call: Call, spec: AbortTransactionSpec) -> None:
        request = WriteTxnMarkersRequest(markers=[_abort_marker(spec)])

        async def attempt(left: list[TopicPartition]) -> Results[TopicPartition, None]:
            leader = (await self.leaders(left, all_must_exist=True))[spec.topic_partition]
            if isinstance(leader, KafkaError):
                return dict.fromkeys(left, leader)
            answer = await self.ask(leader, request)
            outcome = {
                TopicPartition(topic.name, part.partition_index): error_of(part.error_code)
                for marker in answer.response.markers
                for topic in marker.topics
                for part in topic.partitions
            }
            return told(outcome, left, "leader", "partition")

        def has_moved(result: KafkaError | None) -> bool:
            return result is not None and result.error in _LEADER_MOVED

        error = (await self.each(call, [spec.topic_partition], attempt, has_moved))[spec.topic_partition]
        if error is not None:
            raise error_for(error.error.code, f"The transaction was not aborted: {error.message}")


def _abort_marker(spec: AbortTransactionSpec) -> WriteTxnMarkersRequest.WritableTxnMarker:
    message = WriteTxnMarkersRequest
    topic, partition = spec.topic_partition
    return message.WritableTxnMarker(
        producer_id=spec.producer_id,
        producer_epoch=spec.producer_epoch,
        transaction_result=False,
        topics=[message.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
        coordinator_epoch=spec.coordinator_epoch,
    )


def _state(name: str) -> TransactionState:
    try:
        return TransactionState(name)
    except ValueError:
        return TransactionState.UNKNOWN


def _listed(response: Any) -> list[TransactionListing]:
    return [
        TransactionListing(found.transactional_id, found.producer_id, _state(found.transaction_state))
        for found in response.transaction_states
    ]


def _described(transactional_id: str, answer: Answer[Any] | KafkaError) -> TransactionDescription | KafkaError:
    if isinstance(answer, KafkaError):
        return answer
    state = answer.response
    if state.error_code:
        reason = "the ID could not be found"
        if state.error_code != Errors.TRANSACTIONAL_ID_NOT_FOUND.code:
            reason = Errors.for_code(state.error_code).message
        return error_for(state.error_code, f"Transactional id {transactional_id} cannot be described: {reason}")
    return TransactionDescription(
        coordinator_id=answer.node_id,
        state=_state(state.transaction_state),
        producer_id=state.producer_id,
        producer_epoch=state.producer_epoch,
        transaction_timeout_ms=state.transaction_timeout_ms,
        transaction_start_time_ms=state.transaction_start_time_ms,
        topic_partitions={TopicPartition(t.topic, partition) for t in state.topics for partition in t.partitions},
    )


def _producer(producer: Any) -> ProducerState:
    return ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_transaction_start_offset=producer.current_txn_start_offset,
    )
