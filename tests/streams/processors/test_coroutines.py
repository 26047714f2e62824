"""Coroutine functions in operators without state: many run at once, order is kept, nothing is committed before its time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.streams import Consumed, Grouped, KStream, Produced, Serdes, StreamsBuilder, Topology
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.exception_handlers import LogAndContinueProcessingExceptionHandler
from kafkapy.streams.processors.coroutine_loop import COROUTINE_LOOP
from kafkapy.streams.processors.coroutines import is_coroutine_function
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.task.record_collector import ProducedRecord
from kafkapy.streams.task.stream_task import StreamTask
from kafkapy.streams.testing import TopologyTestDriver
from kafkapy.streams.topology.processor_topology import make_topology
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    COROUTINE_LOOP.stop()
    assert "streams-coroutines" not in [thread.name for thread in threading.enumerate()]


class Enrichment:
    """Answers when it is told to.

    Attributes:
        asked: Values that were asked for, in order.
        most: How many questions were open at once.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.most = 0
        self._open: dict[str, asyncio.Event] = {}

    async def __call__(self, value: str) -> str:
        self.asked.append(value)
        event = self._open[value] = asyncio.Event()
        self.most = max(self.most, len(self._open))
        try:
            await event.wait()
        finally:
            del self._open[value]
        if value.startswith("bad"):
            raise ValueError(value)
        return value.upper()

    def answer(self, *values: str) -> None:
        """Let these go on, once they were asked for."""
        for value in values:
            wait_until(lambda value=value: value in self._open)  # type: ignore[misc]
            future = asyncio.run_coroutine_threadsafe(self._set(value), COROUTINE_LOOP._running())
            future.result()

    async def _set(self, value: str) -> None:
        self._open[value].set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def topology_with(function: Any) -> Topology:
    builder, string = StreamsBuilder(), Serdes.string()
    stream = builder.stream("in", Consumed.with_(string, string))
    stream.map_values(function).to("out", Produced.with_(string, string))
    return builder.build()


class Running:
    """A task of one partition whose output is kept."""

    def __init__(self, function: Any, **more: Any) -> None:
        properties = {"application.id": "app", "bootstrap.servers": "unused", **more}
        builder = topology_with(function).builder
        subgraph = builder.subgraphs("app")[0]
        made = make_topology(builder, subgraph, properties, "app", cached=False)
        self.written: list[str] = []
        self.task = StreamTask(
            "0_0", made, [("in", 0)], StreamsConfig(properties), self, None, lambda _: None, lambda *_: 0
        )
        self.task.initialize_stores()
        self.task.initialize_topology()
        self._offset = 0

    def send(self, record: ProducedRecord) -> None:
        self.written.append((record.value or b"").decode())

    def send_watched(self, record: ProducedRecord, is_fatal: Any) -> None:
        self.send(record)

    def partitions_for(self, topic: str) -> int:
        return 1

    def feed(self, *values: str) -> None:
        for value in values:
            record = ConsumedRecord("in", 0, self._offset, self._offset, b"key", value.encode(), [])
            self.task.add_records("in", 0, [record])
            self._offset += 1

    def run(self) -> None:
        while self.task.process(0):
            pass

    def hand_on(self) -> list[str]:
        self.task.hand_on(0)
        return self.written


def test_many_run_at_once_and_order_is_kept() -> None:
    enrichment = Enrichment()
    running = Running(enrichment)
    running.feed("a", "b", "c")
    running.run()
    enrichment.answer("c", "b")
    assert running.hand_on() == []
    enrichment.answer("a")
    wait_until(lambda: running.hand_on() == ["A", "B", "C"])
    assert enrichment.most == 3
    running.task.suspend()


def test_no_more_than_the_limit() -> None:
    enrichment = Enrichment()
    running = Running(enrichment, **{"kafkapy.coroutines.max.in.flight": 2})
    running.feed("a", "b", "c")
    running.run()
    enrichment.answer("b")
    assert running.task.coroutines.is_full
    assert running.hand_on() == []
    enrichment.answer("a")
    wait_until(lambda: running.hand_on() == ["A", "B"])
    running.run()
    enrichment.answer("c")
    wait_until(lambda: running.hand_on() == ["A", "B", "C"])
    assert enrichment.most == 2
    running.task.suspend()


def test_a_commit_waits_for_what_runs() -> None:
    enrichment = Enrichment()
    running = Running(enrichment)
    running.feed("a", "b")
    running.run()
    assert running.task.position() == {("in", 0): -1}
    enrichment.answer("a")
    wait_until(lambda: running.hand_on() == ["A"])
    assert running.task.position() == {("in", 0): 0}
    answering = threading.Thread(target=enrichment.answer, args=("b",))
    answering.start()
    assert running.task.prepare_commit() == {("in", 0): 2}
    assert running.written == ["A", "B"]
    answering.join()
    running.task.suspend()


