"""The same appends as at a live Apache Kafka 3.9.1 leave the same files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kafkapy.log.log import FetchIsolation
from kafkapy.record.batches import batches
from tests.log.log_support import DATA, LogDirFixture, offsets

SAMPLES = ["d-idem-0", "d-idx-0", "d-none-0", "d-txn-0"]


def _log_files(sample: str) -> list[Path]:
    return sorted((DATA / sample).glob("*.log"))


@pytest.mark.parametrize("sample", SAMPLES)
def test_appending_the_batches_of_a_sample_writes_its_files(sample: str, log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    for path in _log_files(sample):
        for batch in batches(path.read_bytes()):
            log.append_as_follower(batch.buffer)
    log.close()
    for path in (DATA / sample).iterdir():
        if path.name.endswith(("first24", "first36")):
            written = log_dir.read("00000000000000000000." + path.name.split(".")[0])
            assert path.read_bytes().rstrip(b"\0").startswith(written.rstrip(b"\0"))
            assert written
        elif path.name != "partition.metadata":
            assert log_dir.read(path.name) == path.read_bytes(), path.name


def test_index_entries_of_the_sample_in_full(log_dir: LogDirFixture) -> None:
    log = log_dir.open()
    for batch in batches((DATA / "d-idx-0/00000000000000000000.log").read_bytes()):
        log.append_as_follower(batch.buffer)
    segment = log.active_segment
    segment.write_out_indexes()
    assert log_dir.read("00000000000000000000.index")[:24] == (DATA / "d-idx-0/index.first24").read_bytes()
    assert log_dir.read("00000000000000000000.timeindex")[:36] == (DATA / "d-idx-0/timeindex.first36").read_bytes()
    assert len(log_dir.read("00000000000000000000.index")) == 10485760
    assert len(log_dir.read("00000000000000000000.timeindex")) == 10485756


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_directory_that_kafka_left_opens(sample: str, clean: bool, log_dir: LogDirFixture) -> None:
    shutil.copytree(DATA / sample, log_dir.directory)
    before = {path.name: path.read_bytes() for path in _log_files(sample)}
    log = log_dir.open(had_clean_shutdown=clean)
    records = sum(batch.record_count or 0 for data in before.values() for batch in batches(data))
    assert offsets(log) == list(range(records)) == list(range(log.log_end_offset))
    assert {path: log_dir.read(path) for path in before} == before
    assert log.latest_epoch == 0
    if sample != "d-idx-0":
        assert log.topic_id is not None


def test_transactions_of_the_sample(log_dir: LogDirFixture) -> None:
    shutil.copytree(DATA / "d-txn-0", log_dir.directory)
    log = log_dir.open(had_clean_shutdown=False)
    log.update_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == log.log_end_offset == 4
    assert log.read(0, 1000, FetchIsolation.TXN_COMMITTED, True).aborted_transactions == []
    assert log.read(2, 1000, FetchIsolation.TXN_COMMITTED, True).aborted_transactions == [(1004, 2)]
    assert (
        log_dir.read("00000000000000000001.txnindex") == (DATA / "d-txn-0/00000000000000000001.txnindex").read_bytes()
    )
