"""The errors of the bus."""

from __future__ import annotations

from kafkapy.errors import ClientError


class BusError(ClientError):
    """Base class of the bus's errors. The message says the cause, and what to do."""


class NotAnEventError(BusError):
    """The object's class is not an event class, or its value does not fit its schema."""


class UnreadableEventError(BusError):
    """The record is not an event of a registered class; a retry would not help."""


class PermanentFailure(BusError):
    """Raised by a handler for an event that can never succeed: the event goes to the dead-letter topic without
    further attempts."""


class HandlerStuckError(BusError):
    """A handler in a thread has exceeded its time limit; a thread cannot be stopped from outside."""


class Interrupted(SystemExit, KeyboardInterrupt):
    """Ctrl-C (SIGINT) has ended `Dispatcher.run`. Events that were being handled are done and committed.

    A program that does not catch it ends without a traceback, with the exit status that shells use for SIGINT.
    """

    def __init__(self) -> None:
        super().__init__(130)


class DispatcherFailedError(BusError):
    """The dispatcher cannot continue; events that were not handled are not committed."""
