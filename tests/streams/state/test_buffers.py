"""Buffers of suppressions and of stream-table joins, and lists of outer joins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkapy.streams.records import Change, Record, RecordContext, ValueAndTimestamp
from kafkapy.streams.serdes import Serdes
from kafkapy.streams.state.buffer_value import BufferValue, read_buffer_value, read_changelog_record
from kafkapy.streams.state.java_hash_order import JavaHashSet, java_hash
from kafkapy.streams.state.list_value_store import ListValueStoreBuilder, read_list, write_list
from kafkapy.streams.state.record_context_bytes import BufferReader, nullable_array, write_context
from kafkapy.streams.state.stores import Stores
from kafkapy.streams.state.stream_join_serdes import (
    LeftOrRightValue,
    LeftOrRightValueSerde,
    TimestampedKeyAndJoinSide,
    TimestampedKeyAndJoinSideSerde,
)
from kafkapy.streams.state.time_ordered_buffer import Eviction
from kafkapy.streams.state.time_ordered_change_buffer import InMemoryTimeOrderedKeyValueChangeBufferBuilder
from kafkapy.streams.state.time_ordered_key_value_buffer import RocksDBTimeOrderedKeyValueBufferBuilder
from tests.streams.state.fake_task import FakeTask, Logged

LONG_MAX = 2**63 - 1
REPARTITION = "app-KSTREAM-AGGREGATE-STATE-STORE-0000000012-repartition"
JAVAS = (
    "000000000000006400000000000000000000003861"
    "70702d4b53545245414d2d4147475245474154452d53544154452d53544f52452d303030303030303031322d7265706172746974696f6e"
    "0000000000000000000000080000000000000000fffffffe000000080000000000000001000000000000006e"
)
"""What Java wrote for a suppression: a change of a count from 0 to 1, buffered at 110."""
CONTEXT = RecordContext(100, 0, 0, REPARTITION, [])


@pytest.fixture
def task(tmp_path: Path) -> FakeTask:
    return FakeTask(tmp_path)


def suppression(task: FakeTask, logging: bool = True) -> Any:
    made = InMemoryTimeOrderedKeyValueChangeBufferBuilder("b", Serdes.string(), Serdes.long())
    return task.started((made if logging else made.with_logging_disabled()).build())


def put(buffer: Any, time: int, key: str, change: Change, context: RecordContext = CONTEXT) -> None:
    buffer.put(time, Record(key, change, context.timestamp), context)


def evicted(buffer: Any, number: int) -> list[Eviction]:
    found: list[Eviction] = []
    buffer.evict_while(lambda: len(found) < number, found.append)
    return found


def test_the_changelog_of_a_suppression_is_javas(task: FakeTask) -> None:
    buffer = suppression(task)
    put(buffer, 110, "12", Change(1, 0))
    assert task.logged == {}
    buffer.flush_cache()
    assert task.logged["b"] == [Logged(b"12", bytes.fromhex(JAVAS), None, [("v", b"\3")])]
    evicted(buffer, 1)
    buffer.flush_cache()
    assert task.logged["b"][1:] == [Logged(b"12", None, None, [])]
    buffer.flush_cache()
    assert len(task.logged["b"]) == 2


def test_the_time_of_a_key_is_that_of_its_first_record(task: FakeTask) -> None:
    buffer = suppression(task)
    put(buffer, 20, "b", Change(1, 0))
    put(buffer, 10, "a", Change(5, None))
    put(buffer, 30, "b", Change(2, 1))
    assert (buffer.num_records(), buffer.min_timestamp()) == (2, 10)
    assert buffer.prior_value_for_buffered("b") == (True, ValueAndTimestamp(0, -1))
    assert buffer.prior_value_for_buffered("a") == (True, None)
    assert buffer.prior_value_for_buffered("x") == (False, None)
    assert evicted(buffer, 5) == [Eviction("a", Change(5, None), CONTEXT), Eviction("b", Change(2, 1), CONTEXT)]
    assert (buffer.num_records(), buffer.min_timestamp(), buffer.buffer_size()) == (0, LONG_MAX, 0)


def test_sizes_are_javas_estimates(task: FakeTask) -> None:
    buffer = suppression(task)
    put(buffer, 1, "k", Change(1, 1))
    context = 20 + len(REPARTITION)
    assert buffer.buffer_size() == 8 + 1 + 8 + 8 + context
    put(buffer, 1, "k", Change(2, 0))
    assert buffer.buffer_size() == 8 + 1 + 8 + 8 + 8 + context


def test_a_null_is_refused(task: FakeTask) -> None:
    with pytest.raises(TypeError):
        suppression(task).put(1, Record("k", None, 1), CONTEXT)


def test_a_suppression_is_restored(task: FakeTask) -> None:
    buffer = suppression(task)
    for time, key in ((30, "c"), (10, "a"), (20, "b")):
        put(buffer, time, key, Change(time, None))
    buffer.flush()
    evicted(buffer, 1)
    buffer.flush()
    again = FakeTask(task.state_dir)
    restored = suppression(again)
    again.restore(restored, task.logged["b"])
    assert (restored.num_records(), restored.min_timestamp()) == (2, 20)
    assert restored.buffer_size() == buffer.buffer_size()
    assert [eviction.key for eviction in evicted(restored, 5)] == ["b", "c"]


def test_without_a_changelog_nothing_is_written(task: FakeTask) -> None:
    buffer = suppression(task, logging=False)
    put(buffer, 1, "k", Change(1, None))
    buffer.flush()
    assert task.logged == {}


def test_values_of_older_kafkas_are_read() -> None:
    old, new = nullable_array(b"old"), nullable_array(b"new")
    context = write_context(CONTEXT)
    time = (9).to_bytes(8, "big")
    v0 = _Record(time + old + new, [])
    v1 = _Record(time + context + nullable_array(old + new), [("v", b"\1")])
    v2 = _Record(context + nullable_array(old + new) + nullable_array(b"prior") + time, [("v", b"\2")])
    v3 = _Record(BufferValue(b"prior", b"old", b"new", CONTEXT).write() + time, [("v", b"\2")])
    for record, prior, expected in ((v0, None, b"old"), (v1, b"x", b"x"), (v2, None, b"prior"), (v3, None, b"prior")):
        at, value = read_changelog_record(record, prior)
        assert (at, value.prior_value, value.old_value, value.new_value) == (9, expected, b"old", b"new")
    with pytest.raises(ValueError, match="invalid changelog record"):
        read_changelog_record(_Record(b"", [("v", b"\x09")]), None)


class _Record:
    """Of a changelog."""

    timestamp, offset, partition, topic = 5, 6, 0, "t"

    def __init__(self, value: bytes, headers: list[tuple[str, bytes]]) -> None:
        self.value = value
        self.headers = headers


def test_contexts_keep_headers() -> None:
    context = RecordContext(-1, 5, 2, "täg", [("a", b"1"), ("a", None)])
    value = read_buffer_value(BufferReader(BufferValue(None, None, b"", context).write()))
    assert (value.context.topic, value.context.headers) == ("täg", [("a", b"1"), ("a", None)])
    assert (value.new_value, value.old_value) == (b"", None)
    with pytest.raises(TypeError):
        write_context(RecordContext(0, 0, 0, None, []))


def test_hash_codes_are_javas() -> None:
    """`Arrays.hashCode` of bytes is 31 * hash + byte, with signed bytes, from 1 on."""
    assert java_hash(b"") == 1
    assert java_hash(b"a") == 31 + 97
    assert java_hash(b"\xff") == 30
    keys = JavaHashSet()
    for key in (b"\x12", b"\x02", b"\x03", b"\x12"):
        keys.add(key)
    # 31 + 18 = 49, 33 and 34 lie in buckets 1, 1 and 2 of 16
    assert list(keys) == [b"\x12", b"\x02", b"\x03"]
    for number in range(0x20, 0x2A):
        keys.add(bytes((number,)))
    assert next(iter(keys)) == b"\x21", "with 32 buckets, 64 is the first"


def joining(task: FakeTask, grace: int) -> Any:
    made = RocksDBTimeOrderedKeyValueBufferBuilder("j", grace, "name", Serdes.string(), Serdes.string())
    return task.started(made.build())


def offer(buffer: Any, key: str, timestamp: int) -> bool:
    context = RecordContext(timestamp, 0, 0, "in4", [])
    accepted: bool = buffer.put(timestamp, Record(key, f"{key}{timestamp}", timestamp), context)
    return accepted


def test_the_buffer_of_a_join_has_javas_bytes(task: FakeTask) -> None:
    buffer = joining(task, 10)
    context = RecordContext(121, 0, 0, "in4", [])
    buffer.put(121, Record("a", '{"a":"s","n":4}', 121), context)
    assert task.logged["j"] == [
        Logged(
            bytes.fromhex("0000000000000000796100000001"),
            bytes.fromhex(
                "0000000000000079000000000000000000000003696e340000000000000000ffffffffffffffff0000000f"
                "7b2261223a2273222c226e223a347d0000000000000000"
            ),
            None,
            [],
        )
    ]


def test_records_leave_a_join_when_their_grace_is_over(task: FakeTask) -> None:
    buffer = joining(task, 10)
    assert offer(buffer, "a", 100)
    assert offer(buffer, "b", 95)
    assert offer(buffer, "c", 110)
    assert not offer(buffer, "late", 99)
    found: list[Eviction] = []
    buffer.evict_while(lambda: True, found.append)
    assert [(eviction.key, eviction.value) for eviction in found] == [("b", "b95"), ("a", "a100")]
    assert buffer.num_records() == 1
    assert [logged.value for logged in task.logged["j"][3:]] == [None, None]
    assert offer(buffer, "d", 130)
    buffer.evict_while(lambda: True, found.append)
    assert [eviction.key for eviction in found[2:]] == ["c"]


def test_the_buffer_of_a_join_is_restored(task: FakeTask) -> None:
    buffer = joining(task, 10)
    for key, timestamp in (("a", 100), ("b", 95), ("a", 100), ("c", 105)):
        offer(buffer, key, timestamp)
    buffer.evict_while(lambda: True, lambda eviction: None)
    again = FakeTask(task.state_dir / "other")
    restored = joining(again, 10)
    again.restore(restored, task.logged["j"])
    assert (restored.num_records(), restored.buffer_size()) == (buffer.num_records(), buffer.buffer_size())
    assert offer(restored, "a", 100), "it must not replace one that was restored"
    assert offer(restored, "z", 200)
    found: list[Eviction] = []
    restored.evict_while(lambda: True, found.append)
    assert [eviction.key for eviction in found] == ["a", "a", "a", "c"]


def test_the_buffer_of_a_join_is_there_again_after_a_flush(task: FakeTask) -> None:
    buffer = joining(task, 10)
    offer(buffer, "a", 100)
    buffer.flush()
    buffer.close()
    again = joining(FakeTask(task.state_dir), 10)
    assert (again.num_records(), again.min_timestamp()) == (1, 100)
    offer(again, "b", 120)
    found: list[Eviction] = []
    again.evict_while(lambda: True, found.append)
    assert [eviction.key for eviction in found] == ["a"]
    again.close()


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_lists_of_records_without_a_match(task: FakeTask, kind: str) -> None:
    task.at(7)
    supplier = (Stores.in_memory_key_value_store if kind == "memory" else Stores.persistent_key_value_store)("l")
    store = task.started(
        ListValueStoreBuilder(
            supplier,  # type: ignore[arg-type]
            TimestampedKeyAndJoinSideSerde(Serdes.string()),
            LeftOrRightValueSerde(Serdes.string(), Serdes.long()),
        ).build()
    )
    left, right = TimestampedKeyAndJoinSide("a", 48, True), TimestampedKeyAndJoinSide("c", 49, False)
    store.put(right, LeftOrRightValue(None, 16))
    store.put(left, LeftOrRightValue("x", None))
    store.put(left, LeftOrRightValue("y", None))
    assert list(store.all()) == [
        (left, LeftOrRightValue("x", None)),
        (left, LeftOrRightValue("y", None)),
        (right, LeftOrRightValue(None, 16)),
    ]
    store.put_if_absent(left, None)
    store.put_if_absent(TimestampedKeyAndJoinSide("n", 1, True), None)
    assert list(store.all()) == [(right, LeftOrRightValue(None, 16))]
    assert [(logged.key.hex(), logged.value and logged.value.hex()) for logged in task.logged["l"]] == [
        ("00000000000000310063", "010000000100000009000000000000000010"),
        ("00000000000000300161", "01000000010000000201" + "78"),
        ("00000000000000300161", "010000000200000002017800000002" + "0179"),
        ("00000000000000300161", None),
    ]
    with pytest.raises(NotImplementedError):
        store.delete(left)
    with pytest.raises(NotImplementedError):
        store.range(left, right)
    assert read_list(write_list([b"", b"a"])) == [b"", b"a"]
