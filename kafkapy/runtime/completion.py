"""One-shot results, and coroutines that await them.

The broker's handlers and the clients' cores are written with these.

All of it runs on one thread (the reactor's or a client driver's) and knows no event loop. `spawn` runs a coroutine that
awaits `Completion`s; setting a result resumes the waiting coroutines at once, on the same stack.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_log = logging.getLogger("kafkapy.runtime")


class CancelledError(BaseException):
    """Thrown into a coroutine whose completion was cancelled. Not an `Exception`, so that retries don't swallow it."""


class Completion(Generic[T]):
    """A result that is set once, later. To be used on the driver's thread only.

    Invariant: callbacks are kept while `done` is False; each is called exactly once, in the order in which it was
    added.
    """

    __slots__ = ("_callbacks", "_error", "_value", "done")

    def __init__(self) -> None:
        self.done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Completion[T]], object]] = []

    @classmethod
    def of(cls, value: T) -> Completion[T]:
        """Return a completion that already has this value."""
        completion: Completion[T] = Completion()
        completion.done = True
        completion._value = value
        return completion

    @classmethod
    def failed(cls, error: BaseException) -> Completion[T]:
        completion: Completion[T] = Completion()
        completion.done = True
        completion._error = error
        return completion

    def set_result(self, value: T) -> None:
        """Complete with a value. Ignored if there is a result already."""
        if not self.done:
            self._value = value
            self._finish()

    def set_exception(self, error: BaseException) -> None:
        """Complete with an error. Ignored if there is a result already."""
        if not self.done:
            self._error = error
            self._finish()

    def result(self) -> T:
        """Return the value or raise the error.

        Raises:
            RuntimeError: there is no result yet.
        """
        if not self.done:
            raise RuntimeError("the result is not there yet")
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def exception(self) -> BaseException | None:
        """Return the error, or None for a value.

        Raises:
            RuntimeError: there is no result yet.
        """
        if not self.done:
            raise RuntimeError("the result is not there yet")
        return self._error

    def add_callback(self, callback: Callable[[Completion[T]], object]) -> None:
        """Call `callback(self)` when there is a result; at once if there is one already."""
        if self.done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def cancel(self) -> None:
        """Complete with `CancelledError`, unless there is a result already."""
        self.set_exception(CancelledError())

    def __await__(self) -> Generator[Completion[Any], None, T]:
        if not self.done:
            yield self
        return self.result()

    def _finish(self) -> None:
        self.done = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback(self)
            except Exception:
                _log.exception("A callback failed")


async def _run(coroutine: Coroutine[Any, Any, T], returned: list[T]) -> None:
    """Append the coroutine's return value to the list.

    A coroutine returns by raising StopIteration, which is expensive to catch in compiled code. This one returns None,
    so `next` with a default sees the end without an exception.
    """
    returned.append(await coroutine)


def _step(steps: Any) -> Completion[Any] | None:
    """Run until the coroutine awaits a completion that is not done, and return that; None if the coroutine has ended."""
    while True:
        awaited: Completion[Any] | None = next(steps, None)
        if awaited is None or not awaited.done:
            return awaited


