"""The decoders of kafka-dump-log for keys and values: text, numbers, records of the internal topics."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from kafkapy.common import uuid
from kafkapy.coordinator.transaction.transaction_state import STATES
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Field, Struct
from kafkapy.protocol.wire import SchemaError
from kafkapy.record.record_batch import DefaultRecord
from kafkapy.tools.common.command_line import Options, ToolError

RecordDecoder = Callable[[DefaultRecord], tuple[str | None, str | None]]
"""Key and payload of a record as text; None: there is none."""

_CLASSES = "org.apache.kafka.tools.api."
_DEPRECATED_CLASSES = "kafka.serializer."


def record_decoder(options: Options) -> RecordDecoder:
    """The decoder of the options. Raises ToolError for an unknown class."""
    if options.has("offsets-decoder"):
        return decode_offsets_record
    if options.has("transaction-log-decoder"):
        return decode_transaction_record
    value_decoder = bytes_decoder(options.value("value-decoder-class"))
    key_decoder = bytes_decoder(options.value("key-decoder-class"))
    return lambda record: (
        None if record.key is None else key_decoder(record.key),
        None if record.value is None else value_decoder(record.value),
    )


def bytes_decoder(class_name: str) -> Callable[[bytes], str]:
    decoders: dict[str, Callable[[bytes], str]] = {
        "StringDecoder": lambda content: content.decode("utf-8", "replace"),
        "IntegerDecoder": lambda content: _number(content, 4),
        "LongDecoder": lambda content: _number(content, 8),
        "DefaultDecoder": bytes.hex,
    }
    if class_name.startswith(_DEPRECATED_CLASSES):
        current = class_name.replace(_DEPRECATED_CLASSES, _CLASSES)
        print(f"{class_name} is deprecated. Please use {current} instead")
        class_name = current
    decoder = decoders.get(class_name.removeprefix(_CLASSES))
    if decoder is None or not class_name.startswith(_CLASSES):
        known = ", ".join(_CLASSES + name for name in decoders)
        raise ToolError(f"The decoder class {class_name} is not known here. Known are: {known}")
    return decoder


def _number(content: bytes, size: int) -> str:
    if len(content) != size:
        raise ToolError(f"Size of data received by the decoder is {len(content)} bytes, not {size}")
    return str(int.from_bytes(content, "big", signed=True))


def decode_offsets_record(record: DefaultRecord) -> tuple[str | None, str | None]:
    """A record of __consumer_offsets as JSON; if it cannot be decoded, the key's text says so."""
    if record.key is None:
        raise ToolError(
            f"Failed to decode message at offset {record.offset} using offset topic decoder (message had a missing key)"
        )
    try:
        version, types = version_of(record.key), _offsets_records()
        if version not in types:
            return f"Unknown record type {version} at offset {record.offset}, skipping.", None
        key_class, value_class = types[version]
        key = _json({"type": str(version), "data": to_json(key_class.decode(record.key, version, 2), version)})
        return key, _decode_value(record.value, value_class)
    except (SchemaError, KafkaError) as error:
        return f"Error at offset {record.offset}, skipping. {error}", None


def _offsets_records() -> dict[int, tuple[type[Message], type[Message]]]:
    """Key version -> classes of key and value."""
    from kafkapy.protocol.records import consumer_group as groups
    from kafkapy.protocol.records.group_metadata import GroupMetadataKey, GroupMetadataValue
    from kafkapy.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue

    return {
        0: (OffsetCommitKey, OffsetCommitValue),
        1: (OffsetCommitKey, OffsetCommitValue),
        2: (GroupMetadataKey, GroupMetadataValue),
        3: (groups.ConsumerGroupMetadataKey, groups.ConsumerGroupMetadataValue),
        4: (groups.ConsumerGroupPartitionMetadataKey, groups.ConsumerGroupPartitionMetadataValue),
        5: (groups.ConsumerGroupMemberMetadataKey, groups.ConsumerGroupMemberMetadataValue),
        6: (groups.ConsumerGroupTargetAssignmentMetadataKey, groups.ConsumerGroupTargetAssignmentMetadataValue),
        7: (groups.ConsumerGroupTargetAssignmentMemberKey, groups.ConsumerGroupTargetAssignmentMemberValue),
        8: (groups.ConsumerGroupCurrentMemberAssignmentKey, groups.ConsumerGroupCurrentMemberAssignmentValue),
    }


