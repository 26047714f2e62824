"""Finds the broker that coordinates a group or a transactional id: looked up when needed, forgotten when a request
fails."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any

from kafkapy.clients.client_metadata import coordinator_node_id
from kafkapy.clients.network_client import NetworkClient
from kafkapy.errors import CoordinatorNotAvailableError, as_client_error, error_for
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.runtime.completion import Completion, spawn


class CoordinatorType(IntEnum):
    """The kind of a key (Kafka's `CoordinatorType`)."""

    GROUP = 0
    TRANSACTION = 1


async def find_coordinators(
    client: NetworkClient, keys: Iterable[str], kind: CoordinatorType = CoordinatorType.GROUP
) -> dict[str, int]:
    """Find the coordinators of some keys with one request: key -> id of a broker that is in the metadata.

    Raises what a broker answers for any of the keys, CoordinatorNotAvailableError for a broker that is not in the
    metadata yet, IncompatibleBrokerVersion from a broker without transactions, and what `NetworkClient.send` raises.
    """
    wanted = list(dict.fromkeys(keys))
    node_id = await client.least_loaded_node()
    found: dict[str, int] = {}
    for key in wanted:  # before version 4 a request has one key
        if key in found:
            continue
        request = _Request([key for key in wanted if key not in found], kind)
        response = await client.send(node_id, request, min_version=min(kind, 1))
        for name, row in [(row.key, row) for row in response.coordinators] or [(key, response)]:
            if row.error_code:
                raise error_for(row.error_code, row.error_message or None)
            found[name] = row.node_id
    await _ensure_known(client, found.values())
    return found


async def _ensure_known(client: NetworkClient, node_ids: Iterable[int]) -> None:
    """Refresh the metadata if it lacks one of the brokers."""
    if any(client.metadata.node(node_id) is None for node_id in node_ids):
        await client.metadata.request_update()
        for node_id in node_ids:
            if client.metadata.node(node_id) is None:
                raise CoordinatorNotAvailableError(f"Broker {node_id} is not in the metadata yet")


class CoordinatorLookup:
    """The coordinator of one group.

    Invariant: at most one look-up is under way, and all callers that need the coordinator wait for that one.
    """

    def __init__(self, client: NetworkClient, group_id: str, log: logging.Logger) -> None:
        self.node_id: int | None = None
        """Node id of the coordinator; None while it is not known."""
        self._client = client
        self._group_id = group_id
        self._log = log
        self._search: Completion[int] | None = None

    async def send(self, request: Any, timeout_ms: float | None = None) -> Any:
        """Send a request to the coordinator, over the group's own connection; returns the response.

        A coordinator that cannot be reached is forgotten. Raises what `NetworkClient.send` raises, and errors of the
        look-up that a retry cannot cure (authorization).
        """
        node_id = await self.find()
        try:
            return await self._client.send(coordinator_node_id(node_id), request, timeout_ms=timeout_ms)
        except KafkaError as error:
            failure = as_client_error(error)
            if failure.retriable:
                self.forget(node_id, str(failure))
            raise failure from None

    def find(self) -> Completion[int]:
        """The coordinator's node id; completes when the look-up has succeeded, however long that takes."""
        if self.node_id is not None:
            return Completion.of(self.node_id)
        if self._search is None:
            search = self._search = spawn(self._find())
            if search.done:
                self._search = None
            return search
        return self._search

    def forget(self, node_id: int | None, reason: str) -> None:
        """Forget the coordinator if it is still this node: it has moved, or cannot be reached."""
        if node_id is not None and node_id == self.node_id:
            self._log.info("Group %s: coordinator %d is unavailable or invalid: %s", self._group_id, node_id, reason)
            self.node_id = None

    def backoff_ms(self, attempts: int) -> float:
        """The pause, in milliseconds, after so many failed attempts."""
        config = self._client.config
        return min(config.retry_backoff_max_ms, config.retry_backoff_ms * 2.0 ** min(attempts, 20))

    async def _find(self) -> int:
        attempts = 0
        try:
            while True:
                try:
                    found = await find_coordinators(self._client, (self._group_id,))
                except KafkaError as error:
                    failure = as_client_error(error)
                    if not failure.retriable:
                        raise failure from None
                    await self._client.driver.sleep(self.backoff_ms(attempts))
                    attempts += 1
                else:
                    self.node_id = found[self._group_id]
                    self._log.info("Group %s: discovered coordinator %d", self._group_id, self.node_id)
                    return self.node_id
        finally:
            self._search = None


class _Request:
    """A FindCoordinator request: a list of keys from version 4 on, before that the first key."""

    API_KEY = FindCoordinatorRequest.API_KEY

    def __init__(self, keys: Sequence[str], kind: CoordinatorType) -> None:
        self._keys = list(keys)
        self._kind = kind

    def build(self, version: int) -> FindCoordinatorRequest:
        if version >= 4:
            return FindCoordinatorRequest(key_type=self._kind, coordinator_keys=self._keys)
        return FindCoordinatorRequest(key_type=self._kind, key=self._keys[0])
