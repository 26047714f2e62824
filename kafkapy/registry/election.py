"""Elects the primary by the group protocol of Confluent's registry (type `sr`), so that both can be in one group.

Members send a JSON identity. The group's leader chooses the current primary if it is eligible, else the eligible
member with the smallest member id. All get the same assignment.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kafkapy.clients.config import ClientConfig
from kafkapy.clients.driver import Driver
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common import strict_json
from kafkapy.group_member.group_member import GroupMember
from kafkapy.group_member.group_protocol import GroupRebalanceConfig, JoinedMember
from kafkapy.group_member.membership import Generation
from kafkapy.protocol.errors import KafkaError
from kafkapy.runtime.completion import Completion

log = logging.getLogger("kafkapy.registry")

_NO_ERROR, _DUPLICATE_URLS = 0, 1


class InstanceIdentity(NamedTuple):
    host: str
    port: int
    eligible: bool = True
    scheme: str = "http"
    is_leader: bool = False

    @property
    def url(self) -> str:
        return f"{self.scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "host": self.host,
            "port": self.port,
            "master_eligibility": self.eligible,
            "scheme": self.scheme,
            "leader": self.is_leader,
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> InstanceIdentity:
        return cls(
            str(content["host"]),
            int(content["port"]),
            bool(content.get("master_eligibility")),
            str(content.get("scheme") or "http"),
            bool(content.get("leader")),
        )


def elect(members: Sequence[tuple[str, InstanceIdentity]]) -> tuple[str | None, InstanceIdentity | None, int]:
    """Return member id and identity of the primary (None: none is eligible), and an error code if two members have the
    same URL."""
    eligible = [(not identity.is_leader, member_id, identity) for member_id, identity in members if identity.eligible]
    urls = {identity.url for _, identity in members}
    error = _NO_ERROR if len(urls) == len(members) else _DUPLICATE_URLS
    if not eligible:
        return None, None, error
    _, member_id, identity = min(eligible, key=lambda each: each[:2])
    return member_id, identity, error


class Election:
    """A member of the group. It calls `heard` on the driver's thread with the primary, None while there is none."""

    protocol_type = "sr"

    def __init__(
        self,
        driver: Driver,
        config: ClientConfig,
        group_id: str,
        identity: InstanceIdentity,
        heard: Callable[[InstanceIdentity | None], None],
    ) -> None:
        self.identity = identity
        self._driver = driver
        self._heard = heard
        self._client = NetworkClient(driver, config)
        times = GroupRebalanceConfig(group_id, None, 10_000, 3_000, 300_000)
        self._member = GroupMember(self._client, times, self, self, log)
        self._stopped = False

    def run(self) -> None:
        """Start or continue; later calls come from the member. On the driver's thread."""
        if self._stopped:
            return
        try:
            self._member.poll()
        except KafkaError as error:
            log.warning("The election failed and is tried again: %s", error)
            self._driver.call_later(1_000, self.run)

    async def stop(self) -> None:
        self._stopped = True
        try:
            await self._member.close("the registry stops", 5_000)
        finally:
            self._client.close()

    def _tell(self, primary: InstanceIdentity | None) -> None:
        self.identity = self.identity._replace(is_leader=primary is not None and primary.url == self.identity.url)
        self._heard(primary)

    # -- GroupProtocol

    def metadata(self) -> list[tuple[str, bytes]]:
        return [("v0", json.dumps(self.identity.to_json()).encode())]

    def rejoin_reason(self) -> str | None:
        return None

    async def on_join_prepare(self) -> None:
        """Keep the primary, as Confluent's registry does, so that writes continue while another member joins."""

    async def perform_assignment(
        self, leader: str, protocol: str, members: Sequence[JoinedMember], skip: bool
    ) -> dict[str, bytes]:
        known = [(each.member_id, InstanceIdentity.from_json(strict_json.loads(each.metadata))) for each in members]
        member_id, primary, error = elect(known)
        told: dict[str, Any] = {"version": 1, "error": error}
        if member_id is not None and primary is not None:
            told |= {"master": member_id, "master_identity": primary._replace(is_leader=True).to_json()}
        return {each.member_id: json.dumps(told).encode() for each in members}

    async def on_join_complete(self, generation: Generation, assignment: bytes) -> None:
        told = strict_json.loads(assignment)
        if told.get("error") == _DUPLICATE_URLS:
            log.error(
                "Several instances of the group have one URL, so writes cannot be forwarded: "
                "set host.name to a name that the others reach this one by"
            )
            self._tell(None)
            return
        identity = told.get("master_identity")
        self._tell(None if identity is None else InstanceIdentity.from_json(identity))

    async def on_leave_prepare(self) -> None:
        self._tell(None)

    def on_poll_timeout(self) -> str:
        return "schema registry poll timeout has expired."

    # -- GroupHost

    @property
    def last_poll_ms(self) -> float:
        return self._driver.time.monotonic_ms()

    def gate(self) -> Completion[None]:
        return Completion.of(None)

    def wake(self) -> None:
        self._driver.call_soon(self.run)
