"""Transactions as an administrator sees them: which hang, and an end to them (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.admin.kafka_python.base import Face, raise_code
from kafkapy.admin.results import by_topic, values_of
from kafkapy.admin.router import TRANSACTION
from kafkapy.admin.types import (
    AbortTransactionSpec,
    PartitionProducerState,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import UnsupportedVersionError
from kafkapy.protocol.messages.describe_producers import DescribeProducersRequest
from kafkapy.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafkapy.protocol.messages.list_transactions import ListTransactionsRequest
from kafkapy.protocol.messages.write_txn_markers import WriteTxnMarkersRequest

_SLACK_MS = 300_000
"""On top of the longest transaction there may be, before one is said to hang (as in Kafka's tool)."""

_OVER = {
    TransactionState.EMPTY,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
    TransactionState.DEAD,
}


class TransactionMethods(Face):
    async def list_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        producer_id_filters: Iterable[int] | None = None,
        state_filters: Iterable[TransactionState | str] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """Broker -> transactions that it coordinates. `duration_filter_ms` needs a broker from 3.8 on;
        `transactional_id_pattern` (KIP-1152) is not supported and raises UnsupportedVersionError."""
        if transactional_id_pattern is not None:
            raise UnsupportedVersionError("transactional_id_pattern needs ListTransactions version 2")
        request = ListTransactionsRequest(
            state_filters=[TransactionState.value_for(state) for state in state_filters or ()],
            producer_id_filters=list(producer_id_filters or ()),
            duration_filter=-1 if duration_filter_ms is None else int(duration_filter_ms),
        )
        listed = {}
        for node_id in await self._broker_ids() if broker_ids is None else broker_ids:
            answer = await self._node(node_id, request, min_version=0 if duration_filter_ms is None else 1)
            raise_code(answer.response.error_code)
            listed[node_id] = [
                TransactionListing(t.transactional_id, t.producer_id, TransactionState(t.transaction_state))
                for t in answer.response.transaction_states
            ]
        return listed

    async def describe_transactions(self, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
        """Transactional id -> its state. Raises the first one's error."""
        ids = list(transactional_ids)
        if not ids:
            return {}
        answers = await self.core.on_coordinators(
            self._call("coordinator"),
            ids,
            lambda keys: DescribeTransactionsRequest(transactional_ids=keys),
            lambda _, response: {state.transactional_id: state for state in response.transaction_states},
            kind=TRANSACTION,
        )
        described = {}
        for transactional_id, answer in values_of(answers).items():
            raise_code(answer.response.error_code, f"Transactional id {transactional_id} cannot be described")
            described[transactional_id] = _description(answer.node_id, answer.response)
        return described

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], broker_id: int | None = None
    ) -> dict[TopicPartition, PartitionProducerState]:
        """Partition -> its active producers, as the leader (or the replica on `broker_id`) knows them."""
        wanted = list(partitions)
        if not wanted:
            return {}
        leaders = {broker_id: wanted} if broker_id is not None else await self._by_leader(wanted)
        described = {}
        for node_id, some in leaders.items():
            topics = [
                DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=numbers)
                for topic, numbers in by_topic(some).items()
            ]
            for topic in (await self._node(node_id, DescribeProducersRequest(topics=topics))).response.topics:
                for part in topic.partitions:
                    raise_code(part.error_code, part.error_message)
                    described[TopicPartition(topic.name, part.partition_index)] = PartitionProducerState(
                        [_producer(producer) for producer in part.active_producers]
                    )
        return described

    async def _by_leader(self, partitions: list[TopicPartition]) -> dict[int, list[TopicPartition]]:
        call = self._call("Metadata")
        leaders = await self.core.each(call, partitions, lambda left: self.core.leaders(left, all_must_exist=True))
        found: dict[int, list[TopicPartition]] = {}
        for partition, leader in values_of(leaders).items():
            found.setdefault(leader, []).append(partition)
        return found

    async def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        """Write an abort marker into one partition. Raises its error."""
        (leader,) = await self._by_leader([spec.topic_partition])
        message = WriteTxnMarkersRequest
        topic, partition = spec.topic_partition
        marker = message.WritableTxnMarker(
            producer_id=spec.producer_id,
            producer_epoch=spec.producer_epoch,
            transaction_result=False,
            topics=[message.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
            coordinator_epoch=spec.coordinator_epoch,
        )
        for result in (await self._node(leader, message(markers=[marker]))).response.markers:
            for found in result.topics:
                for part in found.partitions:
                    raise_code(part.error_code, f"The transaction in {spec.topic_partition} could not be aborted")

    async def find_hanging_transactions(
        self, broker_ids: Iterable[int] | None = None, max_transaction_timeout_ms: int = 900_000
    ) -> list[dict[str, Any]]:
        """Transactions that are older than any may be, as dicts."""
        listed = await self.list_transactions(broker_ids=broker_ids)
        ids = sorted({listing.transactional_id for listings in listed.values() for listing in listings})
        now = self.client.driver.time.milliseconds()
        hanging = []
        for transactional_id, found in (await self.describe_transactions(ids)).items():
            age = now - found.transaction_start_time_ms
            begun = found.transaction_start_time_ms >= 0
            if begun and found.state not in _OVER and age >= max_transaction_timeout_ms + _SLACK_MS:
                hanging.append(
                    {
                        "transactional_id": transactional_id,
                        "producer_id": found.producer_id,
                        "producer_epoch": found.producer_epoch,
                        "state": found.state.value,
                        "age_ms": age,
                        "coordinator_id": found.coordinator_id,
                        "topic_partitions": sorted(found.topic_partitions),
                    }
                )
        return hanging


def _description(coordinator_id: int, state: Any) -> TransactionDescription:
    return TransactionDescription(
        coordinator_id=coordinator_id,
        state=TransactionState(state.transaction_state),
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
