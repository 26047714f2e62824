"""A stream in columns ends as a stream of records does: stores, the changelog's last values, outputs modulo merging."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.streams import Consumed, Grouped, KStream, KTable, Produced, Serdes, StreamsBuilder
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
        return final, last, next(iter(driver.metrics().values())).metric_value()


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


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    batch = batch.filter(batch.column("value").is_valid())
    columns = [pc.utf8_upper(batch.column("key")), pc.multiply(batch.column("value"), 2)]
    return pa.RecordBatch.from_arrays(
        [*columns, batch.column("timestamp"), batch.column("headers")], ["key", "value", "timestamp", "headers"]
    )
