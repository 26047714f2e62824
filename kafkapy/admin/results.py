"""The results of an operation on several keys: for each key its value or its final error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from kafkapy.errors import error_for
from kafkapy.protocol.errors import Errors, KafkaError

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

Results = dict[K, V | KafkaError]


class Answer(Generic[T]):
    """A response, or one key's part of it, with its version and the broker that sent it."""

    __slots__ = ("node_id", "response", "version")

    def __init__(self, response: T, version: int, node_id: int) -> None:
        self.response = response
        self.version = version
        self.node_id = node_id


def value_of(result: V | KafkaError) -> V:
    """Return the value of one key, or raise its error."""
    if isinstance(result, KafkaError):
        raise result
    return result


def values_of(results: Mapping[K, V | KafkaError]) -> dict[K, V]:
    """Return all values, or raise the first error (Kafka's `all().get()`)."""
    return {key: value_of(result) for key, result in results.items()}


def error_of(code: int, message: str | None = None) -> KafkaError | None:
    """Return the error of a code and message; None for success."""
    return None if code == 0 else error_for(code, message)


def failure_of(part: Any) -> KafkaError | None:
    """Return the error in the fields of a response's part; None for success."""
    return error_of(part.error_code, getattr(part, "error_message", None))


def raise_failure(part: Any) -> None:
    failure = failure_of(part)
    if failure is not None:
        raise failure


def read(answers: Mapping[K, Answer[Any] | KafkaError], value: Callable[[Any], V]) -> Results[K, V]:
    """Convert each part: to its value, or to the error that it has."""
    return {
        key: answer if isinstance(answer, KafkaError) else failure_of(answer.response) or value(answer.response)
        for key, answer in answers.items()
    }


def outcomes(answers: Mapping[K, Answer[Any] | KafkaError]) -> Results[K, None]:
    """Return the error of each part; None for success."""
    return {
        key: answer if isinstance(answer, KafkaError) else failure_of(answer.response)
        for key, answer in answers.items()
    }


def told(results: Mapping[K, V | KafkaError], keys: Iterable[K], who: str, what: str) -> Results[K, V]:
    """Return the result of each key; an error for keys that are missing in the response."""
    missing = error_for(Errors.UNKNOWN_SERVER_ERROR, f"The {who}'s response lacks a result for this {what}")
    return {key: results.get(key, missing) for key in keys}
