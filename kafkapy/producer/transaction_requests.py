"""Builds transactional requests that list partitions, and extracts the errors of their responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkapy.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from kafkapy.structs import ConsumerGroupMetadata, OffsetAndMetadata

PartitionErrors = list[tuple[Errors, str | None]]
_GROUP_METADATA_VERSION = 3


def add_partitions_request(
    transactional_id: str, producer: ProducerIdAndEpoch, partitions: Iterable[TopicPartition]
) -> AddPartitionsToTxnRequest:
    """Build the request for versions up to 3; newer ones are for brokers."""
    topics = indexes_by_topic(sorted(partitions))
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=name, partitions=ids) for name, ids in topics.items()
        ],
    )


def add_partitions_errors(answer: AddPartitionsToTxnResponse) -> PartitionErrors:
    return [
        (Errors.for_code(partition.partition_error_code), f"{topic.name}-{partition.partition_index}")
        for topic in answer.results_by_topic_v3_and_below
        for partition in topic.results_by_partition
    ]


def add_offsets_request(transactional_id: str, producer: ProducerIdAndEpoch, group_id: str) -> AddOffsetsToTxnRequest:
    return AddOffsetsToTxnRequest(
        transactional_id=transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        group_id=group_id,
    )


def offset_commit_request(
    transactional_id: str,
    producer: ProducerIdAndEpoch,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
) -> VersionedRequest:
    """Build the request; generation and member are included if the broker's version has them (KIP-447)."""
    topics: dict[str, list[Any]] = {}
    for (topic, partition), offset in offsets.items():
        entry = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset.offset,
            committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
            committed_metadata=offset.metadata,
        )
        topics.setdefault(topic, []).append(entry)

    def build(version: int) -> TxnOffsetCommitRequest:
        known = version >= _GROUP_METADATA_VERSION
        return TxnOffsetCommitRequest(
            transactional_id=transactional_id,
            group_id=group.group_id or "",
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            generation_id=group.generation_id if known else -1,
            member_id=group.member_id if known else "",
            group_instance_id=group.group_instance_id if known else None,
            topics=[
                TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=name, partitions=partitions)
                for name, partitions in topics.items()
            ],
        )

    return VersionedRequest(TxnOffsetCommitRequest, build)


def offset_commit_errors(answer: TxnOffsetCommitResponse) -> PartitionErrors:
    return [(Errors.for_code(partition.error_code), None) for topic in answer.topics for partition in topic.partitions]
