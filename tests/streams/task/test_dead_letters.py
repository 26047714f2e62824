"""Records that cannot be read, processed or serialized go to a dead-letter topic (KIP-1034)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams import (
    Consumed,
    DefaultProductionExceptionHandler,
    ErrorHandlerContext,
    ErrorHandlerResponse,
    KStream,
    LogAndContinueExceptionHandler,
    LogAndContinueProcessingExceptionHandler,
    ProcessingExceptionHandler,
    Produced,
    Serdes,
    StreamsBuilder,
)
from kafkapy.streams.exception_handlers import DeadLetterRecord, HandlerResponse, dead_letter
from kafkapy.streams.testing import TestRecord, TopologyTestDriver

BAD = b"\x00\x01"


class ContinueProduction(DefaultProductionExceptionHandler):
    def handle_serialization_exception(
        self, context: ErrorHandlerContext, record: Any, exception: Exception, of_key: bool
    ) -> ErrorHandlerResponse:
        failed = super().handle_serialization_exception(context, record, exception, of_key)
        assert isinstance(failed, ErrorHandlerResponse)
        return ErrorHandlerResponse.resume(failed.dead_letters)


def run(
    configs: dict[str, Any], values: list[bytes], operator: Callable[[int], Any] = lambda value: value
) -> tuple[list[int], list[TestRecord]]:
    """The values that came out, and the dead letters; the topology reads and writes integers."""
    builder, integer = StreamsBuilder(), Serdes.integer()
    stream: KStream[bytes, int] = builder.stream("in", Consumed.with_(Serdes.byte_array(), integer))
    stream.map_values(operator).to("out", Produced.with_(Serdes.byte_array(), integer))
    with TopologyTestDriver(builder.build(), {"errors.dead.letter.queue.topic.name": "dead", **configs}) as driver:
        raw = Serdes.byte_array()
        source = driver.create_input_topic("in", raw.serializer(), raw.serializer())
        out = driver.create_output_topic("out", raw.deserializer(), integer.deserializer())
        dead = driver.create_output_topic("dead", raw.deserializer(), raw.deserializer())
        for number, value in enumerate(values):
            source.pipe_input(b"key", value, 1000 + number)
        found = [] if out.is_empty() else [record.value for record in out.read_records_to_list()]
        return found, [] if dead.is_empty() else dead.read_records_to_list()


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def test_a_record_that_cannot_be_read() -> None:
    configs = {"default.deserialization.exception.handler": LogAndContinueExceptionHandler}
    found, dead = run(configs, [number(1), BAD, number(3)])
    assert found == [1, 3]
    assert [(letter.key, letter.value, letter.timestamp) for letter in dead] == [(b"key", BAD, 1001)]
    headers = dict(dead[0].headers)
    assert list(headers) == [
        f"__streams.errors.{name}" for name in ("exception", "message", "stacktrace", "topic", "partition", "offset")
    ]
    assert headers["__streams.errors.topic"] == b"in"
    assert headers["__streams.errors.partition"] == b"0"
    assert headers["__streams.errors.offset"] == b"1"
    assert headers["__streams.errors.exception"] == b"ValueError: " + headers["__streams.errors.message"]  # type: ignore[operator]


def test_a_record_that_cannot_be_processed_goes_as_it_came() -> None:
    def operator(value: int) -> int:
        return 6 // value

    configs = {"processing.exception.handler": LogAndContinueProcessingExceptionHandler}
    found, dead = run(configs, [number(2), number(0), number(3)], operator)
    assert found == [3, 2]
    assert [(letter.key, letter.value) for letter in dead] == [(b"key", number(0))]
    assert b"ZeroDivisionError" in (dict(dead[0].headers)["__streams.errors.stacktrace"] or b"")


def test_a_record_that_cannot_be_serialized() -> None:
    configs = {"default.production.exception.handler": ContinueProduction}
    found, dead = run(configs, [number(2), number(3)], lambda value: 1 << 40 if value == 2 else value)
    assert found == [3]
    assert [(letter.key, letter.value) for letter in dead] == [(b"key", number(2))]


def test_without_a_topic_there_is_none() -> None:
    configs = {
        "default.deserialization.exception.handler": LogAndContinueExceptionHandler,
        "errors.dead.letter.queue.topic.name": None,
    }
    assert run(configs, [BAD, number(3)]) == ([3], [])


class ToTwoTopics(ProcessingExceptionHandler):
    """Uses its own records."""

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> ErrorHandlerResponse:
        return ErrorHandlerResponse.resume(dead_letter(topic, context, exception) for topic in ("dead", "other"))


def test_a_handler_may_send_what_it_likes() -> None:
    def operator(value: int) -> int:
        raise ValueError(value)

    builder = StreamsBuilder()
    builder.stream("in", Consumed.with_(Serdes.byte_array(), Serdes.integer())).map_values(operator).to(
        "out", Produced.with_(Serdes.byte_array(), Serdes.integer())
    )
    configs = {"processing.exception.handler": ToTwoTopics}
    with TopologyTestDriver(builder.build(), configs) as driver:
        raw = Serdes.byte_array()
        source = driver.create_input_topic("in", raw.serializer(), raw.serializer())
        source.pipe_input(b"key", number(1), 0)
        assert driver.produced_topic_names() >= {"dead", "other"}


def test_stack_traces_are_bounded() -> None:
    context = ErrorHandlerContext("in", 0, 1, [], "node", "0_0", 5)
    letter = dead_letter("dead", context, ValueError("x" * 100_000))
    assert isinstance(letter, DeadLetterRecord)
    assert len(dict(letter.headers)["__streams.errors.stacktrace"]) < 20_000
    assert ErrorHandlerResponse.fail().result is HandlerResponse.FAIL
