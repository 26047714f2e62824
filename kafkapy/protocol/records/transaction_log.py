"""A transaction in __transaction_state (key version 0)."""

from __future__ import annotations

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int8, int16, int32, int64, string


class TransactionLogKey(Message, versions="0"):
    transactional_id: str = string("0")


class TransactionLogValue(Message, versions="0-1", flexible="1+"):
    producer_id: int = int64()
    producer_epoch: int = int16()
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: list[TransactionLogValue.PartitionsSchema] | None = array("PartitionsSchema", nullable=True)
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()

    class PartitionsSchema(Struct):
        topic: str = string()
        partition_ids: list[int] = array("int32")
