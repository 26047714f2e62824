"""What a machine wants done, and the one place that does it.

A machine is told of events by calls of its methods; each changes the machine and returns effects. It calls
nothing else, so a machine and its effects are all that can happen.
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
"""A waiting caller. A machine keeps it and puts it into a `Reply`; it never calls it."""


@dataclass(slots=True)
class Reply:
    to: Recipient
    response: object
    """A message, or what one is made of."""


@dataclass(slots=True)
class StartTimer:
    """`timer_fired(timer, of)` after `delay_ms`; a timer of that name that runs is moved."""

    timer: str
    of: str
    """Whose timer it is, "" if it is the machine's own."""
    delay_ms: int


@dataclass(slots=True)
class CancelTimer:
    timer: str
    of: str = ""


@dataclass(slots=True)
class Write:
    """Append the records as one batch to the partition of the machine's key; `written(then, ...)` when that is done."""

    records: Sequence[Record] | bytes
    """Bytes are a whole batch."""
    then: Any
    base_sequence: int = NO_SEQUENCE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


@dataclass(slots=True)
class Order:
    """What only this kind of machine wants done: its coordinator does it (`Performer`'s `on_order`)."""

    what: Any


Effect = Reply | StartTimer | CancelTimer | Write | Order


class Machine(Protocol):
    """Whatever is kept under a key of the internal topic: a group, a transactional id."""

    @property
    def key(self) -> str: ...

    def timer_fired(self, timer: str, of: str, now_ms: int) -> Iterable[Effect]:
        """The timer's time is over."""
        ...

    def written(self, then: Any, error: Errors, base_offset: int, now_ms: int) -> Iterable[Effect]:
        """A write is committed, or failed with the log's error; `then` is the write's. `now_ms`: wall clock."""
        ...


class Performer:
    """Does the effects of machines, timers and writes at once, and sends the answers when all of that is complete.

    Sending an answer may make the network handle that client's next request, and so come here again. Invariant: answers
    are sent by the outermost call only, after its effects are done, in the order in which they came up. Of very many, as a
    group of a thousand members gets, some are sent in each turn of the reactor, and others' answers pass them.
    """

    def __init__(
        self,
        topic: OwnedTopic[Any],
        clock: Clock,
        log: Logger,
        on_order: Callable[[Any, Any], None] | None = None,
    ) -> None:
        """`on_order(machine, what)` does what only these machines want."""
        self._topic = topic
        self._clock = clock
        self._log = log
        self._on_order = on_order
        self.timers: Timers[tuple[Machine, str, str]] = Timers(clock, clock, self._timer_fired)
        self._replies: deque[Reply] = deque()
        self._busy = False
        self._late: deque[Reply] = deque()
        """Those for other turns; `_goes_on` while one is to come."""
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
        """An ordered response that comes from no machine."""
        self._replies.append(Reply(to, response))
        self.perform_all(())

    def perform_all(self, effects: Iterable[tuple[Machine, Iterable[Effect]]]) -> None:
        """The effects of several machines; no answer is sent before the last of them is done."""
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
        """The first chunk at once, so that a caller is answered when `perform` returns; a coroutine would answer it later."""
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
