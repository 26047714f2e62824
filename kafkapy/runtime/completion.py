"""One-shot results and coroutines over them: what the broker's handlers and the cores of the clients are written with.

They run on one thread, the reactor's or a client driver's, and know no event loop. `spawn` runs a coroutine that awaits
`Completion`s; setting a result resumes the coroutines that wait for it, at once and on the same stack.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_log = logging.getLogger("kafkapy.runtime")


class CancelledError(BaseException):
    """Thrown into a coroutine whose completion was cancelled. No `Exception`, so that retries don't swallow it."""


class Completion(Generic[T]):
    """A result that comes later, once. For use on the driver's thread only.

    Invariant: callbacks are kept while `done` is False and each is called exactly once, in the order of adding.
    """

    __slots__ = ("_callbacks", "_error", "_value", "done")

    def __init__(self) -> None:
        self.done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Completion[T]], object]] = []

    @classmethod
    def of(cls, value: T) -> Completion[T]:
        """One that is done already."""
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
        """Ignored if there is a result already."""
        if not self.done:
            self._value = value
            self._finish()

    def set_exception(self, error: BaseException) -> None:
        """Ignored if there is a result already."""
        if not self.done:
            self._error = error
            self._finish()

    def result(self) -> T:
        """The value; raises the error, or RuntimeError if there is nothing yet."""
        if not self.done:
            raise RuntimeError("the result is not there yet")
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def exception(self) -> BaseException | None:
        """The error it ended with, None for a value; RuntimeError if there is nothing yet."""
        if not self.done:
            raise RuntimeError("the result is not there yet")
        return self._error

    def add_callback(self, callback: Callable[[Completion[T]], object]) -> None:
        """Call `callback(self)` when it is done; at once if it is."""
        if self.done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def cancel(self) -> None:
        """End with `CancelledError`, unless there is a result already."""
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
    """Put what the coroutine returns into the list.

    A coroutine returns by an exception, which takes 1.4 µs to catch in machine code. Of one that returns nothing, `next` tells
    the end without an exception.
    """
    returned.append(await coroutine)


def _step(steps: Any) -> Completion[Any] | None:
    """Go on until the coroutine waits for something that is not done, which is returned; None if it has ended."""
    while True:
        awaited: Completion[Any] | None = next(steps, None)
        if awaited is None or not awaited.done:
            return awaited


class Task(Completion[T]):
    """A running coroutine. Its failure is logged if it is never looked at."""

    __slots__ = ("_awaited", "_looked_at", "_returned", "_running", "_steps")

    def __init__(self, steps: Any, returned: list[T], awaited: Completion[Any] | None = None) -> None:
        """`steps`: of `_run`. `awaited`: what it waits for, if it has begun."""
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
        """Throw `CancelledError` into the coroutine where it waits; it may clean up, and wait for that."""
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
        """Run until the coroutine waits for something that is not done, or ends."""
        self._running = True
        try:
            awaited = _step(self._steps) if error is None else self._throw(error)
        except (KeyboardInterrupt, SystemExit) as stop:
            self._running = False
            self.set_exception(stop)
            raise
        except BaseException as failure:
            self._running = False
            # What was cancelled is not looked at; the frames of its traceback would keep each other, and all that is in them.
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
        if completion is self._awaited:  # else it was cancelled meanwhile
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
    """Lets one in at a time, in the order of asking: `async with lock:`.

    Invariant: `_last` is done when the last of those who asked has left.
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
    """Start a coroutine that awaits `Completion`s only; it runs at once, until the first that is not done."""
    returned: list[T] = []
    return Task(_run(coroutine, returned).__await__(), returned)


def run(coroutine: Coroutine[Any, Any, T]) -> T | Completion[T]:
    """As `spawn`, but a coroutine that ends without having waited for anything costs no task.

    Returns its value, then; else the completion of that. Raises what it has raised before it had to wait.
    """
    returned: list[T] = []
    steps = _run(coroutine, returned).__await__()
    awaited = _step(steps)
    return returned.pop() if awaited is None else Task(steps, returned, awaited)


async def when_done(completion: Completion[Any]) -> None:
    """Wait for it, whatever its outcome."""
    if not completion.done:
        done: Completion[None] = Completion()
        completion.add_callback(lambda _: done.set_result(None))
        await done


def first_of(*completions: Completion[Any]) -> Completion[None]:
    """Done when the first of them is, whatever its outcome."""
    done: Completion[None] = Completion()
    for completion in completions:
        completion.add_callback(lambda _: done.set_result(None))
    return done


async def gather(*awaitables: Awaitable[T]) -> list[T]:
    """The results of all, in order. Raises the first error in that order, when those before it are done."""
    return [await awaitable for awaitable in awaitables]
