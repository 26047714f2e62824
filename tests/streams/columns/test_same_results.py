"""A stream in columns ends as a stream of records does: stores, the changelog's last values, outputs modulo merging."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.streams import (
    Consumed,
    Grouped,
    KStream,
    KTable,
    Materialized,
    Produced,
    Serdes,
    StreamsBuilder,
    TimeWindows,
)
from kafkapy.streams.columns.reducers import greatest, least, total
from kafkapy.streams.testing import TopologyTestDriver

Row = tuple[str | None, Any, int]
Aggregation = Callable[[KStream[Any, Any], Any], KTable[Any, Any]]

STRING = Serdes.string()
LONG = Serdes.long()
SERDES = {int: LONG, float: Serdes.double()}

KEYS = st.sampled_from(["a", "b", "c", "é", None])
TIMES = st.integers(0, 20)
LONGS = st.one_of(st.none(), st.integers(-(2**40), 2**40))
DOUBLES = st.one_of(st.none(), st.floats(-1e9, 1e9), st.sampled_from([0.0, -0.0]))


def run(
    build: Callable[[StreamsBuilder], None], rows: list[Row], serde: Any, cache: int, batch: int
) -> tuple[dict[str, Any], dict[str, dict[Any, Any]], int]:
    """Final store, the last value of each key in each topic (with its time), the number of dropped records."""
    builder = StreamsBuilder()
    build(builder)
    with TopologyTestDriver(builder.build(), {"statestore.cache.max.bytes": cache}, 0) as driver:
        pipe_in_batches(driver, rows, serde, batch)
        store = driver.get_state_store("store")
        final = {key: (repr(value.value), value.timestamp) for key, value in store.all()}
        last = {
            topic: {one.key: (one.value, one.timestamp, tuple(one.headers)) for one in records}
            for topic, records in driver._produced.items()
        }
        dropped = next(iter(driver.metrics().values())).metric_value()
        return final, {topic: kept for topic, records in last.items() if (kept := without_tombstones(records))}, dropped


def without_tombstones(records: dict[Any, Any]) -> dict[Any, Any]:
    """A key that a batch both makes and deletes is written by records alone, as a value and its tombstone."""
    return {key: one for key, one in records.items() if one[0] is not None}


def pipe_in_batches(driver: TopologyTestDriver, rows: list[Row], serde: Any, batch: int) -> None:
    """As from polls of so many records."""
    complete, driver._complete = driver._complete, lambda: None  # type: ignore[method-assign]
    topic = driver.create_input_topic("in", STRING, serde)  # type: ignore[arg-type]
    for number, (key, value, timestamp) in enumerate(rows, 1):
        topic.pipe_input(key, value, timestamp, [("time", b"%d" % timestamp)])
        if number % batch == 0:
            complete()
    complete()
    driver._complete = complete  # type: ignore[method-assign]


def check(aggregate: Aggregation, rows: list[Row], serde: Any, result: Any, cache: int, batch: int) -> None:
    def build(in_columns: bool) -> Callable[[StreamsBuilder], None]:
        def topology(builder: StreamsBuilder) -> None:
            stream = builder.stream("in", Consumed.with_(STRING, serde))
            if in_columns:
                stream = stream.in_columns()
            table = aggregate(stream, serde)
            table.to_stream().to("out", Produced.with_(STRING, result))

        return topology

    by_record = run(build(False), rows, serde, cache, 1)
    in_columns = run(build(True), rows, serde, cache, batch)
    assert in_columns == by_record


def counted(stream: KStream[Any, Any], serde: Any) -> KTable[Any, Any]:
    return stream.group_by_key(Grouped.with_(STRING, serde)).count(store="store")


def reduced(reducer: Callable[[Any, Any], Any]) -> Aggregation:
    def aggregation(stream: KStream[Any, Any], serde: Any) -> KTable[Any, Any]:
        return stream.group_by_key(Grouped.with_(STRING, serde)).reduce(reducer, store="store")

    return aggregation


def latest(left: Any, right: Any) -> Any:
    return right


REDUCERS = st.sampled_from([total, least, greatest, latest])
CACHES = st.sampled_from([0, 300, 10_000_000])
BATCHES = st.integers(1, 40)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(KEYS, LONGS, TIMES), max_size=40), CACHES, BATCHES)
def test_count(rows: list[Row], cache: int, batch: int) -> None:
    check(counted, rows, LONG, LONG, cache, batch)


@settings(max_examples=60, deadline=None)
@given(REDUCERS, st.lists(st.tuples(KEYS, LONGS, TIMES), max_size=40), CACHES, BATCHES)
def test_longs(reducer: Any, rows: list[Row], cache: int, batch: int) -> None:
    check(reduced(reducer), rows, LONG, LONG, cache, batch)


@settings(max_examples=60, deadline=None)
@given(REDUCERS, st.lists(st.tuples(KEYS, DOUBLES, TIMES), max_size=40), CACHES, BATCHES)
def test_doubles(reducer: Any, rows: list[Row], cache: int, batch: int) -> None:
    check(reduced(reducer), rows, SERDES[float], SERDES[float], cache, batch)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(KEYS, LONGS, TIMES), max_size=40), BATCHES)
def test_map_batches_then_a_repartitioned_sum(rows: list[Row], batch: int) -> None:
    def by_record(builder: StreamsBuilder) -> None:
        stream = builder.stream("in", Consumed.with_(STRING, LONG))
        kept = stream.filter(lambda key, value: value is not None)
        finish(kept.map(lambda key, value: (None if key is None else key.upper(), value * 2)))

    def in_columns(builder: StreamsBuilder) -> None:
        finish(builder.stream("in", Consumed.with_(STRING, LONG)).map_batches(doubled))

    def finish(stream: KStream[Any, Any]) -> None:
        stream.to("mapped", Produced.with_(STRING, LONG))
        table = stream.group_by_key(Grouped.with_(STRING, LONG)).reduce(total, store="store")
        table.to_stream().to("out", Produced.with_(STRING, LONG))

    assert run(in_columns, rows, LONG, 0, batch) == run(by_record, rows, LONG, 0, 1)


def aggregated(stream: KStream[Any, Any], serde: Any) -> KTable[Any, Any]:
    grouped = stream.group_by_key(Grouped.with_(STRING, serde))
    return grouped.aggregate(lambda: "", joined, materialized=Materialized.as_("store").with_value_serde(STRING))


def joined(key: Any, value: Any, aggregate: Any) -> Any:
    return f"{aggregate}{key}{value};" if value != 3 else None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers(0, 9)), TIMES), max_size=40), CACHES, BATCHES)
def test_aggregate(rows: list[Row], cache: int, batch: int) -> None:
    check(aggregated, rows, LONG, STRING, cache, batch)


def windowed(kind: str, windows: TimeWindows) -> Aggregation:
    def aggregation(stream: KStream[Any, Any], serde: Any) -> KTable[Any, Any]:
        grouped: Any = stream.group_by_key(Grouped.with_(STRING, serde)).windowed_by(windows)
        table: KTable[Any, Any]
        if kind == "count":
            table = grouped.count(store="store")
        elif kind == "sum":
            table = grouped.reduce(total, store="store")
        else:
            table = grouped.aggregate(
                lambda: "", joined, materialized=Materialized.as_("store").with_value_serde(STRING)
            )
        return table

    return aggregation


WINDOWS = st.builds(
    lambda size, advance, grace: TimeWindows(size, min(size, advance), grace),
    st.integers(1, 12),
    st.integers(1, 12),
    st.integers(0, 6),
)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["count", "sum", "aggregate"]),
    WINDOWS,
    st.lists(st.tuples(KEYS, LONGS, TIMES), max_size=40),
    CACHES,
    BATCHES,
)
def test_windows(kind: str, windows: TimeWindows, rows: list[Row], cache: int, batch: int) -> None:
    result = STRING if kind == "aggregate" else LONG
    if kind == "sum":  # a reducer is given the values that are None, too, as in Kafka, and `total` cannot add them
        rows = [row for row in rows if row[1] is not None]

    def build(in_columns: bool) -> Callable[[StreamsBuilder], None]:
        def topology(builder: StreamsBuilder) -> None:
            stream = builder.stream("in", Consumed.with_(STRING, LONG))
            table = windowed(kind, windows)(stream.in_columns() if in_columns else stream, LONG)
            named = table.to_stream().select_key(lambda key, value: f"{key.key}@{key.window.start}-{key.window.end}")
            named.to("out", Produced.with_(STRING, result))

        return topology

    assert run(build(True), rows, LONG, cache, batch) == run(build(False), rows, LONG, cache, 1)


TABLE_ROWS = st.lists(st.tuples(st.booleans(), KEYS, st.one_of(st.none(), st.integers(0, 9)), TIMES), max_size=40)


@settings(max_examples=50, deadline=None)
@given(TABLE_ROWS, st.booleans(), st.booleans(), BATCHES)
def test_join_with_a_table(rows: list[tuple[bool, Any, Any, int]], is_left: bool, is_mixed: bool, batch: int) -> None:
    """Batches have records of one topic: an update of the table ends one."""

    def outputs(in_columns: bool) -> list[Any]:
        builder = StreamsBuilder()
        table = builder.table("table", Consumed.with_(STRING, LONG))
        stream = builder.stream("in", Consumed.with_(STRING, LONG))
        stream = stream.in_columns() if in_columns else stream
        join = stream.left_join if is_left else stream.join
        results = join(table, lambda left, right: str(right) if is_mixed and left == 1 else (right or 0) + left)
        results.map_values(str).to("out", Produced.with_(STRING, STRING))
        with TopologyTestDriver(builder.build(), {}, 0) as driver:
            topics = {name: driver.create_input_topic(name, STRING, LONG) for name in ("in", "table")}  # type: ignore[arg-type]
            complete, driver._complete = driver._complete, lambda: None  # type: ignore[method-assign]
            waiting = 0
            for to_table, key, value, timestamp in rows:
                if to_table or waiting >= batch or not in_columns:
                    complete()
                    waiting = 0
                topics["table" if to_table else "in"].pipe_input(key, value, timestamp, [("h", b"%d" % timestamp)])
                waiting += not to_table
                if to_table:
                    complete()
            complete()
            driver._complete = complete  # type: ignore[method-assign]
            dropped = next(iter(driver.metrics().values())).metric_value()
            return [dropped, *(tuple(record) for record in driver._produced.get("out", ()))]

    assert outputs(True) == outputs(False)


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    batch = batch.filter(batch.column("value").is_valid())
    columns = [pc.utf8_upper(batch.column("key")), pc.multiply(batch.column("value"), 2)]
    return pa.RecordBatch.from_arrays(
        [*columns, batch.column("timestamp"), batch.column("headers")], ["key", "value", "timestamp", "headers"]
    )
