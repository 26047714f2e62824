"""Versioned stores beside a list of versions."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from kafkapy.streams.records import VersionedRecord
from kafkapy.streams.serdes import Serdes
from kafkapy.streams.state import rocksdb_database
from kafkapy.streams.state.state_store import PUT_RETURN_CODE_NOT_PUT, PUT_RETURN_CODE_VALID_TO_UNDEFINED
from kafkapy.streams.state.stores import Stores
from kafkapy.streams.state.versioned_segment_value import SegmentValue, min_timestamp_of, next_timestamp_of
from kafkapy.streams.topology.store_factory import ChangelogKind
from tests.streams.state.fake_task import FakeTask, Logged


@pytest.fixture
def task(tmp_path: Path) -> FakeTask:
    return FakeTask(tmp_path)


def versioned(retention: int = 10_000, interval: int | None = None) -> Any:
    supplier = Stores.persistent_versioned_key_value_store("v", retention, interval)
    return Stores.versioned_key_value_store_builder(supplier, Serdes.string(), Serdes.string())


def test_versions_are_valid_until_the_next_one(task: FakeTask) -> None:
    store = task.started(versioned().build())
    assert store.put("a", "ten", 10) == PUT_RETURN_CODE_VALID_TO_UNDEFINED
    assert store.put("a", "thirty", 30) == PUT_RETURN_CODE_VALID_TO_UNDEFINED
    assert store.put("a", "twenty", 20) == 30
    assert store.put("a", None, 25) == 30
    assert store.get("a") == VersionedRecord("thirty", 30)
    found = [store.get("a", time) for time in (9, 10, 19, 20, 24, 25, 29, 30, 1000)]
    assert [record and record.value for record in found] == [
        None,
        "ten",
        "ten",
        "twenty",
        "twenty",
        None,
        None,
        "thirty",
        "thirty",
    ]
    assert store.delete("a", 40) == VersionedRecord("thirty", 30)
    assert store.get("a") is None
    assert store.get("a", 39) == VersionedRecord("thirty", 30)
    with pytest.raises(TypeError):
        store.put(None, "x", 1)


def test_what_is_too_old_is_dropped_and_logged(task: FakeTask) -> None:
    store = task.started(versioned(100).build())
    store.put("a", "x", 1000)
    assert store.put("b", "old", 899) == PUT_RETURN_CODE_NOT_PUT
    assert store.delete("a", 899) is None
    assert task.dropped == 2
    assert store.put("b", "just", 900) == PUT_RETURN_CODE_VALID_TO_UNDEFINED
    assert task.logged["v"] == [
        Logged(b"a", b"x", 1000, []),
        Logged(b"b", b"old", 899, []),
        Logged(b"a", None, 899, []),
        Logged(b"b", b"just", 900, []),
    ]


def test_history_has_an_end(task: FakeTask) -> None:
    """Of a time before it, only a latest value is known."""
    store = task.started(versioned(100).build())
    store.put("a", "1", 0)
    store.put("a", "2", 50)
    store.put("b", "b", 0)
    store.put("z", "z", 10_000)
    assert store.get("a", 40) is None
    assert store.get("b", 40) == VersionedRecord("b", 0)


def test_segments_have_javas_bytes() -> None:
    """Next and earliest time, then time and size of each version, the latest first, then values, the earliest first."""
    versions = SegmentValue.of_record(b"aa", 10, 20)
    versions.insert_as_latest(20, 30, None)
    versions.insert_as_latest(30, 40, b"c")
    data = versions.write()
    assert data.hex() == (
        "0000000000000028000000000000000a000000000000001e000000010000000000000014ffffffff000000000000000a00000002616163"
    )
    assert (next_timestamp_of(data), min_timestamp_of(data)) == (40, 10)
    assert SegmentValue.read(data).versions == versions.versions
    assert SegmentValue.read(data).find(25) == (1, 20, 30, None)
    with pytest.raises(ValueError, match="cannot be found"):
        versions.find(40)


def test_a_write_that_was_half_done_is_undone() -> None:
    versions = SegmentValue([(30, b"c"), (10, b"a")], 40)
    versions.insert_as_latest(35, 50, b"new")
    assert (versions.versions, versions.next_timestamp) == ([(35, b"new"), (30, b"c"), (10, b"a")], 50)
    versions.insert_as_latest(5, 6, b"x")
    assert versions.versions == [(5, b"x")]


@pytest.mark.parametrize("seed", range(15))
def test_agrees_with_a_list(task: FakeTask, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """While all is within retention; a restored one is the same."""
    monkeypatch.setattr(rocksdb_database, "WRITE_BUFFER_BYTES", 3000 if seed % 5 == 0 else 1 << 20)
    chosen = Random(seed)
    builder = versioned(1_000_000, 50)
    store = task.started(builder.build())
    model: dict[str, dict[int, str | None]] = {}
    for number in range(120):
        key, time = chosen.choice("ab"), chosen.randrange(400)
        value = None if chosen.random() < 0.3 else str(number)
        later = [other for other in model.get(key, {}) if other > time]
        returned = store.put(key, value, time)
        if later:
            assert returned == min(later)
        else:
            assert returned == PUT_RETURN_CODE_VALID_TO_UNDEFINED
        model.setdefault(key, {})[time] = value
    again = FakeTask(task.state_dir / "again")
    restored = again.started(builder.build())
    again.restore(restored, task.logged["v"][:50])
    again.restore(restored, task.logged["v"][50:])
    for key, versions in model.items():
        for time in range(0, 420, 3):
            valid = max((other for other in versions if other <= time), default=None)
            value = None if valid is None else versions[valid]
            wanted = None if value is None else VersionedRecord(value, valid or 0)
            assert store.get(key, time) == wanted
            assert restored.get(key, time) == wanted
        latest = versions[max(versions)]
        assert store.get(key) == (None if latest is None else VersionedRecord(latest, max(versions)))
    store.close()
    restored.close()


def test_is_there_again_after_a_flush(task: FakeTask) -> None:
    store = task.started(versioned().build())
    store.put("a", "1", 10)
    store.put("a", "2", 20)
    store.flush()
    store.close()
    again = FakeTask(task.state_dir).started(versioned().build())
    assert [again.get("a", time).value for time in (15, 25)] == ["1", "2"]
    again.close()


def test_its_builder(task: FakeTask) -> None:
    builder = versioned(5000)
    assert (builder.changelog_kind, builder.retention_ms) == (ChangelogKind.VERSIONED, 5000)
    with pytest.raises(RuntimeError):
        builder.with_caching_enabled()
    assert not task.started(builder.build()).set_flush_listener(lambda record: None, True)
