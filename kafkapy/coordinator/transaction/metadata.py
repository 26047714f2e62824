"""A snapshot of a transactional id (Kafka's `TxnTransitMetadata`), and its record in `__transaction_state`."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct, pack
from typing import NamedTuple

from kafkapy.common.partitions_by_topic import indexes_by_topic
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.transaction_states import TransactionState
from kafkapy.coordinator.transaction.transaction_state import CODES, EMPTY, state_of
from kafkapy.protocol.records.transaction_log import TransactionLogKey, TransactionLogValue
from kafkapy.protocol.wire import SchemaError
from kafkapy.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

LAST_EPOCH = 0x7FFF
"""Reserved to fence the producer with the epoch before it."""

_VERSION = Struct(">h")
_START_OF_VALUE = Struct(">hqhib")
_TIMES = Struct(">qq")
_COUNT = Struct(">i")
_KNOWN_KEYS = 1024
"""Number of cached keys of transactional ids."""
_KEY_VERSION = 0
_VALUE_VERSION = 0
"""The newest non-flexible version: brokers write 1 only with the feature `transaction.version`, in KRaft mode."""


class TransactionMetadata(NamedTuple):
    """Immutable: each transition of the transactional id creates a new one. Times: ms since the epoch, -1: none."""

    state: TransactionState
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    partitions: frozenset[TopicPartition]
    start_ms: int
    updated_ms: int
    last_producer_id: int = NO_PRODUCER_ID
    """The previous id, while its producer may still retry the request that replaced it."""
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    """The previous epoch, likewise."""

    @property
    def is_epoch_exhausted(self) -> bool:
        return is_exhausted(self.producer_epoch)


def is_exhausted(producer_epoch: int) -> bool:
    """Return whether no producer can get a higher epoch."""
    return producer_epoch >= LAST_EPOCH - 1


@lru_cache(maxsize=_KNOWN_KEYS)
def transaction_key(transactional_id: str) -> bytes:
    return _VERSION.pack(_KEY_VERSION) + TransactionLogKey(transactional_id=transactional_id).encode(_KEY_VERSION)


def transaction_value(metadata: TransactionMetadata) -> bytes:
    """Return the encoding of `TransactionLogValue`, without the last id and epoch. Packed field by field, for speed:
    each transaction writes three of them, two of which its producer waits for."""
    start = _START_OF_VALUE.pack(
        _VALUE_VERSION, metadata.producer_id, metadata.producer_epoch, metadata.timeout_ms, CODES[metadata.state]
    )
    partitions = _COUNT.pack(-1) if metadata.state is EMPTY else _packed(metadata.partitions)
    return start + partitions + _TIMES.pack(metadata.updated_ms, metadata.start_ms)


def _packed(partitions: frozenset[TopicPartition]) -> bytes:
    """Return the partitions in the encoding of `TransactionLogValue`."""
    topics = indexes_by_topic(sorted(partitions))
    packed = _COUNT.pack(len(topics))
    for topic, ids in topics.items():
        name = topic.encode()
        packed += pack(f">h{len(name)}si{len(ids)}i", len(name), name, len(ids), *ids)
    return packed


def by_topic(partitions: frozenset[TopicPartition]) -> list[TransactionLogValue.PartitionsSchema]:
    topics = indexes_by_topic(sorted(partitions))
    return [TransactionLogValue.PartitionsSchema(topic=topic, partition_ids=ids) for topic, ids in topics.items()]


def read_key(data: bytes) -> str | int:
    """Return the transactional id; for another kind of key, its version. `SchemaError` if the key is invalid for its
    version."""
    version = _read_version(data)
    if version != _KEY_VERSION:
        return version
    return TransactionLogKey.decode(data, version, _VERSION.size).transactional_id


def read_value(data: bytes) -> TransactionMetadata:
    """Decode a value; `SchemaError` for an unknown version or state, or if the value is invalid for its version."""
    version = _read_version(data)
    if not 0 <= version <= 1:
        raise SchemaError(f"Unknown version {version} from the transaction log message value")
    value = TransactionLogValue.decode(data, version, _VERSION.size)
    return TransactionMetadata(
        state_of(value.transaction_status),
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        frozenset(
            TopicPartition(topic.topic, partition)
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        value.transaction_start_timestamp_ms,
        value.transaction_last_update_timestamp_ms,
    )


def _read_version(data: bytes) -> int:
    if len(data) < _VERSION.size:
        raise SchemaError(f"{len(data)} bytes cannot hold a version")
    version: int = _VERSION.unpack_from(data)[0]
    return version
