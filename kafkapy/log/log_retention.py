"""Chooses the segments that retention deletes (the `deleteOldSegments` part of Kafka's `UnifiedLog`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kafkapy.log.local_log import LocalLog
from kafkapy.log.log_bounds import LogBounds
from kafkapy.log.log_config import LogConfig
from kafkapy.log.segments.log_segment import LogSegment

Deletable = Callable[[LogSegment, LogSegment | None], bool]
"""Whether a segment can be deleted, given the next one (None for the active segment)."""


class Breach(NamedTuple):
    """A rule of retention. `find` returns the oldest segments of a log that break the rule and can be deleted."""

    reason: str
    find: Callable[[LocalLog, LogBounds], list[LogSegment]]


def breaches(config: LogConfig) -> list[Breach]:
    """Return the rules under a config, in Kafka's order. Segments below the log start are deleted under any cleanup
    policy.
    """
    rules = [Breach("log start offset breach", _below_log_start)]
    if config.delete and config.retention_bytes >= 0:
        rules.append(Breach(f"log retention size {config.retention_bytes} breach", _too_large))
    if config.delete and config.retention_ms >= 0:
        rules.append(Breach(f"log retention time {config.retention_ms}ms breach", _too_old))
    return rules


def _below_log_start(local: LocalLog, bounds: LogBounds) -> list[LogSegment]:
    start = bounds.log_start_offset
    return _oldest(local, bounds, lambda _, following: following is not None and following.base_offset <= start)


def _too_large(local: LocalLog, bounds: LogBounds) -> list[LogSegment]:
    excess = local.segments.size_in_bytes - local.config.retention_bytes

    def exceeds_limit(segment: LogSegment, _: LogSegment | None) -> bool:
        nonlocal excess
        excess -= segment.size
        return excess >= 0

    return _oldest(local, bounds, exceeds_limit)


def _too_old(local: LocalLog, bounds: LogBounds) -> list[LogSegment]:
    oldest_kept = local.time.milliseconds() - local.config.retention_ms
    return _oldest(local, bounds, lambda segment, _: segment.largest_timestamp < oldest_kept)


def _oldest(local: LocalLog, bounds: LogBounds, is_deletable: Deletable) -> list[LogSegment]:
    """Return segments from the oldest on while `is_deletable`; none at or above the high watermark, no empty active
    segment.
    """
    segments = local.segments.values()
    deletable: list[LogSegment] = []
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        upper_bound = following.base_offset if following is not None else local.log_end_offset
        is_empty_end = following is None and segment.size == 0
        if is_empty_end or bounds.high_watermark < upper_bound or not is_deletable(segment, following):
            break
        deletable.append(segment)
    return deletable
