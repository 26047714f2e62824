"""Offset, time and transaction index: bytes on disk, and look-ups against a model."""

from __future__ import annotations

import os
import struct
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.log.files.checkpoints import MalformedFileError
from kafkapy.log.index.offset_index import OffsetIndex
from kafkapy.log.index.time_index import TimeIndex
from kafkapy.log.index.transaction_index import AbortedTxn, TransactionIndex


def _offset_index(path: Path, base: int = 100, max_size: int = 1000) -> OffsetIndex:
    index = OffsetIndex(f"{path}/offset.index", base, max_size)
    index.create()
    return index


def _time_index(path: Path, base: int = 100, max_size: int = 1000) -> TimeIndex:
    index = TimeIndex(f"{path}/time.index", base, max_size)
    index.create()
    return index


@pytest.mark.parametrize(
    "left", [None, b"", struct.pack(">ii", 5, 4000), struct.pack(">iiii", 5, 4000, 0, 0), b"garbage"]
)
def test_an_index_that_is_recovered_becomes_right_whatever_was_in_the_file(tmp_path: Path, left: bytes | None) -> None:
    path = tmp_path / "offset.index"
    if left is not None:
        path.write_bytes(left)
    index = OffsetIndex(str(path), 100, 1000)
    index.create(recovering=True)
    index.append(105, 4000)
    index.trim_to_valid_size()
    assert path.read_bytes() == struct.pack(">ii", 5, 4000)
    assert index.lookup(105) == (105, 4000)


def test_an_active_index_is_preallocated_and_trimmed_when_it_becomes_inactive(tmp_path: Path) -> None:
    index = _offset_index(tmp_path, max_size=1001)
    assert Path(index.path).stat().st_size == 1000
    index.append(105, 4000)
    index.append(110, 9000)
    index.write_out()
    assert Path(index.path).read_bytes() == struct.pack(">iiii", 5, 4000, 10, 9000) + bytes(984)
    index.trim_to_valid_size()
    assert Path(index.path).read_bytes() == struct.pack(">iiii", 5, 4000, 10, 9000)
    assert not index.hot
    assert index.lookup(107) == (105, 4000)


def test_a_cold_index_is_preallocated_again_for_appends(tmp_path: Path) -> None:
    index = _offset_index(tmp_path)
    index.append(105, 4000)
    index.trim_to_valid_size()
    again = OffsetIndex(index.path, 100, 1000)
    again.open()
    assert again.is_full and again.last_offset == 105
    again.append(110, 9000)
    assert Path(index.path).stat().st_size == 1000
    assert [again.entry(0), again.entry(1)] == [(105, 4000), (110, 9000)]


def test_offset_index_refuses_what_does_not_grow_and_more_than_fits(tmp_path: Path) -> None:
    index = _offset_index(tmp_path, max_size=16)
    index.append(101, 1)
    with pytest.raises(ValueError, match="no larger than"):
        index.append(101, 2)
    index.append(102, 2)
    assert index.is_full
    with pytest.raises(ValueError, match="full index"):
        index.append(103, 3)


def test_time_index_keeps_its_last_slot_for_the_roll(tmp_path: Path) -> None:
    index = _time_index(tmp_path, max_size=24)
    assert not index.is_full
    index.maybe_append(10, 100)
    assert index.is_full
    with pytest.raises(ValueError, match="full time index"):
        index.maybe_append(11, 101)
    index.maybe_append(11, 101, skip_full_check=True)
    assert index.last_entry == (11, 101)


def test_time_index_only_takes_growing_timestamps(tmp_path: Path) -> None:
    index = _time_index(tmp_path)
    index.maybe_append(-1, 100)
    assert index.entries == 0, "records without a timestamp leave no entry"
    index.maybe_append(10, 101)
    index.maybe_append(10, 105)
    assert index.entries == 1
    with pytest.raises(ValueError, match="timestamp"):
        index.maybe_append(9, 106)
    with pytest.raises(ValueError, match="offset"):
        index.maybe_append(11, 100)


def test_creating_an_index_replaces_what_is_there(tmp_path: Path) -> None:
    index = _offset_index(tmp_path)
    index.append(105, 1)
    index.write_out()
    index.create()
    assert index.entries == 0
    assert Path(index.path).read_bytes() == bytes(1000)


