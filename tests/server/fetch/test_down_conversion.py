"""Records for old clients, converted while they are sent: the bytes are those of Apache Kafka 3.9.1, and memory is bounded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from kafkapy.record.compression import CompressionType
from kafkapy.record.conversion import CONVERSION_CHUNK, down_convert, overflow_entry
from kafkapy.record.file_records import FileRecords
from kafkapy.record.record_batch import LOG_OVERHEAD
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.runtime.clock import MockClock
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.fetch.down_conversion import DownConvertedRecords, InTurn
from tests.record.test_old_formats import STORED

P = ParamSpec("P")
R = TypeVar("R")

# What Apache Kafka 3.9.1 answered to Fetch v0 and v2.
FETCHED_V0 = bytes.fromhex(
    "000000000000000000000011165764b10000000000016b0000000276300000000000000001000000110f4c55f00000000000"
    "016b000000027730000000000000000200000011615054270000000000016b00000002763100000000000000030000001178"
    "4b65660000000000016b000000027731ffffffffffffffff0000003d00000000000000000000000000000000000000000000"
    "000000000000000000000000"
)
FETCHED_V1 = bytes.fromhex(
    "000000000000000000000019ca26aeae0100ffffffffffffffff000000016b000000027630000000000000000100000019d3"
    "3d9fef0100ffffffffffffffff000000016b000000027730000000000000000200000019dac983810100000001a3185c5000"
    "000000016b0000000276310000000000000003000000195877feaf0100000001a3185c5001000000016b000000027731ffff"
    "ffffffffffff0000003d0000"
)


def stored(path: Path, data: bytes, position: int = 0, size: int | None = None) -> FileRecords:
    path.write_bytes(data)
    return FileRecords(open(path, "rb"), position, len(data) if size is None else size)


def begin(records: FileRecords, magic: int, first_offset: int = 0) -> DownConvertedRecords:
    late = DownConvertedRecords(records, magic, first_offset, MockClock().in_thread)
    spawn(late.begin()).result()
    return late


def pieces(late: DownConvertedRecords) -> list[bytes]:
    found = []
    while len(late):
        before = len(late)
        found.append(spawn(late.next_piece()).result())
        assert 0 < len(found[-1]) == before - len(late)
    return found


@pytest.mark.parametrize(("magic", "expected"), [(0, FETCHED_V0), (1, FETCHED_V1)])
def test_the_bytes_are_apaches(tmp_path: Path, magic: int, expected: bytes) -> None:
    late = begin(stored(tmp_path / "log", STORED), magic)
    assert len(late) == len(expected) == len(STORED)
    assert b"".join(pieces(late)) == expected


def batch(
    values: int, size: int = 10, codec: CompressionType = CompressionType.NONE, offset: int = 0, control: bool = False
) -> bytes:
    builder = MemoryRecordsBuilder(compression_type=codec, base_offset=offset, is_control=control)
    for index in range(values):
        builder.append(1000 + index, None if index % 3 else b"key", bytes([index % 251]) * size)
    return builder.build()


def eager(data: bytes, size: int, magic: int, first_offset: int) -> bytes:
    """What Kafka's broker promises and sends, made at once."""
    whole = list(batches(data[:size]))
    converted: list[bytes] = []
    for found in whole:
        try:
            converted.append(down_convert((found,), magic, first_offset).data)
        except KafkaError:
            if not any(converted):
                raise
            break
    converted = [some for some in converted if some]
    if not converted:
        return overflow_entry(LOG_OVERHEAD) if whole else b""
    promised = max(size, len(converted[0]))
    together = b"".join(converted)
    return (together + overflow_entry(max(0, promised - len(together))))[:promised]


codecs = st.sampled_from([CompressionType.NONE] * 3 + [CompressionType.GZIP, CompressionType.LZ4, CompressionType.ZSTD])
shapes = st.tuples(
    st.integers(1, 30), st.sampled_from([0, 10, 3000, 20_000]), codecs, st.sampled_from([False] * 5 + [True])
)


