"""Delays requests about the cluster between the start of the listeners and the controller's first UpdateMetadata."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.runtime.completion import spawn
from kafkapy.server.metadata.metadata_cache import MetadataCache

log = logging.getLogger("kafkapy.server.KafkaServer")

ABOUT_THE_CLUSTER = frozenset(
    {
        ApiKey.METADATA,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.FIND_COORDINATOR,
        ApiKey.CREATE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
    }
)

MAX_WAIT_MS = 5000
"""Longest delay, for clusters without a controller; after it clients get what Apache's broker answers immediately."""


class MetadataGate:
    """Holds requests about the cluster until the first UpdateMetadata; later ones go to the handler directly.

    Clients reconnect as soon as a restarted broker listens. Apache Kafka may answer them from its empty cache then. On
    metadata without brokers, a client drops those it knew (librdkafka 2.16 never recovers from that), and CreateTopics
    fails with INVALID_REPLICATION_FACTOR.

    Invariant: `_over` turns True once, after an UpdateMetadata with live brokers (and with topics, if this broker has
    logs), or after `MAX_WAIT_MS` without one; before that no request in `_held` is answered.
    """

    def __init__(self, handler: Callable[[Request], None], cache: MetadataCache, has_logs: bool) -> None:
        self._handler = handler
        self._cache = cache
        self._has_logs = has_logs
        self._over = False
        self._held: list[Request] = []
        spawn(self._release_when_known())

    def handle(self, request: Request) -> None:
        if self._over or request.api_key not in ABOUT_THE_CLUSTER:
            self._handler(request)
        else:
            self._held.append(request)

    def _has_metadata(self) -> bool:
        return bool(self._cache.alive_broker_ids()) and bool(not self._has_logs or self._cache.all_topics())

    async def _release_when_known(self) -> None:
        if not await self._cache.wait_for(self._has_metadata, MAX_WAIT_MS):
            log.warning(
                "No controller has sent this broker the cluster's metadata within %d ms; serving without it",
                MAX_WAIT_MS,
            )
        self._over = True
        held, self._held = self._held, []
        for request in held:
            if not request.cancelled:
                self._handler(request)
