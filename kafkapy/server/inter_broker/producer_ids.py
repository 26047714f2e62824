"""Producer ids from blocks that the controller allocates (Kafka's `RPCProducerIdManager`)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.completion import Completion, spawn

log = logging.getLogger("kafkapy.coordinator.transaction.ProducerIdManager")

Block = tuple[int, int]
"""(first id, number of ids)"""

_PREFETCH_AT = 0.9
"""Used share of a block at which the next one is requested (Kafka's `PID_PREFETCH_THRESHOLD`)."""
_RETRY_BACKOFF_MS = 50
"""Kafka's (`RPCProducerIdManager.RETRY_BACKOFF_MS`)."""


class ProducerIdManager:
    """Generates ids that are unique in the cluster.

    Invariant: `_next_id` … `_end` are the unused ids of the current block; `_next_block` is the prefetched one, if
    any; at most one request for a block is in flight. Ids that are unused at a restart are lost, never generated
    twice.
    """

    def __init__(
        self,
        request_block: Callable[[], Awaitable[Block]],
        now_ms: Callable[[], int],
    ) -> None:
        self._request_block = request_block
        self._now_ms = now_ms
        self._next_id = 0
        self._end = 0
        self._prefetch_from = 0
        self._next_block: Block | None = None
        self._requesting = False
        self._not_before_ms = 0
        self._waiting: list[Completion[None]] = []

    def generate(self) -> int:
        """Return the next id. `KafkaError` COORDINATOR_LOAD_IN_PROGRESS (retriable) while a needed block is being requested."""
        if self._next_id >= self._end:
            if self._next_block is None:
                self._maybe_request()
                raise KafkaError(
                    Errors.COORDINATOR_LOAD_IN_PROGRESS, "Producer ID block is full. Waiting for next block"
                )
            first, count = self._next_block
            self._next_block = None
            self._next_id, self._end = first, first + count
            self._prefetch_from = first + int(count * _PREFETCH_AT)
        producer_id = self._next_id
        self._next_id += 1
        if producer_id >= self._prefetch_from:
            self._maybe_request()
        return producer_id

    def _maybe_request(self) -> None:
        if self._requesting or self._next_block is not None or self._now_ms() < self._not_before_ms:
            return
        self._requesting = True
        spawn(self._fetch_block())

    async def generate_when_ready(self) -> int:
        """As `generate`, but wait for a block that is being requested."""
        try:
            return self.generate()
        except KafkaError:
            if self._requesting:
                waiter: Completion[None] = Completion()
                self._waiting.append(waiter)
                await waiter
            return self.generate()

    async def _fetch_block(self) -> None:
        try:
            self._next_block = await self._request_block()
        except Exception as error:
            log.warning("Had an error while asking the controller for producer ids, will ask again: %s", error)
            self._not_before_ms = self._now_ms() + _RETRY_BACKOFF_MS
        finally:
            self._requesting = False
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                waiter.set_result(None)
