"""What filters mean for offsets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
)

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.batch_reader import KafkaBatchReader
from kafkapy.spark.offset_ranges import OffsetRange
from kafkapy.spark.options import Mode, source_options
from kafkapy.spark.pushed_filters import PushedFilters

P = TopicPartition("t", 3)
WHOLE = OffsetRange(P, 10, 100)
PARTITION, OFFSET, TIMESTAMP, TOPIC = ("partition",), ("offset",), ("timestamp",), ("topic",)


def pushed(*filters: Filter) -> tuple[PushedFilters, list[bool]]:
    state = PushedFilters()
    return state, [state.add(f) for f in filters]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (EqualTo(PARTITION, 3), True),
        (EqualTo(PARTITION, 2), False),
        (Not(EqualTo(PARTITION, 3)), False),
        (In(PARTITION, (1, 3)), True),
        (Not(In(PARTITION, (1, 3))), False),
        (GreaterThan(PARTITION, 3), False),
        (LessThanOrEqual(PARTITION, 3), True),
        (EqualTo(TOPIC, "t"), True),
        (EqualTo(TOPIC, "u"), False),
    ],
)
def test_partitions_are_chosen(given: Filter, kept: bool) -> None:
    state, done = pushed(given)
    assert done == [True]
    assert state.keeps(P) is kept


@pytest.mark.parametrize(
    ("given", "start", "until", "done"),
    [
        (EqualTo(OFFSET, 50), 50, 51, True),
        (GreaterThan(OFFSET, 50), 51, 100, True),
        (GreaterThanOrEqual(OFFSET, 50), 50, 100, True),
        (LessThan(OFFSET, 50), 10, 50, True),
        (LessThanOrEqual(OFFSET, 50), 10, 51, True),
        (In(OFFSET, (20, 50)), 20, 51, False),
        (In(OFFSET, (20, 21)), 20, 22, True),
        (GreaterThan(OFFSET, 500), 100, 100, True),
        (LessThan(OFFSET, 5), 5, 5, True),
        (Not(EqualTo(OFFSET, 50)), 10, 100, False),
    ],
)
def test_offsets_are_narrowed(given: Filter, start: int, until: int, done: bool) -> None:
    state, results = pushed(given)
    assert state.narrow(WHOLE, {}) == OffsetRange(P, start, until)
    assert results == [done]


MOMENT = datetime(2024, 1, 1, 0, 0, 0, 1500, tzinfo=UTC)
MOMENT_MS = 1_704_067_200_001


@pytest.mark.parametrize(
    ("given", "first"),
    [
        (GreaterThanOrEqual(TIMESTAMP, MOMENT), MOMENT_MS + 1),
        (GreaterThanOrEqual(TIMESTAMP, MOMENT.replace(microsecond=1000)), MOMENT_MS),
        (GreaterThan(TIMESTAMP, MOMENT.replace(microsecond=1000)), MOMENT_MS + 1),
        (GreaterThan(TIMESTAMP, MOMENT), MOMENT_MS + 1),
        (EqualTo(TIMESTAMP, MOMENT.replace(microsecond=1000)), MOMENT_MS),
        (EqualTo(TIMESTAMP, MOMENT.replace(microsecond=1000).astimezone(timezone(timedelta(hours=5)))), MOMENT_MS),
        (LessThan(TIMESTAMP, MOMENT), None),
        (GreaterThan(TIMESTAMP, datetime(1960, 1, 1, tzinfo=UTC)), None),
    ],
)
def test_a_lower_bound_of_the_timestamp_moves_the_start(given: Filter, first: int | None) -> None:
    state, done = pushed(given)
    assert done == [False]
    assert state.first_timestamp_ms == first


def test_first_offsets_by_timestamp() -> None:
    state, _ = pushed(GreaterThan(OFFSET, 20))
    assert state.narrow(WHOLE, {P: 30}) == OffsetRange(P, 30, 100)
    assert state.narrow(WHOLE, {P: 3}) == OffsetRange(P, 21, 100)
    assert state.narrow(WHOLE, {P: -1}).size == 0


def test_what_is_left_to_spark() -> None:
    filters = [
        EqualTo(("value",), b"x"),
        StringContains(TOPIC, "t"),
        Not(In(PARTITION, (1, None))),
        EqualTo(("headers", "key"), "x"),
        IsNotNull(("key",)),
    ]
    assert pushed(*filters)[1] == [False] * 5
    assert pushed(IsNotNull(OFFSET))[1] == [True]


def test_spark_takes_the_reader_with_and_without_pushdown() -> None:
    options = source_options({"kafka.bootstrap.servers": "localhost:1", "subscribe": "t"}, Mode.BATCH)
    reader = KafkaBatchReader(options)
    assert reader.pushFilters.__func__ is DataSourceReader.pushFilters  # what Spark looks at if it is switched off
    left = StringContains(TOPIC, "t")
    assert reader.pushFilters([EqualTo(PARTITION, 1), left]) == [left]
