"""Requests whose content depends on the version chosen for the broker (Kafka's `AbstractRequest.Builder`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.protocol.message import Message


class VersionedRequest:
    """A request that `build` creates for the chosen version."""

    __slots__ = ("API_KEY", "build")

    def __init__(self, request: type[Message], build: Callable[[int], Any]) -> None:
        self.API_KEY = request.API_KEY
        self.build = build
