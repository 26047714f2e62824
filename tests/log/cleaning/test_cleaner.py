"""What compaction must keep of a log and what it must drop, record by record and batch by batch."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.log.cleaning.cleaner import group_segments_by_size
from kafkapy.log.log import AppendOrigin
from kafkapy.log.segments.log_segment import LogSegment
from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import RecordBatch, TimestampType
from kafkapy.record.records_builder import MemoryRecordsBuilder
from tests.log.cleaner_support import CleanerFixture, latest
from tests.log.log_support import NOW, log_config, marker

DAY = 24 * 60 * 60 * 1000


# -- records


def test_the_last_record_of_each_key_stays_at_its_offset(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("b", "1"), ("a", "2")])
    compacted.append([("c", "1"), ("b", "2"), ("a", "3")])
    end = compacted.log.log_end_offset
    assert compacted.clean()
    assert compacted.key_values() == [(3, "c", "1"), (4, "b", "2"), (5, "a", "3")]
    assert compacted.log.log_end_offset == end
    assert compacted.checkpoint() == 6
    assert not compacted.clean()


def test_the_active_segment_is_not_cleaned(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    compacted.append([("a", "3"), ("a", "4")])
    assert compacted.thread.try_clean_filthiest_log()
    assert compacted.key_values() == [(1, "a", "2"), (2, "a", "3"), (3, "a", "4")]


def test_cleaned_records_give_way_to_later_ones(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("b", "1")])
    compacted.clean()
    compacted.append([("a", "2")])
    compacted.clean()
    compacted.append([("c", "1")])
    compacted.clean()
    assert compacted.key_values() == [(1, "b", "1"), (2, "a", "2"), (3, "c", "1")]


def test_segments_are_joined_up_to_the_size_of_one(tmp_path: Path) -> None:
    compacted = CleanerFixture(tmp_path, segment_bytes=400)
    for i in range(40):
        compacted.append([(f"k{i % 8}", "v" * 30)])
    before = len(compacted.log.log_segments)
    compacted.clean()  # full segments are copied one by one, and are small then
    assert len(compacted.log.log_segments) == before + 1
    compacted.append([("k0", "v")])
    compacted.clean()
    after = compacted.log.log_segments
    assert len(after) < before // 2
    assert all(segment.size <= 400 for segment in after)
    assert [o for o, _, _ in compacted.key_values()] == list(range(33, 41))


@pytest.mark.parametrize("codec", list(CompressionType))
def test_batches_keep_their_codec_range_and_header(compacted: CleanerFixture, codec: CompressionType) -> None:
    compacted.append(
        [("a", "1"), ("b", "1"), ("c", "1"), ("a", "2")],
        compression_type=codec,
        producer=(7, 2, 11),
    )
    compacted.append([("c", "2")])
    before = compacted.batches()[0]
    compacted.clean()
    after = compacted.batches()[0]
    assert after.is_valid()
    assert after.compression_type is codec
    assert after.record_count == 2
    kept = ("base_offset", "last_offset_delta", "producer_id", "producer_epoch", "base_sequence", "base_timestamp")
    assert [getattr(after, f) for f in kept] == [getattr(before, f) for f in kept]
    assert [(r.offset, r.value) for r in after.records()] == [(1, b"1"), (3, b"2")]


def test_max_timestamp_is_that_of_the_records_that_stay(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("b", "1")])
    compacted.append([("a", "2")], timestamp=NOW - 5000)
    compacted.append([("b", "2")], timestamp=NOW - 7000)
    compacted.clean()
    assert [(b.base_offset, b.max_timestamp) for b in compacted.batches()] == [(2, NOW - 5000), (3, NOW - 7000)]


def test_log_append_time_stays(tmp_path: Path) -> None:
    compacted = CleanerFixture(tmp_path, message_timestamp_type="LogAppendTime")
    compacted.append([("a", "1"), ("b", None)], timestamp=5)
    compacted.append([("a", "2")])
    compacted.clean()
    first = compacted.batches()[0]
    assert first.is_valid()
    assert (first.timestamp_type, first.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW)
    assert [(r.offset, r.timestamp) for r in first.records()] == [(1, NOW)]


def test_batches_that_nothing_is_taken_from_keep_their_bytes(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("b", "1")], compression_type=CompressionType.ZSTD)
    compacted.append([("c", "1"), ("c", "2")])
    before = bytes(compacted.batches()[0].buffer)
    compacted.clean()
    assert bytes(compacted.batches()[0].buffer) == before


def test_records_without_a_key_are_dropped(compacted: CleanerFixture) -> None:
    compacted.log.update_config(log_config())
    builder = MemoryRecordsBuilder()
    builder.append(NOW, None, b"no key")
    builder.append(NOW, b"a", b"1")
    compacted.log.append_as_leader(bytearray(builder.build()), 0)
    compacted.log.update_high_watermark(2)
    compacted.log.update_config(compacted.config)
    compacted.clean()
    assert compacted.key_values() == [(1, "a", "1")]
    assert compacted.thread.last_stats.invalid_messages_read == 1


# -- tombstones


def test_a_tombstone_gets_a_delete_horizon_and_goes_after_it(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("b", "1"), ("a", None)])
    compacted.clean()
    assert compacted.key_values() == [(1, "b", "1"), (2, "a", None)]
    (batch,) = compacted.batches()
    assert batch.is_valid()
    assert batch.delete_horizon_ms == compacted.time.milliseconds() + DAY
    assert [r.timestamp for r in batch.records()] == [NOW, NOW]
    assert batch.max_timestamp == NOW

    compacted.time.advance(DAY - 1)
    compacted.append([("c", "1")])
    compacted.clean()
    assert (2, "a", None) in compacted.key_values()
    compacted.time.advance(1)
    compacted.append([("d", "1")])
    compacted.clean()
    assert compacted.key_values() == [(1, "b", "1"), (3, "c", "1"), (4, "d", "1")]


def test_a_tombstone_gives_way_to_a_new_value_at_once(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("a", None)])
    compacted.clean()
    compacted.append([("a", "2")])
    compacted.clean()
    assert compacted.key_values() == [(2, "a", "2")]


# -- producers


def test_the_last_batch_of_a_producer_stays_empty(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1")], producer=(7, 0, 0))
    compacted.append([("a", "2"), ("b", "1")], producer=(7, 0, 1))
    compacted.append([("a", "3"), ("b", "2")], producer=(8, 0, 0))
    compacted.append([("a", "4"), ("b", "3")])
    compacted.clean()
    assert [(b.base_offset, b.last_offset, b.record_count, b.producer_id) for b in compacted.batches()] == [
        (1, 2, 0, 7),
        (3, 4, 0, 8),
        (5, 6, 2, -1),
    ]
    assert all(batch.is_valid() for batch in compacted.batches())
    assert compacted.batches()[0].last_sequence == 2
    # A restart finds the sequences, and the producer goes on.
    for snapshot in Path(compacted.directory).glob("*.snapshot"):
        snapshot.unlink()
    compacted.reopen()
    compacted.append([("c", "1")], producer=(7, 0, 3))
    # Then the batch is not the last one any more.
    compacted.clean()
    assert [b.base_offset for b in compacted.batches()] == [3, 5, 7]


# -- transactions


def test_aborted_data_goes_and_its_marker_later(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("b", "1")])
    compacted.append([("a", "aborted")], producer=(7, 0, 0), transactional=True)
    compacted.append([("b", "aborted")], producer=(7, 0, 1), transactional=True)
    compacted.end_transaction(7, commit=False)
    compacted.append([("c", "1")], producer=(7, 0, 2), transactional=True)
    compacted.end_transaction(7, commit=True)
    compacted.clean()
    assert compacted.key_values() == [(0, "a", "1"), (1, "b", "1"), (5, "c", "1")]
    assert compacted.markers() == [4, 6]
    assert [txn.last_offset for txn in compacted.log.log_segments[0].txn_index.entries()] == [4]

    # Its data is gone, so the marker gets a delete horizon, and its transaction leaves the index.
    compacted.append([("d", "1")])
    compacted.clean()
    assert compacted.markers() == [4, 6]
    horizon = {b.base_offset: b.delete_horizon_ms for b in compacted.batches() if b.is_control}
    assert horizon == {4: compacted.time.milliseconds() + DAY, 6: None}
    assert not compacted.log.log_segments[0].txn_index.entries()

    compacted.time.advance(DAY)
    compacted.append([("e", "1")])
    compacted.clean()
    assert compacted.markers() == [6]
    assert latest(compacted.key_values()).keys() == set("abcde")


def test_commit_markers_go_when_their_data_is_gone(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1")], producer=(7, 0, 0), transactional=True)
    compacted.end_transaction(7, commit=True)
    compacted.append([("a", "2")], producer=(7, 0, 1), transactional=True)
    compacted.end_transaction(7, commit=True)
    compacted.clean()
    assert compacted.markers() == [1, 3]
    compacted.append([("b", "1")])
    compacted.clean()
    compacted.time.advance(DAY)
    compacted.append([("c", "1")])
    compacted.clean()
    assert compacted.markers() == [3]
    assert compacted.key_values() == [(2, "a", "2"), (4, "b", "1"), (5, "c", "1")]


def test_an_open_transaction_stops_the_cleaner(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1"), ("a", "2")])
    compacted.log.roll()
    compacted.append([("a", "3")], producer=(7, 0, 0), transactional=True)
    compacted.log.roll()
    compacted.append([("a", "4")])
    compacted.clean()
    assert compacted.key_values() == [(1, "a", "2"), (2, "a", "3"), (3, "a", "4")]
    assert compacted.checkpoint() == 2


def test_the_only_marker_of_an_idle_producer_keeps_its_epoch(compacted: CleanerFixture) -> None:
    compacted.append([("a", "1")], producer=(7, 0, 0), transactional=True)
    fence = marker(0, 7, False, producer_epoch=1)
    compacted.log.append_as_leader(fence, 0, AppendOrigin.COORDINATOR)
    compacted.log.update_high_watermark(compacted.log.log_end_offset)
    for value in "xyz":
        compacted.clean()
        compacted.time.advance(DAY)
        compacted.append([("b", value)])
    assert [b.producer_epoch for b in compacted.batches() if b.is_control] == [1]


# -- groups


class FakeSegment:
    def __init__(self, base_offset: int, size: int, index_size: int = 0) -> None:
        self.base_offset = base_offset
        self.size = size
        self.offset_index = self.time_index = self
        self.size_in_bytes = index_size


def groups(segments: list[FakeSegment], end: int, max_size: int = 100, max_index: int = 100) -> list[list[int]]:
    fakes: Any = segments
    made: list[list[LogSegment]] = group_segments_by_size(fakes, max_size, max_index, end)
    return [[segment.base_offset for segment in group] for group in made]


def test_groups_fit_a_segment() -> None:
    assert groups([FakeSegment(i, 40) for i in range(5)], 5) == [[0, 1], [2, 3], [4]]
    assert groups([FakeSegment(0, 500), FakeSegment(1, 10), FakeSegment(2, 10)], 3) == [[0], [1, 2]]
    assert groups([FakeSegment(i, 1, 60) for i in range(3)], 3) == [[0], [1], [2]]
    far = 1 << 31
    assert groups([FakeSegment(0, 1), FakeSegment(10, 1), FakeSegment(far, 1)], far + 1) == [[0, 10], [far]]
    assert groups([FakeSegment(0, 1), FakeSegment(far - 1, 1)], far) == [[0, far - 1]]
    assert groups([FakeSegment(0, 1), FakeSegment(far - 1, 1)], far + 1) == [[0], [far - 1]]


# -- the whole


operations = st.lists(
    st.one_of(
        st.tuples(
            st.just("append"),
            st.lists(
                st.tuples(st.sampled_from("abcdefgh"), st.none() | st.text("xyz", max_size=3)), min_size=1, max_size=6
            ),
            st.sampled_from([CompressionType.NONE, CompressionType.NONE, CompressionType.GZIP]),
        ),
        st.tuples(st.just("transaction"), st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4), st.booleans()),
        st.tuples(st.just("roll")),
        st.tuples(st.just("clean")),
        st.tuples(st.just("reopen")),
        st.tuples(st.just("wait"), st.sampled_from([1000, DAY // 2, DAY])),
    ),
    max_size=30,
)


@settings(max_examples=60, deadline=None)
@given(operations)
def test_a_reader_sees_the_same_state_before_and_after(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Any, ...]]
) -> None:
    """Cleaning keeps the final value of every key, at its offset, and the order; and changes nothing else."""
    compacted = CleanerFixture(tmp_path_factory.mktemp("log"), segment_bytes=500)
    state: dict[str, tuple[int, str]] = {}
    written: dict[int, tuple[str, str | None]] = {}
    sequence = 0
    for step in [*steps, ("roll",), ("clean",), ("reopen",)]:
        kind = step[0]
        start = compacted.log.log_end_offset
        if kind == "append":
            records = step[1]
            compacted.append(records, compression_type=step[2], timestamp=compacted.time.milliseconds())
            for i, (key, value) in enumerate(records):
                written[start + i] = (key, value)
                if value is None:
                    state.pop(key, None)
                else:
                    state[key] = (start + i, value)
        elif kind == "transaction":
            keys, commit = step[1], step[2]
            compacted.append([(k, "txn") for k in keys], producer=(7, 0, sequence), transactional=True)
            compacted.end_transaction(7, bool(commit))
            sequence += len(keys)
            if commit:
                for i, key in enumerate(keys):
                    written[start + i] = (key, "txn")
                    state[key] = (start + i, "txn")
        elif kind == "roll":
            if compacted.log.active_segment.size:
                compacted.log.roll()
        elif kind == "clean":
            compacted.thread.try_clean_filthiest_log()
            assert not compacted.cleaner.manager.uncleanable_partitions(compacted.root)
        elif kind == "reopen":
            compacted.reopen()
        else:
            compacted.time.advance(step[1])
        assert compacted.log.log_end_offset >= start
        batches = compacted.batches()
        assert all(isinstance(b, RecordBatch) and b.is_valid() for b in batches)
        assert all(a.last_offset < b.base_offset for a, b in itertools.pairwise(batches))
        found = compacted.key_values()
        committed = [r for r in found if r[0] in written]
        assert [written[offset] for offset, _, _ in committed] == [(key, value) for _, key, value in committed]
        assert [o for o, _, _ in found] == sorted(o for o, _, _ in found)
        assert latest(committed) == state
