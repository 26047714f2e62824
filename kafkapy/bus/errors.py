"""What goes wrong on the bus."""

from __future__ import annotations

from kafkapy.errors import ClientError


class BusError(ClientError):
    """The base of the bus's own errors; the sentence names cause and mend."""


class NotAnEventError(BusError):
    """An object's class is no event class, or its value does not fit its schema."""


class UnreadableEventError(BusError):
    """A record is no event of a class that is known here: asking again would not help."""


class PermanentFailure(BusError):
    """A handler raises it for an event that will never succeed: it goes to the dead-letter topic without further attempts."""


class HandlerStuckError(BusError):
    """A handler in a thread has not ended in its time; a thread cannot be ended from outside."""


class Interrupted(SystemExit, KeyboardInterrupt):
    """Ctrl-C (SIGINT) has ended `Dispatcher.run`: what was being handled is done and committed. A program that does not catch it
    ends without a traceback, with the status that shells give to what SIGINT has ended."""

    def __init__(self) -> None:
        super().__init__(130)


class DispatcherFailedError(BusError):
    """A dispatcher cannot go on; what was not handled was not committed."""