@pytest.mark.parametrize("count", [0, 1, 2, 511, 512, 513, 3000])
@pytest.mark.parametrize("hot", [True, False])
def test_lookups_agree_with_a_list(tmp_path: Path, count: int, hot: bool) -> None:
    entries = [(100 + 3 * n, 10 * n) for n in range(1, count + 1)]
    index = _offset_index(tmp_path, max_size=8 * 4000)
    for offset, position in entries:
        index.append(offset, position)
    if not hot:
        index.trim_to_valid_size()
    for target in [100, 102, 103, 104, 100 + 3 * count, 99 + 3 * count, 1000, 1001, 1 << 40]:
        expected = max(((o, p) for o, p in entries if o <= target), default=(100, 0))
        assert index.lookup(target) == expected
    for position in [-1, 0, 5, 10, 10 * count - 1, 10 * count]:
        assert index.first_behind(position) == min(((o, p) for o, p in entries if p > position), default=None)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(1, 50), max_size=300),
    st.lists(st.tuples(st.sampled_from(["truncate", "trim", "reopen", "write"]), st.integers(0, 9000)), max_size=6),
)
def test_an_index_under_truncation_and_reopening(steps: list[int], actions: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        index = _offset_index(Path(directory), base=0, max_size=8000)
        times = _time_index(Path(directory), base=0, max_size=12000)
        model: list[tuple[int, int]] = []
        for step in steps:
            offset = (model[-1][0] if model else 0) + step
            model.append((offset, offset * 7))
            index.append(offset, offset * 7)
            times.maybe_append(offset * 5, offset)
        for action, offset in actions:
            if action == "truncate":
                index.truncate_to(offset)
                times.truncate_to(offset)
                model = [entry for entry in model if entry[0] < offset]
            elif action == "write":
                index.write_out()
                times.write_out()
            else:
                index.trim_to_valid_size()
                times.trim_to_valid_size()
                if action == "reopen":
                    index = OffsetIndex(index.path, 0, 8000)
                    index.open()
                    times = TimeIndex(times.path, 0, 12000)
                    times.open()
            assert [index.entry(n) for n in range(index.entries)] == model
            assert [times.entry(n) for n in range(times.entries)] == [(o * 5, o) for o, _ in model]
            assert index.last_offset == (model[-1][0] if model else 0)
            assert times.last_entry == ((model[-1][0] * 5, model[-1][0]) if model else (-1, 0))
        index.trim_to_valid_size()
        assert Path(index.path).read_bytes() == b"".join(struct.pack(">ii", *entry) for entry in model)


@settings(max_examples=100)
@given(st.lists(st.integers(0, 3200) | st.integers(990, 1060), min_size=1, max_size=30), st.booleans())
def test_a_cold_index_finds_from_wherever_it_found_last(offsets: list[int], ascending: bool) -> None:
    with tempfile.TemporaryDirectory() as directory:
        index = _offset_index(Path(directory), base=10, max_size=8 * 1500)
        for n in range(1500):
            index.append(11 + 2 * n, 100 * n)
        index.trim_to_valid_size()
        for offset in sorted(offsets) if ascending else offsets:
            n = min((offset - 11) // 2, 1499)
            assert index.lookup(offset) == ((11 + 2 * n, 100 * n) if n >= 0 else (10, 0))


def test_every_entry_of_a_cold_index_is_found(tmp_path: Path) -> None:
    index = _offset_index(tmp_path, base=0, max_size=8 * 2500)
    for n in range(2500):
        index.append(n + 1, 100 * n)
    index.trim_to_valid_size()
    for offset in range(2500, 0, -1):  # backwards: each search begins anew
        assert index.lookup(offset) == (offset, 100 * (offset - 1))


def test_one_who_reads_on_in_a_cold_index_costs_one_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = _offset_index(tmp_path, base=0, max_size=8 * 5000)
    for n in range(5000):
        index.append(n + 1, n)
    index.trim_to_valid_size()
    assert index.lookup(2000) == (2000, 1999)
    reads: list[int] = []
    pread = os.pread

    def counted(file: int, size: int, position: int) -> bytes:
        reads.append(position)
        return pread(file, size, position)

    monkeypatch.setattr(os, "pread", counted)
    for offset in range(2064, 2064 + 64 * 20, 64):
        assert index.lookup(offset) == (offset, offset - 1)
    assert len(reads) == 20


def test_after_a_truncation_the_tail_of_the_file_is_zeros(tmp_path: Path) -> None:
    index = _offset_index(tmp_path)
    index.append(105, 1)
    index.append(106, 2)
    index.write_out()
    index.truncate_to(106)
    assert Path(index.path).read_bytes() == struct.pack(">ii", 5, 1) + bytes(992)
    index.append(120, 3)
    index.write_out()
    assert Path(index.path).read_bytes() == struct.pack(">iiii", 5, 1, 20, 3) + bytes(984)


def test_a_rename_while_a_file_is_opened_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = _offset_index(tmp_path)
    index.append(105, 1)
    index.trim_to_valid_size()
    real = os.open

    def another_file_takes_the_name(path: str, flags: int) -> int:
        os.rename(path, path + ".deleted")
        Path(path).write_bytes(bytes(80))
        index.path = path + ".deleted"
        return real(path, flags)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", another_file_takes_the_name)
        with pytest.raises(FileNotFoundError):
            index.lookup(200)
    assert index.lookup(200) == (105, 1)


def test_transaction_index_format_and_search(tmp_path: Path) -> None:
    path = f"{tmp_path}/00000000000000000000.txnindex"
    index = TransactionIndex(path, 0, False)
    assert index.collect_aborted_txns(0, 100) == ([], False)
    assert not Path(path).exists(), "the file appears with the first abort"
    txns = [AbortedTxn(1004, 2, 3, 4), AbortedTxn(7, 0, 10, 11), AbortedTxn(8, 12, 20, 15)]
    for txn in txns:
        index.append(txn)
    assert Path(path).read_bytes()[:34].hex() == (
        "0000" "00000000000003ec" "0000000000000002" "0000000000000003" "0000000000000004"
    )  # fmt: skip
    for reopened in (index, TransactionIndex(path, 0, True)):
        assert reopened.entries() == txns
        assert reopened.collect_aborted_txns(0, 4) == (txns[:2][:1], True)
        assert reopened.collect_aborted_txns(4, 12) == ([txns[1]], True)
        assert reopened.collect_aborted_txns(11, 100) == ([txns[2]], False)
    with pytest.raises(ValueError, match="sequentially"):
        index.append(AbortedTxn(9, 19, 20, 21))
    index.truncate_to(20)
    assert index.entries() == TransactionIndex(path, 0, True).entries() == txns[:2]
    index.reset()
    assert Path(path).read_bytes() == b""


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(1, 3)), max_size=400),
    st.lists(st.tuples(st.integers(0, 1300), st.integers(1, 200)), min_size=1, max_size=20),
)
def test_transactions_are_found_in_the_file_as_in_a_list(
    steps: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        index = TransactionIndex(f"{directory}/{0:020d}.txnindex", 0, False)
        txns: list[AbortedTxn] = []
        for length, gap in steps:
            last = (txns[-1].last_offset if txns else 0) + gap
            first = max(last - length, txns[-1].last_stable_offset if txns else 0)
            txns.append(AbortedTxn(7, first, last, min(last + 1, first + 2)))
            index.append(txns[-1])
        reopened = TransactionIndex(index.path, 0, bool(txns))
        assert reopened.entries() == txns
        if txns:
            reopened.sanity_check()
        for fetch, length in asked:
            upper = fetch + length
            complete = next((n for n, txn in enumerate(txns) if txn.last_stable_offset >= upper), None)
            looked_at = txns if complete is None else txns[: complete + 1]
            found = [txn for txn in looked_at if txn.last_offset >= fetch and txn.first_offset < upper]
            for each in (index, reopened):
                assert each.collect_aborted_txns(fetch, upper) == (found, complete is not None)
        reopened.truncate_to(asked[0][0])
        assert reopened.entries() == [txn for txn in txns if txn.last_offset < asked[0][0]]


def test_aborted_transactions_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.txnindex"
    path.write_bytes(b"".join(struct.pack(">hqqqq", 0, 7, 2 * n, 2 * n + 1, 2 * n + 2) for n in range(10_000)))
    index = TransactionIndex(str(path), 0, True)
    assert index.collect_aborted_txns(10_000, 10_003) == (
        [AbortedTxn(7, n, n + 1, n + 2) for n in (10_000, 10_002)],
        True,
    )
    index.append(AbortedTxn(7, 20_000, 20_001, 20_002))
    kept = [getattr(index, name) for kind in type(index).__mro__ for name in getattr(kind, "__slots__", ())]
    assert sum(map(sys.getsizeof, kept)) < 300


@pytest.mark.parametrize("field", range(1, 4))
def test_offsets_of_transactions_that_no_broker_writes_are_refused(tmp_path: Path, field: int) -> None:
    txns = [(1004, 2, 3, 4), (7, 5, 10, 11), (8, 12, 20, 21)]
    path = tmp_path / "x.txnindex"
    for slot in range(3):
        for wrong in (-5, 1 << 40):
            fields = [list(txn) for txn in txns]
            fields[slot][field] = wrong
            path.write_bytes(b"".join(struct.pack(">hqqqq", 0, *each) for each in fields))
            with pytest.raises(MalformedFileError):
                TransactionIndex(str(path), 0, True).sanity_check()


def test_a_torn_last_transaction_is_left_out_and_foreign_content_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.txnindex"
    entry = struct.pack(">hqqqq", 0, 1, 2, 3, 4)
    path.write_bytes(entry + entry[:20])
    assert len(TransactionIndex(str(path), 0, True).entries()) == 1
    with pytest.raises(MalformedFileError, match="no multiple of 34"):
        TransactionIndex(str(path), 0, True).sanity_check()
    path.write_bytes(struct.pack(">hqqqq", 1, 1, 2, 3, 4))
    with pytest.raises(MalformedFileError):
        TransactionIndex(str(path), 0, True).sanity_check()
    path.write_bytes(entry)
    with pytest.raises(MalformedFileError):
        TransactionIndex(str(path), 50, True).sanity_check()
