"""Messages of errors that end a transaction: which transactional id, why, and what the user should do."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.errors import BrokerResponseError
from kafkapy.protocol.errors import Errors

FENCED = (
    "Another producer with the same transactional_id has begun. Close this one; each process needs an id of its own."
)
CLOSE = "Close it, and make a new one."
ABORT = "Call `abort_transaction`, and begin anew."

ADVICE: Mapping[Errors, str] = {
    Errors.PRODUCER_FENCED: FENCED,
    Errors.INVALID_PRODUCER_EPOCH: FENCED,
    Errors.OUT_OF_ORDER_SEQUENCE_NUMBER: ABORT,
    Errors.INVALID_TXN_STATE: ABORT,
    Errors.INVALID_PRODUCER_ID_MAPPING: ABORT,
    Errors.UNKNOWN_PRODUCER_ID: ABORT,
    Errors.TRANSACTION_ABORTABLE: ABORT,
    Errors.INVALID_TRANSACTION_TIMEOUT: "Choose a transaction_timeout_ms below the broker's transaction.max.timeout.ms.",
    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Ask for the right (`kafka-acls` where an authorizer is used), or connect as "
    "another user.",
}
_MAY_HAVE_TIMED_OUT = (Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_EPOCH)


def explained(error: BaseException, transactional_id: str, timeout_ms: int) -> BaseException:
    """Return an error of the same class with an explanation; errors that don't concern transactions are returned
    unchanged."""
    if not isinstance(error, BrokerResponseError) or error.error not in ADVICE:
        return error
    name = f"transactional_id {transactional_id!r}"
    if name in error.message:
        return error
    why = ""
    if error.error in _MAY_HAVE_TIMED_OUT:
        why = f" Or its transaction was open for longer than transaction_timeout_ms ({timeout_ms}), and was aborted."
    return type(error)(f"{error.message.rstrip('.')} ({name}). {ADVICE[error.error]}{why}")
