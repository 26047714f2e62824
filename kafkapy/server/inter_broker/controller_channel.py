"""This broker's connection to the active controller (Kafka's `NodeToControllerChannelManager`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kafkapy.clients.driver import Driver
from kafkapy.clients.node_client import NodeClient
from kafkapy.clients.requests import VersionedRequest
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message

log = logging.getLogger("kafkapy.server.ControllerChannel")

ASK_AGAIN_MS = 50
"""Retry backoff, as of Kafka's `NodeToControllerChannelManager`."""


class ControllerChannel:
    """Sends one request at a time, and retries it, also with a new controller, until a controller has answered."""

    def __init__(self, driver: Driver, client: NodeClient, controller_id: Callable[[], int | None]) -> None:
        """`client` must connect to the current controller."""
        self._driver = driver
        self._client = client
        self._controller_id = controller_id
        self._connected_to: int | None = None
        self._stopped = False

    async def call(self, api_key: ApiKey, build: Callable[[int], Message], version: int) -> Any:
        """Return the controller's response to `build(version)`, which is called for each attempt; None if the broker stops."""
        while not self._stopped:
            controller = self._controller_id()
            if controller != self._connected_to:
                self._client.close()
                self._connected_to = controller
            try:
                response = await self._client.call(VersionedRequest(api_key.request, build), version)
                if response.error_code != Errors.NOT_CONTROLLER.code:
                    return response
                log.info("Broker %s is not the controller any more", self._connected_to)
                self._client.close()
            except KafkaError as error:
                if error.error is Errors.UNSUPPORTED_VERSION:
                    raise
                log.debug("The controller %s can't be reached: %s", self._connected_to, error.message)
            await self._driver.sleep(ASK_AGAIN_MS)
        return None

    def close(self) -> None:
        self._stopped = True
        self._client.close()
