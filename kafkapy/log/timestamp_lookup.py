"""Offset look-ups for ListOffsets (the `fetchOffsetByTimestamp` part of Kafka's `UnifiedLog`)."""

from __future__ import annotations

from kafkapy.common.timestamps import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    NO_TIMESTAMP,
)
from kafkapy.log.files.file_batches import Batch, read_batch
from kafkapy.log.leader_epoch_cache import LeaderEpochCache
from kafkapy.log.local_log import LocalLog
from kafkapy.log.log_types import UNKNOWN_OFFSET, TimestampAndOffset
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.record_batch import TimestampType


def fetch_offset_by_timestamp(
    local: LocalLog, log_start_offset: int, epochs: LeaderEpochCache, timestamp: int
) -> TimestampAndOffset | None:
    """Return the first record whose timestamp is >= `timestamp`, or the meaning of a special timestamp; None: no such
    record.

    `KafkaError` UNSUPPORTED_FOR_MESSAGE_FORMAT in format v0, which has no timestamps.
    """
    if local.config.record_version == 0 and timestamp not in (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP):
        raise KafkaError(
            Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"The records of {local.topic_partition} have no timestamps: "
            f"its message.format.version is {local.config.message_format_version}",
        )
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        start = log_start_offset
        earliest = epochs.earliest_entry
        # The first known epoch may begin later: earlier records were written in an older message format.
        epoch = earliest.epoch if earliest is not None and earliest.start_offset <= start else None
        return TimestampAndOffset(NO_TIMESTAMP, start, epoch)
    if timestamp == LATEST_TIMESTAMP:
        return TimestampAndOffset(NO_TIMESTAMP, local.log_end_offset, epochs.latest_epoch)
    if timestamp == LATEST_TIERED_TIMESTAMP:
        return TimestampAndOffset(NO_TIMESTAMP, UNKNOWN_OFFSET, -1)
    segments = local.segments.values()
    if timestamp == MAX_TIMESTAMP:
        return _find_max_timestamp(max(segments, key=lambda segment: segment.max_timestamp_and_offset[0]))
    for segment in segments:
        # If no record has a timestamp, the file's modification time counts, and no record may be found.
        if segment.largest_timestamp >= timestamp and (found := _find_offset(segment, timestamp, log_start_offset)):
            return found
    return None


def legacy_fetch_offsets_before(
    local: LocalLog, log_start_offset: int, timestamp: int, max_num_offsets: int
) -> list[int]:
    """Return base offsets of segments by their files' modification times, newest first (ListOffsets v0)."""
    segments = local.segments.values()
    known = [(max(segment.base_offset, log_start_offset), segment.last_modified) for segment in segments]
    if segments[-1].size > 0:
        known.append((local.log_end_offset, local.time.milliseconds()))
    if timestamp == EARLIEST_TIMESTAMP:
        known = known[:1]
    elif timestamp != LATEST_TIMESTAMP:
        while known and known[-1][1] > timestamp:
            known.pop()
    return sorted((offset for offset, _ in known[::-1][:max_num_offsets]), reverse=True)


def _find_offset(segment: LogSegment, timestamp: int, starting_offset: int) -> TimestampAndOffset | None:
    """Return the first record of the segment at or after `starting_offset` whose timestamp is >= `timestamp`."""
    for header in segment.headers_towards_time(timestamp, starting_offset):
        if header.max_timestamp >= timestamp:
            batch = read_batch(segment.file, header)
            for record in batch.records():
                if record.timestamp >= timestamp and record.offset >= starting_offset:
                    return TimestampAndOffset(record.timestamp, record.offset, _leader_epoch(batch))
    return None


def _find_max_timestamp(segment: LogSegment) -> TimestampAndOffset | None:
    """Return the first record that has the largest timestamp of the segment."""
    max_timestamp, offset = segment.max_timestamp_and_offset
    if max_timestamp == NO_TIMESTAMP:
        return None
    for header in segment.headers_towards(offset):
        if header.max_timestamp == max_timestamp:
            batch = read_batch(segment.file, header)
            if batch.timestamp_type == TimestampType.LOG_APPEND_TIME:
                return TimestampAndOffset(max_timestamp, batch.base_offset, _leader_epoch(batch))
            for record in batch.records():
                if record.timestamp == max_timestamp:
                    return TimestampAndOffset(max_timestamp, record.offset, _leader_epoch(batch))
            return None
    return None


def _leader_epoch(batch: Batch) -> int | None:
    epoch = batch.partition_leader_epoch
    return epoch if epoch >= 0 else None
