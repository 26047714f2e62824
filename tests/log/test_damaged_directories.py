"""Damage to a log dir: no intact record is lost without a word, and each refusal says where the damage is and what to do."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import random_uuid
from kafkapy.log.log import AppendOrigin, FetchIsolation, Log
from kafkapy.log.manager.log_dirs import LogDirError
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.batches import batches
from tests.log.log_support import NOW, batch, log_config, marker

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
DELETED = 4
"""Records of B that DeleteRecords has taken."""
SEALED, ACTIVE = "00000000000000000000", "00000000000000000015"
REMEDY = re.compile(
    "restore|remove|move the|move it|repair them|correct|made anew|copied from|taken as empty|rebuilding", re.IGNORECASE
)

UNSEEN = re.compile("txnindex (flip|empty|missing|of_the_other)")
"""Entries that are missing, or of another transaction: only the whole log would show it, as with Apache."""

Damage = Callable[[Path], None]
Records = dict[TopicPartition, dict[int, bytes | None]]


class Whole(NamedTuple):
    """A log dir as the broker left it, and the records in it."""

    path: Path
    records: Records


def _start(path: Path) -> LogManager:
    time = MockTime(NOW)
    config = log_config(segment_bytes=700, index_interval_bytes=1, segment_index_bytes=1200)
    manager = LogManager([str(path)], config, {}, MockScheduler(time), time)
    manager.startup()
    return manager


def _fill(log: Log, producer: int) -> None:
    """Fifteen offsets in the first segment, a few more in the second; with an aborted transaction in each."""
    for number in range(9):
        transactional = number in (2, 7)
        log.producers.verifications.clear()
        values = [b"%d-%d" % (producer, number)] * 2
        made = batch(0, values, timestamp=NOW + number, producer=(producer, 0, 2 * number), transactional=transactional)
        log.append_as_leader(made, 0)
        if transactional:
            log.append_as_leader(marker(0, producer, commit=False), 0, AppendOrigin.COORDINATOR)
    log.update_high_watermark(log.log_end_offset)


def _make(path: Path, stop: Callable[[LogManager], object]) -> Whole:
    live = path.with_name("live")
    manager = _start(live)
    for name, producer in ((A, 1), (B, 2)):
        _fill(manager.get_or_create_log(name, random_uuid()), producer)
    log = manager.get_log(B)
    assert log is not None
    assert log.maybe_increment_log_start_offset(DELETED)
    assert [segment.base_offset for segment in log.log_segments] == [int(SEALED), int(ACTIVE)]
    manager.maintenance.checkpoint_all()
    records = {name: _records(log) for name, log in manager.logs.items()}
    stop(manager)
    shutil.copytree(live, path)
    manager._dirs.release()
    shutil.rmtree(live)
    return Whole(path, records)


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return _make(tmp_path_factory.mktemp("clean") / "data", LogManager.shutdown)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return _make(tmp_path_factory.mktemp("killed") / "data", lambda manager: None)


def _records(log: Log, isolation: FetchIsolation = FetchIsolation.LOG_END) -> dict[int, bytes | None]:
    """All that is served when each offset is asked for by itself."""
    found: dict[int, bytes | None] = {}
    for offset in range(log.log_start_offset, log.log_end_offset):
        try:
            data = log.read(offset, 1, isolation, True).records
        except KafkaError as error:
            assert error.error is Errors.CORRUPT_MESSAGE, error
            continue
        for one in batches(data if isinstance(data, bytes) else data.read()):
            if one.base_offset <= offset and one.is_valid():
                found.update((record.offset, record.value) for record in one.records() if record.offset == offset)
    return found


# -- damages


def _each(name: str, *damages: Callable[[Path], None]) -> Iterator[tuple[str, Damage]]:
    for damage in damages:
        yield f"{name} {damage.__name__.strip('_')}", lambda data, damage=damage: damage(data / name)  # type: ignore[misc]


def _seeded(path: Path) -> random.Random:
    return random.Random(path.name)


def _flip(path: Path, part: float) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[int(part * (len(content) - 1))] ^= 1 << _seeded(path).randrange(8)
        path.write_bytes(content)


def flip_early(path: Path) -> None:
    _flip(path, 0.05)


def flip_within(path: Path) -> None:
    _flip(path, 0.4)


def flip_late(path: Path) -> None:
    _flip(path, 0.97)


def random_bytes(path: Path) -> None:
    path.write_bytes(_seeded(path).randbytes(max(path.stat().st_size, 40)))


def half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def without_last_byte(path: Path) -> None:
    os.truncate(path, max(0, path.stat().st_size - 1))


def empty(path: Path) -> None:
    os.truncate(path, 0)


def zeros_behind(path: Path) -> None:
    os.truncate(path, path.stat().st_size + 4096)


def missing(path: Path) -> None:
    path.unlink()


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def broken_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def of_the_other_segment(path: Path) -> None:
    other = path.with_name((ACTIVE if path.name.startswith(SEALED) else SEALED) + path.suffix)
    swapped = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(swapped)


def of_the_other_partition(path: Path) -> None:
    shutil.copy(path.parent.with_name("b-0") / path.name, path)


def _text(content: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(content)

    write.__name__ = repr(content)
    return write


SEGMENT_DAMAGES = (
    flip_early, flip_within, flip_late, random_bytes, half, without_last_byte, empty, zeros_behind, missing, directory,
    broken_link, of_the_other_segment, of_the_other_partition,
)  # fmt: skip
CHECKPOINT_DAMAGES = (
    random_bytes, half, empty, missing, directory, broken_link, _text("0\n1\na 0 -5\n"), _text("1\n0\n"), _text("0\n3\na 0 1\n"),
    _text("0\n1\na 0 99999999999999999999\n"), _text("0\n1\nother 7 3\n"), _text("0\n1\na 0 1 2 3\n"),
)  # fmt: skip


def _extra(name: str) -> tuple[str, Damage]:
    def add(data: Path) -> None:
        path = data / name.rstrip("/")
        path.mkdir(parents=True) if name.endswith("/") else path.write_bytes(b"foreign")

    return f"extra {name}", add


def _damages() -> Iterator[tuple[str, Damage]]:
    for base in (SEALED, ACTIVE):
        for suffix in ("log", "index", "timeindex", "txnindex"):
            yield from _each(f"a-0/{base}.{suffix}", *SEGMENT_DAMAGES)
    yield from _each(f"a-0/{ACTIVE}.snapshot", *SEGMENT_DAMAGES[:-2])
    for name in ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "a-0/leader-epoch-checkpoint"):
        yield from _each(name, *CHECKPOINT_DAMAGES)
    yield from _each("a-0/partition.metadata", *CHECKPOINT_DAMAGES[:7])
    for name in (
        "a-0/foo.log", "a-0/12.index", f"a-0/{SEALED}.log.swap", "a-0/00000000000000000500.log", "a-0/x.snapshot", "a-0/foo.txt",
        "a-0/00000000000000000500.index", "a-0/sub/", ".kafka_cleanshutdown", "lost+found/", "c/", "a-9999999999/", "c-0/",
        f"a-0.{'0' * 32}-future/", f"a-0.{'0' * 32}-delete/", f"a-0.{'0' * 32}-stray/", "file-0", "cleaner-offset-checkpoint",
    ):  # fmt: skip
        yield _extra(name)


DAMAGES = dict(_damages())


# -- the judge


def _intact(before: Path, after: Path, records: Records, was_killed: bool) -> Records:
    """The records whose batches are as they were; after a kill, without those behind a damaged batch of their segment."""
    found: Records = {}
    for name, all_records in records.items():
        kept = found.setdefault(name, {})
        for log_file in (before / str(name)).glob("*.log"):
            same = after / str(name) / log_file.name
            content = same.read_bytes() if same.is_file() else b""
            for one in batches(log_file.read_bytes()):
                end = one.position + one.size_in_bytes
                if content[one.position : end] != bytes(one.buffer):
                    if was_killed:
                        break
                    continue
                kept.update((o, all_records[o]) for o in range(one.base_offset, one.next_offset) if o in all_records)
    return found


def _lines_about(caplog: pytest.LogCaptureFixture, name: TopicPartition) -> list[str]:
    return [line for line in map(str, caplog.messages) if f"{name}" in line and REMEDY.search(line)]


def _check_refusal(message: str, data: Path) -> None:
    assert str(data) in message and REMEDY.search(message), message
    assert "invalid literal" not in message and "Errno" not in message.split(str(data))[0], message


@pytest.mark.parametrize("state", ["clean", "killed"])
@pytest.mark.parametrize("name", DAMAGES)
def test_a_damage(
    request: pytest.FixtureRequest, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, state: str
) -> None:
    whole: Whole = request.getfixturevalue(state)
    data = tmp_path / "data"
    shutil.copytree(whole.path, data)
    DAMAGES[name](data)
    intact = _intact(whole.path, data, whole.records, state == "killed")
    try:
        manager = _start(data)
    except LogDirError as error:
        _check_refusal(str(error), data)
        return
    try:
        manager.check_live()
        for partition, expected in intact.items():
            log = manager.get_log(partition) or manager.get_or_create_log(partition, is_new=True)
            served = _records(log)
            lost = {offset: value for offset, value in expected.items() if served.get(offset) != value}
            assert not lost or _lines_about(caplog, partition), (partition, sorted(lost), caplog.messages)
            if partition == B and "log-start" not in name:
                assert log.log_start_offset == DELETED
            if not lost and expected == whole.records[partition] and not UNSEEN.search(name):
                _check_aborted(log)
            _check_serves(log)
        manager.shutdown()
        again = _start(data)
        again.shutdown()
    finally:
        manager._dirs.release()


def _check_aborted(log: Log) -> None:
    log.update_high_watermark(log.log_end_offset)
    producer = 1 if log.topic_partition == A else 2
    for start, first_offset in ((log.log_start_offset, 4), (int(ACTIVE), int(ACTIVE))):
        aborted = log.read(start, 1 << 20, FetchIsolation.TXN_COMMITTED, True).aborted_transactions
        assert aborted == [(producer, first_offset)]


def _check_serves(log: Log) -> None:
    end = log.log_end_offset
    for number in range(8):  # over the end of a segment
        log.append_as_leader(batch(0, [b"new"] * 3, timestamp=NOW + 100 + number), 1)
    served = _records(log)
    assert all(served.get(offset) == b"new" for offset in range(end, end + 24))
    log.update_high_watermark(log.log_end_offset)
    found = log.fetch_offset_by_timestamp(NOW + 103)
    assert found is not None and found.offset == end + 9
