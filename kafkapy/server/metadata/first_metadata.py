"""Between the opening of the doors and the controller's first word about the cluster."""

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
"""Bounds the wait where no controller is elected: then clients are answered as Apache's broker answers them at once."""


class FirstMetadata:
    """Keeps requests about the cluster waiting until this broker has been told of it, then passes all on.

    Clients come back the moment a restarted broker listens. Apache Kafka may answer them from its empty cache then; a
    client that is told that there are no brokers forgets those it knew (librdkafka 2.16 never recovers from it), and a
    CreateTopics fails with INVALID_REPLICATION_FACTOR.

    Invariant: `_over` turns True once, when an UpdateMetadata has named the live brokers (and topics, if this broker has
    logs), or when the controller has been silent for `MAX_WAIT_MS`; before that no request in `_held` is answered.
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
            log.warning("No controller has told this broker of the cluster in %d ms; serving without that", MAX_WAIT_MS)
        self._over = True
        held, self._held = self._held, []
        for request in held:
            if not request.cancelled:
                self._handler(request)
