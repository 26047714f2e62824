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
    from kafkapy.bus.blocking import Bus as Bus
    from kafkapy.bus.blocking import Dispatcher as Dispatcher
    from kafkapy.bus.dispatch.backoff import Retries as Retries
    from kafkapy.bus.errors import BusError as BusError
    from kafkapy.bus.errors import DispatcherFailedError as DispatcherFailedError
    from kafkapy.bus.errors import HandlerStuckError as HandlerStuckError
    from kafkapy.bus.errors import Interrupted as Interrupted
    from kafkapy.bus.errors import NotAnEventError as NotAnEventError
    from kafkapy.bus.errors import PermanentFailure as PermanentFailure
    from kafkapy.bus.errors import UnreadableEventError as UnreadableEventError
    from kafkapy.bus.event_headers import Envelope as Envelope
    from kafkapy.bus.event_types import EventType as EventType
    from kafkapy.bus.event_types import event as event
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "blocking": "Bus Dispatcher",
            "dispatch.backoff": "Retries",
            "errors": (
                "BusError DispatcherFailedError HandlerStuckError Interrupted NotAnEventError PermanentFailure "
                "UnreadableEventError"
            ),
            "event_headers": "Envelope",
            "event_types": "EventType event",
        },
    )
