"""What must not be declared, with the exceptions that Java's are mapped to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.streams import (
    BufferConfig,
    Consumed,
    EmitStrategy,
    FixedKeyProcessor,
    Joined,
    JoinWindows,
    KStream,
    KTable,
    Materialized,
    Named,
    Processor,
    Repartitioned,
    SessionWindows,
    SlidingWindows,
    Stores,
    StreamsBuilder,
    StreamsException,
    Suppressed,
    TimeWindows,
    TopologyException,
    UnlimitedWindows,
)
from kafkapy.streams.offset_reset import AutoOffsetReset
from kafkapy.streams.testing import TopologyTestDriver

WINDOWS = TimeWindows.of_size_and_grace(1000, 500)


def stream(topic: str = "in") -> KStream[Any, Any]:
    return StreamsBuilder().stream(topic)


def table(topic: str = "in") -> KTable[Any, Any]:
    return StreamsBuilder().table(topic)


@pytest.mark.parametrize(
    "declare",
    [
        lambda nothing: stream().filter(nothing),
        lambda nothing: stream().map_values(nothing),
        lambda nothing: stream().process(nothing),
        lambda nothing: stream().process(Processor, nothing),
        lambda nothing: stream().to(nothing),
        lambda nothing: stream().merge(nothing),
        lambda nothing: stream().group_by(nothing),
        lambda nothing: stream().group_by_key().reduce(nothing),
        lambda nothing: stream().group_by_key().windowed_by(nothing),
        lambda nothing: stream().join(nothing, len),
        lambda nothing: stream().join(stream("other"), len, nothing),
        lambda nothing: table().join(nothing, max),
        lambda nothing: table().join(table("other"), nothing),
        lambda nothing: table().join(table("other"), str, joiner=nothing),
        lambda nothing: table().suppress(nothing),
        lambda nothing: table().transform_values(nothing),
        lambda nothing: StreamsBuilder().table(nothing),
        lambda nothing: StreamsBuilder().add_state_store(nothing),
    ],
)
def test_none_where_something_is_needed(declare: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        declare(None)


def test_unknown_and_superfluous_arguments_of_joins() -> None:
    left, right = table(), table("other")
    for declare in (
        lambda: left.join(right, len, name=Named("x")),  # type: ignore[call-overload]
        lambda: left.join(right, len, joiner=len, foreign_key_extractor=len),  # type: ignore[call-overload]
        lambda: left.join(right, len, None, None, None),  # type: ignore[call-overload]
        lambda: stream().join("other", len),  # type: ignore[call-overload]
    ):
        with pytest.raises(TypeError):
            declare()  # type: ignore[no-untyped-call]


def test_a_processor_for_each_task() -> None:
    one, other = Processor(), FixedKeyProcessor()
    with pytest.raises(ValueError, match="single reference"):
        stream().process(lambda: one)
    with pytest.raises(ValueError, match="single reference"):
        stream().process_values(lambda: other)


@pytest.mark.parametrize(
    ("windows", "retention"),
    [
        (WINDOWS, 1499),
        (SlidingWindows.of_time_difference_and_grace(500, 500), 1499),
        (SessionWindows.of_inactivity_gap_and_grace(1000, 500), 1499),
    ],
)
def test_retention_of_windows(windows: Any, retention: int) -> None:
    windowed = stream().group_by_key().windowed_by(windows)
    windowed.count(materialized=Materialized.as_("enough").with_retention(retention + 1))
    with pytest.raises(ValueError, match="retention"):
        windowed.count(materialized=Materialized.as_("short").with_retention(retention))


def test_unlimited_windows_never_close() -> None:
    windowed = stream().group_by_key().windowed_by(UnlimitedWindows.of())
    with pytest.raises(ValueError, match="UnlimitedWindows"):
        windowed.emit_strategy(EmitStrategy.on_window_close())


def test_suppress_until_windows_close() -> None:
    suppressed = Suppressed.until_window_closes(BufferConfig.unbounded())
    with pytest.raises(TopologyException, match="windowed computations"):
        table().suppress(suppressed)
    with pytest.raises(TypeError):
        Suppressed.until_window_closes(BufferConfig.max_records(1))
    stream().group_by_key().windowed_by(WINDOWS).count().filter(lambda key, value: True).suppress(suppressed)


def test_suppress_of_versioned_tables() -> None:
    builder = StreamsBuilder()
    versioned = Materialized.as_(Stores.persistent_versioned_key_value_store("history", 1000))
    history = builder.table("in", None, versioned)
    suppressed = Suppressed.until_time_limit(1, BufferConfig.unbounded())
    with pytest.raises(TopologyException, match="non-versioned"):
        history.suppress(suppressed)
    history.filter(lambda key, value: True).suppress(suppressed)
    with pytest.raises(TopologyException, match="inherited from upstream"):
        builder.build()


def test_global_tables_are_not_versioned() -> None:
    versioned = Materialized.as_(Stores.persistent_versioned_key_value_store("history", 1000))
    with pytest.raises(TopologyException, match="GlobalTables"):
        StreamsBuilder().global_table("in", None, versioned)


def test_grace_of_a_join_with_a_table() -> None:
    joined = Joined.as_("join").with_grace_period(1000)
    with pytest.raises(ValueError, match="versioned"):
        builder = StreamsBuilder()
        builder.stream("in").join(builder.table("table"), lambda left, right: left, joined)
    builder = StreamsBuilder()
    versioned = Materialized.as_(Stores.persistent_versioned_key_value_store("history", 999))
    builder.stream("in").join(builder.table("table", None, versioned), lambda left, right: left, joined)
    with pytest.raises(ValueError, match="History retention"):
        builder.build()


def test_two_sources_of_one_topic() -> None:
    builder = StreamsBuilder()
    builder.stream(["one", "two"])
    builder.stream(["two", "three"])
    with pytest.raises(TopologyException, match="overlapping but not equal"):
        builder.build()
    builder = StreamsBuilder()
    builder.stream("one", Consumed.with_().with_offset_reset_policy(AutoOffsetReset.LATEST))
    builder.stream("one")
    with pytest.raises(TopologyException, match="offset reset policies"):
        builder.build()


def test_partitions_of_joined_streams() -> None:
    builder = StreamsBuilder()
    left = builder.stream("left").repartition(Repartitioned.as_("l").with_number_of_partitions(2))
    right = builder.stream("right").repartition(Repartitioned.as_("r").with_number_of_partitions(3))
    left.join(right, lambda one, other: one, JoinWindows.of_time_difference_with_no_grace(1))
    with pytest.raises(TopologyException, match="same number of partitions"):
        builder.build()


def test_names_are_checked_where_they_are_used() -> None:
    with pytest.raises(TopologyException, match="illegal"):
        StreamsBuilder().stream("in", Consumed.as_("a b"))


def test_configuration() -> None:
    with pytest.raises(StreamsException, match="storeType"):
        StreamsBuilder({"default.dsl.store": "paper"})
    builder = StreamsBuilder()
    builder.stream("in")
    with pytest.raises(ConfigException):
        builder.build({"topology.optimization": "all,none"})


def test_a_repartition_topic_has_partitions() -> None:
    builder = StreamsBuilder()
    builder.stream("in").repartition(Repartitioned.as_("none").with_number_of_partitions(0))
    with pytest.raises(ValueError, match=r"Number of partitions must be at least 1\."):
        TopologyTestDriver(builder.build())
