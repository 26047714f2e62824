"""Creates the configured audit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.common.time import Time
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.client_config import inter_broker_client_config
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.security.audit.audit import CLIENT_ID, Audit
from kafkapy.server.security.audit.audit_config import AuditConfig
from kafkapy.server.security.audit.audit_file import RotatingAuditFile
from kafkapy.server.security.audit.audit_topic import TIMEOUT_MS, AuditTopic

log = logging.getLogger("kafkapy.server.Audit")

CREATE_AGAIN_SECONDS: Final = 30.0

CreateTopic = Callable[[str], object]
"""Creates a topic with the broker's defaults, if it does not exist. Blocks."""


def build_audit(
    audit_config: AuditConfig, config: KafkaConfig, cache: MetadataCache, clock: Time, create_topic: CreateTopic
) -> Audit:
    """Return the audit, whose `log` must be started and stopped.

    Raises:
        KafkaConfigurationError: The audit is written to a topic, and the inter-broker configs are unusable.
    """
    if not audit_config.topic:
        file = RotatingAuditFile(audit_config.file, audit_config.file_max_bytes, audit_config.file_max_count)
        return Audit(audit_config, file, clock.milliseconds)

    def connect(host: str, port: int) -> BlockingClient:
        client_id = f"{CLIENT_ID}{config.broker_id}"
        return BlockingClient(host, port, inter_broker_client_config(config, client_id, TIMEOUT_MS))

    place = _CachedPlace(cache, config.inter_broker_listener_name, create_topic)
    return Audit(audit_config, AuditTopic(audit_config.topic, place, connect), clock.milliseconds)


class _CachedPlace:
    """A topic's leaders from the broker's metadata: dictionary look-ups, which are safe in any thread."""

    def __init__(self, cache: MetadataCache, listener: str, create_topic: CreateTopic) -> None:
        self._cache = cache
        self._listener = listener
        self._create_topic = create_topic
        self._created_at: float | None = None

    def leader_of(self, topic: str, number: int) -> tuple[int, str, int] | None:
        """See `TopicPlace`."""
        count = self._cache.num_partitions(topic) or 0
        for step in range(count):
            partition = (number + step) % count
            state = self._cache.partition_state(topic, partition)
            node = None if state is None else self._cache.alive_broker(state.leader, self._listener)
            if node is not None:
                return partition, node.host, node.port
        return None

    def create(self, topic: str) -> None:
        """See `TopicPlace`. Before the controller has sent the metadata, it is unknown whether the topic exists."""
        if self._cache.controller_id is None or self._cache.contains_topic(topic):
            return
        now = time.monotonic()
        if self._created_at is not None and now - self._created_at < CREATE_AGAIN_SECONDS:
            return
        self._created_at = now
        try:
            self._create_topic(topic)
        except Exception as problem:
            log.error("The topic %s of the audit could not be created: %s", topic, problem)
