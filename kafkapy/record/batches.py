"""Iterates over a buffer of batches of any message format."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from kafkapy.common.limits import MAX_INT
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import (
    HEADER_SIZE_UP_TO_MAGIC,
    LOG_OVERHEAD,
    MIN_RECORD_SIZE,
    RECORD_BATCH_OVERHEAD,
    Buffer,
    RecordBatch,
)

_LENGTH: Final = struct.Struct(">i")


def batches(data: Buffer, position: int = 0, end: int | None = None) -> Iterator[RecordBatch | LegacyRecordBatch]:
    """Yield the complete batches of `data[position:end]`, without an incomplete one at the end.

    `KafkaError` CORRUPT_MESSAGE where a batch has an impossible size or magic. CRCs are not checked.
    """
    if end is None:
        end = len(data)
    while end - position >= HEADER_SIZE_UP_TO_MAGIC:
        (length,) = _LENGTH.unpack_from(data, position + 8)
        magic = data[position + 16]
        if length < MIN_RECORD_SIZE:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"Record size {length} is less than the minimum record overhead ({MIN_RECORD_SIZE})",
            )
        if magic > 2:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic - 256 if magic > 127 else magic}"
            )
        size = length + LOG_OVERHEAD
        if size > end - position:
            if size > MAX_INT:  # a 3.9 broker fails because of an overflow
                raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"Record size {length} is not possible")
            return
        if magic == 2:
            if size < RECORD_BATCH_OVERHEAD:
                raise KafkaError(
                    Errors.CORRUPT_MESSAGE,
                    f"Record batch is corrupt (the size {size} is smaller than the minimum allowed overhead "
                    f"{RECORD_BATCH_OVERHEAD})",
                )
            yield RecordBatch(data, position)
        else:
            yield LegacyRecordBatch(data, position)
        position += size
    if end - position >= LOG_OVERHEAD:
        (length,) = _LENGTH.unpack_from(data, position + 8)
        if length < MIN_RECORD_SIZE:
            raise KafkaError(
                Errors.CORRUPT_MESSAGE,
                f"Record size {length} is less than the minimum record overhead ({MIN_RECORD_SIZE})",
            )
