"""Handles one record: decode it, call the handler, retry, or give up."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kafkapy.bus.dispatch.dead_letters import GIVEN_UP, HANDLER_FAILED, UNREADABLE, error_text, place_of
from kafkapy.bus.dispatch.handlers import EventHandlers, Handler, read_event
from kafkapy.bus.dispatch.metrics import DispatcherMetrics
from kafkapy.bus.dispatch.options import DispatcherOptions
from kafkapy.bus.dispatch.runtime import Flag, Runtime
from kafkapy.bus.errors import BusError, HandlerStuckError, PermanentFailure, UnreadableEventError
from kafkapy.bus.event_headers import Envelope
from kafkapy.bus.event_types import event_type_of
from kafkapy.common.time import Time
from kafkapy.schemas.errors import SchemaRegistryError, SchemaRegistryUnavailableError, SerdeError
from kafkapy.serializer import LookUpFirst

_log = logging.getLogger("kafkapy.bus")


@dataclass
class Outcome:
    """The outcome of a record. `outputs`: events that the handler returned. `reason` and `error` are set if the
    record goes to the dead-letter topic."""

    outputs: list[Any] = field(default_factory=list)
    reason: str | None = None
    error: BaseException | None = None
    attempts: int = 1


class Stopping(Exception):
    """The dispatcher stops before the record is handled."""


class Attempts:
    """Handles records, one by one, for a dispatcher."""

    def __init__(
        self,
        runtime: Runtime,
        handlers: EventHandlers,
        options: DispatcherOptions,
        metrics: DispatcherMetrics,
        time: Time,
        stopping: Flag,
    ) -> None:
        self._runtime = runtime
        self._handlers = handlers
        self._options = options
        self._metrics = metrics
        self._time = time
        self._stopping = stopping

    async def handle(self, record: Any) -> Outcome:
        """Handle a record until it succeeds or is given up. Raises Stopping, HandlerStuckError."""
        key = None if record.key is None else bytes(record.key)
        envelope = Envelope.of(*place_of(record), record.timestamp, key, record.headers)
        try:
            found = await self._read(envelope, record.value)
        except (UnreadableEventError, SerdeError) as error:
            return Outcome(reason=UNREADABLE, error=error)
        if found is None:
            self._metrics.ignored += 1
            return Outcome()
        handler, event = found
        attempt = 1
        while True:
            try:
                outputs = _outputs(handler, await self._call(handler, event, envelope))
            except (HandlerStuckError, Stopping):
                raise
            except Exception as error:
                outcome = self._failed(handler, envelope, error, attempt)
                if outcome is not None:
                    return outcome
            else:
                self._metrics.handled += 1
                return Outcome(outputs, attempts=attempt)
            await self.pause(attempt)
            self._metrics.retried += attempt == 1
            attempt += 1

    async def pause(self, attempt: int) -> None:
        """Wait before the next attempt. Raises Stopping."""
        if await self._stopping.wait(self._options.retries.pause_s(attempt)):
            raise Stopping

    def _failed(self, handler: Handler, envelope: Envelope, error: Exception, attempt: int) -> Outcome | None:
        """The outcome of an event whose attempt failed; None: retry."""
        self._metrics.failed_attempts += 1
        given_up = isinstance(error, PermanentFailure)
        last = given_up or attempt >= self._options.retries.attempts
        _log.warning(
            "%s %s (%s-%d, offset %d): attempt %d of %d has failed with %s%s",
            handler.event_type.name,
            envelope.event_id,
            envelope.topic,
            envelope.partition,
            envelope.offset,
            attempt,
            self._options.retries.attempts,
            error_text(error),
            "; it goes to the dead-letter topic" if last else "",
            exc_info=error if last and not given_up else None,
        )
        return Outcome([], GIVEN_UP if given_up else HANDLER_FAILED, error, attempt) if last else None

    async def _read(self, envelope: Envelope, value: bytes | None) -> tuple[Handler, Any] | None:
        """Decode the record; None: there is no handler for it.

        While no registry answers, decoding is retried without limit, since the record is not at fault.
        """
        attempt = 0
        while True:
            try:
                handler = self._handlers.find(envelope, value)
                return None if handler is None else (handler, read_event(handler, envelope, value))
            except LookUpFirst as needed:
                look_up: Callable[[], object] = needed.look_up
            try:
                await self._runtime.in_thread(look_up)
            except (SchemaRegistryUnavailableError, SchemaRegistryError) as error:
                if isinstance(error, SchemaRegistryError) and error.http_status_code == 404:
                    raise
                attempt += 1
                if attempt == 1 or attempt % 10 == 0:
                    _log.warning(
                        "The schema of %s-%d, offset %d cannot be had now, and is asked for again: %s",
                        *envelope[4:7],
                        error,
                    )
                await self.pause(attempt)

    async def _call(self, handler: Handler, event: Any, envelope: Envelope) -> Any:
        arguments = (event, envelope) if handler.with_envelope else (event,)
        limit = self._options.handler_timeout_s
        began = self._time.monotonic_ms()
        try:
            if handler.on_loop:
                return await self._runtime.within(limit, handler.function(*arguments))
            return await self._runtime.in_thread(lambda: handler.function(*arguments), limit)
        except TimeoutError as error:
            took_s = (self._time.monotonic_ms() - began) / 1000
            if took_s < limit * 0.9:
                raise  # raised by the handler itself
            if handler.on_loop:
                raise BusError(f"The handler has not ended within {limit:g} s, and was cancelled") from error
            raise HandlerStuckError(
                f"The handler {handler.function} has not ended within {limit:g} s with {handler.event_type.name} "
                f"{envelope.event_id} ({envelope.topic}-{envelope.partition}, offset {envelope.offset}). Its thread cannot be "
                "ended: end the process; nothing from this event on was committed in its partition"
            ) from error
        finally:
            self._metrics.handler_seconds += (self._time.monotonic_ms() - began) / 1000


def _outputs(handler: Handler, given: Any) -> list[Any]:
    """A handler's result as a list of events. Raises BusError if it contains anything else."""
    if given is None:
        return []
    outputs = list(given) if isinstance(given, list | tuple) else [given]
    for output in outputs:
        try:
            event_type_of(type(output))
        except BusError as error:
            raise BusError(
                f"A handler gives an event, a list of events, or None; {handler.function}: {error}"
            ) from None
    return outputs
