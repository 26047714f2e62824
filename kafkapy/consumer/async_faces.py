"""`AsyncConsumer` for each kind of promise. Type checkers and editors see the stub that is made beside it, where the methods
that take time give asyncio's futures, or Deferreds.
"""

from __future__ import annotations

from kafkapy.consumer.async_consumer import AsyncConsumer

AwaitableConsumer = AsyncConsumer
DeferredConsumer = AsyncConsumer
