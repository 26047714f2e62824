"""Encodes subscriptions and assignments: an int16 version, then the message (Kafka's `ConsumerProtocol`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import assignment_of
from kafkapy.errors import KafkaProtocolError
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkapy.protocol.wire import SchemaError

PROTOCOL_TYPE = "consumer"
_VERSION = 3


def encode_subscription(
    metadata: ConsumerProtocolSubscription, owned: Iterable[TopicPartition], generation: int, rack: str | None
) -> bytes:
    """Encode a joining member's subscription in the newest version; older leaders ignore the fields that they don't
    know."""
    topics = indexes_by_topic(sorted(owned))
    entry = ConsumerProtocolSubscription.TopicPartition
    message = ConsumerProtocolSubscription(
        topics=sorted(metadata.topics),
        user_data=metadata.user_data,
        owned_partitions=[entry(topic=topic, partitions=numbers) for topic, numbers in topics.items()],
        generation_id=generation,
        rack_id=rack,
    )
    return _VERSION.to_bytes(2, "big") + message.encode(_VERSION)


def decode_subscription(data: bytes | memoryview) -> ConsumerProtocolSubscription:
    """Decode a subscription. Raises `KafkaProtocolError` for malformed bytes."""
    return _decode(ConsumerProtocolSubscription, data)  # type: ignore[no-any-return]


def encode_assignment(assignment: Any) -> bytes:
    """Encode a member's assignment as an assignor returned it: a message, or partitions."""
    if not isinstance(assignment, ConsumerProtocolAssignment):
        assignment = assignment_of(TopicPartition(*partition) for partition in assignment)
    return _VERSION.to_bytes(2, "big") + bytes(assignment.encode(_VERSION))


def decode_assignment(data: bytes | memoryview) -> ConsumerProtocolAssignment:
    """Decode an assignment. Raises `KafkaProtocolError` for malformed bytes; empty bytes mean that the leader assigned
    nothing."""
    return _decode(ConsumerProtocolAssignment, data)  # type: ignore[no-any-return]


def partitions_of(assignment: ConsumerProtocolAssignment) -> list[TopicPartition]:
    return [TopicPartition(t.topic, number) for t in assignment.assigned_partitions for number in t.partitions]


def _decode(message: Any, data: bytes | memoryview) -> Any:
    version = int.from_bytes(data[:2], "big", signed=True)
    if len(data) < 2 or version < 0:
        raise KafkaProtocolError(f"{message.__name__}: {len(data)} bytes without a valid version")
    try:
        return message.decode(data, min(version, _VERSION), 2)
    except SchemaError as error:
        raise KafkaProtocolError(f"{message.__name__} version {version}: {error}") from error
