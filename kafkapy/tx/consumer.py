"""`KafkaConsumer` for Twisted."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Unpack

from twisted.internet.defer import Deferred, ensureDeferred

from kafkapy.clients.completion import Completion
from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.consumer.async_consumer import T
from kafkapy.consumer.async_faces import DeferredConsumer
from kafkapy.consumer.options import ConsumerOptions
from kafkapy.tx.base import from_deferred, run


class KafkaConsumer(DeferredConsumer):
    """Reads topics on the reactor.

        consumer = KafkaConsumer("topic", group_id="group", bootstrap_servers="host:9092")
        records = yield consumer.poll(1000)

    The methods are those of `kafkapy.KafkaConsumer`; those that take time give a Deferred. In a coroutine,
    `async for record in consumer` works too. Listeners may give Deferreds or be coroutines.
    """

    def __init__(self, *topics: str, reactor: Any = None, **configs: Unpack[ConsumerOptions]) -> None:
        super().__init__(TwistedDriver(reactor), topics, configs)

    def _promise(self, coroutine: Coroutine[Any, Any, T]) -> Deferred[T]:
        return run(coroutine)

    def _adopt(self, awaitable: Any) -> Completion[Any]:
        return from_deferred(awaitable if isinstance(awaitable, Deferred) else ensureDeferred(awaitable))
