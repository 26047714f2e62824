"""Schedules a client's metadata requests and chooses their destinations (Kafka's `DefaultMetadataUpdater`)."""

from __future__ import annotations

import random
from typing import Any, Protocol

from kafkapy.clients.client_metadata import ClientMetadata, MetadataRequestBuilder
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.driver import Driver, TimerHandle
from kafkapy.clients.metadata import ClusterMetadata
from kafkapy.errors import IllegalStateError, as_client_error
from kafkapy.protocol.errors import KafkaError
from kafkapy.runtime.completion import Completion, spawn

_JITTER = 0.2


class Client(Protocol):
    """The client's interface for the updater."""

    config: ClientConfig
    metadata: ClientMetadata
    closed: bool

    @property
    def driver(self) -> Driver: ...

    def least_loaded_node(self) -> Completion[int]: ...

    def send(self, node_id: int, request: Any) -> Completion[Any]: ...

    def drop_bootstrap_connections(self) -> None: ...


class MetadataUpdater:
    """Sends Metadata requests, one at a time, until no update is needed."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._refreshing = False
        self._refreshed_ms = -1e12
        self._refresh_at_once = False
        self._pause: Completion[None] | None = None
        self._aging: TimerHandle | None = None

    def wanted(self, at_once: bool) -> None:
        if self._client.closed:
            wanted = self._client.metadata.take_wanted()
            if wanted is not None:
                wanted.set_exception(IllegalStateError("The client is closed"))
            return
        self._refresh_at_once = self._refresh_at_once or at_once
        if not self._refreshing:
            self._refreshing = True
            # On the loop's next turn, so that topics that are requested at the same time share one request.
            self._client.driver.call_soon(lambda: spawn(self._refresh()))
        elif at_once and self._pause is not None:
            self._pause.set_result(None)

    async def _refresh(self) -> None:
        """Request metadata until no update is needed."""
        attempts = 0
        try:
            while self._client.metadata.update_wanted and not self._client.closed:
                await self._refresh_pause(attempts)
                wanted = self._client.metadata.take_wanted()
                if wanted is None or self._client.closed:
                    continue
                try:
                    await self._ask_for_metadata()
                except KafkaError as error:
                    attempts += 1
                    self._refresh_failed(wanted, as_client_error(error))
                    continue
                except BaseException as error:
                    wanted.set_exception(error)
                    raise
                attempts = attempts + 1 if self._topics_in_trouble() else 0
                wanted.set_result(self._client.metadata.cluster)
        finally:
            self._refreshing = False

    async def _refresh_pause(self, attempts: int) -> None:
        """Wait for the back-off, so that there is at most one request in that time; new topics end the wait."""
        if self._refresh_at_once:
            self._refresh_at_once = False
            return
        backoff = exponential(
            self._client.config.retry_backoff_ms, self._client.config.retry_backoff_max_ms, max(0, attempts - 1)
        )
        delay = self._refreshed_ms + backoff - self._client.driver.time.monotonic_ms()
        if delay > 0:
            pause = self._pause = Completion()
            timer = self._client.driver.call_later(delay, lambda: pause.set_result(None))
            await pause
            timer.cancel()
            self._pause = None
            self._refresh_at_once = False

    async def _ask_for_metadata(self) -> None:
        metadata = self._client.metadata
        metadata.forget_idle_topics()
        topics = None if metadata.all_topics else metadata.topics
        request = MetadataRequestBuilder(topics, metadata.allow_auto_topic_creation)
        node_id = await self._client.least_loaded_node()
        self._refreshed_ms = self._client.driver.time.monotonic_ms()
        response = await self._client.send(node_id, request)
        self._refreshed_ms = self._client.driver.time.monotonic_ms()
        metadata.update(response)
        self._client.drop_bootstrap_connections()
        if self._aging is not None:
            self._aging.cancel()
        self._aging = self._client.driver.call_later(self._client.config.metadata_max_age_ms, metadata.request_update)

    @property
    def age_ms(self) -> float:
        """Return the ms since the metadata was last requested; 0 if it never was."""
        asked_ms = self._refreshed_ms
        return max(0.0, self._client.driver.time.monotonic_ms() - asked_ms) if self._client.metadata.version else 0.0

    def _refresh_failed(self, wanted: Completion[ClusterMetadata], error: KafkaError) -> None:
        if error.retriable and not self._client.closed:
            self._client.metadata.give_back(wanted)
        else:
            wanted.set_exception(error)

    def _topics_in_trouble(self) -> bool:
        """Return whether a topic lacks a leader or does not exist yet: as Kafka's clients, request metadata again
        then."""
        metadata = self._client.metadata
        trouble = any(
            topic.error.refresh_metadata or any(p.error.refresh_metadata for p in topic.partitions)
            for topic in metadata.cluster.topics.values()
        )
        if trouble:
            metadata.request_update()
        return trouble

    def close(self) -> None:
        """End a back-off; the client fails callers that wait for metadata."""
        if self._pause is not None:
            self._pause.set_result(None)


def exponential(first: float, most: float, attempts: int) -> float:
    """Return the back-off: doubled for each attempt, with 20 % of jitter, so that clients don't retry
    simultaneously."""
    return min(first * 2.0 ** min(attempts, 30), most) * random.uniform(1 - _JITTER, 1 + _JITTER)
