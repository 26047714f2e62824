"""The place in the stream of changes, as it is stored in source offsets (Debezium's names)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafkapy.connect.errors import ConnectException


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """The last event that was emitted.

    Attributes:
        commit_lsn: End of the last transaction whose events are all before this one.
        lsn: Of the event.
        xid: Transaction of the event; None: there is none yet.
        events: How many events of that transaction are emitted or filtered out, this one included. None: the offset is
            Debezium's, and only the LSN says so.
        commit_us: Time of the transaction in microseconds since 1970.

    Example:
        >>> StreamPosition.of(StreamPosition(100, 120, 7, 2).offset()) == StreamPosition(100, 120, 7, 2)
        True
    """

    commit_lsn: int
    lsn: int
    xid: int | None = None
    events: int | None = 0
    commit_us: int = 0

    def offset(self) -> dict[str, Any]:
        """Return the source offset."""
        offset: dict[str, Any] = {"lsn_proc": self.lsn, "lsn_commit": self.commit_lsn, "lsn": self.lsn}
        if self.xid is not None:
            offset |= {"txId": self.xid, "ts_usec": self.commit_us}
        if self.events is not None:
            offset["tx_events"] = self.events
        return offset

    @classmethod
    def of(cls, offset: Mapping[str, Any]) -> StreamPosition:
        """Read a source offset, also one of Debezium's. Raises ConnectException."""
        lsn = offset.get("lsn_proc", offset.get("lsn"))
        if not isinstance(lsn, int):
            raise ConnectException(
                f"The offset {dict(offset)} has no lsn; delete the connector's offsets to begin anew"
            )
        commit, xid = offset.get("lsn_commit"), offset.get("txId")
        return cls(
            commit if isinstance(commit, int) else lsn, lsn, xid, offset.get("tx_events"), offset.get("ts_usec") or 0
        )


class ReplayFilter:
    """Says which of the received events were emitted before a restart.

    Invariant: `_resume` is the position before the restart, None once a transaction after it has begun.

    Args:
        resume: Where the events end that were emitted.

    Attributes:
        is_done: All events of the transaction were emitted.

    Example:
        >>> replay = ReplayFilter(StreamPosition(100, 120, 7, 1))
        >>> replay.begin(7, 140)
        >>> replay.is_emitted(1, 120), replay.is_emitted(2, 130)
        (True, False)
    """

    def __init__(self, resume: StreamPosition) -> None:
        self._resume: StreamPosition | None = resume
        self._is_partial = self.is_done = False

    def begin(self, xid: int, final_lsn: int) -> None:
        """Enter a transaction; `final_lsn`: of its commit."""
        resume = self._resume
        self.is_done = resume is not None and final_lsn < resume.commit_lsn
        self._is_partial = resume is not None and not self.is_done and xid == resume.xid
        if not self.is_done and not self._is_partial:
            self._resume = None

    def is_emitted(self, events: int, lsn: int) -> bool:
        """Return whether an event was emitted before; `events`: its number in the transaction, from 1."""
        if self.is_done:
            return True
        if not self._is_partial or self._resume is None:
            return False
        known = self._resume.events
        return lsn <= self._resume.lsn if known is None else events <= known
