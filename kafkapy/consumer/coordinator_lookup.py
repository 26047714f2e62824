"""Which broker coordinates the group: asked for when it is needed, forgotten when it fails."""

from __future__ import annotations

import logging
from typing import Any

from kafkapy.clients.client_metadata import coordinator_node_id
from kafkapy.clients.completion import Completion, spawn
from kafkapy.clients.network_client import NetworkClient
from kafkapy.errors import CoordinatorNotAvailableError, as_client_error, error_for
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

_log = logging.getLogger("kafkapy.consumer")
_GROUP = 0


class CoordinatorLookup:
    """Invariant: at most one look-up is under way, and all who need the coordinator wait for the same one."""

    def __init__(self, client: NetworkClient, group_id: str) -> None:
        self.node_id: int | None = None
        """The broker; None while it is not known."""
        self._client = client
        self._group_id = group_id
        self._search: Completion[int] | None = None

    async def send(self, request: Any, timeout_ms: float | None = None) -> Any:
        """The coordinator's answer, over the group's own connection. Whoever cannot be reached is forgotten.

        Raises what `NetworkClient.send` raises, and what the look-up fails with for good (authorization).
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
        """Its node id; waits for as long as it takes."""
        if self.node_id is not None:
            return Completion.of(self.node_id)
        if self._search is None:
            search = self._search = spawn(self._find())
            if search.done:
                self._search = None
            return search
        return self._search

    def forget(self, node_id: int | None, reason: str) -> None:
        """It is not the coordinator any more, or out of reach. Stale news of an earlier one change nothing."""
        if node_id is not None and node_id == self.node_id:
            _log.info("Group %s: coordinator %d is unavailable or invalid: %s", self._group_id, node_id, reason)
            self.node_id = None

    async def _find(self) -> int:
        attempts = 0
        try:
            while True:
                try:
                    self.node_id = await self._ask()
                except KafkaError as error:
                    failure = as_client_error(error)
                    if not failure.retriable:
                        raise failure from None
                    await self._client.driver.sleep(self._backoff_ms(attempts))
                    attempts += 1
                else:
                    _log.info("Group %s: discovered coordinator %d", self._group_id, self.node_id)
                    return self.node_id
        finally:
            self._search = None

    async def _ask(self) -> int:
        node = await self._client.least_loaded_node()
        found = _coordinator_of(await self._client.send(node, _Request(self._group_id)))
        if self._client.metadata.node(found) is None:
            await self._client.metadata.request_update()
            if self._client.metadata.node(found) is None:
                raise CoordinatorNotAvailableError(f"Broker {found} is not in the metadata yet")
        return found

    def _backoff_ms(self, attempts: int) -> float:
        config = self._client.config
        return min(config.retry_backoff_max_ms, config.retry_backoff_ms * 2.0 ** min(attempts, 20))


class _Request:
    """A list of keys from version 4 on."""

    API_KEY = FindCoordinatorRequest.API_KEY

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id

    def build(self, version: int) -> FindCoordinatorRequest:
        if version >= 4:
            return FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=[self._group_id])
        return FindCoordinatorRequest(key_type=_GROUP, key=self._group_id)


def _coordinator_of(response: FindCoordinatorResponse) -> int:
    found = response.coordinators[0] if response.coordinators else response
    error = Errors.for_code(found.error_code)
    if error is not Errors.NONE:
        raise error_for(error, found.error_message or None)
    return found.node_id
