"""Coroutine functions in operators without state: many coroutines run at once, and records go on in their order."""

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
    """Whether a call gives a coroutine."""
    if inspect.iscoroutinefunction(function):
        return True
    return callable(function) and inspect.iscoroutinefunction(type(function).__call__)


def operator(
    function: Callable[..., Any], make: Callable[[Callable[..., Any]], Processor], *, with_key: bool = True
) -> Processor:
    """The processor of an operator with a function that may be a coroutine function.

    Args:
        function: The user's.
        make: Makes the processor with a function that blocks.
        with_key: Whether the function takes key and value; False: the value alone.
    """
    return CoroutineProcessor(function, make, with_key) if is_coroutine_function(function) else make(function)


class InFlight(NamedTuple):
    """A record whose coroutine was started.

    Attributes:
        record: What came in.
        context: Where it comes from.
        future: Of the coroutine.
    """

    record: Record[Any, Any]
    context: RecordContext | None
    future: Future[Any]


class CoroutineProcessor(Processor):
    """Starts a coroutine for each record, and hands records on as the operator does once theirs have ended.

    Invariants: `waiting` has the records that were not handed on, in the order in which they came, and `limit` of them at most.
    The task hands all of them on before it commits, and before it punctuates by stream time.

    Args:
        function: A coroutine function.
        make: Makes the operator's own processor, with a function of the same arguments that returns the coroutine's result.
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
        """Whether the next record has to wait."""
        return len(self.waiting) >= self.limit

    def process(self, record: Record[Any, Any]) -> None:
        """Start the coroutine; the caller has made room."""
        coroutine = self._function(record.key, record.value) if self._with_key else self._function(record.value)
        self.waiting.append(InFlight(record, self._task.record_context, COROUTINE_LOOP.start(coroutine)))

    def first(self, *, wait_for_it: bool) -> InFlight | None:
        """Take out the first record if its coroutine has ended.

        Args:
            wait_for_it: Whether to wait until it has.

        Returns:
            None: there is none, or its coroutine runs.
        """
        if not self.waiting or not (wait_for_it or self.waiting[0].future.done()):
            return None
        wait([self.waiting[0].future])
        return self.waiting.popleft()

    def hand_on(self, done: InFlight) -> None:
        """Do what the operator does with a record.

        Raises:
            Exception: What the coroutine has raised, or a node further down.
        """
        try:
            self._result = done.future.result()
            self._operator.process(done.record)
        finally:
            self._result = None

    def close(self) -> None:
        """Cancel what runs: the records are processed again by the task that comes next."""
        for one in self.waiting:
            one.future.cancel()
        self.waiting.clear()
        self._operator.close()
