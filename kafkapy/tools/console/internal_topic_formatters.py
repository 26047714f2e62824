"""Records of __consumer_offsets and __transaction_state as kafka-console-consumer shows them.

Kafka has two of each: JSON (without line ends, as Kafka writes it), and older ones in Scala's words.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.coordinator.transaction.transaction_state import STATES
from kafkapy.protocol.message import Message
from kafkapy.protocol.records.group_metadata import GroupMetadataKey, GroupMetadataValue
from kafkapy.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafkapy.protocol.records.transaction_log import TransactionLogKey, TransactionLogValue
from kafkapy.tools.dump_log.decoders import to_json, version_of

if TYPE_CHECKING:
    from kafkapy.consumer import ConsumerRecord

_UNKNOWN = "unknown"
_OFFSET_KEYS, _GROUP_KEY, _TRANSACTION_KEY = (0, 1), 2, 0


def format_offsets(record: ConsumerRecord) -> bytes:
    """Kafka's `OffsetsMessageFormatter`; nothing for records of other kinds."""
    if record.key is not None and version_of(record.key) == _GROUP_KEY:
        return b""
    return _json_record(record, OffsetCommitKey, _OFFSET_KEYS, OffsetCommitValue, range(5))


def format_groups(record: ConsumerRecord) -> bytes:
    """Kafka's `GroupMetadataMessageFormatter`; nothing for records of other kinds."""
    if record.key is not None and version_of(record.key) in _OFFSET_KEYS:
        return b""
    return _json_record(record, GroupMetadataKey, (_GROUP_KEY,), GroupMetadataValue, range(5))


def format_transactions(record: ConsumerRecord) -> bytes:
    """Kafka's `TransactionLogMessageFormatter`."""
    return _json_record(record, TransactionLogKey, (_TRANSACTION_KEY,), TransactionLogValue, range(2))


def _json_record(
    record: ConsumerRecord,
    key_class: type[Message],
    key_versions: Sequence[int],
    value_class: type[Message],
    value_versions: Sequence[int],
) -> bytes:
    shown = {
        "key": _json_part(record.key, key_class, key_versions),
        "value": _json_part(record.value, value_class, value_versions),
    }
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()


def _json_part(content: bytes | None, message: type[Message], versions: Sequence[int]) -> dict[str, Any] | None:
    if content is None:
        return None
    version = version_of(content)
    data = to_json(message.decode(content, version, 2), version) if version in versions else _UNKNOWN
    return {"version": version, "data": data}


def format_old_offsets(record: ConsumerRecord) -> bytes:
    """`[group,topic,partition]::OffsetAndMetadata(...)`."""
    if record.key is None or version_of(record.key) not in _OFFSET_KEYS:
        return b""
    key = OffsetCommitKey.decode(record.key, version_of(record.key), 2)
    return f"[{key.group},{key.topic},{key.partition}]::{_old_offset(record.value)}\n".encode()


def _old_offset(content: bytes | None) -> str:
    if content is None:
        return "NULL"
    version = version_of(content)
    value = OffsetCommitValue.decode(content, version, 2)
    epoch = value.leader_epoch if version >= 3 else -1
    expires = value.expire_timestamp if version == 1 else -1
    return (
        f"OffsetAndMetadata(offset={value.offset}, leaderEpoch={'Optional.empty' if epoch < 0 else f'Optional[{epoch}]'}, "
        f"metadata={value.metadata}, commitTimestamp={value.commit_timestamp}, "
        f"expireTimestamp={'None' if expires < 0 else f'Some({expires})'})"
    )


def format_old_groups(record: ConsumerRecord) -> bytes:
    """`group::GroupMetadata(...)`."""
    if record.key is None or version_of(record.key) != _GROUP_KEY:
        return b""
    group = GroupMetadataKey.decode(record.key, _GROUP_KEY, 2).group
    return f"{group}::{_old_group(group, record.value)}\n".encode()


def _old_group(group: str, content: bytes | None) -> str:
    if content is None:
        return "NULL"
    value = GroupMetadataValue.decode(content, version_of(content), 2)
    members = ", ".join(f"{member.member_id} -> {_old_member(member, value.protocol)}" for member in value.members)
    return (
        f"GroupMetadata(groupId={group}, generation={value.generation}, protocolType={_option(value.protocol_type or None)}, "
        f"currentState={'Stable' if value.members else 'Empty'}, members=HashMap({members}))"
    )


def _old_member(member: Any, protocol: str | None) -> str:
    return (
        f"MemberMetadata(memberId={member.member_id}, groupInstanceId={_option(member.group_instance_id)}, "
        f"clientId={member.client_id}, clientHost={member.client_host}, sessionTimeoutMs={member.session_timeout}, "
        f"rebalanceTimeoutMs={member.rebalance_timeout}, supportedProtocols=List({protocol}))"
    )


def _option(value: object) -> str:
    return "None" if value is None else f"Some({value})"


def format_old_transactions(record: ConsumerRecord) -> bytes:
    """`transactionalId::TransactionMetadata(...)`."""
    if record.key is None:
        return b""
    version = version_of(record.key)
    if version != _TRANSACTION_KEY:
        return b"unknown::version=%d\n" % version
    transactional_id = TransactionLogKey.decode(record.key, version, 2).transactional_id
    return f"{transactional_id}::{_old_transaction(transactional_id, record.value)}\n".encode()


def _old_transaction(transactional_id: str, content: bytes | None) -> str:
    if content is None:
        return "NULL"
    value = TransactionLogValue.decode(content, version_of(content), 2)
    partitions = [f"{entry.topic}-{p}" for entry in value.transaction_partitions or () for p in entry.partition_ids]
    return (
        f"TransactionMetadata(transactionalId={transactional_id}, producerId={value.producer_id}, "
        f"producerEpoch={value.producer_epoch}, txnTimeoutMs={value.transaction_timeout_ms}, "
        f"state={STATES[value.transaction_status]}, pendingState=None, "
        f"topicPartitions=HashSet({', '.join(partitions)}), txnStartTimestamp={value.transaction_start_timestamp_ms}, "
        f"txnLastUpdateTimestamp={value.transaction_last_update_timestamp_ms})"
    )
