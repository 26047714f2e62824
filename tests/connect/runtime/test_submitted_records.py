"""Which offsets may be committed."""

from __future__ import annotations

from kafkapy.connect.runtime.submitted_records import SubmittedRecords

A, B = {"file": "a"}, {"file": "b"}


def test_an_offset_waits_for_all_before_it_in_its_partition_only() -> None:
    records = SubmittedRecords()
    first, second = records.submit(A, {"n": 1}), records.submit(A, {"n": 2})
    other = records.submit(B, {"n": 7})
    second.ack()
    other.ack()
    found = records.committable_offsets()
    assert list(found.offsets.values()) == [(B, {"n": 7})]
    assert (found.committable, found.uncommittable) == (1, 2)
    first.ack()
    later = records.committable_offsets()
    assert list(later.offsets.values()) == [(A, {"n": 2})]
    merged = found.updated_with(later)
    assert sorted(offset["n"] for _, offset in merged.offsets.values() if offset) == [2, 7]
    assert records.committable_offsets().is_empty


def test_a_dropped_record_holds_up_nothing() -> None:
    records = SubmittedRecords()
    first, second = records.submit(A, {"n": 1}), records.submit(A, {"n": 2})
    assert second.drop() and not second.drop()
    assert not records.await_all_messages(0)
    first.ack()
    first.ack()
    assert records.await_all_messages(0)
    assert list(records.committable_offsets().offsets.values()) == [(A, {"n": 1})]
    assert not first.drop()
