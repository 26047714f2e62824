"""Where a follower's log has to be cut so that it agrees with its leader's (KIP-101, KIP-279)."""

from __future__ import annotations

from typing import Protocol


class EpochLog(Protocol):
    """The part of `Log` that matters here."""

    @property
    def log_end_offset(self) -> int: ...

    def end_offset_for_epoch(self, leader_epoch: int) -> tuple[int, int] | None: ...


def truncation_point(log: EpochLog, fallback: int, leaders_epoch: int, leaders_end: int) -> tuple[int, bool]:
    """(offset to cut at, does the log agree with the leader's then?).

    The leader was asked for the end of this log's last epoch and has answered with the largest epoch not above it that it knows,
    and that epoch's end (-1, -1: it knows none; a leader older than 2.0 doesn't tell the epoch). `fallback`: the high watermark.

    Invariant: two logs that have the same epoch agree in all of it up to the smaller of its two ends.
    """
    end = log.log_end_offset
    if leaders_end < 0:
        return min(fallback, end), True
    if leaders_epoch < 0:
        return min(leaders_end, end), True
    own = log.end_offset_for_epoch(leaders_epoch)
    if own is None:
        # No epoch so low is known here: from before this log kept track of epochs.
        return min(leaders_end, end), True
    own_epoch, own_end = own
    if own_epoch != leaders_epoch:
        # This log does not have the leader's epoch: all behind the one before it goes, and then the leader is asked again.
        return min(own_end, end), False
    return min(own_end, leaders_end, end), True
