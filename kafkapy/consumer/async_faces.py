"""`AsyncConsumer` for each kind of promise. What type checkers and editors see is the stub beside this file, where the
methods that take time give asyncio's futures, or Deferreds.
"""

from __future__ import annotations

from kafkapy.consumer.async_consumer import AsyncConsumer

AwaitableConsumer = DeferredConsumer = AsyncConsumer
