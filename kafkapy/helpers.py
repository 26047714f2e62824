"""Frequently needed functions over the blocking clients. `options` are those of the clients: `bootstrap_servers`, TLS,
SASL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self, Unpack

from kafkapy.admin.kafka_admin_client import KafkaAdminClient
from kafkapy.admin.topics import NewTopic
from kafkapy.admin.types import ConfigResource
from kafkapy.clients.client_options import ClientOptions
from kafkapy.clients.list_arguments import check_list
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.kafka_consumer import KafkaConsumer
from kafkapy.consumer.options import ConsumerOptions
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.errors import RecordDeserializationError, UnknownTopicOrPartitionError, error_for
from kafkapy.producer.config import ProducerOptions
from kafkapy.producer.future import FutureRecordMetadata
from kafkapy.producer.kafka_producer import KafkaProducer
from kafkapy.serializer import K_co, V_co

if TYPE_CHECKING:
    import pyarrow as pa

_POLL_MS = 500
_DECISIVE_CONFIGS = ("cleanup.policy", "max.message.bytes", "message.timestamp.type", "retention.bytes", "retention.ms")
"""The configs that determine which records a topic keeps, and their timestamps."""


def wait_for_broker(timeout_ms: int = 30_000, **options: Unpack[ClientOptions]) -> None:
    """Wait until a broker answers. Raises NoBrokersAvailable (a KafkaTimeoutError)."""
    options["bootstrap_timeout_ms"] = timeout_ms
    KafkaAdminClient(**options).close()


def tail(
    topic: str, count: int = 10, *, follow: bool = True, **options: Unpack[ConsumerOptions[K_co, V_co]]
) -> Iterator[ConsumerRecord[K_co, V_co]]:
    """Yield the last `count` offsets of each partition, then new records (`follow`). Needs no group, and commits
    nothing.
    """
    with _reader(options) as consumer:
        partitions = _partitions(consumer, topic)
        starts, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
        consumer.assign(partitions)
        for partition in partitions:
            consumer.seek(partition, max(starts[partition], ends[partition] - count))
        yield from consumer if follow else _up_to(consumer, ends)


def read_in_parallel(
    topic: str,
    start: int | Mapping[int, int] | None = None,
    end: int | Mapping[int, int] | None = None,
    *,
    threads: int = 4,
    partitions: Sequence[int] | None = None,
    **options: Unpack[ConsumerOptions],
) -> pa.Table:
    """Read a range of offsets of every partition (see `KafkaConsumer.to_arrow`), several partitions in parallel."""
    import pyarrow as pa

    from kafkapy.consumer.to_arrow import to_arrow

    if partitions is not None:
        check_list("partitions", partitions)
    with _reader(options) as consumer:
        wanted = [p.partition for p in _partitions(consumer, topic)] if partitions is None else list(partitions)
    with ThreadPoolExecutor(threads) as pool:
        tables = list(pool.map(lambda number: to_arrow(options, topic, start, end, partitions=[number]), wanted))
    return pa.concat_tables(tables)


def copy_topic(
    source: str,
    target: str,
    *,
    to: Mapping[str, Any] | None = None,
    same_configs: bool = True,
    **options: Unpack[ConsumerOptions],
) -> int:
    """Copy what a topic has now, with keys, headers, timestamps and partition numbers; how many records that were.

    A target that does not exist is created, with the source's partition count and the configs that are set for it; the
    replication factor is the target cluster's default. One that exists must have as many partitions and, with
    `same_configs`, the same `cleanup.policy`, `max.message.bytes`, `message.timestamp.type`, `retention.bytes` and
    `retention.ms`: else records would be lost or changed.

    Args:
        to: options of the producer, another cluster's for instance; None: the same cluster.
        same_configs: False takes an existing target as it is.

    Raises:
        ValueError: the target is the source, or has other partitions or configs; nothing was written then.
        UnknownTopicOrPartitionError: there is no source.
        KafkaError: what a delivery failed with; what was written before stays.

    Example:
        copy_topic("events", "events-copy", bootstrap_servers="localhost:9092")
    """
    if to is None and source == target:
        raise ValueError(f"Topic {source} cannot be copied to itself")
    _make_or_check(source, target, options, options if to is None else to, same_configs)
    copied = 0
    with (
        _reader(options) as consumer,
        KafkaProducer(**(_of(KafkaProducer, options) if to is None else to)) as producer,
    ):
        partitions = _partitions(consumer, source)
        starts, ends = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
        consumer.assign(partitions)
        for partition in partitions:
            consumer.seek(partition, starts[partition])
        deliveries: list[FutureRecordMetadata] = []
        for record in _up_to(consumer, ends):
            time = record.timestamp if record.timestamp >= 0 else None
            deliveries.append(
                producer.send(target, record.value, record.key, record.headers, record.partition, timestamp_ms=time)
            )
            copied += 1
            if len(deliveries) == 10_000:
                _delivered(producer, deliveries)
        _delivered(producer, deliveries)
    return copied


class DeadLetterTopic:
    """A `deserialization_policy` of all consumers: records that cannot be deserialized are sent to a topic, unchanged.

    Headers are added: `__dlq.topic`, `__dlq.partition`, `__dlq.offset`, `__dlq.timestamp`, `__dlq.origin` (key, value)
    and `__dlq.error`, all of them text. The consumer continues when the record is delivered; if that fails, it stays at
    the record, and `poll` raises the error. A record whose key and value are null gets an empty value. Close the object
    after the consumer.
    """

    def __init__(self, topic: str, **options: Unpack[ProducerOptions]) -> None:
        self.topic = topic
        self._producer: KafkaProducer = KafkaProducer(**options)

    def __call__(self, error: RecordDeserializationError) -> None:
        key, value = error.key_buffer, error.value_buffer
        told = {
            "topic": error.topic_partition.topic,
            "partition": error.topic_partition.partition,
            "offset": error.offset,
            "timestamp": error.timestamp,
            "origin": error.origin,
            "error": error.reason,
        }
        headers = [*error.headers, *((f"__dlq.{name}", str(value).encode()) for name, value in told.items())]
        self._producer.send(self.topic, b"" if key is None and value is None else value, key, headers).get()

    def close(self) -> None:
        self._producer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _reader(options: Mapping[str, Any]) -> KafkaConsumer[Any, Any]:
    """Return a consumer without a group, which commits nothing."""
    given: dict[str, Any] = {"enable_auto_commit": False, **options, "group_id": None}
    return KafkaConsumer(**given)


def _of(face: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options of another client that this kind has, too."""
    return {name: value for name, value in options.items() if name in face.DEFAULT_CONFIG}


