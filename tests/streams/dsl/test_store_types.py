"""Where stores are kept: by the operator, the topology, or the application's configuration."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.streams import (
    EmitStrategy,
    JoinWindows,
    Materialized,
    SessionWindows,
    SlidingWindows,
    Stores,
    StoreType,
    StreamJoined,
    StreamsBuilder,
    StreamsException,
    TimeWindows,
    Topology,
)

IN_MEMORY = {"default.dsl.store": "in_memory"}


def persistent(topology: Topology, config: Any = None) -> dict[str, bool]:
    """Of each store, whether it is on disk."""
    subgraph = topology.builder.whole("app")
    return {name: factory.build(config or {}).persistent() for name, factory in subgraph.stores.items()}


def test_of_the_operator() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    grouped.count(None, Materialized.as_("disk"))
    grouped.count(None, Materialized.as_("memory").with_store_type(StoreType.IN_MEMORY))
    assert persistent(builder.build()) == {"disk": True, "memory": False}


def test_of_the_topology() -> None:
    builder = StreamsBuilder(IN_MEMORY)
    table = builder.stream("in").group_by_key().count(store="counts")
    table.filter(lambda key, value: True, materialized=Materialized.as_("filtered"))
    builder.stream("in").group_by_key().count(None, Materialized.as_("disk").with_store_type(StoreType.ROCKS_DB))
    # Kafka does not ask the topology for the stores of filters, but the configuration.
    assert persistent(builder.build()) == {"counts": False, "filtered": True, "disk": True}


def test_of_the_application() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().count(store="counts")
    topology = builder.build()
    assert persistent(topology, IN_MEMORY) == {"counts": True}
    assert persistent(topology, {"dsl.store.suppliers.class": StoreType.IN_MEMORY}) == {"counts": False}


@pytest.mark.parametrize(
    "windows",
    [
        TimeWindows.of_size_with_no_grace(10),
        SlidingWindows.of_time_difference_with_no_grace(10),
        SessionWindows.of_inactivity_gap_with_no_grace(10),
    ],
)
@pytest.mark.parametrize("emit", [EmitStrategy.on_window_close(), EmitStrategy.on_window_update()])
@pytest.mark.parametrize("on_disk", [True, False])
def test_windows(windows: Any, emit: EmitStrategy, on_disk: bool) -> None:
    builder = StreamsBuilder(None if on_disk else IN_MEMORY)
    builder.stream("in").group_by_key().windowed_by(windows).emit_strategy(emit).count(store="counts")
    assert persistent(builder.build()) == {"counts": on_disk}


@pytest.mark.parametrize("on_disk", [True, False])
def test_joins_of_streams(on_disk: bool) -> None:
    builder = StreamsBuilder()
    joined = StreamJoined.as_("join")
    if not on_disk:
        joined = joined.with_dsl_store_suppliers(StoreType.IN_MEMORY)
    windows = JoinWindows.of_time_difference_with_no_grace(10)
    builder.stream("left").outer_join(builder.stream("right"), lambda left, right: left, windows, joined)
    assert persistent(builder.build()) == {
        "join-outer-this-join-store": on_disk,
        "join-outer-other-join-store": on_disk,
        "join-outer-shared-join-store": on_disk,
    }


def test_suppliers_of_a_join_of_streams() -> None:
    builder = StreamsBuilder()
    windows = JoinWindows.of_time_difference_and_grace(10, 5)
    joined: StreamJoined[Any, Any, Any] = StreamJoined()
    joined = joined.with_this_store_supplier(Stores.in_memory_window_store("this", 25, 20, True))
    joined = joined.with_other_store_supplier(Stores.persistent_window_store("other", 25, 20, True))
    builder.stream("left").left_join(builder.stream("right"), lambda left, right: left, windows, joined)
    assert persistent(builder.build()) == {"this": False, "other": True, "this-left-shared-join-store": False}


@pytest.mark.parametrize(
    ("name", "retention", "size", "duplicates"),
    [("this", 25, 20, False), ("this", 26, 20, True), ("this", 25, 19, True), ("other", 25, 20, True)],
)
def test_suppliers_that_do_not_fit(name: str, retention: int, size: int, duplicates: bool) -> None:
    builder = StreamsBuilder()
    windows = JoinWindows.of_time_difference_and_grace(10, 5)
    joined: StreamJoined[Any, Any, Any] = StreamJoined()
    joined = joined.with_this_store_supplier(Stores.in_memory_window_store(name, retention, size, duplicates))
    joined = joined.with_other_store_supplier(Stores.in_memory_window_store("other", 25, 20, True))
    with pytest.raises(StreamsException, match=r"name|retainDuplicates|mismatch"):
        builder.stream("left").join(builder.stream("right"), lambda left, right: left, windows, joined)
