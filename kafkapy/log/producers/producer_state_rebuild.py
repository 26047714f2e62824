"""Rebuilds the state of producers from the log (Kafka's `UnifiedLog.rebuildProducerState`)."""

from __future__ import annotations

import logging

from kafkapy.log.log_types import AppendOrigin
from kafkapy.log.producers.producer_state import ProducerAppendInfo
from kafkapy.log.producers.producer_state_manager import ProducerStateManager
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.log.segments.log_segments import LogSegments

logger = logging.getLogger("kafkapy.log.ProducerStateManager")


def rebuild_producer_state(
    producers: ProducerStateManager,
    segments: LogSegments,
    log_start_offset: int,
    last_offset: int,
    now_ms: int,
    reload_from_clean_shutdown: bool,
    record_version: int,
) -> None:
    """Load the newest usable snapshot, replay the batches from there to `last_offset`, write a snapshot. Raises
    `OSError`.

    Snapshots are not fsynced here: if they are lost with a machine crash, the log is scanned again.

    Snapshots are also taken at the last two segments' base offsets, where the next recovery would start. A log that was
    closed cleanly and has no snapshot was written by a broker without producer state: it is not scanned. Neither is one
    in a message format without producers (`record_version` below 2).
    """
    to_snapshot = {last_offset}
    if len(segments):
        last = segments.active.base_offset
        lower = segments.lower(last)
        to_snapshot |= {last} if lower is None else {last, lower.base_offset}
    if record_version < 2 or (reload_from_clean_shutdown and producers.latest_snapshot_offset is None):
        for offset in sorted(to_snapshot):
            producers.map_end_offset = offset
            producers.take_snapshot(sync=False)
        return
    was_empty = producers.is_empty and producers.map_end_offset >= last_offset
    producers.truncate_and_reload(log_start_offset, last_offset, now_ms)
    # Without producers before a truncation there are none after it, so a scan is not needed.
    if last_offset > producers.map_end_offset and not was_empty:
        segment_of_last = segments.floor(last_offset)
        for segment in segments.between(producers.map_end_offset, last_offset):
            start = max(segment.base_offset, producers.map_end_offset, log_start_offset)
            producers.map_end_offset = start
            if segment.base_offset in to_snapshot:
                producers.take_snapshot(sync=False)
            end_position = segment.size
            if segment is segment_of_last:
                found = segment.translate_offset(last_offset)
                end_position = found[0] if found is not None else segment.size
            _replay(producers, segment, start, end_position)
    producers.map_end_offset = last_offset
    producers.take_snapshot(sync=False)


def _replay(producers: ProducerStateManager, segment: LogSegment, start_offset: int, end_position: int) -> None:
    found = segment.translate_offset(start_offset)
    if found is None:
        return
    infos: dict[int, ProducerAppendInfo] = {}
    for batch in segment.batches_between(found[0], end_position):
        if batch.producer_id >= 0:
            completed = producers.note_batch(batch, infos, AppendOrigin.REPLICATION)
            if completed is not None:
                _take_over(producers, infos)
                infos = {}
                producers.complete_txn(completed)
    _take_over(producers, infos)


def _take_over(producers: ProducerStateManager, infos: dict[int, ProducerAppendInfo]) -> None:
    """Apply changes in the order in which transactions began.

    Between two markers a producer begins at most one transaction. In this order the open ones need no sorting, which
    would take long with many producers, without releasing the interpreter lock.
    """
    for info in sorted(infos.values(), key=_began_at):
        producers.update(info)


def _began_at(info: ProducerAppendInfo) -> int:
    started = info.started_transactions
    return started[0].first_offset.message_offset if started else -1
