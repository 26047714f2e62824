"""kafka-python's operations as methods of the three faces. What type checkers and editors see is the stub that is made beside
this file, where they give values, coroutines or Deferreds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkapy.admin.kafka_python.core import KafkaPythonCore
from kafkapy.clients.facade import delegates_to


@delegates_to(KafkaPythonCore)
class BlockingMethods:
    """The methods of `kafkapy.KafkaAdminClient`."""

    if TYPE_CHECKING:  # where no stub has been made yet

        def __getattr__(self, name: str) -> Any: ...


@delegates_to(KafkaPythonCore, coroutines=True)
class AwaitableMethods:
    """The methods of `kafkapy.aio.KafkaAdminClient`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


DeferredMethods = BlockingMethods
