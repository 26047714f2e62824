"""Transaction states, with the names that brokers and clients use."""

from __future__ import annotations

from enum import StrEnum

from kafkapy.common.wire_enums import EnumHelper


class TransactionState(EnumHelper, StrEnum):
    """Transaction states of DescribeTransactions and ListTransactions (KIP-664).

    Example:
        >>> TransactionState("Ongoing").name
        'ONGOING'
    """

    EMPTY = "Empty"
    """The producer has an id, but has not begun a transaction with it."""
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    """The commit is decided; markers are being written."""
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    """The transactional id has expired."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"
    """Any state that only newer brokers know."""
