"""Creates MirrorMaker's internal topics."""

from __future__ import annotations

import logging
from typing import Final

from kafkapy.admin.topics import NewTopic
from kafkapy.connect.errors import ConnectException
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.protocol.errors import Errors, KafkaError

log = logging.getLogger("kafkapy.mirror")

_TAKEN_AS_THERE: Final = {
    Errors.TOPIC_ALREADY_EXISTS: "it exists",
    Errors.UNSUPPORTED_VERSION: "the brokers cannot be asked to",
    Errors.TOPIC_AUTHORIZATION_FAILED: "this principal may not",
    Errors.CLUSTER_AUTHORIZATION_FAILED: "this principal may not",
}


def create_compacted_topic(admin: ForwardingAdmin, name: str, replication_factor: int) -> None:
    """Create a compacted topic with one partition, unless it exists or this principal may not create it.

    Args:
        admin: Admin client of its cluster.
        name: Name of the topic.
        replication_factor: -1: the broker's default.

    Raises:
        ConnectException: It cannot be created for another reason.
    """
    topic = NewTopic(name, 1, replication_factor, topic_configs={"cleanup.policy": "compact"})
    try:
        outcome: object = admin.create_topics([topic])[name]
    except KafkaError as error:
        outcome = error
    if not isinstance(outcome, KafkaError):
        log.info("Created topic %s", name)
        return
    reason = _TAKEN_AS_THERE.get(outcome.error)
    if reason is None:
        raise ConnectException(f"Error while attempting to create/find topic '{name}': {outcome}") from outcome
    log.debug("Topic %s is not made: %s", name, reason)