def _decode_value(content: bytes | None, value_class: type[Message]) -> str:
    if content is None:
        return "<DELETE>"
    version = version_of(content)
    data = to_json(value_class.decode(content, version, 2), version)
    if data.get("protocolType") == "consumer":
        for member in data["members"]:
            _unfold(member, "subscription", ConsumerProtocolSubscription)
            _unfold(member, "assignment", ConsumerProtocolAssignment)
    return _json({"version": str(version), "data": data})


def _unfold(member: dict[str, Any], name: str, message_class: type[Message]) -> None:
    """Replace a member's bytes by their decoded content; bytes that cannot be decoded stay."""
    content = base64.b64decode(member[name])
    try:
        version = version_of(content)
        member[name] = to_json(message_class.decode(content, version, 2), version)
    except (SchemaError, KafkaError):
        pass


def decode_transaction_record(record: DefaultRecord) -> tuple[str | None, str | None]:
    """A record of __transaction_state in the format of Kafka's transaction log."""
    from kafkapy.protocol.records.transaction_log import TransactionLogKey, TransactionLogValue

    if record.key is None:
        raise ToolError(f"The record at offset {record.offset} has no key: it is none of a transaction log")
    try:
        key_version = version_of(record.key)
        if key_version != 0:
            return f"unknown::version={key_version}", None
        transactional_id = TransactionLogKey.decode(record.key, 0, 2).transactional_id
        key = f"transaction_metadata::transactionalId={transactional_id}"
        if record.value is None:
            return key, "<DELETE>"
        value = TransactionLogValue.decode(record.value, version_of(record.value), 2)
    except (SchemaError, KafkaError) as error:
        raise ToolError(f"The record at offset {record.offset} is none of a transaction log: {error}") from error
    partitions = [f"{entry.topic}-{p}" for entry in value.transaction_partitions or () for p in entry.partition_ids]
    return key, (
        f"producerId:{value.producer_id},producerEpoch:{value.producer_epoch},"
        f"state={STATES[value.transaction_status]},partitions=[{','.join(partitions)}],"
        f"txnLastUpdateTimestamp={value.transaction_last_update_timestamp_ms},"
        f"txnTimeoutMs={value.transaction_timeout_ms}"
    )


def to_json(struct: Struct, version: int) -> dict[str, Any]:
    """The fields of the version, under Kafka's names; bytes as base64, ids as Kafka writes them."""
    return {
        _camel(field.name): _value_to_json(getattr(struct, field.name), field.type, version)
        for field in type(struct).FIELDS
        if field.versions.includes(version) and not _left_out(field, struct)
    }


def _left_out(field: Field, struct: Struct) -> bool:
    """Is the field omitted? A tagged field is only present if it differs from its default."""
    return field.tag is not None and getattr(struct, field.name) in (field.default, None)


def _value_to_json(value: Any, type_: str, version: int) -> Any:
    if isinstance(value, Struct):
        return to_json(value, version)
    if isinstance(value, list):
        return [_value_to_json(element, type_.removeprefix("[]"), version) for element in value]
    if type_ == "uuid":
        return uuid.to_string(value)
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode()
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def version_of(content: bytes) -> int:
    """The version at the start of a key or value. Raises SchemaError."""
    if len(content) < 2:
        raise SchemaError(f"{len(content)} bytes have no room for a version")
    return int.from_bytes(content[:2], "big", signed=True)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
