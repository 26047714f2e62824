"""Creates and checks internal topics (Kafka's `TopicAdmin`)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkapy.admin.topics import NewTopic
from kafkapy.admin.types import ConfigResource
from kafkapy.common.config_def import ConfigException
from kafkapy.connect.errors import ConnectException
from kafkapy.protocol.errors import Errors, KafkaError

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

log = logging.getLogger("kafkapy.connect.topics")

_NOT_ALLOWED = (
    Errors.TOPIC_AUTHORIZATION_FAILED,
    Errors.CLUSTER_AUTHORIZATION_FAILED,
    Errors.UNSUPPORTED_VERSION,
)


def ensure_compacted(admin: AdminClient, topic: NewTopic, config_name: str, purpose: str) -> None:
    """Create the topic, or check that an existing one has `cleanup.policy=compact`.

    Args:
        admin: An admin client.
        topic: The topic to be made; its `cleanup.policy` is set here.
        config_name: The worker's config that names the topic, for messages.
        purpose: The topic's contents, for messages: for example "connector configurations".

    Raises:
        ConnectException: The topic cannot be made.
        ConfigException: The topic deletes records.
    """
    configs = {**(topic.topic_configs or {}), "cleanup.policy": "compact"}
    outcome = admin.create_topics([topic._replace(topic_configs=configs)])[topic.name]
    if not isinstance(outcome, KafkaError):
        log.info("Created topic %s", topic.name)
        return
    if outcome.error is not Errors.TOPIC_ALREADY_EXISTS and outcome.error not in _NOT_ALLOWED:
        text = f"Error while attempting to create/find topic(s) '{topic.name}': {outcome}"
        if outcome.error is Errors.INVALID_REPLICATION_FACTOR:
            text += f" Set {config_name.removesuffix('.topic')}.replication.factor to the number of brokers or less."
        raise ConnectException(text) from outcome
    _verify_compacted(admin, topic.name, config_name, purpose)


def _verify_compacted(admin: AdminClient, topic: str, config_name: str, purpose: str) -> None:
    described = admin.describe_configs([ConfigResource("topic", topic)])
    (entries,) = described.values()
    if isinstance(entries, KafkaError):
        log.info("The cleanup policy of '%s' cannot be read: %s", topic, entries)
        return
    policy = next((entry.value for entry in entries if entry.name == "cleanup.policy"), None)
    policies = {part.strip().lower() for part in (policy or "").split(",") if part.strip()}
    if policies and policies != {"compact"}:
        raise ConfigException(
            f"Topic '{topic}' supplied via the '{config_name}' property is required to have 'cleanup.policy=compact' to "
            f"guarantee consistency and durability of {purpose}, but found the topic currently has "
            f"'cleanup.policy={','.join(sorted(policies))}'. Continuing would likely result in eventually losing {purpose} "
            "and problems restarting this Connect cluster in the future. Change the "
            f"'{config_name}' property in the Connect worker configurations to use a topic with 'cleanup.policy=compact'."
        )
