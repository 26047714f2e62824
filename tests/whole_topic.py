"""What a topic holds, read to the end that it has now: no time-out ends the reading early on a busy machine."""

from __future__ import annotations

from itertools import chain
from typing import Any

from kafkapy import KafkaConsumer, TopicPartition


def records_of(broker: str, topic: str, **options: Any) -> list[Any]:
    """All records of a topic, in the order of their partitions' offsets.

    Args:
        broker: "host:port".
        topic: It has to be there.
        options: Of the consumer, for example `isolation_level`.
    """
    found: list[Any] = []
    with KafkaConsumer(bootstrap_servers=broker, **options) as consumer:
        partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic) or ())]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        ends = consumer.end_offsets(partitions)
        while any((consumer.position(partition) or 0) < ends[partition] for partition in partitions):
            found.extend(chain.from_iterable(consumer.poll(1000).values()))
    return found
