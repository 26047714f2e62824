"""Finds hanging transactions: open in a partition, but unknown to their coordinator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafkapy.admin.results import value_of, values_of
from kafkapy.admin.types import ProducerState, TransactionDescription
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.tools.common.admin_access import failure_is

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

HEADER = (
    *("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset", "LastTimestamp"),
    "Duration(min)",
)
_BATCH = 500
"""Topics or partitions per request."""

T = TypeVar("T")


class OpenTransaction(NamedTuple):
    partition: TopicPartition
    producer: ProducerState

    def row(self, now_ms: int) -> Sequence[object]:
        producer = self.producer
        return (
            *self.partition,
            producer.producer_id,
            producer.producer_epoch,
            producer.coordinator_epoch,
            producer.current_transaction_start_offset,
            producer.last_timestamp,
            (now_ms - producer.last_timestamp) // 60_000,
        )


def find(
    admin: AdminClient,
    broker_id: int | None,
    topic: str | None,
    partitions: Sequence[TopicPartition] | None,
    before_ms: int,
) -> list[OpenTransaction]:
    """Open transactions without records since `before_ms`: of these partitions, or of the topic, or of all topics;
    only partitions with a replica on the broker, if one is given. Raises ToolError."""
    if partitions is None:
        partitions = list(_partitions(admin, broker_id, topic))
    candidates = [
        transaction
        for some in _batches(partitions)
        for transaction in _open(admin, broker_id, some)
        if transaction.producer.last_timestamp < before_ms
    ]
    if not candidates:
        return []
    described = _descriptions(admin, {transaction.producer.producer_id for transaction in candidates})
    return [found for found in candidates if not _is_known(found, described.get(found.producer.producer_id))]


def _is_known(transaction: OpenTransaction, description: TransactionDescription | None) -> bool:
    """Will the coordinator still write a marker to this partition? Its description lists all partitions without one."""
    return description is not None and transaction.partition in description.topic_partitions


def _partitions(admin: AdminClient, broker_id: int | None, topic: str | None) -> Iterator[TopicPartition]:
    if topic is None:
        with failure_is("Failed to list topics"):
            topics = list(admin.list_topics())
    else:
        topics = [topic]
    for names in _batches(topics):
        with failure_is(f"Failed to describe {len(names)} topics"):
            described = values_of(admin.describe_topics(names))
        for name, found in described.items():
            for partition in found.partitions:
                if broker_id is None or broker_id in partition.replicas:
                    yield TopicPartition(name, partition.partition)


def _open(admin: AdminClient, broker_id: int | None, partitions: Sequence[TopicPartition]) -> Iterator[OpenTransaction]:
    on = "their leaders" if broker_id is None else f"broker {broker_id}"
    with failure_is(f"Failed to describe producers for {len(partitions)} partitions on {on}"):
        states = values_of(admin.describe_producers(partitions, broker_id))
    for partition, state in states.items():
        for producer in state.active_producers:
            if producer.current_transaction_start_offset >= 0:
                yield OpenTransaction(partition, producer)


def _descriptions(admin: AdminClient, producer_ids: set[int]) -> dict[int, TransactionDescription]:
    """By producer id: the coordinators' descriptions, where there are any."""
    with failure_is(f"Failed to list transactions for {len(producer_ids)} producers"):
        listed = values_of(admin.list_transactions(producer_ids))
    ids = {found.producer_id: found.transactional_id for listings in listed.values() for found in listings}
    known: dict[int, TransactionDescription] = {}
    with failure_is(f"Failed to describe {len(ids)} transactions"):
        described = admin.describe_transactions(ids.values())
        for producer_id, transactional_id in ids.items():
            found = described[transactional_id]
            if isinstance(found, KafkaError) and found.error is Errors.TRANSACTIONAL_ID_NOT_FOUND:
                continue  # the transactional id has expired since
            known[producer_id] = value_of(found)
    return known


def _batches(things: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(things)
    while batch := list(islice(rest, _BATCH)):
        yield batch
