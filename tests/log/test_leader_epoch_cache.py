"""Leader epochs: Kafka's rules of assigning, asking and truncating."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import LeaderEpochCheckpointFile
from kafkapy.log.leader_epoch_cache import LeaderEpochCache

PARTITION = TopicPartition("t", 0)


def _cache(path: Path, *entries: tuple[int, int]) -> LeaderEpochCache:
    cache = LeaderEpochCache(PARTITION, LeaderEpochCheckpointFile(str(path)))
    for epoch, offset in entries:
        cache.assign(epoch, offset)
    return cache


def _on_disk(path: Path) -> list[tuple[int, int]]:
    return LeaderEpochCheckpointFile(str(path)).read()


def test_assigning_writes_through_and_is_read_back(tmp_path: Path) -> None:
    cache = _cache(tmp_path, (0, 0), (2, 10), (2, 15), (3, 10))
    assert cache.entries == [(0, 0), (3, 10)], "an epoch without records gives way"
    assert _on_disk(tmp_path) == [(0, 0), (3, 10)]
    assert _cache(tmp_path).entries == cache.entries
    assert cache.latest_epoch == 3
    cache.sync()


def test_an_announced_epoch_is_in_memory_until_it_is_written_out(tmp_path: Path) -> None:
    cache = _cache(tmp_path, (0, 0))
    assert cache.announce(1, 5)
    assert not cache.announce(1, 5)
    assert (cache.latest_epoch, cache.is_unwritten, _on_disk(tmp_path)) == (1, True, [(0, 0)])
    cache.write_out()
    assert (cache.is_unwritten, _on_disk(tmp_path)) == (False, [(0, 0), (1, 5)])
    cache.announce(2, 7)
    cache.sync()
    assert (cache.is_unwritten, _on_disk(tmp_path)) == (True, [(0, 0), (1, 5)])


def test_the_same_epoch_keeps_its_first_offset_and_takes_a_lower_one(tmp_path: Path) -> None:
    cache = _cache(tmp_path, (1, 5), (1, 9))
    assert cache.entries == [(1, 5)]
    cache.assign(1, 3)
    assert cache.entries == [(1, 3)]


def test_entries_that_contradict_a_new_one_go(tmp_path: Path) -> None:
    cache = _cache(tmp_path, (1, 5), (3, 10), (5, 20))
    cache.assign(4, 8)
    assert cache.entries == [(1, 5), (4, 8)]
    with pytest.raises(ValueError, match="invalid partition leader epoch"):
        cache.assign(-1, 0)


def test_end_offsets(tmp_path: Path) -> None:
    cache = _cache(tmp_path, (2, 6), (3, 9), (6, 12))
    assert cache.end_offset_for(6, 20) == (6, 20)
    assert cache.end_offset_for(3, 20) == (3, 12)
    assert cache.end_offset_for(5, 20) == (3, 12), "the largest epoch below"
    assert cache.end_offset_for(2, 20) == (2, 9)
    assert cache.end_offset_for(1, 20) == (1, 6), "older than all: the first known start"
    assert cache.end_offset_for(7, 20) == (-1, -1)
    assert cache.end_offset_for(-1, 20) == (-1, -1)
    assert LeaderEpochCache(PARTITION, LeaderEpochCheckpointFile(f"{tmp_path}/none")).end_offset_for(0, 20) == (-1, -1)


def test_truncation_from_the_end(tmp_path: Path) -> None:
    cache = _cache(tmp_path, (2, 6), (3, 9), (4, 11))
    cache.truncate_from_end(12)
    assert len(cache.entries) == 3
    cache.truncate_from_end(11)
    assert cache.entries == [(2, 6), (3, 9)]
    cache.truncate_from_end(7)
    assert cache.entries == _on_disk(tmp_path) == [(2, 6)]
    assert cache.latest_epoch == 2
    cache.truncate_from_end(6)
    assert cache.latest_epoch is None


def test_truncation_from_the_start_moves_the_first_start(tmp_path: Path) -> None:
    cache = _cache(tmp_path, (2, 6), (3, 9), (4, 11))
    cache.truncate_from_start(5)
    assert cache.entries == [(2, 6), (3, 9), (4, 11)]
    cache.truncate_from_start(10)
    assert cache.entries == _on_disk(tmp_path) == [(3, 10), (4, 11)]
    cache.truncate_from_start(50)
    assert cache.entries == [(4, 50)]


def test_clearing(tmp_path: Path) -> None:
    cache = _cache(tmp_path, (2, 6))
    cache.clear()
    assert cache.entries == []
    assert _on_disk(tmp_path) == [(2, 6)], "the file goes with its directory"
    cache.clear_and_flush()
    assert (tmp_path / "leader-epoch-checkpoint").read_text() == "0\n0\n"
