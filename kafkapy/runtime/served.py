"""What the reactor serves by itself, without Twisted's detours."""

from __future__ import annotations

from typing import Any


class Served:
    """A descriptor whose `doRead` and `doWrite` the reactor calls directly: a connection of the broker, whatever it speaks.

    Its class is a Twisted descriptor, too. It logs its own failures, and may be on the second level of `FeedbackQueue`.
    """

    quick_events = 0
    """In a row, while it is on the second level."""

    doRead: Any
    doWrite: Any
    fileno: Any
