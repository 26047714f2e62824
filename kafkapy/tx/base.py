"""Bridges from the cores' completions to Twisted's Deferreds."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet import defer
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from kafkapy.runtime.completion import CancelledError, Completion, spawn

T = TypeVar("T")


def to_deferred(completion: Completion[T]) -> Deferred[T]:
    """A Deferred with the completion's result. Cancelling the Deferred cancels the completion."""
    deferred: Deferred[T] = Deferred(lambda _: completion.cancel())

    def finished(done: Completion[T]) -> None:
        error = done.exception()
        if error is None:
            deferred.callback(done.result())
        elif isinstance(error, CancelledError):
            deferred.errback(Failure(defer.CancelledError()))
        else:
            deferred.errback(Failure(error))

    completion.add_callback(finished)
    return deferred


def run(coroutine: Coroutine[Any, Any, T]) -> Deferred[T]:
    """Start a coroutine over completions; the Deferred fires with its result."""
    return to_deferred(spawn(coroutine))


def from_deferred(deferred: Deferred[T]) -> Completion[T]:
    """The reverse: a Deferred, for example of a rebalance listener, as a completion for a core."""
    completion: Completion[T] = Completion()

    def failed(failure: Failure) -> None:
        completion.set_exception(failure.value or RuntimeError("a Deferred failed without a reason"))

    deferred.addCallbacks(completion.set_result, failed)
    return completion
