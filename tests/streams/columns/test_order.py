"""Batches end where the order of records, or a punctuation between them, would change."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.streams import Consumed, Processor, Produced, PunctuationType, Serdes, StreamsBuilder
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.testing import TopologyTestDriver
from tests.streams.columns.arrow_batches import arrow_batch

STRING = Serdes.string()
TOPICS = ("one", "two", "three")
ROWS = st.lists(st.tuples(st.sampled_from(TOPICS), st.integers(0, 8)), max_size=40)


class Ticks(Processor):
    """Forwards all records and a tick at each 3 ms."""

    def init(self, context: Any) -> None:
        super().init(context)
        context.schedule(3, PunctuationType.STREAM_TIME, self.tick)

    def tick(self, timestamp: int) -> None:
        from kafkapy.streams.records import Record

        self.context.forward(Record("tick", str(timestamp), timestamp, []))

    def process(self, record: Any) -> None:
        self.context.forward(record)


def outputs(rows: list[tuple[str, int]], in_columns: bool, ticks: bool, polled: bool = False) -> list[Any]:
    """What a topology writes; `polled`: the records come as `poll_arrow` reads them, in two batches a topic."""
    builder = StreamsBuilder()
    for topic in TOPICS:
        stream = builder.stream(topic, Consumed.with_(STRING, STRING))
        if in_columns:
            stream = stream.map_batches(lambda batch: batch.select(["value"]))
        if ticks:
            stream = stream.process(Ticks)
        stream.to("out", Produced.with_(STRING, STRING))
    with TopologyTestDriver(builder.build(), {}, 0) as driver:
        task = driver._task
        assert task is not None
        for topic in TOPICS:
            records = [
                ConsumedRecord(topic, 0, offset, time, topic.encode(), b"%d" % offset, [("offset", b"%d" % offset)])
                for offset, (name, time) in enumerate(rows)
                if name == topic
            ]
            if polled:
                for half in (records[: len(records) // 2], records[len(records) // 2 :]):
                    if half:
                        task.add_columns(arrow_batch(half))
            else:
                task.add_records(topic, 0, records)
        driver._complete()
        return [tuple(record) for record in driver._produced.get("out", ())]


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_records_come_in_the_order_of_their_times(rows: list[tuple[str, int]]) -> None:
    expected = outputs(rows, False, False)
    assert outputs(rows, True, False) == expected
    assert outputs(rows, True, False, polled=True) == expected


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_punctuations_come_between_the_same_records(rows: list[tuple[str, int]]) -> None:
    expected = outputs(rows, False, True)
    assert outputs(rows, True, True) == expected
    assert outputs(rows, True, True, polled=True) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 8), max_size=40))
def test_one_topic_in_columns(times: list[int]) -> None:
    rows = [("one", time) for time in times]
    assert outputs(rows, True, True, polled=True) == outputs(rows, False, True)
