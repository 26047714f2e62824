"""The one thing the coordinator reads of what consumers tell each other: the topics they subscribe to."""

from __future__ import annotations

from kafkapy.protocol.consumer_protocol import ConsumerProtocolSubscription
from kafkapy.protocol.wire import SchemaError

CONSUMER_PROTOCOL_TYPE = "consumer"

_VERSION_SIZE = 2


def subscribed_topics(metadata: bytes) -> set[str] | None:
    """The topics in a subscription; None if it is none.

    Read as version 0, which begins all versions, so that the coordinator need not know the newer ones.
    """
    try:
        return set(ConsumerProtocolSubscription.decode(metadata, 0, _VERSION_SIZE).topics)
    except SchemaError:
        return None
