"""Base class of the producers for asyncio and for Twisted."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Generic, Self

from kafkapy.clients.driver import Driver
from kafkapy.producer.batch import ProducerBatch
from kafkapy.producer.config import ProducerConfig
from kafkapy.producer.core import ProducerCore
from kafkapy.producer.intake import Intake
from kafkapy.producer.transaction_context import TransactionContext
from kafkapy.serializer import K_contra, V_contra


class AsyncProducer(Generic[K_contra, V_contra]):
    """A producer on an event loop. Everything runs on the loop's thread.

    Invariant: `_closed` is False exactly between a successful `start` and the beginning of `stop`.
    """

    def __init__(self, driver: Driver, config: ProducerConfig) -> None:
        self.config = config
        self._core = ProducerCore(driver, config)
        self._intake = Intake(self._core, waits=False)
        self._short_path: Mapping[str, ProducerBatch] = {}
        self._clock = self._core.accumulator.clock
        self._closed = True

    def begin_transaction(self) -> Awaitable[None]:
        """Begin a transaction."""
        raise NotImplementedError

    def commit_transaction(self) -> Awaitable[None]:
        """Flush and commit."""
        raise NotImplementedError

    def abort_transaction(self) -> Awaitable[None]:
        """Abort the transaction."""
        raise NotImplementedError

    def transaction(self) -> TransactionContext[Self]:
        """A context for coroutines: `async with producer.transaction():` commits at its end, aborts after an exception."""
        return TransactionContext(self)

    def bootstrap_connected(self) -> bool:
        """Return whether the producer is connected to any broker."""
        return self._core.network.bootstrap_connected()

    def metrics(self, raw: bool = False) -> dict[str, Any]:
        """As in `kafkapy.KafkaProducer`.

        Args:
            raw: Return the group `producer-metrics` alone, without the level of groups. Default False.
        """
        return self._core.figures(raw)
