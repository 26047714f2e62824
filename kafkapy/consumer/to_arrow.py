"""Reads a range of a topic into one Arrow table, without a group or background threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkapy.clients.caller_driver import CallerDriver
from kafkapy.clients.client_metadata import MetadataRequestBuilder
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.list_arguments import check_list
from kafkapy.clients.metadata import ClusterMetadata
from kafkapy.common.extras import need
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.range_reader import OffsetRangeError, as_client_config, bulk_client, log_bounds, read_range
from kafkapy.errors import UnknownTopicOrPartitionError, error_for
from kafkapy.protocol.errors import Errors, KafkaError

if TYPE_CHECKING:
    import pyarrow as pa

    ArrowTable: TypeAlias = pa.Table

Bound = int | Mapping[int, int] | None


def to_arrow(
    config: ClientConfig | str | Iterable[str] | Mapping[str, Any],
    topic: str,
    start: Bound = None,
    end: Bound = None,
    *,
    partitions: Iterable[int] | None = None,
    isolation_level: str = "read_uncommitted",
    include_headers: bool = True,
    timestamp_unit: str = "ms",
    **options: Any,
) -> pa.Table:
    """Return the records with start <= offset < end of a topic's partitions (None: all), partition by partition.

    `start`, `end`: an offset for every partition, or one for each (partition -> offset); None, or no entry, means the
    beginning of the log, or its current end. A greater end means the current end, too. `options`: those of
    `read_range`.

    Raises `OffsetRangeError` for a start before the beginning or behind the end of the log, UnknownTopicOrPartitionError,
    and the errors of `read_range`.
    """
    need("arrow", "pyarrow", "numpy", by="to_arrow")
    import pyarrow as pa

    from kafkapy.consumer.arrow import record_schema

    if partitions is not None:
        check_list("partitions", partitions)
    config = as_client_config(config)
    known = _partitions_of(config, topic)
    wanted = known if partitions is None else sorted(set(partitions))
    batches: list[pa.RecordBatch] = []
    for index in wanted:
        if index not in known:
            raise UnknownTopicOrPartitionError(f"Topic {topic} has no partition {index}")
        partition = TopicPartition(topic, index)
        first, last = log_bounds(config, partition, isolation_level)
        begin = _bound(start, index, first)
        if not first <= begin <= last:
            raise OffsetRangeError(partition, begin, first, last)
        batches += read_range(
            config,
            topic,
            index,
            begin,
            min(_bound(end, index, last), last),
            isolation_level=isolation_level,
            include_headers=include_headers,
            timestamp_unit=timestamp_unit,
            **options,
        )
    return pa.Table.from_batches(batches, schema=record_schema(include_headers, timestamp_unit))


def _bound(bound: Bound, partition: int, default: int) -> int:
    if isinstance(bound, Mapping):
        return bound.get(partition, default)
    return default if bound is None else bound


def _partitions_of(config: ClientConfig, topic: str) -> list[int]:
    """Fetch the topic's partition numbers from the first bootstrap server that answers."""
    failure: KafkaError | None = None
    for address in config.bootstrap:
        try:
            driver = CallerDriver()
            try:
                response = driver.run(bulk_client(driver, config, address).call, MetadataRequestBuilder([topic], False))
            finally:
                driver.close()
        except KafkaError as error:
            failure = error
            continue
        found = ClusterMetadata.of(response).topics.get(topic)
        if found is None or found.error is not Errors.NONE:
            refusal = Errors.UNKNOWN_TOPIC_OR_PARTITION if found is None else found.error
            raise error_for(refusal, f"Topic {topic}: {refusal.message}")
        return [p.partition for p in found.partitions]
    assert failure is not None  # there is at least one bootstrap server
    raise failure
