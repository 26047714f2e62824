"""Nothing leaves before the log has what it tells of: what connections send waits here for the disk.

While one write is synced, by a thread, transactions gather, and the next write takes them all. What is to be sent stands in one
queue, so each connection gets its answers and events in order, a read after a write never sooner than the write's answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from kafkapy.zk.embedded.log_files import entry_bytes
from kafkapy.zk.embedded.transactions import Txn, TxnHeader, encode_entry


class LogWriter(Protocol):
    def __call__(
        self, first_zxid: int, entries: bytes, roll: bool, done: Callable[[BaseException | None], None]
    ) -> None:
        """Write and sync in a thread, into a new file if `roll`; then `done`, on the thread of the machine."""
        ...


class NoJournal:
    """Memory only: everything leaves at once."""

    waiting = 0
    since_roll = 0

    def append(self, header: TxnHeader, txn: Txn) -> None:
        return

    def when_safe(self, action: Callable[[], object]) -> None:
        action()


class GroupCommit:
    """Invariants: `_actions` has, in order, what waits and the zxid that it waits for, which is never lower than that before it.
    At most one write is under way. After an error nothing leaves any more, and `on_error` has been told."""

    def __init__(self, write: LogWriter, on_error: Callable[[BaseException], object], last_zxid: int) -> None:
        self._write = write
        self._on_error = on_error
        self._appended = self._safe = last_zxid
        self._entries: list[bytes] = []
        self._first_zxid = 0
        self._writing = False
        self._failed = False
        self._roll = False
        self._actions: deque[tuple[int, Callable[[], object]]] = deque()
        self.since_roll = 0
        """Transactions in the present file."""

    @property
    def waiting(self) -> int:
        """How much is to leave and can't yet."""
        return len(self._actions)

    def append(self, header: TxnHeader, txn: Txn) -> None:
        if not self._entries:
            self._first_zxid = header.zxid
        self._entries.append(entry_bytes(encode_entry(header, txn)))
        self._appended = header.zxid
        self.since_roll += 1

    def when_safe(self, action: Callable[[], object]) -> None:
        """Do it when all that has been appended is on the disk: at once if it is."""
        if self._safe >= self._appended and not self._actions and not self._failed:
            action()
        else:
            self._actions.append((self._appended, action))

    def flush(self) -> None:
        """Called after each turn of the machine: start to write, unless a write is under way."""
        if self._writing or self._failed or not self._entries:
            return
        entries, self._entries = b"".join(self._entries), []
        up_to, roll = self._appended, self._roll
        self._writing, self._roll = True, False
        self._write(self._first_zxid, entries, roll, lambda error: self._written(up_to, error))

    def roll(self) -> None:
        """The next write begins a new file."""
        self._roll = True
        self.since_roll = 0

    def take_rest(self) -> tuple[int, bytes]:
        """What has not been given to `write`: for a server that stops, when no write is under way."""
        entries, self._entries = b"".join(self._entries), []
        return self._first_zxid, entries

    def _written(self, up_to: int, error: BaseException | None) -> None:
        self._writing = False
        if error is not None:
            self._failed = True
            self._actions.clear()
            self._on_error(error)
            return
        self._safe = up_to
        actions = self._actions
        while actions and actions[0][0] <= up_to:
            actions.popleft()[1]()
        self.flush()
