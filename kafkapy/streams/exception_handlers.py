"""What is done about a record that cannot be read, processed or written (KIP-161, KIP-210, KIP-1033).

A handler is named as a class in the configuration; it is made without arguments and answers for each failure.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, NamedTuple

from kafkapy.streams.records import Headers

log = logging.getLogger("kafkapy.streams")


class StreamThreadExceptionResponse(Enum):
    """What is done about an error that has ended a thread (KIP-671).

    Example:
        >>> StreamThreadExceptionResponse.REPLACE_THREAD.value
        'replace the thread'
    """

    REPLACE_THREAD = "replace the thread"
    SHUTDOWN_CLIENT = "stop this instance"
    SHUTDOWN_APPLICATION = "stop all instances of the application"


class HandlerResponse(Enum):
    """What a handler decides.

    Example:
        >>> HandlerResponse.FAIL.value
        1
    """

    CONTINUE = 0
    """Leave the record out and go on; it counts as dropped."""
    FAIL = 1
    """Stop with a StreamsException."""


class ErrorHandlerContext(NamedTuple):
    """Where it happened.

    Attributes:
        topic: Of the record that came in; None in a punctuation.
        partition: Its partition; -1 in a punctuation.
        offset: Its offset; -1 in a punctuation.
        headers: Its headers.
        processor_node_id: The name of the node that failed.
        task_id: As "0_1".
        timestamp: ms.

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
    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerResponse:
        """Decide about one.

        Args:
            context: Where it happened.
            record: As it came, key and value as bytes.
            exception: What the deserializer raised.
        """


class LogAndContinueExceptionHandler(DeserializationExceptionHandler):
    """Skips them.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> LogAndContinueExceptionHandler().handle(context, None, ValueError("no number")).name
        'CONTINUE'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerResponse:
        log.warning("A record cannot be deserialized and is skipped: %s", _where(context), exc_info=exception)
        return HandlerResponse.CONTINUE


class LogAndFailExceptionHandler(DeserializationExceptionHandler):
    """Stops at the first: the default.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> LogAndFailExceptionHandler().handle(context, None, ValueError("no number")).name
        'FAIL'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerResponse:
        log.error("A record cannot be deserialized: %s", _where(context), exc_info=exception)
        return HandlerResponse.FAIL


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
    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerResponse:
        """Decide about one.

        Args:
            context: Where it happened.
            record: The `Record` that the operator was given; None in a punctuation.
            exception: What it raised.
        """


class LogAndContinueProcessingExceptionHandler(ProcessingExceptionHandler):
    """Skips them.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> LogAndContinueProcessingExceptionHandler().handle(context, None, ValueError("no number")).name
        'CONTINUE'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerResponse:
        log.warning("A record cannot be processed and is skipped: %s", _where(context), exc_info=exception)
        return HandlerResponse.CONTINUE


class LogAndFailProcessingExceptionHandler(ProcessingExceptionHandler):
    """Stops at the first: the default.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> LogAndFailProcessingExceptionHandler().handle(context, None, ValueError("no number")).name
        'FAIL'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerResponse:
        log.error("A record cannot be processed: %s", _where(context), exc_info=exception)
        return HandlerResponse.FAIL


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
    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerResponse:
        """Decide about a record that the broker refused, for a reason that trying again does not change.

        Args:
            context: Where the processor or handler is called.
            record: The record.
            exception: The error.
        """

    @abstractmethod
    def handle_serialization_exception(
        self, context: ErrorHandlerContext, record: Any, exception: Exception, of_key: bool
    ) -> HandlerResponse:
        """Decide about a record whose key or value could not be serialized.

        Args:
            context: Where the processor or handler is called.
            record: The record.
            exception: The error.
            of_key: Whether the key could not be serialized; else the value.
        """


class DefaultProductionExceptionHandler(ProductionExceptionHandler):
    """Stops at the first.

    Example:
        >>> from kafkapy.streams import Headers
        >>> context = ErrorHandlerContext("lines", 0, 42, Headers(), "map", "0_0", 1_700_000_000_000)
        >>> DefaultProductionExceptionHandler().handle(context, None, ValueError("no number")).name
        'FAIL'
    """

    def handle(self, context: ErrorHandlerContext, record: Any, exception: Exception) -> HandlerResponse:
        """Decide what happens after an error.

        Args:
            context: Where the processor or handler is called.
            record: The record.
            exception: The error.
        """
        return HandlerResponse.FAIL

    def handle_serialization_exception(
        self, context: ErrorHandlerContext, record: Any, exception: Exception, of_key: bool
    ) -> HandlerResponse:
        """Decide what happens after a key or value that could not be serialized.

        Args:
            context: Where the processor or handler is called.
            record: The record.
            exception: The error.
            of_key: Whether the key could not be serialized; else the value.
        """
        return HandlerResponse.FAIL


def _where(context: ErrorHandlerContext) -> str:
    return (
        f"task {context.task_id}, processor {context.processor_node_id}, "
        f"topic {context.topic}, partition {context.partition}, offset {context.offset}"
    )
