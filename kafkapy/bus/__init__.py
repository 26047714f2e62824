"""The message bus: events with schemas, topics with owners, clients that cannot be used wrongly (`docs/bus.md`).

from kafkapy.bus import aio

async with aio.Bus("localhost:9092", "http://localhost:8081", application="booking-service") as bus:
    await bus.send(BookingCreated(booking_id="b-1", user_id=7))
"""
