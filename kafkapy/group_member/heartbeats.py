"""Heartbeats to the coordinator, in the background, as long as the user polls often enough."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from kafkapy.clients.network_client import NetworkClient
from kafkapy.errors import error_for
from kafkapy.group_member.coordinator_lookup import CoordinatorLookup
from kafkapy.group_member.group_protocol import GroupHost, GroupProtocol, GroupRebalanceConfig
from kafkapy.group_member.membership import Api, GroupMembership, Verdict
from kafkapy.group_member.requests import heartbeat_request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.completion import Completion, spawn


class Heartbeats:
    """Sends heartbeats.

    Invariant: at most one heartbeat is under way; none is sent while the member is out of the group or joining.
    """

    def __init__(
        self,
        client: NetworkClient,
        config: GroupRebalanceConfig,
        membership: GroupMembership,
        lookup: CoordinatorLookup,
        protocol: GroupProtocol,
        host: GroupHost,
        fail: Callable[[KafkaError], None],
        leave: Callable[[str], Awaitable[None]],
        log: logging.Logger,
    ) -> None:
        """`fail`: keeps an error for the user's next poll. `leave`: leaves the group, for a reason."""
        self.last_ms: float | None = None
        """When the coordinator last answered a heartbeat (monotonic, ms)."""
        self._driver = client.driver
        self._retry_backoff_ms = client.config.retry_backoff_ms
        self._config = config
        self._membership = membership
        self._lookup = lookup
        self._protocol = protocol
        self._host = host
        self._fail = fail
        self._leave_group = leave
        self._log = log
        self._task: Completion[None] | None = None

    def start(self) -> None:
        """Send heartbeats from now on, as long as the member exists. A JoinGroup counts as a heartbeat."""
        self.last_ms = self._now()
        if self._task is None:
            self._task = spawn(self._beat())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _beat(self) -> None:
        """The heartbeat loop. A member whose user does not poll leaves, so that other members take over its share."""
        pause = float(self._config.heartbeat_interval_ms)
        while True:
            if self._membership.heartbeats:
                until_poll = self._host.last_poll_ms + self._config.rebalance_timeout_ms - self._now()
                pause = min(pause, max(1.0, until_poll + 1))
            await self._driver.sleep(pause)
            pause = self._config.heartbeat_interval_ms
            if not self._membership.heartbeats:
                continue
            if self._now() - self._host.last_poll_ms > self._config.rebalance_timeout_ms:
                await self._leave_group(self._protocol.on_poll_timeout())
            elif not await self._heartbeat():
                pause = self._retry_backoff_ms

    async def _heartbeat(self) -> bool:
        """Send one heartbeat; False if it should be repeated soon."""
        sent = self._membership.generation
        try:
            response = await self._lookup.send(heartbeat_request(self._config, sent))
        except KafkaError as failure:
            if not getattr(failure, "retriable", False):
                self._fail(failure)
            return False
        error = Errors.for_code(response.error_code)
        verdict = self._membership.judge(Api.HEARTBEAT, error, sent)
        if verdict is Verdict.OK:
            self.last_ms = self._now()
            return True
        self._log.info("Group %s: heartbeat answered %s: %s", self._config.group_id, error.name, verdict.value)
        if verdict is Verdict.FATAL:
            self._fail(error_for(error))
        elif verdict is Verdict.FIND_COORDINATOR:
            self._lookup.forget(self._lookup.node_id, error.name)
            return False
        self._host.wake()
        return True

    def _now(self) -> float:
        return self._driver.time.monotonic_ms()
