"""Records that wait as Arrow batches come out as they went in, by rows and by columns in any order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.columns.waiting import WaitingColumns, consumed_records
from kafkapy.streams.task.consumed_record import ConsumedRecord
from tests.streams.columns.arrow_batches import arrow_batch

HEADERS = st.lists(st.tuples(st.sampled_from(["a", "é"]), st.one_of(st.none(), st.binary(max_size=3))), max_size=2)
RECORD = st.tuples(st.integers(-1, 9), st.one_of(st.none(), st.binary(max_size=3)), HEADERS)


@given(st.lists(st.lists(RECORD, max_size=5), max_size=4), st.lists(st.tuples(st.booleans(), st.integers(1, 4))))
def test_order(
    batches: list[list[tuple[int, bytes | None, list[tuple[str, bytes | None]]]]], takes: list[tuple[bool, int]]
) -> None:
    waiting = WaitingColumns()
    expected: list[ConsumedRecord] = []
    for rows in batches:
        records = [
            ConsumedRecord("in", 3, len(expected) + at, time, key, b"v", headers)
            for at, (time, key, headers) in enumerate(rows)
        ]
        expected += records
        waiting.add(arrow_batch(records))
    found: list[ConsumedRecord] = []
    for as_rows, count in [*takes, *[(True, 3)] * len(expected)]:
        if not waiting:
            break
        if as_rows:
            found += waiting.take_records(count)
        else:
            batch = waiting.first(count)
            waiting.take(batch.num_rows)
            found += consumed_records(batch)
        assert len(waiting) == len(expected) - len(found)
    assert found == expected
