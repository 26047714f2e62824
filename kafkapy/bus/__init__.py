"""The message bus: events with schemas, topics with owners, clients that cannot be used wrongly (`docs/bus.md`).

    from kafkapy.bus import Bus

    with Bus("localhost:9092", "http://localhost:8081", application="booking-service") as bus:
        bus.send(BookingCreated(booking_id="b-1", user_id=7))

The same with `from kafkapy.bus.aio import Bus` on asyncio, and with `from kafkapy.bus.tx import Bus` on Twisted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.bus.blocking import Bus, Dispatcher
    from kafkapy.bus.dispatch.backoff import Retries
    from kafkapy.bus.errors import (
        BusError,
        DispatcherFailedError,
        HandlerStuckError,
        Interrupted,
        NotAnEventError,
        PermanentFailure,
        UnreadableEventError,
    )
    from kafkapy.bus.event_headers import Envelope
    from kafkapy.bus.event_types import EventType, event

_HOMES = {
    "Bus": "blocking",
    "BusError": "errors",
    "Dispatcher": "blocking",
    "DispatcherFailedError": "errors",
    "Envelope": "event_headers",
    "EventType": "event_types",
    "HandlerStuckError": "errors",
    "Interrupted": "errors",
    "NotAnEventError": "errors",
    "PermanentFailure": "errors",
    "Retries": "dispatch.backoff",
    "UnreadableEventError": "errors",
    "event": "event_types",
}

__all__ = [
    "Bus",
    "BusError",
    "Dispatcher",
    "DispatcherFailedError",
    "Envelope",
    "EventType",
    "HandlerStuckError",
    "Interrupted",
    "NotAnEventError",
    "PermanentFailure",
    "Retries",
    "UnreadableEventError",
    "event",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, _HOMES)
