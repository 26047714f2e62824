"""`KStream.map_batches` and what tasks give it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafkapy.streams import Consumed, Produced, Serdes, StreamsBuilder, StreamsException
from kafkapy.streams.columns.batch import batch_of
from kafkapy.streams.exception_handlers import LogAndContinueProcessingExceptionHandler
from kafkapy.streams.records import Record
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.testing import TopologyTestDriver

STRING = Serdes.string()


def driver_of(mapper: Any, config: dict[str, Any] | None = None, *, keeps_keys: bool = True) -> TopologyTestDriver:
    builder = StreamsBuilder()
    stream = builder.stream("in", Consumed.with_(STRING, STRING))
    stream.map_batches(mapper, keeps_keys=keeps_keys).to("out", Produced.with_(STRING, STRING))
    return TopologyTestDriver(builder.build(), config, 0)


def pipe(driver: TopologyTestDriver, values: list[str | None]) -> list[Any]:
    task = driver._task
    assert task is not None
    rows = [
        ConsumedRecord("in", 0, offset, offset, b"k", None if value is None else value.encode(), [])
        for offset, value in enumerate(values)
    ]
    task.add_records("in", 0, rows)
    driver._complete()
    return [STRING.deserializer().deserialize("out", record.value) for record in driver._produced.get("out", ())]


def upper(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pc.utf8_upper(batch.column("value"))], ["value"])


def test_a_poll_is_one_batch() -> None:
    sizes = []

    def seen(batch: pa.RecordBatch) -> pa.RecordBatch:
        sizes.append(batch.num_rows)
        return upper(batch)

    with driver_of(seen) as driver:
        assert pipe(driver, ["a", "b", "c"]) == ["A", "B", "C"]
    assert sizes == [3]


def test_a_batch_of_nulls_has_the_type_of_the_serde() -> None:
    with driver_of(upper) as driver:
        assert pipe(driver, [None]) == [None]


def test_other_numbers_of_rows() -> None:
    def no_a(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(pc.not_equal(batch.column("value"), "a"))

    with driver_of(no_a) as driver:
        assert pipe(driver, ["a", "b", "a", "c"]) == ["b", "c"]
    with driver_of(no_a) as driver:
        assert pipe(driver, ["a"]) == []


def fails_for_b(batch: pa.RecordBatch) -> pa.RecordBatch:
    if "b" in batch.column("value").to_pylist():
        raise ValueError("b")
    return upper(batch)


def test_the_handler_is_asked_for_the_row_that_fails_alone() -> None:
    config = {"processing.exception.handler": LogAndContinueProcessingExceptionHandler}
    with driver_of(fails_for_b, config) as driver:
        assert pipe(driver, ["a", "b", "c"]) == ["A", "C"]
        assert next(iter(driver.metrics().values())).metric_value() == 1


def test_a_failure_is_the_tasks() -> None:
    with driver_of(fails_for_b) as driver, pytest.raises(StreamsException):
        pipe(driver, ["a", "b", "c"])


def test_the_name_of_the_node() -> None:
    with driver_of(upper) as driver:
        assert "KSTREAM-MAPBATCHES-0000000001" in [node.name for node in driver._task.topology.nodes]  # type: ignore[union-attr]


def result_of(columns: dict[str, Any]) -> Any:
    batch = batch_of([(Record("k", "v", 5, []), 1), (Record("k", "w", 6, []), 2)], "in", 0)
    return batch.with_result(pa.RecordBatch.from_pydict(columns))


def test_results_that_make_no_batch() -> None:
    with pytest.raises(ValueError, match="value"):
        result_of({"key": ["a", "b"]})
    with pytest.raises(ValueError, match="timestamp"):
        result_of({"key": ["a"], "value": ["b"]})
    with pytest.raises(ValueError, match="negative"):
        result_of({"value": ["a", "b"], "timestamp": [1, -1]})