def _make_or_check(
    source: str, target: str, options: Mapping[str, Any], to: Mapping[str, Any], same_configs: bool
) -> None:
    """See `copy_topic`."""
    with (
        KafkaAdminClient(**_of(KafkaAdminClient, options)) as here,
        KafkaAdminClient(**_of(KafkaAdminClient, to)) as there,
    ):
        wanted = _partition_count(here, source)
        if not wanted:
            raise UnknownTopicOrPartitionError(f"There is no topic {source}")
        count = _partition_count(there, target)
        if not count:
            configs = {name: config["value"] for name, config in _configs(here, source, "modified").items()}
            there.create_topics([NewTopic(target, wanted, -1, topic_configs=configs)], wait_for_metadata=True)
            return
        if count != wanted:
            raise ValueError(
                f"Topic {target} has {count} partition(s), and {source} has {wanted}: records keep their partition's number. "
                f"Create {target} with {wanted}, or leave that to copy_topic"
            )
        if same_configs:
            ours, theirs = _configs(here, source, "all"), _configs(there, target, "all")
            for name in _DECISIVE_CONFIGS:
                if ours[name]["value"] != theirs[name]["value"]:
                    raise ValueError(
                        f"{name} of topic {target} is {theirs[name]['value']}, of {source} {ours[name]['value']}: the copy might "
                        "not have the same records. Alter one of them, or give same_configs=False"
                    )


def _partition_count(admin: KafkaAdminClient, topic: str) -> int:
    """Return 0 if there is no such topic."""
    (described,) = admin.describe_topics([topic])
    code = described["error_code"]
    if code and code != UnknownTopicOrPartitionError.errno:
        raise error_for(code)
    return len(described["partitions"])


def _configs(admin: KafkaAdminClient, topic: str, which: str) -> dict[str, dict[str, Any]]:
    described = admin.describe_configs([ConfigResource("topic", topic)], config_filter=which)
    configs: dict[str, dict[str, Any]] = described["topic"][topic]
    return configs


def _delivered(producer: KafkaProducer, deliveries: list[FutureRecordMetadata]) -> None:
    producer.flush()
    for delivery in deliveries:
        delivery.get()
    deliveries.clear()


def _partitions(consumer: KafkaConsumer, topic: str) -> list[TopicPartition]:
    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        raise UnknownTopicOrPartitionError(f"There is no topic {topic}")
    return [TopicPartition(topic, number) for number in sorted(numbers)]


def _up_to(consumer: KafkaConsumer, ends: Mapping[TopicPartition, int]) -> Iterator[ConsumerRecord]:
    """Yield the records before these offsets. Progress is checked by positions, because some offsets have no record."""
    left = set(ends)
    while left:
        left -= {p for p in left if (consumer.position(p) or 0) >= ends[p]}
        if not left:
            return
        for partition, records in consumer.poll(_POLL_MS).items():
            yield from (record for record in records if record.offset < ends[partition])
