"""The exceptions of Connect: Kafka's names, messages and hierarchy.

Each class has `java_class`, the full name that Kafka Connect writes to headers of dead letters, traces of tasks and
REST responses; `java_class_of` returns it for any exception.
"""

from __future__ import annotations

from typing import ClassVar

from kafkapy.common.config_def import ConfigException

_ERRORS = "org.apache.kafka.connect.errors."
_REST = "org.apache.kafka.connect.runtime.rest.errors."
_DISTRIBUTED = "org.apache.kafka.connect.runtime.distributed."


class ConnectException(Exception):
    """Base of all errors of Connect (`org.apache.kafka.connect.errors.ConnectException`).

    Args:
        message: What went wrong. None: Java's null.

    Attributes:
        message: As given.
        java_class: Full name of the Java class.

    Example:
        >>> error = DataException("no such field")
        >>> error.java_class, str(error)
        ('org.apache.kafka.connect.errors.DataException', 'no such field')
    """

    java_class: ClassVar[str] = f"{_ERRORS}ConnectException"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(*(() if message is None else (message,)))
        self.message = message

    @classmethod
    def of(cls, cause: BaseException) -> ConnectException:
        """Wrap another exception; its class and message become the message, as Java does."""
        error = cls(java_text_of(cause))
        error.__cause__ = cause
        return error


class DataException(ConnectException):
    """Data do not fit their schema, or cannot be converted."""

    java_class = f"{_ERRORS}DataException"


class SchemaBuilderException(DataException):
    """A schema cannot be built."""

    java_class = f"{_ERRORS}SchemaBuilderException"


class SchemaProjectorException(DataException):
    """Data cannot be projected from one schema to another."""

    java_class = f"{_ERRORS}SchemaProjectorException"


class RetriableException(ConnectException):
    """The operation can be tried again; a sink's records are delivered again."""

    java_class = f"{_ERRORS}RetriableException"


class NotFoundException(ConnectException):
    """A connector, a task or an offset does not exist."""

    java_class = f"{_ERRORS}NotFoundException"


class AlreadyExistsException(ConnectException):
    """A connector of this name exists."""

    java_class = f"{_ERRORS}AlreadyExistsException"


class IllegalWorkerStateException(ConnectException):
    """A method was called in a state in which it is not allowed."""

    java_class = f"{_ERRORS}IllegalWorkerStateException"


class StartCancelled(ConnectException):
    """The worker was asked to stop before it had started."""


class ConnectRestException(ConnectException):
    """An error with a status of HTTP.

    Args:
        status: The response's status.
        message: What went wrong.
        error_code: The body's `error_code`. Default: `status`.
    """

    java_class = f"{_REST}ConnectRestException"

    def __init__(self, status: int, message: str | None = None, error_code: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = status if error_code is None else error_code


class BadRequestException(ConnectRestException):
    """A request is malformed: status 400."""

    java_class = f"{_REST}BadRequestException"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(400, message)


class RequestTargetException(ConnectException):
    """A request was sent to the wrong worker.

    Args:
        message: What went wrong.
        forward_url: Address of the worker that can answer. None: unknown.
    """

    java_class = f"{_DISTRIBUTED}RequestTargetException"

    def __init__(self, message: str | None = None, forward_url: str | None = None) -> None:
        super().__init__(message)
        self.forward_url = forward_url


class NotLeaderException(RequestTargetException):
    """The operation needs the group's leader, and this worker is not the leader."""

    java_class = f"{_DISTRIBUTED}NotLeaderException"


class NotAssignedException(RequestTargetException):
    """The connector or task belongs to another worker."""

    java_class = f"{_DISTRIBUTED}NotAssignedException"


class RebalanceNeededException(ConnectException):
    """The group must rebalance before this can be done."""

    java_class = f"{_DISTRIBUTED}RebalanceNeededException"


class ConnectorBusyException(ConnectException):
    """A connector has not answered yet; its answer can be asked for again."""


class ClassCastException(ConnectException, TypeError):
    """A value does not have the type of its schema; detected during its conversion."""

    java_class = "java.lang.ClassCastException"


class NullPointerException(ConnectException, TypeError):
    """A value is missing; Java has no explicit check at this place."""

    java_class = "java.lang.NullPointerException"


class NumberFormatException(ConnectException, ValueError):
    """A text is no number."""

    java_class = "java.lang.NumberFormatException"


class IllegalArgumentException(ConnectException, ValueError):
    """An argument is not allowed."""

    java_class = "java.lang.IllegalArgumentException"


class IllegalStateException(ConnectException, RuntimeError):
    """A method was called in the wrong state."""

    java_class = "java.lang.IllegalStateException"


class SerializationException(ConnectException, ValueError):
    """Bytes cannot be read, or a value cannot be written."""

    java_class = "org.apache.kafka.common.errors.SerializationException"


_JAVA_CLASSES: tuple[tuple[type[BaseException], str], ...] = (
    (ConfigException, "org.apache.kafka.common.config.ConfigException"),
    (UnicodeError, SerializationException.java_class),
    (NotImplementedError, "java.lang.UnsupportedOperationException"),
    (TimeoutError, "java.util.concurrent.TimeoutException"),
    (FileNotFoundError, "java.io.FileNotFoundException"),
    (OSError, "java.io.IOException"),
    (MemoryError, "java.lang.OutOfMemoryError"),
    (RecursionError, "java.lang.StackOverflowError"),
    (IndexError, "java.lang.IndexOutOfBoundsException"),
    (LookupError, "java.util.NoSuchElementException"),
    (ArithmeticError, "java.lang.ArithmeticException"),
    (ValueError, IllegalArgumentException.java_class),
    (TypeError, ClassCastException.java_class),
    (RuntimeError, "java.lang.RuntimeException"),
)


def java_class_of(error: BaseException) -> str:
    """Return the full name of the Java class that an exception stands for.

    Args:
        error: Any exception. One of another package without an equivalent in Java keeps its Python name.

    Example:
        >>> java_class_of(ValueError("no")), java_class_of(NotFoundException("no"))
        ('java.lang.IllegalArgumentException', 'org.apache.kafka.connect.errors.NotFoundException')
    """
    own = getattr(type(error), "java_class", None)
    if isinstance(own, str):
        return own
    for python, java in _JAVA_CLASSES:
        if isinstance(error, python):
            return java
    return f"{type(error).__module__}.{type(error).__qualname__}"


def java_text_of(error: BaseException) -> str:
    """Return `class: message`, as Java's `Throwable.toString`."""
    message = str(error) if error.args else None
    return java_class_of(error) if message is None else f"{java_class_of(error)}: {message}"
