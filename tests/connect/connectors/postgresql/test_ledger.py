"""What may be confirmed: only what is delivered and committed, and never less than before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.connect.connectors.postgresql.ledger import DeliveryLedger


def test_a_transaction_is_confirmed_when_its_last_record_is_delivered_and_committed() -> None:
    ledger = DeliveryLedger(10)
    first, second = ledger.emitted(), ledger.emitted()
    ledger.passed(20)
    ledger.delivered(second)
    assert ledger.committed() == 10
    ledger.delivered(first)
    assert ledger.confirmed == 10
    assert ledger.committed() == 20


def test_without_records_a_place_is_confirmed_at_once() -> None:
    ledger = DeliveryLedger(10)
    ledger.passed(20)
    assert ledger.confirmed == 20
    ledger.passed(15)
    assert ledger.confirmed == 20


def test_a_quiet_place_waits_for_the_commit_of_what_was_before() -> None:
    ledger = DeliveryLedger(10)
    ledger.delivered(ledger.emitted())
    ledger.passed(30)
    assert ledger.confirmed == 10
    assert ledger.committed() == 30


@given(st.lists(st.sampled_from("epdc"), max_size=60), st.randoms())
def test_nothing_undelivered_is_confirmed(steps: list[str], random: st.DataObject) -> None:
    ledger, lsn = DeliveryLedger(0), 0
    waiting: dict[int, int] = {}  # number of a record: the place before it
    passed = 0
    for step in steps:
        before = ledger.confirmed
        if step == "e":
            waiting[ledger.emitted()] = passed
        elif step == "p":
            lsn += 10
            passed = lsn
            ledger.passed(lsn)
        elif step == "d" and waiting:
            number = random.choice(sorted(waiting))  # type: ignore[attr-defined]
            del waiting[number]
            ledger.delivered(number)
        elif step == "c":
            ledger.committed()
        assert before <= ledger.confirmed <= min(waiting.values(), default=passed)
        assert ledger.undelivered >= len(waiting)
