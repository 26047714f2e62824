"""The states of transactions, by the names that brokers and clients call them."""

from __future__ import annotations

from enum import StrEnum

from kafkapy.common.wire_enums import EnumHelper


class TransactionState(EnumHelper, StrEnum):
    """As DescribeTransactions and ListTransactions show them (KIP-664)."""

    EMPTY = "Empty"
    """The producer has an id; it has had no transaction, or none since it got that."""
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    """It will be committed, whatever happens; markers are being written."""
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    """The id has not been used for so long that it is forgotten."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"
    """What a newer broker says."""
