"""Suppression of updates."""

from __future__ import annotations

import pytest

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.options.suppressed import BufferConfig
from kafkapy.streams.processors.ktable_suppress import KTableSuppressProcessorSupplier, SuppressedInternal
from kafkapy.streams.records import RecordContext, TimeWindow, ValueAndTimestamp, Windowed
from tests.streams.processors.fakes import Buffer, Driven, FakeContext, FakeTable, TimestampedKeyValueStore


def suppress(wait_ms: int, config: BufferConfig, *, final_results: bool = False) -> KTableSuppressProcessorSupplier:
    return KTableSuppressProcessorSupplier(
        SuppressedInternal("calm", wait_ms, config, final_results), "calm-store", FakeTable("p")
    )


def driven(supplier: KTableSuppressProcessorSupplier) -> Driven:
    return Driven(supplier, FakeContext(**{"calm-store": Buffer()}))


def test_the_parent_sends_old_values() -> None:
    parent = FakeTable(materialized=False)
    config = BufferConfig.unbounded()
    supplier = KTableSuppressProcessorSupplier(SuppressedInternal(None, 1, config, False), "s", parent)
    assert parent.sends_old_values
    assert supplier.enable_sending_old_values(False)


def test_updates_wait_for_so_long_after_the_first() -> None:
    table = driven(suppress(10, BufferConfig.unbounded()))
    assert table.update("a", 1, None, 5) == []
    assert table.update("a", 2, 1, 14) == []
    assert table.update("b", 3, None, 15) == [("a", 2, 1, 14)]
    assert table.update("b", None, 3, 25) == [("b", None, 3, 25)]


def test_without_a_wait_updates_pass() -> None:
    table = driven(suppress(0, BufferConfig.unbounded()))
    assert table.update("a", 1, None, 6) == [("a", 1, None, 6)]


def test_an_emission_is_in_the_context_of_its_record() -> None:
    table = driven(suppress(10, BufferConfig.unbounded()))
    table.pipe_update("a", 1, None, 5)
    table.context.forwarded.clear()
    table.update("b", 1, None, 100)
    origin = table.context.origins[-1]
    assert isinstance(origin, RecordContext) and origin.timestamp == 5
    assert table.context.record_context is not None and table.context.record_context.timestamp == 100


def test_a_full_buffer_emits_the_oldest() -> None:
    table = driven(suppress(100, BufferConfig.max_records(1)))
    assert table.update("a", 1, None, 5) == []
    assert table.update("b", 2, None, 7) == [("a", 1, None, 5)]
    small = driven(suppress(100, BufferConfig.max_bytes(0)))
    assert small.update("a", 1, None, 5) == [("a", 1, None, 5)]


def test_a_full_buffer_stops_the_application() -> None:
    table = driven(suppress(100, BufferConfig.max_records(1).shut_down_when_full()))
    table.update("a", 1, None, 5)
    with pytest.raises(StreamsException, match=r"exceeded its max capacity. Currently \[2/1\] records"):
        table.update("b", 1, None, 5)


def test_final_results_come_when_the_grace_is_over_and_are_no_deletions() -> None:
    table = driven(suppress(5, BufferConfig.unbounded(), final_results=True))
    one, two = Windowed("a", TimeWindow(0, 10)), Windowed("b", TimeWindow(0, 10))
    table.update(one, 1, None, 3)
    table.update(one, 2, 1, 4)
    table.update(two, 2, None, 4)
    table.update(two, None, 2, 5)
    assert table.update(Windowed("a", TimeWindow(10, 20)), 3, None, 14) == []
    assert table.update(Windowed("a", TimeWindow(10, 20)), 4, 3, 15) == [(one, 2, 1, 4)]


def test_a_view_has_what_was_emitted() -> None:
    store = TimestampedKeyValueStore()
    store.put("a", ValueAndTimestamp(2, 7))
    store.put("b", ValueAndTimestamp(3, 7))
    context = FakeContext(p=store, **{"calm-store": Buffer()})
    supplier = suppress(10, BufferConfig.unbounded())
    assert supplier.view().store_names() == ["calm-store", "p"]
    Driven(supplier, context).update("a", 2, 1, 7)
    getter = supplier.view()()
    getter.init(context)
    found = getter.get("a")
    assert found is not None and found.value == 1
    assert getter.get("b") == ValueAndTimestamp(3, 7)
    assert not getter.is_versioned()
    getter.close()
