"""Indexes that are not those of their segment: every record is found nevertheless, and they are made anew."""

from __future__ import annotations

import logging
import random
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy.common import page_cache
from kafkapy.common.timestamps import MAX_TIMESTAMP
from kafkapy.log.log import FetchIsolation, Log, TimestampAndOffset
from kafkapy.log.segments.index_rebuild import IndexRebuild
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from tests.log.log_support import NOW, LogDirFixture, batch

SIZE = len(batch())
SEALED, ACTIVE = "00000000000000000000", "00000000000000000012"
BATCHES = 7
END = 3 * BATCHES
OFFSETS = range(END)


@pytest.fixture
def fixture(tmp_path: Path) -> LogDirFixture:
    """Four batches in a sealed segment, three in the active one, with an index entry for each but the first; closed in order."""
    fixture = LogDirFixture(tmp_path, segment_bytes=4 * SIZE, index_interval_bytes=1, segment_index_bytes=1200)
    log = fixture.open()
    for number in range(BATCHES):
        log.append_as_leader(batch(timestamp=NOW + number), 0)
    log.close()
    return fixture


def _judge(log: Log) -> None:
    """Each offset is in the first batch that is read for it, and each time has its offset; what is appended comes behind."""
    assert log.log_end_offset == END
    for offset in OFFSETS:
        _check_read(log, offset)
    for number in range(BATCHES):
        assert log.fetch_offset_by_timestamp(NOW + number) == TimestampAndOffset(NOW + number, 3 * number, 0)
    assert log.fetch_offset_by_timestamp(MAX_TIMESTAMP) == TimestampAndOffset(NOW + BATCHES - 1, END - 3, 0)
    assert [segment.largest_timestamp for segment in log.log_segments] == [NOW + 3, NOW + BATCHES - 1]
    log.append_as_leader(batch(timestamp=NOW + BATCHES), 0)
    log.append_as_leader(batch(timestamp=NOW + BATCHES), 0)
    for offset in (END - 1, END, END + 5):
        _check_read(log, offset)
    log.truncate_to(END - 3)
    log.append_as_leader(batch(timestamp=NOW), 0)
    _check_read(log, END - 4)
    _check_read(log, END - 1)


def _check_read(log: Log, offset: int) -> None:
    found = log.read(offset, 1, FetchIsolation.LOG_END, True).records
    first = next(iter(batches(found if isinstance(found, bytes) else found.read())))
    first.ensure_valid()
    assert first.base_offset <= offset <= first.last_offset


def _flipped(content: bytes) -> Iterator[bytes]:
    """With a single bit another one: every fifth bit, so that each of a byte's comes."""
    for bit in range(0, 8 * len(content), 5):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def _random(content: bytes) -> Iterator[bytes]:
    generator = random.Random(17)
    for _ in range(30):
        yield generator.randbytes(generator.randrange(100))


