"""Handlers of records that cannot be deserialized, processed or written (KIP-161, KIP-210, KIP-1033).

The configuration names a handler's class, which is instantiated without arguments; the handler decides about each
failure.
"""

from __future__ import annotations

import logging
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from kafkapy.streams.records import Headers

log = logging.getLogger("kafkapy.streams")

DEAD_LETTER_TOPIC: Final = "errors.dead.letter.queue.topic.name"
_LONGEST_TEXT: Final = 16_384
"""Limit of the characters of a message or a stack trace in a header."""


class StreamThreadExceptionResponse(Enum):
    """The response to an error that has ended a thread (KIP-671).

    Example:
        >>> StreamThreadExceptionResponse.REPLACE_THREAD.value
        'replace the thread'
    """

    REPLACE_THREAD = "replace the thread"
    SHUTDOWN_CLIENT = "stop this instance"
    SHUTDOWN_APPLICATION = "stop all instances of the application"


class HandlerResponse(Enum):
    """The decision of a handler.

    Example:
        >>> HandlerResponse.FAIL.value
        1
    """

    CONTINUE = 0
    """Skip the record and continue; it counts as dropped."""
    FAIL = 1
    """Stop with a StreamsException."""


class ErrorHandlerContext(NamedTuple):
    """The context of a failure.

    Attributes:
        topic: Topic of the input record; None in a punctuation.
        partition: Its partition; -1 in a punctuation.
        offset: Its offset; -1 in a punctuation.
        headers: Its headers.
        processor_node_id: The name of the node that failed.
        task_id: For example "0_1".
        timestamp: Timestamp in ms.
        source_raw_key: Key of the input record, as bytes; None unless there is a dead-letter topic.
        source_raw_value: Its value, likewise.

    Example:
        >>> from kafkapy.streams import Headers
        >>> ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000).task_id
        '0_0'
    """

    topic: str | None
    partition: int
    offset: int
    headers: Headers
    processor_node_id: str
    task_id: str
    timestamp: int
    source_raw_key: bytes | None = None
    source_raw_value: bytes | None = None


class DeadLetterRecord(NamedTuple):
    """A record for a dead-letter topic (KIP-1034).

    Attributes:
        topic: Destination topic.
        key: Key as bytes.
        value: Value as bytes.
        timestamp: Timestamp in ms.
        headers: Headers; those of `dead_letter` describe the failure.

    Example:
        >>> DeadLetterRecord("failed", b"key", b"value", 1_700_000_000_000, []).topic
        'failed'
    """

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: list[tuple[str, bytes]]


class ErrorHandlerResponse(NamedTuple):
    """The decision of a handler, with records for a dead-letter topic (KIP-1034).

    Attributes:
        result: Continue or fail.
        dead_letters: Records that are sent in both cases.

    Example:
        >>> ErrorHandlerResponse.resume().result.name
        'CONTINUE'
    """

    result: HandlerResponse
    dead_letters: tuple[DeadLetterRecord, ...] = ()

    @classmethod
    def resume(cls, dead_letters: Iterable[DeadLetterRecord] = ()) -> ErrorHandlerResponse:
        """Skip the record and continue.

        Args:
            dead_letters: Records for a dead-letter topic.
        """
        return cls(HandlerResponse.CONTINUE, tuple(dead_letters))

    @classmethod
    def fail(cls, dead_letters: Iterable[DeadLetterRecord] = ()) -> ErrorHandlerResponse:
        """Stop with a StreamsException.

        Args:
            dead_letters: Records for a dead-letter topic; with exactly-once they are part of the transaction, which is
                aborted.
        """
        return cls(HandlerResponse.FAIL, tuple(dead_letters))


HandlerDecision = HandlerResponse | ErrorHandlerResponse
"""The possible results of a handler's `handle`."""


def settle(decision: HandlerDecision, send: Callable[[DeadLetterRecord], object]) -> bool:
    """Send the dead letters of a decision.

    Args:
        decision: A handler's decision.
        send: Sends a dead letter.

    Returns:
        Whether the task fails.
    """
    if isinstance(decision, HandlerResponse):
        return decision is HandlerResponse.FAIL
    for record in decision.dead_letters:
        send(record)
    return decision.result is HandlerResponse.FAIL


def dead_letter(topic: str, context: ErrorHandlerContext, exception: BaseException) -> DeadLetterRecord:
    """Return the input record with Kafka's headers about the failure.

    Args:
        topic: The dead-letter topic.
        context: The context of the failure.
        exception: The exception.

    Example:
        >>> where = ErrorHandlerContext("lines", 0, 42, [], "map", "0_0", 5, b"key", b"value")
        >>> dict(dead_letter("failed", where, ValueError("no number")).headers)["__streams.errors.message"]
        b'no number'
    """
    trace = "".join(traceback.format_exception(exception))
    headers = {
        "exception": _text(exception),
        "message": str(exception),
        "stacktrace": trace,
        "topic": context.topic or "",
        "partition": str(context.partition),
        "offset": str(context.offset),
    }
    return DeadLetterRecord(
        topic,
        context.source_raw_key,
        context.source_raw_value,
        context.timestamp,
        [
            (f"__streams.errors.{name}", text[:_LONGEST_TEXT].encode("utf-8", "replace"))
            for name, text in headers.items()
        ],
    )


def _text(exception: BaseException) -> str:
    """Return class and message, if any, like Java's `Throwable.toString`."""
    kind, message = type(exception), str(exception)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    return f"{name}: {message}" if message else name


