"""Threads of an instance: replaced when they fail, added, removed, paused; the application stops when one asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy.streams import Consumed, KafkaStreams, Produced, Serdes, StreamsBuilder
from kafkapy.streams.exception_handlers import StreamThreadExceptionResponse
from kafkapy.streams.task.stream_task import StreamTask
from kafkapy.testing import KafkaCluster
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster() as running:
        yield running


class Application:
    """Copies values from a topic to another, by way of a function."""

    def __init__(self, cluster: KafkaCluster, name: str, function: Callable[[str], str]) -> None:
        self.cluster, self.name = cluster, name
        cluster.create_topics(f"{name}-in:4,{name}-out:1")
        builder, string = StreamsBuilder(), Serdes.string()
        (
            builder.stream(f"{name}-in", Consumed.with_(string, string))
            .map_values(function)
            .to(f"{name}-out", Produced.with_(string, string))
        )
        self.topology = builder.build()

    def instance(self, state: Path, **more: object) -> KafkaStreams:
        return KafkaStreams(
            self.topology,
            {
                "application.id": self.name,
                "bootstrap.servers": self.cluster.bootstrap_servers,
                "state.dir": str(state),
                "commit.interval.ms": 100,
                "session.timeout.ms": 6000,
                "replication.factor": 1,
                **more,
            },
        )

    def feed(self, *values: str) -> None:
        self.cluster.produce_many(f"{self.name}-in", [value.encode() for value in values])

    def wait_for(self, *values: str) -> None:
        wait_until(lambda: set(values) <= self.written(), self.written)

    def written(self) -> set[str]:
        return {(record.value or b"").decode() for record in self.cluster.records(f"{self.name}-out")}


def test_a_thread_that_fails_is_replaced(cluster: KafkaCluster, tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def function(value: str) -> str:
        if value == "bad" and not failures:
            raise ValueError("bad")
        return value.upper()

    def handler(error: BaseException) -> StreamThreadExceptionResponse:
        failures.append(error)
        return StreamThreadExceptionResponse.REPLACE_THREAD

    application = Application(cluster, "replaced", function)
    with application.instance(tmp_path) as streams:
        streams.set_uncaught_exception_handler(handler)
        application.feed("good", "bad", "better")
        application.wait_for("GOOD", "BAD", "BETTER")
        wait_until(lambda: streams.state() == "RUNNING")
    assert len(failures) == 1
    assert streams.state() == "NOT_RUNNING"


def test_one_instance_stops_all(cluster: KafkaCluster, tmp_path: Path) -> None:
    def function(value: str) -> str:
        if value == "stop":
            raise ValueError("stop")
        return value

    application = Application(cluster, "stopped", function)
    instances = [application.instance(tmp_path / name) for name in "ab"]
    for streams in instances:
        streams.set_uncaught_exception_handler(lambda _: StreamThreadExceptionResponse.SHUTDOWN_APPLICATION)
        streams.start()
    wait_until(lambda: all(streams.state() == "RUNNING" for streams in instances))
    application.feed("stop")
    wait_until(
        lambda: all(streams.state() == "ERROR" for streams in instances), lambda: [one.state() for one in instances]
    )
    for streams in instances:
        assert streams.close(HANG_SECONDS * 1000)


def test_an_instance_stops_by_itself_without_a_handler(cluster: KafkaCluster, tmp_path: Path) -> None:
    def function(value: str) -> str:
        raise ValueError(value)

    application = Application(cluster, "alone", function)
    streams = application.instance(tmp_path)
    streams.start()
    application.feed("a")
    wait_until(lambda: streams.state() == "ERROR", streams.state)
    assert streams.close()


def _tasks(streams: KafkaStreams) -> list[StreamTask]:
    return [task for thread in streams._all_threads() for task in thread.tasks.running()]


def test_threads_come_and_go_and_pause(cluster: KafkaCluster, tmp_path: Path) -> None:
    application = Application(cluster, "threads", str.upper)
    streams = application.instance(tmp_path)
    assert streams.add_stream_thread() is None
    with streams:
        wait_until(lambda: streams.state() == "RUNNING")
        added = streams.add_stream_thread()
        assert added is not None
        assert added.endswith("-StreamThread-2")
        wait_until(lambda: streams.state() == "RUNNING")
        application.feed("one", "two", "three")
        application.wait_for("ONE", "TWO", "THREE")
        assert streams.remove_stream_thread(HANG_SECONDS * 1000) == added
        wait_until(lambda: streams.state() == "RUNNING")
        streams.pause()
        assert streams.is_paused()
        before = application.written()
        application.feed("four")
        wait_until(lambda: any(task.has_records_queued() for task in _tasks(streams)))
        assert application.written() == before
        streams.resume()
        application.wait_for("FOUR")