def _plausible(content: bytes) -> Iterator[bytes]:
    """Growing offsets and positions that are in the segment, but not where batches begin."""
    generator = random.Random(18)
    for _ in range(30):
        entries = [(3 * n + 2, n * SIZE + generator.randrange(-SIZE // 2, SIZE // 2)) for n in range(1, 4)]
        yield b"".join(struct.pack(">ii", *entry) for entry in entries)


def _shortened(content: bytes) -> Iterator[bytes]:
    for size in range(0, len(content), 3):
        yield content[:size]


def _lengthened(content: bytes) -> Iterator[bytes]:
    yield content + bytes(120)
    yield content + content
    yield content[24:] + content[:24]


@pytest.mark.parametrize("damage", [_flipped, _random, _plausible, _shortened, _lengthened])
@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("segment", [SEALED, ACTIVE])
def test_all_is_found_whatever_is_in_an_index(
    fixture: LogDirFixture, tmp_path: Path, segment: str, suffix: str, damage: Callable[[bytes], Iterator[bytes]]
) -> None:
    saved = tmp_path / "saved"
    shutil.copytree(fixture.directory, saved)
    for content in damage((saved / f"{segment}.{suffix}").read_bytes()):
        shutil.rmtree(fixture.directory)
        shutil.copytree(saved, fixture.directory)
        (Path(fixture.directory) / f"{segment}.{suffix}").write_bytes(content)
        log = fixture.open(recovery_point=END)
        try:
            _judge(log)
            log.close()
        except Exception as error:
            raise AssertionError(content.hex()) from error
    assert fixture.failures == []


def test_a_wrong_index_is_told_of_and_written_anew(fixture: LogDirFixture, caplog: pytest.LogCaptureFixture) -> None:
    right = [fixture.read(f"{SEALED}.{suffix}") for suffix in ("index", "timeindex")]
    (Path(fixture.directory) / f"{SEALED}.index").write_bytes(struct.pack(">ii", 5, 2 * SIZE))
    log = fixture.open(recovery_point=END)
    _check_read(log, 5)
    assert f"An index of log segment {fixture.directory}/{SEALED}.log was wrong" in caplog.text
    assert [fixture.read(f"{SEALED}.{suffix}") for suffix in ("index", "timeindex")] == right
    caplog.clear()
    _judge(log)
    assert not _warnings(caplog)


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Of the log. An earlier test of the process may have left the level at INFO, so that a new segment is told of, too."""
    of_the_log = (record for record in caplog.records if record.name.startswith("kafkapy.log"))
    return [record.getMessage() for record in of_the_log if record.levelno >= logging.WARNING]


def test_a_thread_that_may_not_wait_leaves_the_work_to_another(fixture: LogDirFixture) -> None:
    (Path(fixture.directory) / f"{SEALED}.index").write_bytes(struct.pack(">ii", 5, 2 * SIZE))
    log = fixture.open(recovery_point=END)
    page_cache.blocking_reads.allowed = False
    try:
        with pytest.raises(BlockingIOError):
            _check_read(log, 5)
    finally:
        page_cache.blocking_reads.allowed = True
    _check_read(log, 5)


def test_a_value_that_holds_a_batch_is_taken_for_none(tmp_path: Path) -> None:
    fixture = LogDirFixture(tmp_path, index_interval_bytes=1)
    log = fixture.open()
    for _ in range(4):
        log.append_as_leader(batch(0, [bytes(batch(3))]), 0)
    size = log.size // 4
    within = 2 * size + bytes(log.read(2, 1, FetchIsolation.LOG_END, True).records.read()).index(bytes(batch(3))[:60])  # type: ignore[union-attr]
    log.close()
    entries = [(1, size), (2, within), (3, 3 * size)]
    (Path(fixture.directory) / f"{SEALED}.index").write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries))
    log = fixture.open(recovery_point=4)
    for offset in range(4):
        _check_read(log, offset)


@pytest.mark.parametrize("named", ["of the last batch of the append", "of the first record"])
def test_entries_of_older_brokers_are_right(
    fixture: LogDirFixture, caplog: pytest.LogCaptureFixture, named: str
) -> None:
    offsets = (8, 11) if named == "of the last batch of the append" else (3, 9)
    entries = [(offsets[0], SIZE), (offsets[1], 3 * SIZE)]
    (Path(fixture.directory) / f"{SEALED}.index").write_bytes(b"".join(struct.pack(">ii", *entry) for entry in entries))
    log = fixture.open(recovery_point=END)
    _judge(log)
    assert not _warnings(caplog)


def test_a_batch_with_wrong_offsets_does_not_pass_for_those_behind_it(
    fixture: LogDirFixture, caplog: pytest.LogCaptureFixture
) -> None:
    with (Path(fixture.directory) / f"{SEALED}.log").open("r+b") as file:
        file.seek(SIZE + 6)
        file.write(b"\1")
    log = fixture.open(recovery_point=END)
    for offset in (0, 1, 2, 6, 7, 11, 12, END - 1):
        _check_read(log, offset)
    for offset in (3, 4, 5):
        with pytest.raises(KafkaError) as info:
            _check_read(log, offset)
        assert info.value.error is Errors.CORRUPT_MESSAGE and f"{SEALED}.log is damaged" in str(info.value)
    assert (
        f"{SEALED}.log is damaged: there are no batches with the right offsets at the positions {SIZE}." in caplog.text
    )


def test_a_log_that_is_truncated_while_an_index_is_made_anew(
    fixture: LogDirFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = fixture.open(recovery_point=END)
    segment = log.log_segments[0]
    follow, calls = IndexRebuild.follow, []

    def truncated_meanwhile(rebuild: IndexRebuild, end: int) -> None:
        calls.append(rebuild)
        follow(rebuild, end)
        if len(calls) == 1:
            log.truncate_to(6)

    monkeypatch.setattr(IndexRebuild, "follow", truncated_meanwhile)
    segment.rebuild_indexes("a test says so")
    assert [segment.offset_index.entry(n) for n in range(segment.offset_index.entries)] == [(5, SIZE)]
    assert (log.log_end_offset, segment.largest_timestamp) == (6, NOW + 1)


def test_a_time_index_that_ends_too_early_lets_nothing_be_deleted(fixture: LogDirFixture) -> None:
    path = Path(fixture.directory) / f"{SEALED}.timeindex"
    path.write_bytes(path.read_bytes()[:12])
    log = fixture.open(recovery_point=END)
    assert log.log_segments[0].largest_timestamp == NOW + 3


def test_an_index_of_another_log_is_noticed(fixture: LogDirFixture, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = LogDirFixture(tmp_path / "other", index_interval_bytes=1)
    log = other.open()
    for number in range(9):
        log.append_as_leader(batch(0, [b"v"] * (number + 1), timestamp=NOW + 5 * number), 0)
    log.close()
    for suffix in ("index", "timeindex"):
        shutil.copy(f"{other.directory}/{SEALED}.{suffix}", f"{fixture.directory}/{SEALED}.{suffix}")
    _judge(fixture.open(recovery_point=END))
