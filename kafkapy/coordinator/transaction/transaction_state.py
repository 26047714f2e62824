"""The states of a transactional id and every way from one to another (Kafka's `TransactionState`).

What each event does in each state; a cell names the state that is written, which holds once that is committed to the log.

| event             | Empty   | Ongoing            | Prepare*           | Complete*           |
|-------------------|---------|--------------------|--------------------|---------------------|
| init producer id  | Empty   | PrepareAbort (a)   | refused, comes back| Empty               |
| add partitions    | Ongoing | Ongoing (b)        | waits (d)          | Ongoing             |
| verify partitions | says no | says which         | refused, comes back| says no             |
| end               | refused | PrepareCommit or   | refused, comes back| done already; or,   |
|                   |         | PrepareAbort (c)   |                    | of the other kind,  |
|                   |         |                    |                    | refused             |
| time is over      | -       | PrepareAbort (a)   | -                  | -                   |
| markers written   | -       | -                  | Complete*          | -                   |
| id expires        | Dead    | -                  | -                  | Dead                |

(a) With the next epoch: the producer that had the one before is fenced off. The one that asked has to come back.
(b) Nothing is written if all are known.
(c) Answered when that is in the log: nothing can change the outcome any more. Then the markers go out.
(d) For its end, for a moment; if that is longer, or another waits, it is refused and comes back.

While a write is under way, and while markers are, everything else is refused with CONCURRENT_TRANSACTIONS.
"""

from __future__ import annotations

from kafkapy.common.transaction_states import TransactionState
from kafkapy.protocol.wire import SchemaError

STATES: list[TransactionState] = [state for state in TransactionState if state is not TransactionState.UNKNOWN]
"""In the order of their numbers in the log. A broker that asks for PREPARE_EPOCH_FENCE does not find it: it is never written."""
CODES: dict[TransactionState, int] = {state: code for code, state in enumerate(STATES)}


def state_of(code: int) -> TransactionState:
    """Raises `SchemaError` if there is none."""
    if not 0 <= code < len(STATES):
        raise SchemaError(f"Unknown transaction state id {code} from the transaction status message")
    return STATES[code]


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
