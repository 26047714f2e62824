"""Effects of state machines, and the class that executes them.

An event is a method call on a machine, which changes its state and returns effects. A machine calls nothing else, so
it can be tested by its effects alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from logging import Logger
from typing import Any, Protocol

from kafkapy.coordinator.runtime.owned_topic import OwnedTopic, Record
from kafkapy.coordinator.runtime.timers import Timers
from kafkapy.protocol.errors import Errors
from kafkapy.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from kafkapy.runtime.chunks import CHUNK
from kafkapy.runtime.clock import Clock

Recipient = Callable[[Any], None]
"""Sends the response to a pending request. A machine stores it and passes it in a `Reply`, but never calls it."""


@dataclass(slots=True)
class Reply:
    to: Recipient
    response: object
    """A message, or the data for one."""


@dataclass(slots=True)
class StartTimer:
    """Call `timer_fired(timer, of)` after `delay_ms`; a running timer of that name is restarted."""

    timer: str
    of: str
    """The timer's member; "" for the machine's own timers."""
    delay_ms: int


@dataclass(slots=True)
class CancelTimer:
    timer: str
    of: str = ""


@dataclass(slots=True)
class Write:
    """Append the records as one batch to the partition of the machine's key, then call `written(then, ...)`."""

    records: Sequence[Record] | bytes
    """Bytes are a whole batch."""
    then: Any
    base_sequence: int = NO_SEQUENCE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(slots=True)
class Order:
    """An effect specific to one kind of machine; its coordinator executes it (`Performer`'s `on_order`)."""

    what: Any


Effect = Reply | StartTimer | CancelTimer | Write | Order


class Machine(Protocol):
    """The state of one key of the internal topic: a group or a transactional id."""

    @property
    def key(self) -> str: ...

    def timer_fired(self, timer: str, of: str, now_ms: int) -> Iterable[Effect]:
        """Process an expired timer."""
        ...

    def written(self, then: Any, error: Errors, base_offset: int, now_ms: int) -> Iterable[Effect]:
        """Process a committed or failed write; `then` is the `Write`'s. `now_ms`: wall clock."""
        ...


class Performer:
    """Executes effects: timers and writes immediately, responses after all of these.

    Sending a response may process that client's next request, and so call this object recursively. Invariant: only the
    outermost call sends responses, after its other effects, in order. Very many, as for a group of a thousand members,
    are sent in chunks, one per iteration of the event loop, and later responses may overtake them.
    """

    def __init__(
        self,
        topic: OwnedTopic[Any],
        clock: Clock,
        log: Logger,
        on_order: Callable[[Any, Any], None] | None = None,
    ) -> None:
        """`on_order(machine, what)` executes an `Order`."""
        self._topic = topic
        self._clock = clock
        self._log = log
        self._on_order = on_order
        self.timers: Timers[tuple[Machine, str, str]] = Timers(clock, clock, self._timer_fired)
        self._replies: deque[Reply] = deque()
        self._busy = False
        self._late: deque[Reply] = deque()
        """Responses for later iterations of the event loop; `_goes_on` is True while one is scheduled."""
        self._goes_on = False

    def perform(self, machine: Machine, effects: Iterable[Effect]) -> None:
        outermost = not self._busy
        self._busy = True
        try:
            for effect in effects:
                if isinstance(effect, StartTimer):
                    self.timers.start((machine, effect.timer, effect.of), effect.delay_ms)
                elif isinstance(effect, Reply):
                    self._replies.append(effect)
                elif isinstance(effect, Write):
                    self._write(machine, effect)
                elif isinstance(effect, Order):
                    assert self._on_order is not None
                    self._on_order(machine, effect.what)
                else:
                    self.timers.cancel((machine, effect.timer, effect.of))
        finally:
            if outermost:
                if self._replies:
                    self._send_replies()
                self._busy = False

    def reply(self, to: Recipient, response: Any) -> None:
        """Send a response that comes from no machine, in order."""
        self._replies.append(Reply(to, response))
        self.perform_all(())

    def perform_all(self, effects: Iterable[tuple[Machine, Iterable[Effect]]]) -> None:
        """Execute the effects of several machines; responses are sent after all others."""
        outermost = not self._busy
        self._busy = True
        try:
            for machine, of_machine in effects:
                self.perform(machine, of_machine)
        finally:
            if outermost:
                self._send_replies()
                self._busy = False

    def _write(self, machine: Machine, write: Write) -> None:
        def done(error: Errors, base_offset: int) -> None:
            self.perform(machine, machine.written(write.then, error, base_offset, self._clock.milliseconds()))

        self._topic.append(
            machine.key, write.records, done, write.base_sequence, write.producer_id, write.producer_epoch
        )

    def _timer_fired(self, key: tuple[Machine, str, str]) -> None:
        machine, timer, of = key
        self.perform(machine, machine.timer_fired(timer, of, self._clock.milliseconds()))

    def _send_replies(self) -> None:
        """Send the first chunk immediately, so that it is sent when `perform` returns; a coroutine would send it later."""
        for _ in range(CHUNK):
            if not self._replies:
                return
            reply = self._replies.popleft()
            try:
                reply.to(reply.response)
            except Exception:
                self._log.exception("Failed to send %s", reply.response)
        self._late.extend(self._replies)
        self._replies.clear()
        if self._late and not self._goes_on:
            self._goes_on = True
            self._clock.schedule_once("answers of a coordinator", self._go_on, 0)

    def _go_on(self) -> None:
        self._goes_on = False
        while self._late and len(self._replies) < CHUNK:
            self._replies.append(self._late.popleft())
        self.perform_all(())
