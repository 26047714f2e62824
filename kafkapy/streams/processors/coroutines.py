"""Coroutine functions in stateless operators: many coroutines run at once, and the order of records is kept."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, Final, NamedTuple

from kafkapy.streams.processor import Processor, TaskContext
from kafkapy.streams.processors.coroutine_loop import COROUTINE_LOOP
from kafkapy.streams.records import Record, RecordContext

MAX_IN_FLIGHT_CONFIG: Final = "kafkapy.coroutines.max.in.flight"
MAX_IN_FLIGHT_DEFAULT: Final = 100


def is_coroutine_function(function: Any) -> bool:
    """Return whether a call of the function returns a coroutine."""
    if inspect.iscoroutinefunction(function):
        return True
    return callable(function) and inspect.iscoroutinefunction(type(function).__call__)


def operator(
    function: Callable[..., Any], make: Callable[[Callable[..., Any]], Processor], *, with_key: bool = True
) -> Processor:
    """Return the processor of an operator with a function that may be a coroutine function.

    Args:
        function: The user's function.
        make: Returns the processor for a blocking function.
        with_key: Whether the function takes key and value; False: the value alone.
    """
    return CoroutineProcessor(function, make, with_key) if is_coroutine_function(function) else make(function)


class InFlight(NamedTuple):
    """A record whose coroutine was started.

    Attributes:
        record: The input record.
        context: Its record context.
        future: The coroutine's future.
    """

    record: Record[Any, Any]
    context: RecordContext | None
    future: Future[Any]


class CoroutineProcessor(Processor):
    """Starts a coroutine for each record, and applies the operator to the record when it has ended.

    Invariants: `waiting` has the records that were not forwarded, in input order, and at most `limit` of them. The
    task completes and forwards all of them before it commits, and before it punctuates by stream time.

    Args:
        function: A coroutine function.
        make: Returns the operator's processor for a function of the same arguments that returns the coroutine's
            result.
        with_key: Whether the function takes key and value.
    """

    def __init__(
        self, function: Callable[..., Any], make: Callable[[Callable[..., Any]], Processor], with_key: bool
    ) -> None:
        self.waiting: deque[InFlight] = deque()
        self.limit = MAX_IN_FLIGHT_DEFAULT
        self._function = function
        self._with_key = with_key
        self._result: Any = None
        self._operator = make(lambda *_: self._result)

    def init(self, context: Any) -> None:
        super().init(context)
        self._task: TaskContext = context
        self.limit = int(context.config.get(MAX_IN_FLIGHT_CONFIG, MAX_IN_FLIGHT_DEFAULT))
        self._operator.init(context)

    @property
    def is_full(self) -> bool:
        """Return whether `limit` coroutines are pending, so that the next record must wait."""
        return len(self.waiting) >= self.limit

    def process(self, record: Record[Any, Any]) -> None:
        """Start the coroutine; the caller ensures that fewer than `limit` are pending."""
        coroutine = self._function(record.key, record.value) if self._with_key else self._function(record.value)
        self.waiting.append(InFlight(record, self._task.record_context, COROUTINE_LOOP.start(coroutine)))

    def first(self, *, wait_for_it: bool) -> InFlight | None:
        """Remove and return the first record if its coroutine has ended.

        Args:
            wait_for_it: Whether to wait for its end.

        Returns:
            The record; None if there is none, or its coroutine is running.
        """
        if not self.waiting or not (wait_for_it or self.waiting[0].future.done()):
            return None
        wait([self.waiting[0].future])
        return self.waiting.popleft()

    def hand_on(self, done: InFlight) -> None:
        """Apply the operator to a record.

        Raises:
            Exception: The error of the coroutine, or of a downstream node.
        """
        try:
            self._result = done.future.result()
            self._operator.process(done.record)
        finally:
            self._result = None

    def close(self) -> None:
        """Cancel running coroutines: the partition's next task processes the records again."""
        for one in self.waiting:
            one.future.cancel()
        self.waiting.clear()
        self._operator.close()
