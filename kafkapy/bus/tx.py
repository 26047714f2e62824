"""The bus for Twisted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from twisted.internet.defer import Deferred, DeferredList, ensureDeferred
from twisted.internet.task import LoopingCall
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure

from kafkapy import tx
from kafkapy.bus.audit_counters import AUDIT_TOPIC
from kafkapy.bus.audit_topic import ensure_audit_topic
from kafkapy.bus.dispatch.face import DispatcherFace
from kafkapy.bus.dispatch.metrics import DispatcherMetrics
from kafkapy.bus.dispatch.tx_runtime import TxRuntime
from kafkapy.bus.face import BusFace
from kafkapy.bus.outbox import Outgoing
from kafkapy.producer.future import RecordMetadata
from kafkapy.serializer import LookUpFirst

__all__ = ["Bus", "Dispatcher"]


class Bus(BusFace):
    """Sends events: `bus = yield Bus("localhost:9092", "http://localhost:8081", application="till").start()`, then
    `yield bus.send(event)`.

    As `kafkapy.bus.aio.Bus`, with methods that return Deferreds.
    """

    def _open(self) -> None:
        self._producer: tx.KafkaProducer[bytes, bytes] = tx.KafkaProducer(**self._options)
        self._auditing: LoopingCall | None = None
        self._audited: Deferred[LoopingCall] = Deferred()

    def start(self) -> Deferred[Bus]:
        """Connect; fires with this bus. Fails with KafkaTimeoutError if no broker answers."""

        async def begin() -> Bus:
            await self._producer.start()
            if self._audit:
                self._auditing = LoopingCall(lambda: ensureDeferred(self._write_audit(closed=False)))
                self._audited = self._auditing.start(self._audit_interval_s, now=False)
            return self

        return ensureDeferred(begin())

    def send(self, event: Any, *, time_ms: int | None = None, event_id: str | None = None) -> Deferred[RecordMetadata]:
        """Send an event; fires when all in-sync replicas have it. Arguments and errors are those of
        `kafkapy.bus.aio.Bus.send`."""
        try:
            outgoing = self._outbox.prepare(event, time_ms, event_id)
        except LookUpFirst as needed:
            return ensureDeferred(self._send_later(needed, event, time_ms, event_id))
        except Exception:
            failed: Deferred[RecordMetadata] = Deferred()
            failed.errback()
            return failed
        return self._send(outgoing)

    def send_many(self, events: Iterable[Any]) -> Deferred[list[RecordMetadata]]:
        """Send events in this order; fires when all are delivered. Fails with the error of the first that failed."""
        return ensureDeferred(self._send_many(list(events)))

    def flush(self) -> Deferred[Any]:
        """Fires when the events sent before are delivered or have failed."""
        return self._producer.flush()

    def stop(self) -> Deferred[None]:
        """Wait for deliveries, write the last counters of the audit, disconnect."""

        async def end() -> None:
            if self._auditing is not None:
                self._auditing.stop()
                self._auditing = None
                await self._audited
                await self._producer.flush()
                await self._write_audit(closed=True)
            await self._producer.stop()

        return ensureDeferred(end())

    async def _send_many(self, events: list[Any]) -> list[RecordMetadata]:
        sent = []
        for event in events:
            await self._look_up_for(event)
            sent.append(self.send(event))
        results: Any = await DeferredList(sent, consumeErrors=True)
        for succeeded, result in results:
            if not succeeded:
                raise result.value
        return [result for _, result in results]

    async def _look_up_for(self, event: Any) -> None:
        """Look the event's schema up first; otherwise the next event would overtake it."""
        while (needed := self._outbox.needs(event)) is not None:
            await deferToThread(needed.look_up)

    async def _send_later(
        self, needed: LookUpFirst, event: Any, time_ms: int | None, event_id: str | None
    ) -> RecordMetadata:
        await deferToThread(needed.look_up)
        return await self.send(event, time_ms=time_ms, event_id=event_id)

    def _send(self, outgoing: Outgoing) -> Deferred[RecordMetadata]:
        topic, value, key, headers, timestamp_ms = outgoing[:5]
        delivery = self._producer.send(topic, value, key=key, headers=headers, timestamp_ms=timestamp_ms)

        def delivered(metadata: RecordMetadata) -> RecordMetadata:
            self._outbox.settled(outgoing, None)
            return metadata

        def failed(failure: Failure) -> Failure:
            self._outbox.settled(outgoing, failure.value)
            return failure

        return delivery.addCallbacks(delivered, failed)

    async def _write_audit(self, *, closed: bool) -> None:
        records = self._outbox.audit(closed=closed)
        try:
            if records:
                await deferToThread(ensure_audit_topic, self._options)
            for sent in [self._producer.send(AUDIT_TOPIC, each.encode(), key=each.key) for each in records]:
                await sent
        except Exception as error:
            self._audit_failed(records, error)


class Dispatcher(DispatcherFace):
    __doc__ = DispatcherFace.__doc__

    def run(self, topics: Sequence[str] | None = None) -> Deferred[None]:
        """As `kafkapy.bus.aio.Dispatcher.run`. Handlers that are coroutines run on the reactor, and may await Deferreds."""
        return ensureDeferred(self._run_on(TxRuntime(), topics))

    def replay(self, topics: Sequence[str] | None = None) -> Deferred[DispatcherMetrics]:
        """As `kafkapy.bus.aio.Dispatcher.replay`."""
        return ensureDeferred(self._replay_on(TxRuntime(), topics))
