"""Transactions as the result of the records in one partition of `__transaction_state`. Used on the thread that reads them."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from kafkapy.coordinator.transaction.metadata import TransactionMetadata, read_key, read_value
from kafkapy.coordinator.transaction.transaction import Transaction
from kafkapy.protocol.wire import SchemaError

log = logging.getLogger("kafkapy.coordinator.transaction.TransactionStateManager")


class ReplayedTransactions:
    """Implements `Replayed`: the last record of each id is valid."""

    def __init__(self) -> None:
        self.metadata: dict[str, TransactionMetadata] = {}

    def put(self, key: bytes | None, value: bytes | None, base_offset: int, producer_id: int) -> None:
        if key is None:
            raise SchemaError("Transaction state log's key should not be null")
        transactional_id = read_key(key)
        if isinstance(transactional_id, int):
            log.warning("Unknown message key with version %d. Ignoring it.", transactional_id)
        elif value is None:
            self.metadata.pop(transactional_id, None)
        else:
            self.metadata[transactional_id] = read_value(value)

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        """Do nothing: this topic has no transactional records."""

    def all_transactions(self) -> Iterator[Transaction]:
        for transactional_id, metadata in self.metadata.items():
            yield Transaction(transactional_id, metadata)
