"""Base of the dispatchers for threads, asyncio and Twisted: handlers and options."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kafkapy.bus.client_options import Registry, consumer_options, producer_options, registry_client
from kafkapy.bus.dispatch.dispatcher_core import DispatcherCore
from kafkapy.bus.dispatch.handlers import EventHandlers
from kafkapy.bus.dispatch.metrics import DispatcherMetrics
from kafkapy.bus.dispatch.options import DispatcherOptions
from kafkapy.bus.dispatch.runtime import Runtime
from kafkapy.bus.errors import BusError
from kafkapy.bus.outbox import Outbox

F = TypeVar("F", bound=Callable[..., Any])


class DispatcherFace:
    """Hands events to handlers.

        dispatcher = Dispatcher("localhost:9092", "http://localhost:8081", group="billing")

        @dispatcher.on(BookingCreated)
        async def bill(booking: BookingCreated) -> None: ...

    A handler takes the event, or the event and its `Envelope`. Coroutine functions run on the loop, other functions in threads.
    What it returns (an event, a list of events) is sent. Events with the same key are handled one after the other, others side
    by side.

    At least once: an event's offset is committed when its handler has ended, and what it gave was delivered. A handler that
    raises is called again (`retries`); then the record goes to the dead-letter topic `<topic>.dead-letter.<group>`, from where
    `replay` takes it. Exactly once, with a `transactional_id` of this process's own: what handlers give and the offsets are
    committed in one transaction; what handlers do elsewhere is still at least once.

    `start`: where a group without offsets begins. `application` names the program in what it sends. `consumer` and `producer`
    are further options of the one and the other; other options are those of any client (TLS, SASL …).
    """

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        registry: Registry,
        *,
        group: str,
        start: str = "earliest",
        application: str | None = None,
        auto_register: bool = False,
        consumer: Mapping[str, Any] | None = None,
        producer: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        own = {field.name for field in dataclasses.fields(DispatcherOptions)}
        self.options = DispatcherOptions(group=group, **{name: options.pop(name) for name in own & options.keys()})
        self._bootstrap_servers = bootstrap_servers
        self._start = start
        self._client_options = options, consumer or {}, producer or {}
        self._registry = registry_client(registry)
        self._handlers = EventHandlers(self._registry)
        self._outbox = Outbox(self._registry, application or group, waits=False, auto_register=auto_register)
        self._core: DispatcherCore | None = None
        self._consumer_options(group)
        self._producer_options()

    def on(self, event_class: type[Any]) -> Callable[[F], F]:
        """Decorator, `@dispatcher.on(BookingCreated)`: the function handles these events, including those with newer
        ADDITIONs.

        Args:
            event_class: The class of the events.
        """

        def decorate(function: F) -> F:
            self._handlers.add(event_class, function)
            return function

        return decorate

    @property
    def metrics(self) -> DispatcherMetrics:
        """The counters of the current run, or the last one."""
        return DispatcherMetrics() if self._core is None else self._core.metrics

    def prometheus(self) -> str:
        """The counters in Prometheus' text format."""
        return self.metrics.prometheus(self.options.group)

    def stop(self) -> None:
        """Make `run` end when the events that are being handled are done."""
        if self._core is not None:
            self._core.stop()

    async def _run_on(self, runtime: Runtime, topics: Sequence[str] | None) -> None:
        try:
            await self._begin(runtime).run(None if topics is None else list(topics))
        finally:
            runtime.close()

    async def _replay_on(self, runtime: Runtime, topics: Sequence[str] | None) -> DispatcherMetrics:
        try:
            core, wanted = self._begin_replay(runtime, topics)
            await core.run(wanted, until_end=True)
        finally:
            runtime.close()
        return core.metrics

    def _begin(self, runtime: Runtime) -> DispatcherCore:
        if self._core is not None and not self._core.ended:
            raise BusError("This dispatcher runs already")
        consumer = self._consumer_options(self.options.group)
        self._core = DispatcherCore(
            runtime, self._handlers, self._outbox, self.options, consumer, self._producer_options()
        )
        return self._core

    def _begin_replay(self, runtime: Runtime, topics: Sequence[str] | None) -> tuple[DispatcherCore, list[str]]:
        """The core of a replay, and its topics. Dead letters are read by a consumer group of their own; an event that
        fails again goes back to its dead-letter topic."""
        wanted = [self.options.dead_letters_of(topic) for topic in topics or self._handlers.topics]
        options = dataclasses.replace(self.options, dead_letter_topic=lambda topic, group: topic)
        consumer = {**self._consumer_options(f"{self.options.group}.replay"), "auto_offset_reset": "earliest"}
        core = DispatcherCore(runtime, self._handlers, self._outbox, options, consumer, self._producer_options())
        return core, sorted(set(wanted))

    def _consumer_options(self, group: str) -> dict[str, Any]:
        common, own, _ = self._client_options
        return consumer_options(self._bootstrap_servers, group, self._start, {**common, **own})

    def _producer_options(self) -> dict[str, Any]:
        common, _, own = self._client_options
        return producer_options(self._bootstrap_servers, {**common, **own})
