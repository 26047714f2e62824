"""The bus for programs without an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Self

from kafkapy import KafkaProducer
from kafkapy.bus.audit_counters import AUDIT_TOPIC
from kafkapy.bus.audit_topic import ensure_audit_topic
from kafkapy.bus.dispatch.aio_runtime import AioRuntime
from kafkapy.bus.dispatch.face import DispatcherFace
from kafkapy.bus.dispatch.metrics import DispatcherMetrics
from kafkapy.bus.errors import Interrupted
from kafkapy.bus.face import BusFace
from kafkapy.producer.future import FutureRecordMetadata, RecordMetadata

__all__ = ["Bus", "Dispatcher"]


class Bus(BusFace):
    """Sends events. As `kafkapy.bus.aio.Bus`, with methods that block and may be called in any thread.

    Args:
        bootstrap_servers: Brokers to connect to first.
        registry: The schema registry: its URL or a `SchemaRegistryClient`.
        application: Name of the program in events and in the audit.
        auto_register: Register schemas that the registry lacks. Default False.
        audit: Count events for the audit topic. Default True.
        audit_interval_s: Time between two counts, in seconds. Default: `AUDIT_INTERVAL_S`.
        client_options: Options of the producer, docs/client_options.md.

    Raises:
        KafkaTimeoutError: No broker answers.

    Example:
        >>> with Bus("localhost:9092", "http://localhost:8081", application="till", audit=False) as bus:
        ...     bus.producer_id.startswith("till")
        True
    """

    _waits = True

    def _open(self) -> None:
        self._producer: KafkaProducer[bytes, bytes] = KafkaProducer(**self._options)
        self._closed = threading.Event()
        self._auditing: threading.Thread | None = None
        if self._audit:
            name = f"audit of {self.producer_id}"
            self._auditing = threading.Thread(target=self._write_audit_periodically, name=name, daemon=True)
            self._auditing.start()

    def send(self, event: Any, *, time_ms: int | None = None, event_id: str | None = None) -> RecordMetadata:
        """Send an event; returns when all in-sync replicas have it. Arguments and errors are those of
        `kafkapy.bus.aio.Bus.send`.

        Args:
            event: An instance of an event class.
            time_ms: Time of the event, in ms since the epoch. None (default): its time field, else now.
            event_id: Id of the event. None (default): a random one.
        """
        return self.send_soon(event, time_ms=time_ms, event_id=event_id).get()

    def send_soon(self, event: Any, *, time_ms: int | None = None, event_id: str | None = None) -> FutureRecordMetadata:
        """Queue an event. `get()` of the result waits until all in-sync replicas have it.

        Args:
            event: An instance of an event class.
            time_ms: Time of the event, in ms since the epoch. None (default): its time field, else now.
            event_id: Id of the event. None (default): a random one.
        """
        outgoing = self._outbox.prepare(event, time_ms, event_id)
        topic, value, key, headers, timestamp_ms = outgoing[:5]
        try:
            future = self._producer.send(topic, value, key=key, headers=headers, timestamp_ms=timestamp_ms)
        except BaseException as error:
            self._outbox.settled(outgoing, error)
            raise
        future.add_callback(lambda _: self._outbox.settled(outgoing, None))
        future.add_errback(lambda error: self._outbox.settled(outgoing, error))
        return future

    def send_many(self, events: Iterable[Any]) -> list[RecordMetadata]:
        """Send events in this order; returns when all are delivered. Raises the error of the first that failed.

        Args:
            events: Instances of event classes.
        """
        return [future.get() for future in [self.send_soon(event) for event in events]]

    def flush(self) -> None:
        """Wait for queued events."""
        self._producer.flush()

    def close(self) -> None:
        """Wait for queued events, write the last counters of the audit, disconnect."""
        if self._closed.is_set():
            return
        self._closed.set()
        if self._auditing is not None:
            self._auditing.join()
            self._producer.flush()
            self._write_audit(closed=True)
        self._producer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_audit_periodically(self) -> None:
        while not self._closed.wait(self._audit_interval_s):
            self._write_audit(closed=False)

    def _write_audit(self, *, closed: bool) -> None:
        records = self._outbox.audit(closed=closed)
        try:
            if records:
                ensure_audit_topic(self._options)
            for future in [self._producer.send(AUDIT_TOPIC, each.encode(), key=each.key) for each in records]:
                future.get()
        except Exception as error:
            self._audit_failed(records, error)


class Dispatcher(DispatcherFace):
    """Hands events to handlers, from a thread that `run` blocks; see `kafkapy.bus.dispatch.face.DispatcherFace`.

    A handler takes the event, or the event and its `Envelope`. What it returns (an event, a list of events) is sent.
    Events with the same key are handled one after the other, others side by side.

    At least once: an event's offset is committed when its handler has ended. A handler that raises is called again
    (`retries`); then the record goes to the dead-letter topic `<topic>.dead-letter.<group>`. Exactly once with a
    `transactional_id`: what handlers return and the offsets are committed in one transaction.

    Args:
        bootstrap_servers: Brokers to connect to first.
        registry: The schema registry: its URL or a `SchemaRegistryClient`.
        group: The consumer group.
        start: Where a group without offsets begins: "earliest" (default) or "latest".
        application: Name of the program in what it sends. None (default): the group.
        auto_register: Register schemas that the registry lacks. Default False.
        consumer: Further options of the consumer. None (default): none.
        producer: Further options of the producer. None (default): none.
        options: Fields of `DispatcherOptions` (`retries`, `transactional_id` …), and options of all clients,
            docs/client_options.md.

    Example:
        >>> from dataclasses import dataclass
        >>> from kafkapy.bus import event
        >>> fields = '[{"name": "order_id", "type": "string"}]'
        >>> schema = '{"type": "record", "name": "Paid", "namespace": "shop", "fields": ' + fields + "}"
        >>> @event(name="shop.Paid", version="1.0.0", topic="payments", schema=schema, router="order_id")
        ... @dataclass
        ... class Paid:
        ...     order_id: str
        >>> dispatcher = Dispatcher("localhost:9092", "http://localhost:8081", group="billing")
        >>> @dispatcher.on(Paid)
        ... def bill(paid):
        ...     print(paid.order_id)
        >>> dispatcher.options.group
        'billing'
    """

    _loop: asyncio.AbstractEventLoop | None = None

    def run(self, topics: Sequence[str] | None = None) -> None:
        """As `kafkapy.bus.aio.Dispatcher.run`, in the calling thread, on an event loop of its own.

        In the main thread Ctrl-C has the effect of `stop`; then Interrupted (a KeyboardInterrupt) is raised. A second
        Ctrl-C does not wait for handlers.

        Args:
            topics: Topics to read. None (default): those of the handlers' events.
        """

        async def main() -> None:
            runtime = AioRuntime()
            try:
                core = self._begin(runtime)
                self._loop = asyncio.get_running_loop()
                await core.run(None if topics is None else list(topics))
            finally:
                self._loop = None
                runtime.close()

        try:
            asyncio.run(main())  # the first SIGINT cancels `main`, which stops the core in order
        except KeyboardInterrupt:
            raise Interrupted from None

    def replay(self, topics: Sequence[str] | None = None) -> DispatcherMetrics:
        """As `kafkapy.bus.aio.Dispatcher.replay`.

        Args:
            topics: Topics to read. None (default): those of the handlers' events.
        """
        return asyncio.run(self._replay_on(AioRuntime(), topics))

    def stop(self) -> None:
        """Make `run` end when the events that are being handled are done. May be called in any thread, and in a
        signal handler."""
        loop, core = self._loop, self._core
        if loop is not None and core is not None:
            loop.call_soon_threadsafe(core.stop)
