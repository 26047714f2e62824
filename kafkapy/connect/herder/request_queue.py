"""A queue of requests for the herder's thread, ordered by time (Kafka's `DistributedHerderRequest`)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from kafkapy.connect.herder.callbacks import Callback


@dataclass(order=True)
class HerderRequest:
    """`at_ms`: when it is due; `sequence` orders requests of the same time. `failed`: called with the error of
    `action`."""

    at_ms: int
    sequence: int
    action: Callable[[], None]
    failed: Callback
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True

    def run(self) -> None:
        try:
            self.action()
        except Exception as error:
            self.failed(error, None)


class RequestQueue:
    """Invariant: `_heap` has the pending requests, and cancelled ones until they are due."""

    def __init__(self) -> None:
        self._heap: list[HerderRequest] = []
        self._sequence = 0
        self._lock = threading.Lock()

    def add(self, at_ms: int, action: Callable[[], None], failed: Callback) -> tuple[HerderRequest, bool]:
        """Add a request; return it, and whether it is now the first of the queue."""
        with self._lock:
            self._sequence += 1
            request = HerderRequest(at_ms, self._sequence, action, failed)
            heappush(self._heap, request)
            return request, self._heap[0] is request

    def take_due(self, now_ms: int) -> HerderRequest | None:
        with self._lock:
            while self._heap and (self._heap[0].at_ms <= now_ms or self._heap[0].cancelled):
                request = heappop(self._heap)
                if not request.cancelled:
                    return request
            return None

    def next_at_ms(self) -> int | None:
        with self._lock:
            while self._heap and self._heap[0].cancelled:
                heappop(self._heap)
            return self._heap[0].at_ms if self._heap else None

    def take_all(self) -> list[HerderRequest]:
        with self._lock:
            taken, self._heap = sorted(self._heap), []
            return [request for request in taken if not request.cancelled]
