"""What is told of records that have failed: in the log, and in dead letters."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from kafkapy.connect.connectors.file.file_stream_sink import FileStreamSinkTask
from kafkapy.connect.converters.json_converter import JsonConverter
from kafkapy.connect.errors import ConnectException, DataException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.runtime.errors.dead_letters import DeadLetterQueueReporter, ensure_topic
from kafkapy.connect.runtime.errors.error_metrics import ErrorHandlingMetrics
from kafkapy.connect.runtime.errors.log_reporter import LogReporter
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.stage import Stage
from kafkapy.connect.runtime.metrics import ConnectMetrics
from kafkapy.protocol.errors import Errors, KafkaError
from tests.connect.runtime.sink_world import ID, consumed


class Sent:
    def __init__(self) -> None:
        self.done: Callable[[Any], object] = lambda metadata: None
        self.failed: Callable[[Exception], object] = lambda error: None

    def add_callback(self, f: Callable[[Any], object]) -> None:
        self.done = f

    def add_errback(self, f: Callable[[Exception], object]) -> None:
        self.failed = f


class Producer:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.records: list[tuple[Any, ...]] = []
        self.sent: list[Sent] = []

    def send(self, *arguments: Any) -> Sent:
        if self.error is not None:
            raise self.error
        self.records.append(arguments)
        self.sent.append(Sent())
        return self.sent[-1]

    def close(self, timeout: float | None = None) -> None: ...


def failed_context(**changes: Any) -> ProcessingContext:
    context = ProcessingContext(consumed(7, b"{", [("h", b"1")], **changes))
    context.at(Stage.VALUE_CONVERTER, JsonConverter)
    context.error = DataException("not JSON")
    return context


class Letters:
    def __init__(self, producer: Producer, adds_headers: bool = False) -> None:
        self.metrics = ConnectMetrics()
        fake: Any = producer
        self.reporter = DeadLetterQueueReporter(ID, "dead", fake, ErrorHandlingMetrics(ID, self.metrics), adds_headers)

    def count(self, name: str) -> Any:
        (found,) = [
            value for key, value in self.metrics.read().items() if key.name == f"deadletterqueue-produce-{name}"
        ]
        return found


def test_a_dead_letter_is_the_record_as_it_was() -> None:
    producer = Producer()
    letters = Letters(producer)
    future = letters.reporter.report(failed_context())
    assert producer.records == [("dead", b"{", None, [("h", b"1")], None, 5)]
    assert not future.done()
    producer.sent[0].done("metadata")
    assert future.result() == "metadata"
    letters.reporter.await_pending()
    assert (letters.count("requests"), letters.count("failures")) == (1, 0)


def test_headers_tell_what_went_wrong() -> None:
    producer = Producer()
    Letters(producer, adds_headers=True).reporter.report(failed_context(timestamp=-1))
    (_, _, _, headers, _, timestamp), *_ = producer.records
    assert timestamp is None
    told = {key: value.decode() for key, value in headers[1:]}
    trace = told.pop("__connect.errors.exception.stacktrace")
    assert trace.startswith("org.apache.kafka.connect.errors.DataException: not JSON\n")
    assert told == {
        "__connect.errors.topic": "lines",
        "__connect.errors.partition": "0",
        "__connect.errors.offset": "7",
        "__connect.errors.connector.name": "files",
        "__connect.errors.task.id": "0",
        "__connect.errors.stage": "VALUE_CONVERTER",
        "__connect.errors.class.name": "org.apache.kafka.connect.json.JsonConverter",
        "__connect.errors.exception.class.name": "org.apache.kafka.connect.errors.DataException",
        "__connect.errors.exception.message": "not JSON",
    }


@pytest.mark.parametrize("at_once", [True, False])
def test_a_dead_letter_that_cannot_be_written_is_counted(at_once: bool) -> None:
    error = KafkaError(Errors.MESSAGE_TOO_LARGE)
    producer = Producer(error if at_once else None)
    letters = Letters(producer)
    future = letters.reporter.report(failed_context())
    if not at_once:
        producer.sent[0].failed(error)
    assert future.exception() is error
    letters.reporter.await_pending()
    assert letters.count("failures") == 1


class Admin:
    def __init__(self, described: Any, made: Any = None) -> None:
        self.described, self.made = described, made
        self.asked: list[tuple[str, int, int]] = []

    def describe_topics(self, topics: list[str]) -> dict[str, Any]:
        return {topics[0]: self.described}

    def create_topics(self, topics: list[Any]) -> dict[str, Any]:
        self.asked += [(topic.name, topic.num_partitions, topic.replication_factor) for topic in topics]
        return {topics[0].name: self.made}


def test_the_topic_is_made_if_it_is_missing() -> None:
    missing = KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION)
    there: Any = Admin("description")
    ensure_topic(there, "dead", 3)
    assert there.asked == []
    for outcome in (None, KafkaError(Errors.TOPIC_ALREADY_EXISTS)):
        admin: Any = Admin(missing, outcome)
        ensure_topic(admin, "dead", 3)
        assert admin.asked == [("dead", 1, 3)]
    refusing: Any = Admin(missing, KafkaError(Errors.INVALID_REPLICATION_FACTOR))
    with pytest.raises(ConnectException, match="Could not initialize dead letter queue with topic=dead"):
        ensure_topic(refusing, "dead", 3)


def test_the_log_names_stage_class_and_place(caplog: pytest.LogCaptureFixture) -> None:
    metrics = ErrorHandlingMetrics(ID, ConnectMetrics())
    context = failed_context()
    with caplog.at_level(logging.ERROR):
        assert LogReporter(ID, True, metrics).report(context).done()
    assert caplog.messages == [
        "Error encountered in task files-0. Executing stage 'VALUE_CONVERTER' with class "
        "'org.apache.kafka.connect.json.JsonConverter', where consumed record is {topic='lines', partition=0, offset=7, "
        "timestamp=5, timestampType=CreateTime}."
    ]


def test_the_log_has_no_data_unless_asked() -> None:
    metrics = ErrorHandlingMetrics(ID, ConnectMetrics())
    context = ProcessingContext(SourceRecord({}, {}, "t", value="secret"))
    context.at(Stage.TRANSFORMATION, FileStreamSinkTask)
    assert "secret" not in LogReporter(ID, False, metrics).message(context)
    assert "secret" in LogReporter(ID, True, metrics).message(context)
