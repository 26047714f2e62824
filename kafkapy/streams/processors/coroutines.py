"""Coroutine functions in operators: each is run to its end before the operator goes on."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, Final

RunCoroutine = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine to its end and gives its result."""


class CoroutineRunner:
    """Runs coroutines one after another on event loops of its own, one a thread.

    Invariant: a thread's loop is not running between two calls. In a thread whose own event loop is running, a helper thread
    runs the coroutine while this one waits.
    """

    def __init__(self) -> None:
        self._local = threading.local()
        self._helper: ThreadPoolExecutor | None = None

    def __call__(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        if asyncio._get_running_loop() is None:
            return self._run(coroutine)
        if self._helper is None:
            self._helper = ThreadPoolExecutor(1, "streams-coroutines")
        return self._helper.submit(self._run, coroutine).result()

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        loop: asyncio.AbstractEventLoop | None = getattr(self._local, "loop", None)
        if loop is None or loop.is_closed():
            loop = self._local.loop = asyncio.new_event_loop()
        return loop.run_until_complete(coroutine)


_DEFAULT: Final = CoroutineRunner()

run_coroutine: ContextVar[RunCoroutine] = ContextVar("run_coroutine", default=_DEFAULT)
"""How operators run coroutines in this context; a runtime that has an event loop sets its own way before it processes."""


def is_coroutine_function(function: Any) -> bool:
    """Whether a call gives a coroutine."""
    if inspect.iscoroutinefunction(function):
        return True
    return callable(function) and inspect.iscoroutinefunction(type(function).__call__)


def run_to_end(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one that blocks: itself, or if it is a coroutine function, one that runs the coroutine to its end."""
    return AwaitedFunction(function) if is_coroutine_function(function) else function


class AwaitedFunction:
    """Calls a coroutine function and waits for its result."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return run_coroutine.get()(self.function(*args))
