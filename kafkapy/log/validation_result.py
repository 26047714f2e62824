"""The results of validating records: success, or errors."""

from __future__ import annotations

from collections.abc import Sequence

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import RecordBatch

Buffer = bytes | bytearray | memoryview
Batch = RecordBatch | LegacyRecordBatch


class RecordValidationError(KafkaError):
    """Some records of a batch were refused: `record_errors` has (index in the batch, reason) of each (KIP-467)."""

    def __init__(self, error: Errors, message: str, record_errors: Sequence[tuple[int, str]]) -> None:
        super().__init__(error, message)
        self.record_errors = list(record_errors)


class InvalidProduceRequest(KafkaError):
    """The records are invalid for the request's version, so they did not reach the log
    (`ProduceRequest.validateRecords`).
    """


class ValidationResult:
    """Records that may be appended, and their properties."""

    __slots__ = (
        "batches",
        "first_offset",
        "last_offset",
        "log_append_time",
        "max_timestamp",
        "record_count",
        "records",
        "records_converted",
        "shallow_offset_of_max_timestamp",
    )

    def __init__(self, records: Buffer, batches: tuple[Batch, ...], first_offset: int, record_count: int) -> None:
        self.records = records
        """The bytes to write: the given ones, changed in place, or new ones. Empty if there are no records."""
        self.batches = batches
        """Views of `records`; offsets, epoch, timestamps and CRC are set."""
        self.first_offset = first_offset
        self.last_offset = first_offset + record_count - 1
        self.record_count = record_count
        self.max_timestamp = NO_TIMESTAMP
        self.shallow_offset_of_max_timestamp = -1
        """The last offset of the batch that holds the max timestamp, -1 if there is none."""
        self.log_append_time = NO_TIMESTAMP
        """In ms; set for topics with LogAppendTime only."""
        self.records_converted = 0
        """The number of rewritten records."""


def invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_RECORD, message)
