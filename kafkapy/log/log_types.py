"""Parameter and result types of the log (Kafka's `LogOffsetMetadata`, `FetchDataInfo`, `LogAppendInfo`, ...)."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.file_records import FileRecords

UNKNOWN_OFFSET: Final = -1
UNKNOWN_FILE_POSITION: Final = -1


class AppendOrigin(Enum):
    """The source of an append, which determines its checks."""

    REPLICATION = 0
    """Batches of a leader, or of the log itself at recovery: appended unchanged."""
    COORDINATOR = 1
    """A group or transaction coordinator of this broker: sequences are not checked."""
    CLIENT = 2
    """A produce request: everything is checked."""


class WouldBlock(Exception):
    """The operation would block this thread for too long: run it in another thread."""


class FetchIsolation(Enum):
    """The end of the range that a reader may see."""

    LOG_END = 0
    """Followers: the log end."""
    HIGH_WATERMARK = 1
    """read_uncommitted consumers: the high watermark."""
    TXN_COMMITTED = 2
    """read_committed consumers: the last stable offset, with the list of aborted transactions."""


class LogOffsetMetadata:
    """An offset and, if known, the start of its batch: segment and file position.

    Invariant: immutable. With both positions known, the number of bytes between two offsets of a segment is a
    subtraction.
    """

    __slots__ = ("message_offset", "relative_position_in_segment", "segment_base_offset")

    def __init__(
        self,
        message_offset: int,
        segment_base_offset: int = UNKNOWN_OFFSET,
        relative_position_in_segment: int = UNKNOWN_FILE_POSITION,
    ) -> None:
        self.message_offset = message_offset
        self.segment_base_offset = segment_base_offset
        self.relative_position_in_segment = relative_position_in_segment

    @property
    def message_offset_only(self) -> bool:
        return self.relative_position_in_segment == UNKNOWN_FILE_POSITION

    def on_older_segment(self, that: LogOffsetMetadata) -> bool:
        """Return whether this offset is on an older segment than `that`; False if either position is unknown."""
        if self.message_offset_only or that.message_offset_only:
            return False
        return self.segment_base_offset < that.segment_base_offset

    def on_same_segment(self, that: LogOffsetMetadata) -> bool:
        """Return whether both offsets are on one segment; False if either position is unknown."""
        if self.message_offset_only or that.message_offset_only:
            return False
        return self.segment_base_offset == that.segment_base_offset

    def position_diff(self, that: LogOffsetMetadata) -> int:
        """Return the bytes from `that` to this offset. `ValueError` unless both have known positions on one segment."""
        if not self.on_same_segment(that):
            raise ValueError(f"{self} cannot compare its segment position with {that}")
        return self.relative_position_in_segment - that.relative_position_in_segment

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LogOffsetMetadata)
            and self.message_offset == other.message_offset
            and self.segment_base_offset == other.segment_base_offset
            and self.relative_position_in_segment == other.relative_position_in_segment
        )

    def __hash__(self) -> int:
        return hash(self.message_offset)

    def __repr__(self) -> str:
        return (
            f"(offset={self.message_offset}, segment=[{self.segment_base_offset}:{self.relative_position_in_segment}])"
        )


class CompletedTxn(NamedTuple):
    """A transaction that a marker has ended; `last_offset` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class FetchDataInfo:
    """The result of `Log.read`."""

    __slots__ = ("aborted_transactions", "fetch_offset_metadata", "first_entry_incomplete", "records")

    def __init__(
        self,
        fetch_offset_metadata: LogOffsetMetadata,
        records: FileRecords | bytes = b"",
        first_entry_incomplete: bool = False,
        aborted_transactions: list[tuple[int, int]] | None = None,
    ) -> None:
        self.fetch_offset_metadata = fetch_offset_metadata
        """The requested offset and the start of its batch."""
        self.records = records
        """A slice of one segment's file; `b""` if there is no data."""
        self.first_entry_incomplete = first_entry_incomplete
        """Whether the limit truncates the first batch (only without `min_one_message`)."""
        self.aborted_transactions = aborted_transactions
        """For TXN_COMMITTED: (producer id, first offset) of transactions that may overlap the data; else None."""


class LogAppendInfo:
    """The result of an append."""

    __slots__ = (
        "duplicate",
        "first_offset",
        "flush_due",
        "last_leader_epoch",
        "last_offset",
        "log_append_time",
        "log_start_offset",
        "max_timestamp",
        "record_count",
        "shallow_offset_of_max_timestamp",
        "valid_bytes",
    )

    def __init__(self, first_offset: int, last_offset: int, log_start_offset: int) -> None:
        self.first_offset = first_offset
        """The offset of the first record; for a duplicate that of the batch in the log; -1 if there were no records."""
        self.last_offset = last_offset
        self.log_start_offset = log_start_offset
        self.log_append_time = -1
        """In ms; -1 unless the topic has LogAppendTime, or the batch is a duplicate: then the max timestamp of the
        batch in the log.
        """
        self.max_timestamp = -1
        self.shallow_offset_of_max_timestamp = -1
        """The last offset of the batch with the max timestamp."""
        self.last_leader_epoch = -1
        """The partition leader epoch of the last batch."""
        self.valid_bytes = 0
        """Number of appended bytes."""
        self.record_count = 0
        self.duplicate = False
        """Whether the batch is one of its producer's last five: then nothing was appended."""
        self.flush_due = False
        """Whether `flush.messages` requires a flush, by the caller, before the append is acknowledged."""


class UnexpectedAppendOffsetError(KafkaError):
    """A follower received records that do not continue its log (Kafka's `UnexpectedAppendOffsetException`)."""

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(Errors.UNKNOWN_SERVER_ERROR, message)
        self.first_offset = first_offset
        self.last_offset = last_offset


class TimestampAndOffset(NamedTuple):
    """The result of a ListOffsets look-up."""

    timestamp: int
    offset: int
    leader_epoch: int | None
