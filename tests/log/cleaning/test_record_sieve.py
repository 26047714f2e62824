"""What the cleaner's walk over bytes says of a batch must be what the plain reader of records says."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.log.cleaning.record_sieve import PORTION, PORTION_BYTES, RecordSieve, rebase_timestamps
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.record_batch import DefaultRecord, RecordBatch
from kafkapy.record.records_builder import MemoryRecordsBuilder, encode_batch

BASE = 1000


def batch_of(count: int, seed: int) -> RecordBatch:
    """Records with few keys, some without a key or a value, at rising and falling times."""
    chance = random.Random(seed)
    builder = MemoryRecordsBuilder(base_offset=BASE)
    for _ in range(count):
        key = None if chance.random() < 0.05 else b"k%d" % chance.randrange(1 + count // 3)
        value = None if chance.random() < 0.1 else chance.randbytes(chance.randrange(200))
        builder.append(10**12 + chance.randrange(10**6), key, value)
    return RecordBatch(builder.build())


def map_of(records: list[DefaultRecord], start: int, end: int) -> tuple[OffsetMap, dict[bytes, int]]:
    """A map that knows the offsets in [start, end), and the same as a dict; key k0 comes again later."""
    offsets, plain = OffsetMap(24 * 5000), {}
    offsets.clear(start, end + 10)
    for record in records:
        if record.key is not None and start <= record.offset < end:
            offsets.put(record.key, record.offset)
            plain[record.key] = record.offset
    offsets.put(b"k0", end + 5)
    plain[b"k0"] = end + 5
    offsets.update_latest_offset(end - 1)
    return offsets, plain


counts = st.sampled_from([1, 2, 7, 60, PORTION - 1, PORTION, PORTION + 1, 3 * PORTION])


@settings(max_examples=60, deadline=None)
@given(counts, st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_the_latest_stay(count: int, seed: int, start: float, end: float, drops_tombstones: bool) -> None:
    batch = batch_of(count, seed)
    records = list(batch.records())
    first, behind = sorted((BASE + int(start * count), BASE + int(end * count)))
    offsets, plain = map_of(records, first, behind)

    def stays(record: DefaultRecord) -> bool:
        if record.offset >= behind:
            return True
        if record.key is None or (record.value is None and drops_tombstones):
            return False
        return record.offset >= plain.get(record.key, -1)

    sieve = RecordSieve(batch.record_bytes(), count, BASE, offsets)
    steps = 1
    while sieve.retain_latest(drops_tombstones):
        steps += 1
    kept = [record for record in records if stays(record)]
    assert steps == -(-count // PORTION)
    assert (sieve.found, sieve.retained) == (count, len(kept))
    assert sieve.has_tombstones == any(record.value is None for record in kept)
    assert sieve.invalid == sum(record.key is None and record.offset < behind for record in records)
    assert records_of(sieve, batch) == kept
    if kept:
        assert batch.base_timestamp + sieve.max_timestamp_delta == max(record.timestamp for record in kept)


@settings(max_examples=40, deadline=None)
@given(counts, st.integers(0, 10**6), st.floats(0, 1), st.integers(1, 2000))
def test_the_map_takes_the_keys_that_it_has_room_for(count: int, seed: int, start: float, room: int) -> None:
    batch = batch_of(count, seed)
    first = BASE + int(start * count)
    offsets = OffsetMap(24 * 2000)
    offsets.clear(BASE, BASE + count)
    sieve = RecordSieve(batch.record_bytes(), count, BASE, offsets)
    while sieve.put_keys(first, room):
        pass
    plain: dict[bytes, int] = {}
    is_full = False
    for record in batch.records():
        if record.key is not None and record.offset >= first:
            is_full = len(plain) >= room
            if is_full:
                break
            plain[record.key] = record.offset
    assert sieve.is_full == is_full
    assert offsets.size == len(plain)
    assert all(offsets.get(key) == offset for key, offset in plain.items())


@pytest.mark.parametrize("count", [1, 2 * PORTION, 5 * PORTION])
def test_all_stay(count: int) -> None:
    batch = batch_of(count, 1)
    sieve = RecordSieve(batch.record_bytes(), count, BASE, OffsetMap(240))
    while sieve.retain_all():
        pass
    assert b"".join(sieve.runs) == batch.record_bytes()
    assert sieve.retained == count


def test_a_step_ends_after_so_many_bytes() -> None:
    builder = MemoryRecordsBuilder(base_offset=BASE)
    for i in range(10):
        builder.append(NO_TIMESTAMP, b"k%d" % i, bytes(PORTION_BYTES // 2))
    batch = RecordBatch(builder.build())
    sieve = RecordSieve(batch.record_bytes(), 10, BASE, OffsetMap(240))
    found = []
    while sieve.retain_all():
        found.append(sieve.found)
    assert found == [2, 4, 6, 8]
    assert max(map(len, sieve.runs)) < 2 * PORTION_BYTES
    assert records_of(sieve, batch) == list(batch.records())


def test_a_count_below_zero_is_none() -> None:
    sieve = RecordSieve(b"", -1, BASE, OffsetMap(240))
    assert not sieve.retain_all()
    assert not sieve.retain_latest(False)
    assert not sieve.put_keys(0, 1)


@pytest.mark.parametrize("shift", [0, 5, -(10**12), 1 << 40])
@pytest.mark.parametrize("count", [0, 1, 5 * PORTION])
def test_timestamps_move(count: int, shift: int) -> None:
    batch = batch_of(count, 2) if count else None
    data = b"" if batch is None else batch.record_bytes()
    moved, position = b"", 0
    while position < len(data):
        portion, position = rebase_timestamps(data, position, shift)
        moved += portion
    if batch is not None:
        assert batch_with(moved, count, batch.base_timestamp - shift) == list(batch.records())


@pytest.mark.parametrize("cut", [1, 3, 20])
def test_damaged_records_are_refused(cut: int) -> None:
    data = batch_of(20, 3).record_bytes()[:-cut]
    sieve = RecordSieve(data, 20, BASE, OffsetMap(240))
    with pytest.raises(KafkaError) as raised:
        sieve.retain_all()
    assert raised.value.error is Errors.INVALID_RECORD


def records_of(sieve: RecordSieve, batch: RecordBatch) -> list[DefaultRecord]:
    return batch_with(b"".join(sieve.runs), sieve.retained, batch.base_timestamp)


def batch_with(body: bytes, count: int, base_timestamp: int) -> list[DefaultRecord]:
    made = encode_batch(
        body,
        base_offset=BASE,
        last_offset_delta=0,
        record_count=count,
        attributes=0,
        base_timestamp=base_timestamp,
        max_timestamp=0,
    )
    return list(RecordBatch(made).records())
