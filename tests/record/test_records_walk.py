"""The walk over columns must say of any bytes what the plain decoder says."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.compression import CompressionType, compress, decompress_chunks
from kafkapy.record.record_batch import DefaultRecord, Header, RecordBatch
from kafkapy.record.records_builder import encode_batch, encode_record
from kafkapy.record.records_walk import RecordsWalk
from kafkapy.record.varint import encode_varint

Summary = tuple[int, bool, bool] | None


def summary_of_decoder(body: bytes, count: int) -> Summary:
    """(highest timestamp delta, sequential, keyless) by the plain decoder; None if it refuses."""
    batch = RecordBatch(
        encode_batch(
            body,
            base_offset=0,
            last_offset_delta=max(count - 1, 0),
            record_count=count,
            attributes=0,
            base_timestamp=0,
            max_timestamp=0,
        )
    )
    try:
        records = list(batch.records())
    except KafkaError as error:
        assert error.error is Errors.INVALID_RECORD
        return None
    return (
        max(r.timestamp for r in records),
        [r.offset for r in records] == list(range(len(records))),
        any(r.key is None for r in records),
    )


def summary_of_walk(body: bytes, count: int, chunk: int = 0) -> Summary:
    walk = RecordsWalk(count)
    try:
        if chunk:
            pieces = (body[i : i + chunk] for i in range(0, len(body), chunk))
            assert walk.walk_chunks(pieces, limit=1 << 30) == len(body)
        else:
            walk.walk_all(body)
    except KafkaError as error:
        assert error.error is Errors.INVALID_RECORD
        return None
    assert walk.walked == count
    return walk.max_timestamp_delta, walk.sequential, walk.keyless


# Batches as producers make them: stretches of records of one shape, with lengths around the widths of varints.
lengths = st.one_of(st.none(), st.sampled_from([0, 1, 5, 50, 55, 57, 62, 63, 64, 70, 100, 200]), st.integers(0, 300))
steps = st.sampled_from([0, 0, 0, 1, 1, 5, 40, 5000, 700_000, -1, -40, -5000])
headers = st.lists(st.tuples(st.binary(max_size=3), st.none() | st.binary(max_size=3)), max_size=3).map(tuple)


@st.composite
def stretch(draw: st.DrawFn) -> list[tuple[int, int | None, int | None, tuple[Header, ...]]]:
    size = draw(st.sampled_from([1, 2, 3, 5, 17, 40, 64, 100]))
    key = draw(lengths)
    value = draw(lengths)
    step = draw(steps)
    vary = draw(st.booleans()) and value is not None
    extra = draw(st.just(()) | headers)
    rnd = random.Random(draw(st.integers(0, 9)))
    varied = [value + rnd.randrange(40) if vary and value is not None else value for _ in range(size)]
    return [(step, key, one, extra) for one in varied]


@st.composite
def bodies(draw: st.DrawFn) -> tuple[bytes, int]:
    records = [r for s in draw(st.lists(stretch(), min_size=1, max_size=4)) for r in s]
    shift = draw(st.sampled_from([0, 0, 0, 0, 1]))
    timestamp = 0
    parts = []
    for i, (step, key, value, extra) in enumerate(records):
        parts.append(
            encode_record(
                i + shift,
                timestamp,
                None if key is None else b"k" * key,
                None if value is None else bytes(range(value % 200)) + bytes(value - value % 200),
                extra,
            )
        )
        timestamp += step
    return b"".join(parts), len(records)


@settings(max_examples=150, deadline=None)
@given(bodies())
def test_agrees_with_decoder_on_good_batches(batch: tuple[bytes, int]) -> None:
    body, count = batch
    expected = summary_of_decoder(body, count)
    assert expected is not None
    assert summary_of_walk(body, count) == expected


@settings(max_examples=400, deadline=None)
@given(bodies(), st.data())
def test_agrees_with_decoder_on_damaged_batches(batch: tuple[bytes, int], data: st.DataObject) -> None:
    body, count = batch
    damaged = bytearray(body)
    for _ in range(data.draw(st.integers(1, 3))):
        kind = data.draw(st.sampled_from(["set", "flip", "insert", "delete", "count", "cut"]))
        at = data.draw(st.integers(0, max(len(damaged) - 1, 0)))
        if not damaged:
            break
        if kind == "set":
            damaged[at] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0x81, 0xFE, 0xFF]))
        elif kind == "flip":
            damaged[at] ^= 1 << data.draw(st.integers(0, 7))
        elif kind == "insert":
            damaged.insert(at, data.draw(st.integers(0, 255)))
        elif kind == "delete":
            del damaged[at]
        elif kind == "cut":
            del damaged[at:]
        else:
            count = max(1, count + data.draw(st.integers(-2, 2)))
    expected = summary_of_decoder(bytes(damaged), count)
    assert summary_of_walk(bytes(damaged), count) == expected
    assert summary_of_walk(bytes(damaged), count, chunk=data.draw(st.sampled_from([1, 7, 100, 5000]))) == expected


def regular(count: int, size: int = 100, step: int = 1) -> bytes:
    return b"".join(encode_record(i, i * step, None, b"v" * size) for i in range(count))


@pytest.mark.parametrize("count", [1, 4, 63, 64, 65, 8191, 8192, 8193, 9000])
def test_offset_deltas_of_every_width(count: int) -> None:
    walk = RecordsWalk(count)
    walk.walk_all(regular(count, size=3))
    assert (walk.max_timestamp_delta, walk.sequential, walk.keyless) == (count - 1, True, True)


def test_every_field_of_a_column_is_looked_at() -> None:
    """In each place of each record of a regular batch any byte may be changed: the outcome is the decoder's."""
    body = b"".join(encode_record(i, 100, b"key", b"v" * 70, ((b"h", b"x"),)) for i in range(20))
    stride = len(body) // 20
    for at in [*range(stride * 10, stride * 11), *range(14)]:
        for value in (0, 1, 3, body[at] ^ 1, body[at] ^ 0x80):
            damaged = body[:at] + bytes((value & 0xFF,)) + body[at + 1 :]
            assert summary_of_walk(damaged, 20) == summary_of_decoder(damaged, 20), (at, value)