@given(st.lists(shapes, max_size=8), st.sampled_from([0, 1]), st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_pieces_as_at_once(
    tmp_path: Path, made_of: list[tuple[int, int, CompressionType, bool]], magic: int, data: st.DataObject
) -> None:
    log, offset = b"", 0
    for values, size, codec, control in made_of:
        log += batch(values, size, codec, offset, control)
        offset += values
    size = data.draw(st.integers(0, len(log)))  # a fetch's limit may cut the last batch
    first_offset = data.draw(st.integers(0, offset))
    records = stored(tmp_path / "log", b"before" + log, 6, size)
    try:
        expected = eager(log, size, magic, first_offset)
    except KafkaError as error:
        with pytest.raises(KafkaError) as caught:
            begin(records, magic, first_offset)
        assert caught.value.error is error.error
        return
    late = begin(records, magic, first_offset)
    assert len(late) == len(expected)
    assert b"".join(pieces(late)) == expected


def test_a_batch_that_cannot_be_converted(tmp_path: Path) -> None:
    zstd = batch(2, codec=CompressionType.ZSTD)
    with pytest.raises(KafkaError) as caught:
        begin(stored(tmp_path / "log", zstd + STORED), 1)
    assert caught.value.error is Errors.UNSUPPORTED_COMPRESSION_TYPE
    # Behind others it ends the answer: the client asks for it alone next time.
    behind = b"".join(pieces(begin(stored(tmp_path / "log", STORED + zstd + STORED), 0)))
    assert len(behind) == len(STORED + zstd + STORED)
    assert [r.value for b in batches(behind) for r in b.records()] == [b"v0", b"w0", b"v1", b"w1"]
    # Control batches alone give only an entry that is cut off, and the beginning of a batch nothing.
    control = begin(stored(tmp_path / "log", batch(2, control=True)), 0)
    assert pieces(control) == [b"\xff" * 8 + b"\0\0\0\x3d"]
    assert len(begin(stored(tmp_path / "log", STORED, 0, 60), 0)) == 0


def test_little_is_in_memory_at_a_time(tmp_path: Path) -> None:
    log = b"".join(batch(10, 1000, offset=10 * index) for index in range(500))
    late = begin(stored(tmp_path / "log", log), 1)
    sizes = [len(piece) for piece in pieces(late)]
    assert sum(sizes) == len(log)
    assert sizes[0] < 11_000
    assert max(sizes) < 1.1 * CONVERSION_CHUNK
    # What is filled up is no larger.
    late = begin(stored(tmp_path / "log", log[:20_000] + batch(1, 2 << 20, CompressionType.ZSTD)), 1)
    assert max(len(piece) for piece in pieces(late)) <= CONVERSION_CHUNK


def test_a_log_that_was_truncated_meanwhile(tmp_path: Path) -> None:
    log = b"".join(batch(10, 10_000, offset=10 * index) for index in range(50))
    late = begin(stored(tmp_path / "log", log), 1)
    spawn(late.next_piece()).result()
    (tmp_path / "log").write_bytes(log[:150_000])
    with pytest.raises(OSError, match="truncated"):
        pieces(late)


def test_one_thread_at_a_time_in_the_order_of_asking() -> None:
    held: list[tuple[Callable[[], object], Completion[None]]] = []

    async def pool(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        may_go: Completion[None] = Completion()
        held.append((lambda: function(*args, **kwargs), may_go))
        await may_go
        return function(*args, **kwargs)

    done: list[int] = []
    in_turn = InTurn(pool)
    for number in range(3):
        spawn(in_turn(done.append, number))
    failing = spawn(in_turn(int, "x"))
    last = spawn(in_turn(done.append, 9))
    for count in range(5):
        assert len(held) == 1
        held.pop()[1].set_result(None)
        assert len(done) == min(count + 1, 3) + (count == 4)
    assert isinstance(failing.exception(), ValueError)
    assert (done, last.done) == ([0, 1, 2, 9], True)
