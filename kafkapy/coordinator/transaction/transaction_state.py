"""The states of a transactional id and every way from one to another (Kafka's `TransactionState`).

What each event does in each state; a cell names the state that is written, which holds once that is committed to the log.

| event             | Empty   | Ongoing            | Prepare*           | Complete*           |
|-------------------|---------|--------------------|--------------------|---------------------|
| init producer id  | Empty   | PrepareAbort (a)   | refused, comes back| Empty               |
| add partitions    | Ongoing | Ongoing (b)        | refused, comes back| Ongoing             |
| verify partitions | says no | says which         | refused, comes back| says no             |
| end               | refused | PrepareCommit or   | refused, comes back| done already; or,   |
|                   |         | PrepareAbort (c)   |                    | of the other kind,  |
|                   |         |                    |                    | refused             |
| time is over      | -       | PrepareAbort (a)   | -                  | -                   |
| markers written   | -       | -                  | Complete*          | -                   |
| id expires        | Dead    | -                  | -                  | Dead                |

(a) With the next epoch: whoever had the one before is fenced off. The one who asked has to come back.
(b) Nothing is written if all are known.
(c) Answered when that is in the log: nothing can change the outcome any more. Then the markers go out.

While a write is under way, and while markers are, everything else is refused with CONCURRENT_TRANSACTIONS.
"""

from __future__ import annotations

from enum import Enum


class TransactionState(Enum):
    """The value is the name that DescribeTransactions and ListTransactions show; `code` stands in the log."""

    EMPTY = "Empty"
    """The producer has an id; it has had no transaction, or none since then."""
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    """It will be committed, whatever happens; markers are being written."""
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    """The id has not been used for so long that it is forgotten."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """Never written; filters may name it."""

    @property
    def code(self) -> int:
        return _CODES[self]

    @classmethod
    def of_code(cls, code: int) -> TransactionState:
        """Raises ValueError if there is none."""
        if not 0 <= code < len(_STATES):
            raise ValueError(f"Unknown transaction state id {code} from the transaction status message")
        return _STATES[code]


_STATES = list(TransactionState)
_CODES = {state: code for code, state in enumerate(_STATES)}

EMPTY = TransactionState.EMPTY
ONGOING = TransactionState.ONGOING
PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
PREPARE_ABORT = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT = TransactionState.COMPLETE_ABORT
DEAD = TransactionState.DEAD

PREPARING = frozenset({PREPARE_COMMIT, PREPARE_ABORT})
AT_REST = frozenset({EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT})
"""No transaction is open: a new one may begin, and the id may expire."""
COMPLETED = {PREPARE_COMMIT: COMPLETE_COMMIT, PREPARE_ABORT: COMPLETE_ABORT}

TRANSITIONS: dict[TransactionState, frozenset[TransactionState]] = {
    EMPTY: frozenset({EMPTY, ONGOING, DEAD}),
    ONGOING: frozenset({ONGOING, PREPARE_COMMIT, PREPARE_ABORT}),
    PREPARE_COMMIT: frozenset({COMPLETE_COMMIT}),
    PREPARE_ABORT: frozenset({COMPLETE_ABORT}),
    COMPLETE_COMMIT: frozenset({EMPTY, ONGOING, DEAD}),
    COMPLETE_ABORT: frozenset({EMPTY, ONGOING, DEAD}),
    DEAD: frozenset(),
}
