"""kafka-python's operations as methods of the three facades.

Type checkers and editors use the stub generated beside this file, where they return values, coroutines or Deferreds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkapy.admin.kafka_python.core import KafkaPythonCore
from kafkapy.clients.facade import delegates_to


@delegates_to(KafkaPythonCore)
class BlockingMethods:
    """The methods of `kafkapy.KafkaAdminClient`."""

    if TYPE_CHECKING:  # before the stub is generated

        def __getattr__(self, name: str) -> Any: ...


@delegates_to(KafkaPythonCore, coroutines=True)
class AwaitableMethods:
    """The methods of `kafkapy.aio.KafkaAdminClient`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


DeferredMethods = BlockingMethods
