"""Changelogs are read into stores: to their end, or on and on for copies; what was lost is noticed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import OffsetOutOfRangeError
from kafkapy.streams.errors import StreamsException, TaskCorruptedException
from kafkapy.streams.runtime.changelog_reader import ChangelogReader
from kafkapy.streams.task.state_manager import StateManager

ONE, OTHER = TopicPartition("one-changelog", 0), TopicPartition("other-changelog", 0)


class _Record(NamedTuple):
    offset: int


class _Consumer:
    """Topics of numbered records; a poll gives two of each assigned partition."""

    def __init__(self, **ends: int) -> None:
        self.ends = {ONE: ends.get("one", 0), OTHER: ends.get("other", 0)}
        self.beginnings = {ONE: 0, OTHER: 0}
        self.positions: dict[TopicPartition, int] = {}
        self.assigned: list[TopicPartition] = []

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {one: self.ends[one] for one in partitions}

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {one: self.beginnings[one] for one in partitions}

    def assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned = partitions

    def seek(self, partition: TopicPartition, position: int) -> None:
        self.positions[partition] = position

    def position(self, partition: TopicPartition) -> int:
        return self.positions[partition]

    def poll(self, timeout_ms: float) -> dict[TopicPartition, list[_Record]]:
        found = {}
        for one in self.assigned:
            start = self.positions[one]
            if start < self.beginnings[one]:
                raise OffsetOutOfRangeError({one: start})
            offsets = range(start, min(start + 2, self.ends[one]))
            if offsets:
                found[one] = [_Record(offset) for offset in offsets]
                self.positions[one] = offsets[-1] + 1
        return found


class _Stores(StateManager):
    """What was restored, by store."""

    def __init__(self) -> None:
        super().__init__({})
        self.offsets: dict[str, list[int]] = {"one": [], "other": []}
        for name, found in self.offsets.items():
            self.restores[name] = lambda records, found=found: found.extend(record.offset for record in records)  # type: ignore[misc]


class _Listener:
    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def on_restore_start(self, *args: Any) -> None:
        self.events.append(("start", *args))

    def on_batch_restored(self, *args: Any) -> None:
        self.events.append(("batch", *args))

    def on_restore_end(self, *args: Any) -> None:
        self.events.append(("end", *args))

    def on_restore_suspended(self, *args: Any) -> None:
        self.events.append(("suspended", *args))


class _Reading:
    def __init__(self, listener: Any = None, **ends: int) -> None:
        self.consumer, self.stores = _Consumer(**ends), _Stores()
        self.committed: dict[TopicPartition, int] = {}
        self.now = 0.0
        self.reader = ChangelogReader(self.consumer, self.committed.get, 1000, listener, lambda: self.now)

    def register(
        self, partition: TopicPartition, offset: int | None = None, *, is_copy: bool = False, is_source: bool = False
    ) -> None:
        store = partition.topic.removesuffix("-changelog")
        self.reader.register(partition, self.stores, store, offset, is_copy=is_copy, is_source=is_source)

    def restore(self, times: int = 10) -> None:
        for _ in range(times):
            self.reader.restore(0)


def test_a_store_is_read_from_the_record_that_it_lacks_to_the_end() -> None:
    reading = _Reading(one=5)
    reading.register(ONE, 1)
    assert reading.reader.is_restoring
    assert not reading.reader.is_complete([ONE])
    reading.restore()
    assert reading.stores.offsets["one"] == [2, 3, 4]
    assert reading.reader.is_complete([ONE])
    assert not reading.reader.is_restoring
    assert reading.reader.position(ONE) == 4
    assert reading.consumer.assigned == []


def test_a_copy_goes_on_and_waits_while_a_task_is_restored() -> None:
    reading = _Reading(one=3, other=5)
    reading.register(ONE, is_copy=True)
    reading.restore()
    assert reading.stores.offsets["one"] == [0, 1, 2]
    assert not reading.reader.is_restoring
    reading.register(OTHER)
    reading.consumer.ends[ONE] = 4
    reading.restore(2)
    assert reading.consumer.assigned == [OTHER]
    assert reading.stores.offsets == {"one": [0, 1, 2], "other": [0, 1, 2, 3]}
    reading.restore()
    assert reading.stores.offsets == {"one": [0, 1, 2, 3], "other": [0, 1, 2, 3, 4]}
    assert reading.consumer.assigned == [ONE]


def test_a_topic_that_the_task_reads_is_restored_as_far_as_is_committed() -> None:
    reading = _Reading(one=6)
    reading.committed[ONE] = 3
    reading.register(ONE, is_source=True)
    reading.restore()
    assert reading.stores.offsets["one"] == [0, 1, 2]
    assert reading.reader.is_complete([ONE])


def test_a_copy_of_such_a_topic_follows_what_is_committed() -> None:
    reading = _Reading(one=6)
    reading.committed[ONE] = 3
    reading.register(ONE, is_source=True, is_copy=True)
    reading.restore()
    assert reading.stores.offsets["one"] == [0, 1, 2]
    reading.committed[ONE] = 5
    reading.restore()
    assert reading.stores.offsets["one"] == [0, 1, 2]
    reading.now = 1.5
    reading.restore()
    assert reading.stores.offsets["one"] == [0, 1, 2, 3, 4]


def test_a_store_that_lacks_lost_records_is_corrupted() -> None:
    reading = _Reading(one=9, other=9)
    reading.consumer.beginnings[ONE] = 5
    reading.register(ONE, 2)
    reading.register(OTHER, 2)
    with pytest.raises(TaskCorruptedException) as raised:
        reading.restore()
    assert raised.value.partitions == [ONE]


def test_records_that_are_lost_meanwhile_are_noticed() -> None:
    reading = _Reading(one=9, other=9)
    reading.register(ONE)
    reading.register(OTHER)
    reading.restore(1)
    reading.consumer.beginnings[OTHER] = 5
    with pytest.raises(TaskCorruptedException) as raised:
        reading.restore()
    assert raised.value.partitions == [OTHER]


def test_a_listener_is_told() -> None:
    listener = _Listener()
    reading = _Reading(listener, one=3, other=9)
    reading.register(ONE)
    reading.register(OTHER, is_copy=True)
    reading.restore(2)
    assert listener.events == [
        ("start", ONE, "one", 0, 3),
        ("batch", ONE, "one", 1, 2),
        ("batch", ONE, "one", 2, 1),
        ("end", ONE, "one", 3),
    ]
    reading.register(OTHER)
    reading.restore(1)
    reading.reader.unregister([OTHER])
    assert listener.events[4:] == [
        ("start", OTHER, "other", 0, 9),
        ("batch", OTHER, "other", 1, 2),
        ("suspended", OTHER, "other", 2),
    ]


def test_a_listener_that_fails_ends_the_application() -> None:
    class Failing(_Listener):
        def on_restore_start(self, *args: Any) -> None:
            raise KeyError("no such")

    reading = _Reading(Failing(), one=3)
    reading.register(ONE)
    with pytest.raises(StreamsException, match="store restore listener"):
        reading.restore()


def test_what_is_unregistered_is_not_read() -> None:
    reading = _Reading(one=9)
    reading.register(ONE)
    reading.restore(1)
    reading.reader.unregister([ONE])
    reading.restore()
    assert reading.stores.offsets["one"] == [0, 1]
    assert reading.reader.is_complete([ONE])


def test_ends_may_include_transactions_that_are_open() -> None:
    """The store is complete once they are decided."""
    consumer, stores = _Consumer(one=2), _Stores()
    reader = ChangelogReader(consumer, lambda _: None, 1000, ends=lambda partitions: dict.fromkeys(partitions, 3))
    reader.register(ONE, stores, "one", None, is_copy=False, is_source=False)
    reader.restore(0)
    reader.restore(0)
    assert not reader.is_complete([ONE])
    consumer.ends[ONE] = 3
    reader.restore(0)
    assert reader.is_complete([ONE])
    assert stores.offsets["one"] == [0, 1, 2]
