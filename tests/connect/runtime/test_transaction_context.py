"""Transaction boundaries that a task asks for."""

from __future__ import annotations

import pytest

from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.transaction_context import WorkerTransactionContext
from kafkapy.connect.source import TransactionBoundary


def test_each_request_counts_once() -> None:
    context = WorkerTransactionContext()
    one, other = SourceRecord({}, {}, "t", 0), SourceRecord({}, {}, "t", 0)
    context.commit_transaction(one)
    assert not context.should_commit_on(other)  # equal, and yet another record
    assert context.should_commit_on(one) and not context.should_commit_on(one)
    context.abort_transaction()
    assert context.should_abort_batch() and not context.should_abort_batch()


def test_both_at_once_is_an_error() -> None:
    context = WorkerTransactionContext()
    record = SourceRecord({}, {}, "t", 3)
    context.commit_transaction(record)
    context.abort_transaction(record)
    with pytest.raises(RuntimeError, match="same record against topic/partition t/3"):
        context.should_commit_on(record)
    context.commit_transaction()
    context.abort_transaction()
    with pytest.raises(RuntimeError, match="both commit and abort of same transaction"):
        context.should_abort_batch()


def test_boundaries_by_name() -> None:
    assert TransactionBoundary.from_property(" CONNECTOR ") is TransactionBoundary.CONNECTOR
    with pytest.raises(ValueError, match="record"):
        TransactionBoundary.from_property("record")


def test_a_record_that_two_polls_do_not_return_is_forgotten() -> None:
    context = WorkerTransactionContext()
    kept, late, lost = (SourceRecord({}, {}, "t", 0) for _ in range(3))
    for record in (kept, late, lost):
        context.commit_transaction(record)
    context.polled([kept])
    context.polled([late])
    assert context.should_commit_on(kept) and context.should_commit_on(late)
    assert not context.should_commit_on(lost)
