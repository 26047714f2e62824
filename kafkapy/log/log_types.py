"""Small values that the log's methods take and give (Kafka's `LogOffsetMetadata`, `FetchDataInfo`, `LogAppendInfo`, ...)."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.file_records import FileRecords

UNKNOWN_OFFSET: Final = -1
UNKNOWN_FILE_POSITION: Final = -1


class AppendOrigin(Enum):
    """Who appends, and so what has to be checked."""

    REPLICATION = 0
    """A leader's batches, or the log's own at recovery: taken as they are."""
    COORDINATOR = 1
    """A group or transaction coordinator of this broker: no sequences."""
    CLIENT = 2
    """A produce request: everything."""


class TakesLong(Exception):
    """What was to be done at once takes longer than everybody may be kept waiting: it is for another thread."""


class FetchIsolation(Enum):
    """How far a reader may see."""

    LOG_END = 0
    """Followers: everything."""
    HIGH_WATERMARK = 1
    """read_uncommitted consumers."""
    TXN_COMMITTED = 2
    """read_committed consumers: up to the last stable offset, with the list of aborted transactions."""


class LogOffsetMetadata:
    """An offset and, unless only the offset is known, where its batch begins: segment and file position.

    Invariant: never changed. With both positions known, the bytes between two offsets of one segment are a subtraction.
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
        """Does this offset lie on an older segment than `that`? False if either position is not known."""
        if self.message_offset_only or that.message_offset_only:
            return False
        return self.segment_base_offset < that.segment_base_offset

    def on_same_segment(self, that: LogOffsetMetadata) -> bool:
        """False if either position is not known."""
        if self.message_offset_only or that.message_offset_only:
            return False
        return self.segment_base_offset == that.segment_base_offset

    def position_diff(self, that: LogOffsetMetadata) -> int:
        """Bytes from `that` to this offset; `ValueError` if they are not on one segment, both with known positions."""
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
    """A transaction that a marker has just ended; `last_offset` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class FetchDataInfo:
    """What `Log.read` found."""

    __slots__ = ("aborted_transactions", "fetch_offset_metadata", "first_entry_incomplete", "records")

    def __init__(
        self,
        fetch_offset_metadata: LogOffsetMetadata,
        records: FileRecords | bytes = b"",
        first_entry_incomplete: bool = False,
        aborted_transactions: list[tuple[int, int]] | None = None,
    ) -> None:
        self.fetch_offset_metadata = fetch_offset_metadata
        """The requested offset and where its batch begins."""
        self.records = records
        """A slice of one segment's file; `b""` if there is nothing to read."""
        self.first_entry_incomplete = first_entry_incomplete
        """The limit cuts the first batch (only without `min_one_message`)."""
        self.aborted_transactions = aborted_transactions
        """For TXN_COMMITTED: (producer id, first offset) of those that may overlap the data; else None."""


class LogAppendInfo:
    """What an append did."""

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
        """Of the first record; for a duplicate those of the batch that is in the log already; -1 if nothing was given."""
        self.last_offset = last_offset
        self.log_start_offset = log_start_offset
        self.log_append_time = -1
        """ms, -1 unless the topic has LogAppendTime (or the batch is a duplicate: then that batch's max timestamp)."""
        self.max_timestamp = -1
        self.shallow_offset_of_max_timestamp = -1
        """The last offset of the batch that holds the max timestamp."""
        self.last_leader_epoch = -1
        """The partition leader epoch of the last batch."""
        self.valid_bytes = 0
        """Bytes that were appended."""
        self.record_count = 0
        self.duplicate = False
        """The batch is one of its producer's last five: nothing was appended."""
        self.flush_due = False
        """`flush.messages` says that it counts only when the log has been flushed: the caller sees to that."""


class UnexpectedAppendOffsetError(KafkaError):
    """A follower was given records that do not continue its log (Kafka's `UnexpectedAppendOffsetException`)."""

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(Errors.UNKNOWN_SERVER_ERROR, message)
        self.first_offset = first_offset
        self.last_offset = last_offset


class TimestampAndOffset(NamedTuple):
    """The answer to a ListOffsets question."""

    timestamp: int
    offset: int
    leader_epoch: int | None