def test_any_attributes_are_taken() -> None:
    body = bytearray(encode_record(0, 0, b"k", b"v"))
    body[1] = 0xFF
    assert summary_of_walk(bytes(body), 1) == (0, True, False)


def test_one_by_one_only_where_needed() -> None:
    walk = RecordsWalk(1000)
    walk.walk_all(regular(1000))
    assert walk._steps == 0


def test_decompression_bomb_is_walked_in_bounded_memory() -> None:
    value = bytes(30_000_000)
    body = compress(CompressionType.GZIP, encode_record(0, 5, None, value) + encode_record(1, 7, b"k", b"v"), 9)
    sizes = []

    def watched() -> Iterator[bytes]:
        for chunk in decompress_chunks(CompressionType.GZIP, body):
            sizes.append(len(chunk))
            yield chunk

    walk = RecordsWalk(2)
    assert walk.walk_chunks(watched(), limit=1 << 28) > len(value)
    assert (walk.max_timestamp_delta, walk.sequential, walk.keyless) == (7, True, True)
    assert max(sizes) <= 1 << 18


def test_limit_of_decompressed_size() -> None:
    body = compress(CompressionType.ZSTD, encode_record(0, 0, None, bytes(10_000_000)))
    with pytest.raises(KafkaError) as caught:
        RecordsWalk(1).walk_chunks(decompress_chunks(CompressionType.ZSTD, body), limit=1 << 20)
    assert caught.value.error is Errors.MESSAGE_TOO_LARGE


def test_limit_of_single_steps() -> None:
    headers = encode_varint(5_000_000) + b"\x00\x00" * 5_000_000
    content = b"\x00\x00\x00\x01\x01" + headers
    body = encode_varint(len(content)) + content
    chunks = iter([body[i : i + 100_000] for i in range(0, len(body), 100_000)])
    with pytest.raises(KafkaError) as caught:
        RecordsWalk(1).walk_chunks(chunks, limit=1 << 28)
    assert caught.value.error is Errors.MESSAGE_TOO_LARGE


def test_decoder_gives_what_was_encoded() -> None:
    body = encode_record(0, 0, b"k0", b"value-0", ((b"h", b"hv"),)) + encode_record(1, 1, None, None)
    batch = RecordBatch(
        encode_batch(
            body,
            base_offset=10,
            last_offset_delta=1,
            record_count=2,
            attributes=0,
            base_timestamp=1000,
            max_timestamp=1001,
        )
    )
    assert list(batch.records()) == [
        DefaultRecord(10, 1000, b"k0", b"value-0", ((b"h", b"hv"),)),
        DefaultRecord(11, 1001, None, None),
    ]