def test_a_commit_waits_for_updates_that_caches_flush() -> None:
    async def doubled(count: Any) -> Any:
        await asyncio.sleep(0)
        return 2 * count

    builder, string, long = StreamsBuilder(), Serdes.string(), Serdes.long()
    counts = builder.stream("in", Consumed.with_(string, string)).group_by_key().count().to_stream()
    later = counts.map_values(doubled).group_by_key(Grouped.with_(string, long)).count().to_stream()
    later.map_values(doubled).to("out", Produced.with_(string, long))
    with TopologyTestDriver(builder.build(), {"default.key.serde": string, "default.value.serde": string}) as driver:
        driver.create_input_topic("in", string.serializer(), string.serializer()).pipe_input("a", "1")
        assert driver.create_output_topic("out", string.deserializer(), long.deserializer()).read_value() == 2


def test_a_task_that_goes_cancels_what_runs() -> None:
    enrichment = Enrichment()
    running = Running(enrichment)
    running.feed("a")
    running.run()
    wait_until(lambda: enrichment.asked == ["a"])
    running.task.suspend()
    wait_until(lambda: not enrichment._open)
    assert not running.task.coroutines.are_running
    assert running.written == []


def test_a_coroutine_that_fails_ends_the_task() -> None:
    enrichment = Enrichment()
    running = Running(enrichment)
    running.feed("a", "bad")
    running.run()
    enrichment.answer("bad", "a")
    with pytest.raises(StreamsException, match="taskId=0_0, topic=in, partition=0, offset=1") as caught:
        wait_until(lambda: running.hand_on() == [])
        running.task.prepare_commit()
    assert str(caught.value.__cause__) == "bad"
    assert running.written == ["A"]
    running.task.suspend()


def test_a_handler_goes_on() -> None:
    enrichment = Enrichment()
    handler = {"processing.exception.handler": LogAndContinueProcessingExceptionHandler}
    running = Running(enrichment, **handler)
    running.feed("bad", "a")
    running.run()
    enrichment.answer("bad", "a")
    wait_until(lambda: running.hand_on() == ["A"])
    assert running.task.dropped_records == 1
    running.task.suspend()


async def is_long(key: str, value: str) -> bool:
    await asyncio.sleep(0)
    return len(value) > 2


async def letters(value: str) -> list[str]:
    return list(value)


async def swapped(key: str, value: str) -> tuple[str, str]:
    return value, key


async def first_letter(key: str, value: str) -> str:
    return value[0]


def test_all_operators_take_coroutine_functions() -> None:
    builder, string, seen = StreamsBuilder(), Serdes.string(), []

    async def see(key: str, value: str) -> None:
        seen.append(value)

    lines = builder.stream("in", Consumed.with_(string, string))
    produced = Produced.with_(string, string)
    lines.filter(is_long).to("long", produced)
    lines.filter_not(is_long).peek(see).flat_map_values(letters).to("letters", produced)
    lines.map(swapped).to("swapped", produced)
    keyed: KStream[str, str] = lines.select_key(first_letter)
    keyed.foreach(see)
    branches = lines.split().branch(lambda key, value: value == "no").branch(is_long).default_branch()
    for name, branch in zip(("no", "branch", "rest"), branches.values(), strict=True):
        branch.to(name, produced)
    with TopologyTestDriver(builder.build()) as driver:
        topic = driver.create_input_topic("in", string.serializer(), string.serializer())
        for value in ("abc", "no", "yx"):
            topic.pipe_input("k", value)

        def values(name: str) -> list[str]:
            output = driver.create_output_topic(name, string.deserializer(), string.deserializer())
            return [record.value for record in output.read_records_to_list()]

        assert (values("long"), values("letters")) == (["abc"], ["n", "o", "y", "x"])
        assert values("swapped") == ["k", "k", "k"]
        assert (values("no"), values("branch"), values("rest")) == (["no"], ["abc"], ["yx"])
        assert sorted(seen) == ["abc", "no", "no", "yx", "yx"]


def test_where_an_event_loop_runs() -> None:
    string = Serdes.string()

    async def upper(value: str) -> str:
        await asyncio.sleep(0)
        return value.upper()

    async def main() -> list[str]:
        with TopologyTestDriver(topology_with(upper)) as driver:
            driver.create_input_topic("in", string.serializer(), string.serializer()).pipe_input("k", "a")
            output = driver.create_output_topic("out", string.deserializer(), string.deserializer())
            return [record.value for record in output.read_records_to_list()]

    assert asyncio.run(main()) == ["A"]


def test_which_functions_are_coroutine_functions() -> None:
    assert is_coroutine_function(letters)
    assert is_coroutine_function(Enrichment())
    assert not is_coroutine_function(len)


def test_one_loop_for_all_threads() -> None:
    async def loop() -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    found = []
    threads = [threading.Thread(target=lambda: found.append(COROUTINE_LOOP.start(loop()).result())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1
    COROUTINE_LOOP.stop()
    assert found[0].is_closed()
    assert COROUTINE_LOOP.start(loop()).result() is not found[0]