class Task(Completion[T]):
    """A running coroutine. Its error is logged unless the result is retrieved or has a callback."""

    __slots__ = ("_awaited", "_looked_at", "_returned", "_running", "_steps")

    def __init__(self, steps: Any, returned: list[T], awaited: Completion[Any] | None = None) -> None:
        """`steps`: the iterator of `_run`. `awaited`: the completion it waits for, if it has started already."""
        super().__init__()
        self._steps = steps
        self._returned = returned
        self._awaited = awaited
        self._running = False
        self._looked_at = False
        if awaited is None:
            self._step(None)
        else:
            awaited.add_callback(self._resume)

    def cancel(self) -> None:
        """Throw `CancelledError` into the coroutine at its `await`. It may clean up, and await more for that."""
        if self._running:
            raise RuntimeError("a coroutine cannot cancel itself")
        if not self.done:
            self._looked_at = True
            self._awaited = None
            self._step(CancelledError())

    def result(self) -> T:
        self._looked_at = True
        return super().result()

    def exception(self) -> BaseException | None:
        self._looked_at = True
        return super().exception()

    def add_callback(self, callback: Callable[[Completion[T]], object]) -> None:
        self._looked_at = True
        super().add_callback(callback)

    def _step(self, error: BaseException | None) -> None:
        """Run until the coroutine awaits a completion that is not done, or ends."""
        self._running = True
        try:
            awaited = _step(self._steps) if error is None else self._throw(error)
        except (KeyboardInterrupt, SystemExit) as stop:
            self._running = False
            self.set_exception(stop)
            raise
        except BaseException as failure:
            self._running = False
            # The result of a cancelled task is not retrieved: its traceback's frames would form a reference cycle.
            self.set_exception(failure.with_traceback(None) if isinstance(failure, CancelledError) else failure)
            return
        self._running = False
        if awaited is None:
            self.set_result(self._returned.pop())
        else:
            self._awaited = awaited
            awaited.add_callback(self._resume)

    def _throw(self, error: BaseException) -> Completion[Any] | None:
        try:
            awaited: Completion[Any] = self._steps.throw(error)
        except StopIteration:
            return None
        return _step(self._steps) if awaited.done else awaited

    def _resume(self, completion: Completion[Any]) -> None:
        if completion is self._awaited:  # else: the task was cancelled meanwhile
            self._awaited = None
            self._step(None)

    def __del__(self) -> None:
        if (
            self.done
            and self._error is not None
            and not self._looked_at
            and not getattr(self._error, "is_cancellation", False)
        ):
            _log.error("A task failed", exc_info=self._error)


class FairLock:
    """A mutex that serves waiters in order: `async with lock:`.

    Invariant: `_last` is done when the last waiter has released the lock.
    """

    def __init__(self) -> None:
        self._last: Completion[None] = Completion.of(None)
        self._inside: Completion[None] = self._last

    async def __aenter__(self) -> None:
        before, mine = self._last, Completion[None]()
        self._last = mine
        try:
            await before
        except BaseException:
            before.add_callback(lambda _: mine.set_result(None))
            raise
        self._inside = mine

    async def __aexit__(self, *problem: object) -> None:
        self._inside.set_result(None)


def spawn(coroutine: Coroutine[Any, Any, T]) -> Completion[T]:
    """Start a coroutine that awaits only `Completion`s. It runs at once, up to the first one that is not done."""
    returned: list[T] = []
    return Task(_run(coroutine, returned).__await__(), returned)


def run(coroutine: Coroutine[Any, Any, T]) -> T | Completion[T]:
    """Run a coroutine like `spawn`, but without making a `Task` if it never has to wait.

    Returns its value if it did not wait, else the completion of the value. Raises what it raised before it first
    waited.
    """
    returned: list[T] = []
    steps = _run(coroutine, returned).__await__()
    awaited = _step(steps)
    return returned.pop() if awaited is None else Task(steps, returned, awaited)


async def when_done(completion: Completion[Any]) -> None:
    """Wait until there is a result or an error, without raising it."""
    if not completion.done:
        done: Completion[None] = Completion()
        completion.add_callback(lambda _: done.set_result(None))
        await done


def first_of(*completions: Completion[Any]) -> Completion[None]:
    """Return a completion that is done as soon as one of these is, whatever the outcome."""
    done: Completion[None] = Completion()
    for completion in completions:
        completion.add_callback(lambda _: done.set_result(None))
    return done


async def gather(*awaitables: Awaitable[T]) -> list[T]:
    """Return the results of all, in order. Raises the first error in that order, after those before it are done."""
    return [await awaitable for awaitable in awaitables]
