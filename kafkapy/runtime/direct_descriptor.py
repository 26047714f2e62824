"""Descriptors that the reactor serves directly."""

from __future__ import annotations

from typing import Any


class DirectDescriptor:
    """A descriptor whose `doRead` and `doWrite` the reactor calls without a logging context: a broker's connection.

    The subclass is a Twisted descriptor, too. It logs its own failures, and may be on the second level of
    `FeedbackQueue`.
    """

    quick_events = 0
    """Quick events in a row, while it is on the second level."""

    doRead: Any
    doWrite: Any
    fileno: Any
