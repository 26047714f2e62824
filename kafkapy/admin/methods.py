"""kafka-python's operations as methods of the three faces. What type checkers and editors see is the stub beside this
file, where they give values, asyncio's futures or Deferreds.
"""

from __future__ import annotations

from kafkapy.admin.kafka_python import KafkaPythonCore
from kafkapy.clients.facade import delegates_to


@delegates_to(KafkaPythonCore)
class BlockingMethods:
    """The methods of `kafkapy.KafkaAdminClient`."""


AwaitableMethods = DeferredMethods = BlockingMethods
