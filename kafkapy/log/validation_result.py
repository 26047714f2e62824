"""What checking records comes to: a result, or why they are refused."""

from __future__ import annotations

from collections.abc import Sequence

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.legacy import LegacyRecordBatch
from kafkapy.record.record_batch import RecordBatch

Buffer = bytes | bytearray | memoryview
Batch = RecordBatch | LegacyRecordBatch


class RecordValidationError(KafkaError):
    """Records of a batch were refused one by one: `record_errors` holds (index in the batch, why) of each (KIP-467)."""

    def __init__(self, error: Errors, message: str, record_errors: Sequence[tuple[int, str]]) -> None:
        super().__init__(error, message)
        self.record_errors = list(record_errors)


class InvalidProduceRequest(KafkaError):
    """The records are not what a request of that version may hold; the log was not even asked
    (`ProduceRequest.validateRecords`)."""


class ValidationResult:
    """Records that may be appended, and what is known of them."""

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
        """The bytes to write: the given ones, changed in place, or new ones. Empty if nothing was given."""
        self.batches = batches
        """Views over `records`; offsets, epoch, timestamps and CRC are set."""
        self.first_offset = first_offset
        self.last_offset = first_offset + record_count - 1
        self.record_count = record_count
        self.max_timestamp = NO_TIMESTAMP
        self.shallow_offset_of_max_timestamp = -1
        """The last offset of the batch that holds the max timestamp, -1 if there is none."""
        self.log_append_time = NO_TIMESTAMP
        """ms; set for topics with LogAppendTime only."""
        self.records_converted = 0
        """The records that had to be written anew."""


def invalid(message: str) -> KafkaError:
    return KafkaError(Errors.INVALID_RECORD, message)
