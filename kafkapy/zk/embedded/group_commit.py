"""Group commit: answers and events are sent only after the log with their transactions is on the disk.

While a thread syncs one write, transactions accumulate, and the next write has all of them. Everything to be sent is in
one queue, so each connection gets its answers and events in order, and a read after a write never before the write's
answer.
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
        """Write and sync in a thread, to a new file if `roll`; then call `done`, on the thread of the machine."""
        ...


class NoJournal:
    """Memory only: everything is sent immediately."""

    waiting = 0
    since_roll = 0

    def append(self, header: TxnHeader, txn: Txn) -> None:
        return

    def when_durable(self, action: Callable[[], object]) -> None:
        action()


class GroupCommit:
    """The queue of sends.

    Invariants: `_actions` has, in order, the waiting actions and the zxid that each waits for, which never decreases.
    At most one write is in progress. After an error nothing is sent any more, and `on_error` has been called.
    """

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
        """Transactions in the current file."""

    @property
    def waiting(self) -> int:
        """The number of waiting actions."""
        return len(self._actions)

    def append(self, header: TxnHeader, txn: Txn) -> None:
        if not self._entries:
            self._first_zxid = header.zxid
        self._entries.append(entry_bytes(encode_entry(header, txn)))
        self._appended = header.zxid
        self.since_roll += 1

    def when_durable(self, action: Callable[[], object]) -> None:
        """Run the action when everything appended so far is on the disk: immediately if it is."""
        if self._safe >= self._appended and not self._actions and not self._failed:
            action()
        else:
            self._actions.append((self._appended, action))

    def flush(self) -> None:
        """Start a write, unless one is in progress. Called after each round of the machine."""
        if self._writing or self._failed or not self._entries:
            return
        entries, self._entries = b"".join(self._entries), []
        up_to, roll = self._appended, self._roll
        self._writing, self._roll = True, False
        self._write(self._first_zxid, entries, roll, lambda error: self._written(up_to, error))

    def roll(self) -> None:
        """Make the next write start a new file."""
        self._roll = True
        self.since_roll = 0

    def take_unwritten(self) -> tuple[int, bytes]:
        """Return what has not been passed to `write`: for a server that stops, when no write is in progress."""
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
