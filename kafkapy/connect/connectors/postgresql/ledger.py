"""Which part of the write-ahead log PostgreSQL may remove: what is delivered, and whose offsets are committed."""

from __future__ import annotations

import threading
from collections import deque


class _LedgerEntry:
    """A record that was emitted. `lsn`: the log up to here is done when it and all before it are delivered."""

    __slots__ = ("is_delivered", "lsn", "number")

    def __init__(self, number: int, lsn: int) -> None:
        self.number, self.lsn, self.is_delivered = number, lsn, False


class DeliveryLedger:
    """Computes the LSN that can be confirmed to the server. Thread-safe.

    Invariant: `_entries` are the emitted records from the first undelivered one on, and numbers rise by 1; `_delivered` is an
    LSN before which all emitted records are delivered; `confirmed` is at most that, and rises only.

    Args:
        lsn: What is confirmed already.

    Example:
        >>> ledger = DeliveryLedger(100)
        >>> number = ledger.emitted()
        >>> ledger.passed(150)  # the transaction of that record ends
        >>> ledger.delivered(number)
        >>> ledger.committed()
        150
    """

    def __init__(self, lsn: int) -> None:
        self.confirmed = lsn
        self._delivered = lsn
        self._passed = lsn
        self._entries: deque[_LedgerEntry] = deque()
        self._next = 0
        self._has_uncommitted = False
        self._lock = threading.Lock()

    def emitted(self) -> int:
        """Note a record, which belongs to the log after the last place passed; returns its number."""
        with self._lock:
            self._entries.append(_LedgerEntry(self._next, self._passed))
            self._next += 1
            return self._next - 1

    def passed(self, lsn: int) -> None:
        """Note that all records for the log up to a place are emitted."""
        with self._lock:
            if lsn <= self._passed:
                return
            self._passed = lsn
            if self._entries:
                self._entries[-1].lsn = lsn
            elif self._has_uncommitted:
                self._delivered = lsn
            else:
                self._delivered = self.confirmed = lsn

    def delivered(self, number: int) -> None:
        """Note that a record is in Kafka, or was dropped by a transform."""
        with self._lock:
            if not self._entries or number < self._entries[0].number:
                return
            self._entries[number - self._entries[0].number].is_delivered = True
            while self._entries and self._entries[0].is_delivered:
                self._delivered = self._entries.popleft().lsn
                self._has_uncommitted = True

    def committed(self) -> int:
        """Note that offsets of all delivered records are committed; returns the LSN that can be confirmed."""
        with self._lock:
            self._has_uncommitted = False
            self.confirmed = max(self.confirmed, self._delivered)
            return self.confirmed

    @property
    def undelivered(self) -> int:
        """How many records are on their way."""
        with self._lock:
            return len(self._entries)
