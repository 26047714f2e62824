"""A second kind of group user beside consumers: instances of a schema registry, which elect one primary."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence

from kafkapy.clients.config import ClientConfig
from kafkapy.clients.driver import Driver
from kafkapy.clients.network_client import NetworkClient
from kafkapy.group_member.group_member import GroupMember
from kafkapy.group_member.group_protocol import GroupRebalanceConfig, JoinedMember
from kafkapy.group_member.membership import Generation
from kafkapy.protocol.errors import KafkaError
from kafkapy.runtime.completion import Completion

LOG = logging.getLogger("registry")


class RegistryInstance:
    """The leader makes the smallest URL of those that may be primary; all are told which. `heard`: what the member was told."""

    protocol_type = "sr"

    def __init__(
        self, driver: Driver, servers: Sequence[str], url: str, eligible: bool = True, group_id: str = "registry"
    ) -> None:
        self.url = url
        self.primary: str | None = None
        self.heard: list[str] = []
        self.error: KafkaError | None = None
        self.polls = True
        self._eligible = eligible
        self._driver = driver
        self._last_poll_ms = driver.time.monotonic_ms()
        self.client = NetworkClient(driver, ClientConfig(bootstrap_servers=servers, reconnect_backoff_ms=10))
        config = GroupRebalanceConfig(group_id, None, 6_000, 200, 5_000)
        self.member = GroupMember(self.client, config, self, self, LOG)

    def run(self) -> None:
        """Once; after that the member wakes it."""
        if self.polls:
            self._last_poll_ms = self._driver.time.monotonic_ms()
            try:
                self.member.poll()
            except KafkaError as error:
                self.error = error

    async def stop(self) -> None:
        try:
            await self.member.close("the registry stops", 5_000)
        finally:
            self.client.close()

    # -- GroupProtocol

    def metadata(self) -> list[tuple[str, bytes]]:
        return [("v0", json.dumps({"url": self.url, "eligible": self._eligible}).encode())]

    def rejoin_reason(self) -> str | None:
        return None

    async def on_join_prepare(self) -> None:
        self.heard.append("join")
        self.primary = None

    async def perform_assignment(
        self, leader: str, protocol: str, members: Sequence[JoinedMember], skip: bool
    ) -> dict[str, bytes]:
        assert protocol == "v0"
        assert leader in {member.member_id for member in members}
        known = [json.loads(member.metadata) for member in members]
        primary = min((each["url"] for each in known if each["eligible"]), default=None)
        return {member.member_id: json.dumps({"primary": primary}).encode() for member in members}

    async def on_join_complete(self, generation: Generation, assignment: bytes) -> None:
        self.primary = json.loads(assignment)["primary"]
        self.heard.append(f"primary {self.primary}")

    async def on_leave_prepare(self) -> None:
        self.heard.append("leave")
        self.primary = None

    def on_poll_timeout(self) -> str:
        return "registry poll timeout has expired."

    # -- GroupHost

    @property
    def last_poll_ms(self) -> float:
        return self._driver.time.monotonic_ms() if self.polls else self._last_poll_ms

    def gate(self) -> Completion[None]:
        return Completion.of(None)

    def wake(self) -> None:
        self._driver.call_soon(self.run)