class _DeadLetters:
    """Common base of Kafka's handlers: the dead-letter topic of `errors.dead.letter.queue.topic.name`."""

    _topic: str | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the topic from the application's configs.

        Args:
            configs: By Kafka's names.
        """
        self._topic = configs.get(DEAD_LETTER_TOPIC) or None

    def _dead_letters(self, context: ErrorHandlerContext, exception: BaseException) -> Iterable[DeadLetterRecord]:
        return () if self._topic is None else (dead_letter(self._topic, context, exception),)


class DeserializationExceptionHandler(ABC):
    """For records that cannot be read (`default.deserialization.exception.handler`).

    Example:
        >>> class Skip(DeserializationExceptionHandler):
        ...     def handle(self, context, record, exception):
        ...         return HandlerResponse.CONTINUE
        >>> Skip().handle(None, None, ValueError()).name
        'CONTINUE'
    """

    @abstractmethod
    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerDecision:
        """Decide about one.

        Args:
            context: Where it happened.
            record: As it came, key and value as bytes.
            exception: What the deserializer raised.
        """


class LogAndContinueExceptionHandler(_DeadLetters, DeserializationExceptionHandler):
    """Skips them.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> LogAndContinueExceptionHandler().handle(context, None, ValueError("no number")).result.name
        'CONTINUE'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerDecision:
        log.warning("A record cannot be deserialized and is skipped: %s", _where(context), exc_info=exception)
        return ErrorHandlerResponse.resume(self._dead_letters(context, exception))


class LogAndFailExceptionHandler(_DeadLetters, DeserializationExceptionHandler):
    """Stops at the first: the default.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> LogAndFailExceptionHandler().handle(context, None, ValueError("no number")).result.name
        'FAIL'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerDecision:
        log.error("A record cannot be deserialized: %s", _where(context), exc_info=exception)
        return ErrorHandlerResponse.fail(self._dead_letters(context, exception))


class ProcessingExceptionHandler(ABC):
    """For records that an operator raised an exception for (`processing.exception.handler`).

    Example:
        >>> class Skip(ProcessingExceptionHandler):
        ...     def handle(self, context, record, exception):
        ...         return HandlerResponse.CONTINUE
        >>> Skip().handle(None, None, ValueError()).name
        'CONTINUE'
    """

    @abstractmethod
    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerDecision:
        """Decide about one.

        Args:
            context: Where it happened.
            record: The `Record` that the operator was given; None in a punctuation.
            exception: What it raised.
        """


class LogAndContinueProcessingExceptionHandler(_DeadLetters, ProcessingExceptionHandler):
    """Skips them.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> LogAndContinueProcessingExceptionHandler().handle(context, None, ValueError("no number")).result.name
        'CONTINUE'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerDecision:
        log.warning("A record cannot be processed and is skipped: %s", _where(context), exc_info=exception)
        return ErrorHandlerResponse.resume(self._dead_letters(context, exception))


class LogAndFailProcessingExceptionHandler(_DeadLetters, ProcessingExceptionHandler):
    """Stops at the first: the default.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> LogAndFailProcessingExceptionHandler().handle(context, None, ValueError("no number")).result.name
        'FAIL'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerDecision:
        log.error("A record cannot be processed: %s", _where(context), exc_info=exception)
        return ErrorHandlerResponse.fail(self._dead_letters(context, exception))


class ProductionExceptionHandler(ABC):
    """For records that cannot be written (`default.production.exception.handler`).

    Example:
        >>> class Skip(ProductionExceptionHandler):
        ...     def handle(self, context, record, exception):
        ...         return HandlerResponse.CONTINUE
        ...     def handle_serialization_exception(self, context, record, exception, of_key):
        ...         return HandlerResponse.FAIL
        >>> Skip().handle(None, None, ValueError()).name
        'CONTINUE'
    """

    @abstractmethod
    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerDecision:
        """Decide about a record that the broker refused with an error that is not retriable.

        Args:
            context: Where the processor or handler is called.
            record: The record.
            exception: The error.
        """

    @abstractmethod
    def handle_serialization_exception(
        self, context: ErrorHandlerContext, record: Any, exception: Exception, of_key: bool
    ) -> HandlerDecision:
        """Decide about a record whose key or value could not be serialized.

        Args:
            context: Where the processor or handler is called.
            record: The record.
            exception: The error.
            of_key: Whether the key could not be serialized; else the value.
        """


class DefaultProductionExceptionHandler(_DeadLetters, ProductionExceptionHandler):
    """Stops at the first.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> DefaultProductionExceptionHandler().handle(context, None, ValueError("no number")).result.name
        'FAIL'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerDecision:
        """Decide what happens after an error.

        Args:
            context: Where the processor or handler is called.
            record: The record.
            exception: The error.
        """
        return ErrorHandlerResponse.fail(self._dead_letters(context, exception))

    def handle_serialization_exception(
        self, context: ErrorHandlerContext, record: Any, exception: Exception, of_key: bool
    ) -> HandlerDecision:
        """Decide what happens after a key or value that could not be serialized.

        Args:
            context: Where the processor or handler is called.
            record: The record.
            exception: The error.
            of_key: Whether the key could not be serialized; else the value.
        """
        return ErrorHandlerResponse.fail(self._dead_letters(context, exception))


def _where(context: ErrorHandlerContext) -> str:
    return (
        f"task {context.task_id}, processor {context.processor_node_id}, "
        f"topic {context.topic}, partition {context.partition}, offset {context.offset}"
    )
