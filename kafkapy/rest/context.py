"""Objects that the proxy's routes share: Kafka's clients, the thread pool, the registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from kafkapy.rest.embedded import EmbeddedValues
from kafkapy.rest.rest_errors import RestRefusal

T = TypeVar("T")

Blocking = Callable[..., Awaitable[Any]]
"""`await blocking(f, *arguments)` runs `f` on a thread."""


class PendingBytes:
    """Limits the bytes of requests that are being produced; above the limit new requests are rejected with 429.

    Invariant: `used` is the sum of the bytes taken and not released.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    def take(self, size: int) -> None:
        """Reserve bytes. Raises RestRefusal above the limit; a single request of any size is accepted if there is no
        other."""
        if self.used and self.used + size > self.limit:
            from kafkapy.rest.rest_errors import too_busy

            raise too_busy(f"{self.used} bytes wait for Kafka, and {self.limit} may; try again in a second")
        self.used += size

    def give_back(self, size: int) -> None:
        self.used -= size


class RestContext:
    """`producer`: of `kafkapy.tx`. `admin`: blocking. `values` None: no registry is configured."""

    def __init__(
        self, producer: Any, admin: Any, blocking: Blocking, pending: PendingBytes, values: EmbeddedValues | None
    ) -> None:
        self.producer = producer
        self.admin = admin
        self.blocking = blocking
        self.pending = pending
        self._values = values
        self.cluster_id = ""

    @property
    def values(self) -> EmbeddedValues:
        if self._values is None:
            raise RestRefusal(501, 50101, "The proxy has no schema registry: set schema.registry.url")
        return self._values
