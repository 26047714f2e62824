"""The bus for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Self

from kafkapy import aio
from kafkapy.aio.deliveries import Delivery
from kafkapy.bus.audit_counters import AUDIT_TOPIC
from kafkapy.bus.audit_topic import ensure_audit_topic
from kafkapy.bus.dispatch.aio_runtime import AioRuntime
from kafkapy.bus.dispatch.face import DispatcherFace
from kafkapy.bus.dispatch.metrics import DispatcherMetrics
from kafkapy.bus.face import BusFace
from kafkapy.bus.outbox import Outgoing
from kafkapy.producer.future import RecordMetadata
from kafkapy.serializer import LookUpFirst

__all__ = ["Bus", "Dispatcher"]


class Bus(BusFace):
    """Sends events: `async with Bus("localhost:9092", "http://localhost:8081", application="till") as bus:` `await
    bus.send(event)`.

    An event's class determines topic, schema and router. When `send` returns, all in-sync replicas have the event.
    Make it in a running loop.

    Parameters: `application` names the program in events and in the audit. `auto_register` (default False): publish
    schemas that the registry does not have, for tests; in production `kafkapy-schemas.sh publish` publishes them.
    `audit` (default True): write counters to `_bus_audit`. Other options are those of `kafkapy.aio.KafkaProducer`
    (TLS, SASL, compression …), except options that could lose events.
    """

    def _open(self) -> None:
        self._producer: aio.KafkaProducer[bytes, bytes] = aio.KafkaProducer(**self._options)
        self._auditing: asyncio.Task[None] | None = None

    async def start(self) -> Self:
        """Connect. Raises KafkaTimeoutError if no broker answers."""
        await self._producer.start()
        if self._audit:
            self._auditing = asyncio.create_task(self._write_audit_periodically())
        return self

    async def send(self, event: Any, *, time_ms: int | None = None, event_id: str | None = None) -> RecordMetadata:
        """Send an event; returns when all in-sync replicas have it.

        `time_ms`: when it happened, in ms since the epoch (default: the class's time field, or now). `event_id`: the
        id of an event that is sent again (default: a new one).

        Raises NotAnEventError, SchemaSerializationError (the event does not fit its schema), SchemaRegistryError (its
        schema is not published), SchemaRegistryUnavailableError, KafkaTimeoutError (no such topic, or no broker), and
        errors of the delivery.
        """
        return await (await self._send(event, time_ms, event_id))

    async def send_many(self, events: Iterable[Any]) -> list[RecordMetadata]:
        """Send events in this order; returns when all are delivered. Raises the error of the first that failed, after
        all others are done."""
        deliveries: list[Delivery] = []
        try:
            for event in events:
                deliveries.append(await self._send(event, None, None))
        finally:
            results = await asyncio.gather(*deliveries, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return [result for result in results if not isinstance(result, BaseException)]

    async def flush(self) -> None:
        """Wait for events that other tasks have sent."""
        await self._producer.flush()

    async def stop(self) -> None:
        """Wait for deliveries, write the last counters of the audit, disconnect."""
        if self._auditing is not None:
            self._auditing.cancel()
            await asyncio.gather(self._auditing, return_exceptions=True)
            self._auditing = None
            await self._producer.flush()
            await asyncio.sleep(0)  # let the loop run the callbacks that count deliveries
            await self._write_audit(closed=True)
        await self._producer.stop()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _send(self, event: Any, time_ms: int | None, event_id: str | None) -> Delivery:
        outgoing = await self._prepared(event, time_ms, event_id)
        topic, value, key, headers, timestamp_ms = outgoing[:5]
        try:
            delivery = await self._producer.send(topic, value, key=key, headers=headers, timestamp_ms=timestamp_ms)
        except BaseException as error:
            self._outbox.settled(outgoing, error)
            raise
        delivery.add_done_callback(lambda done: self._outbox.settled(outgoing, done.exception()))
        return delivery

    async def _prepared(self, event: Any, time_ms: int | None, event_id: str | None) -> Outgoing:
        while True:
            try:
                return self._outbox.prepare(event, time_ms, event_id)
            except LookUpFirst as needed:
                await asyncio.to_thread(needed.look_up)

    async def _write_audit_periodically(self) -> None:
        while True:
            await asyncio.sleep(self._audit_interval_s)
            await self._write_audit(closed=False)

    async def _write_audit(self, *, closed: bool) -> None:
        records = self._outbox.audit(closed=closed)
        try:
            if records:
                await asyncio.to_thread(ensure_audit_topic, self._options)
            sent = [await self._producer.send(AUDIT_TOPIC, each.encode(), key=each.key) for each in records]
            await asyncio.gather(*sent)
        except Exception as error:
            self._audit_failed(records, error)


class Dispatcher(DispatcherFace):
    __doc__ = DispatcherFace.__doc__

    async def run(self, topics: Sequence[str] | None = None) -> None:
        """Dispatch events until `stop` is called. `topics` (default: those of the handlers' classes).

        Raises DispatcherFailedError if it cannot continue, and errors of the clients; events that were not handled
        are not committed.
        """
        await self._run_on(AioRuntime(), topics)

    async def replay(self, topics: Sequence[str] | None = None) -> DispatcherMetrics:
        """Dispatch the dead letters that exist now (of these topics) and that no replay has handled yet; returns the
        counters.

        An event that fails again becomes a dead letter again, for the next replay.
        """
        return await self._replay_on(AioRuntime(), topics)
