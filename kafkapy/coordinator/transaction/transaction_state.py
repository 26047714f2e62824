"""The states of a transactional id and all transitions between them (Kafka's `TransactionState`).

The table shows each event in each state: the next state, which is valid once it is committed to the log.

| event             | Empty   | Ongoing            | Prepare*           | Complete*           |
|-------------------|---------|--------------------|--------------------|---------------------|
| init producer id  | Empty   | PrepareAbort (a)   | refused, retriable | Empty               |
| add partitions    | Ongoing | Ongoing (b)        | waits (d)          | Ongoing             |
| verify partitions | none    | the known ones     | refused, retriable | none                |
| end               | refused | PrepareCommit or   | refused, retriable | NONE; or, for       |
|                   |         | PrepareAbort (c)   |                    | the other outcome,  |
|                   |         |                    |                    | refused             |
| timeout           | -       | PrepareAbort (a)   | -                  | -                   |
| markers written   | -       | -                  | Complete*          | -                   |
| id expires        | Dead    | -                  | -                  | Dead                |

(a) With the next epoch, which fences the producer with the previous one. The request fails with a retriable error.
(b) No write if all partitions are known.
(c) The response is sent once this is in the log and so final. Then the markers are sent.
(d) For Complete*, for `NEXT_START_MS` at most; after it, or if another request waits, it fails with a retriable error.

While a record or markers are being written, all other events are refused with CONCURRENT_TRANSACTIONS.
"""

from __future__ import annotations

from kafkapy.common.transaction_states import TransactionState
from kafkapy.protocol.wire import SchemaError

STATES: list[TransactionState] = [state for state in TransactionState if state is not TransactionState.UNKNOWN]
"""The states in the order of their numbers in the log. PREPARE_EPOCH_FENCE is never written."""
CODES: dict[TransactionState, int] = {state: code for code, state in enumerate(STATES)}


def state_of(code: int) -> TransactionState:
    """Return the state with this number. Raises `SchemaError` if there is none."""
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
NOT_OPEN = frozenset({EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT})
"""States without an open transaction: a new one may start, and the id may expire."""
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
