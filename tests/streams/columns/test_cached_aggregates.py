"""Flushes of a record cache are forwarded as a batch, unless an operator that follows has a store."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.streams import Consumed, Grouped, Produced, Serdes, StreamsBuilder
from kafkapy.streams.columns.batch import ColumnBatch
from kafkapy.streams.columns.cached_aggregates import ForwardedFlushes
from kafkapy.streams.processor import Processor
from kafkapy.streams.records import Record
from kafkapy.streams.testing import TopologyTestDriver
from tests.streams.columns.test_same_results import Row, pipe_in_batches

STRING, LONG = Serdes.string(), Serdes.long()
ROWS: list[Row] = [("a", 1, 3), ("b", 1, 1), ("a", 1, 2)]


class Reading(Processor):
    """Forwards the value that the store has for the record's key."""

    def process(self, record: Record[str, int]) -> None:
        stored = self.context.get_state_store("store").get(record.key)
        self.context.forward(record.with_value(stored.value))


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[ColumnBatch]:
    """The batches that were forwarded by flushes."""
    made: list[ColumnBatch] = []
    make = ForwardedFlushes._batch

    def recorded(self: ForwardedFlushes, entries: Any) -> ColumnBatch:
        made.append(make(self, entries))
        return made[-1]

    monkeypatch.setattr(ForwardedFlushes, "_batch", recorded)
    return made


def outputs(read_the_store: bool) -> list[tuple[Any, Any, int | None, list[tuple[str, bytes | None]]]]:
    builder = StreamsBuilder()
    stream = builder.stream("in", Consumed.with_(STRING, LONG)).in_columns()
    counts = stream.group_by_key(Grouped.with_(STRING, LONG)).count(store="store").to_stream()
    if read_the_store:
        counts = counts.process(Reading, "store")
    counts.to("out", Produced.with_(STRING, LONG))
    with TopologyTestDriver(builder.build(), {}, 0) as driver:
        pipe_in_batches(driver, ROWS, LONG, 10)
        topic = driver.create_output_topic("out", STRING, LONG)  # type: ignore[arg-type]
        return [(one.key, one.value, one.timestamp, list(one.headers)) for one in topic.read_records_to_list()]


EXPECTED = [("b", 1, 1, [("time", b"1")]), ("a", 2, 3, [("time", b"2")])]
"""In the order of the last rows, with the highest timestamp of each key and the headers of its last row."""


def test_a_flush_is_one_batch(batches: list[ColumnBatch]) -> None:
    assert outputs(read_the_store=False) == EXPECTED
    assert [len(batch) for batch in batches] == [2]


def test_an_operator_with_a_store_gets_records(batches: list[ColumnBatch]) -> None:
    assert outputs(read_the_store=True) == EXPECTED
    assert batches == []
