"""Prints docs/errors.md, made of the exceptions and of `error_advice.py`: `python -m tests.pages.generators.errors`."""

from __future__ import annotations

import inspect
import sys

from kafkapy import errors
from kafkapy.protocol.errors import Errors
from tests.pages.generators.error_advice import BY_CLIENT, BY_CODE
from tests.pages.generators.markdown import table

_LIKE_A_BROKERS = (errors.NoResponseError, errors.SaslConnectionError, errors.TopicNotFoundInTimeError)
"""A client finds these out, too, and derives them from what brokers answer, so that programs catch them by either name."""

_INTRODUCTION = """\
# Errors

Generated from `kafkapy/errors.py`, `kafkapy/protocol/errors.py` and `tests/pages/generators/error_advice.py` by
`python -m tests.pages.generators.errors`; change those, not this page.

All are in `kafkapy.errors`, under kafka-python's names, and derive from `KafkaError`. `error.retriable` says
whether the same may be tried again (marked ↻ below): clients have done so already, until the time for it was over,
so it is worth trying later. `error.errno` is the code on the wire; `kafkapy.errors.for_code(code)` finds the class.
"""


def reference() -> str:
    """The page, as Markdown."""
    found = [_client_row(name, advice) for name, advice in BY_CLIENT.items()]
    answered = [_broker_row(error) for error in Errors if error is not Errors.NONE]
    return "\n".join(
        [
            _INTRODUCTION,
            "## What a client finds out by itself\n",
            table(("error", "what it means, and what to do"), found),
            "## What a broker answers\n",
            table(("code", "error", "Kafka's name", "what it means", "what to do"), answered),
        ]
    )


def client_errors() -> list[str]:
    """Names of the exceptions that stand for no answer of a broker."""
    classes = inspect.getmembers(errors, inspect.isclass)
    return [
        name
        for name, found in classes
        if issubclass(found, errors.KafkaError)
        and (not issubclass(found, errors.BrokerResponseError) or found in _LIKE_A_BROKERS)
    ]


def _client_row(name: str, advice: str) -> tuple[str, ...]:
    found = getattr(errors, name)
    return f"`{name}`{_mark(getattr(found, 'retriable', False) is True)}", advice


def _broker_row(error: Errors) -> tuple[str, ...]:
    name = errors.for_code(error.code).__name__
    return str(error.code), f"`{name}`{_mark(error.retriable)}", error.name, error.message, BY_CODE[error]


def _mark(retriable: bool) -> str:
    return " ↻" if retriable else ""


if __name__ == "__main__":
    sys.stdout.write(reference())
