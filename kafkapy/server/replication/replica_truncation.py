"""Computes the offset to truncate a follower's log to, so that it agrees with its leader's (KIP-101, KIP-279)."""

from __future__ import annotations

from typing import Protocol


class EpochLog(Protocol):
    """The part of `Log` used here."""

    @property
    def log_end_offset(self) -> int: ...

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int] | None: ...


def truncation_point(log: EpochLog, fallback: int, leaders_epoch: int, leaders_end: int) -> tuple[int, bool]:
    """Return the offset to truncate to, and whether the log agrees with the leader's then.

    The leader, asked for the end of this log's last epoch, has returned its largest epoch not above that one, and that
    epoch's end (-1, -1: it has none; a leader older than 2.0 doesn't return the epoch). `fallback`: the high
    watermark.

    Invariant: two logs that have the same epoch agree in all of it up to the smaller of its two ends.
    """
    end = log.log_end_offset
    if leaders_end < 0:
        return min(fallback, end), True
    if leaders_epoch < 0:
        return min(leaders_end, end), True
    own = log.end_offset_for_epoch(leaders_epoch)
    if own is None:
        # This log has no epoch so low: its records are older than epochs.
        return min(leaders_end, end), True
    own_epoch, own_end = own
    if own_epoch != leaders_epoch:
        # This log does not have the leader's epoch: truncate to the end of the previous one, and ask the leader again.
        return min(own_end, end), False
    return min(own_end, leaders_end, end), True
