"""A member of a group (Kafka's `AbstractCoordinator`): joining, heartbeats, leaving, in the background.

`GroupMembership` decides what a state or an answer means; `GroupMember` sends the requests. The `GroupProtocol`
decides what the members share, and how. A new assignment is handed over only while the user polls: the `GroupHost`
opens its gate then.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from kafkapy.clients.driver import wait_for
from kafkapy.clients.network_client import NetworkClient
from kafkapy.errors import (
    ClientError,
    InconsistentGroupProtocolError,
    InvalidSessionTimeoutError,
    as_client_error,
    error_for,
)
from kafkapy.group_member.coordinator_lookup import CoordinatorLookup
from kafkapy.group_member.group_protocol import GroupHost, GroupProtocol, GroupRebalanceConfig, JoinedMember
from kafkapy.group_member.heartbeats import Heartbeats
from kafkapy.group_member.membership import Api, Event, Generation, GroupMembership, MembershipState, Verdict
from kafkapy.group_member.requests import LeaveRequest, join_request, sync_request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse
from kafkapy.runtime.completion import CancelledError, Completion, FairLock, spawn

SESSION_TIMEOUT_BEFORE_3_0_MS = 30_000
"""The longest session time-out that a broker before 3.0 allows by default; a member with the default setting falls
back to it (KIP-735)."""
_SESSION_TIMEOUT_SINCE_3_0_MS = 45_000
_JOIN_GRACE_MS = 5_000


class GroupMember:
    """One member of one group, on the driver's thread.

    Invariant: `_joining` is the one rebalance under way, or None. Between the protocol's `on_join_prepare` and
    `on_join_complete` lies at least one JoinGroup; `_prepared` is True once the first has been called.
    """

    def __init__(
        self,
        client: NetworkClient,
        config: GroupRebalanceConfig,
        protocol: GroupProtocol,
        host: GroupHost,
        log: logging.Logger,
    ) -> None:
        """`log`: the logger of the consumer or service that has this member."""
        self.membership = GroupMembership()
        self.lookup = CoordinatorLookup(client, config.group_id, log)
        self.heartbeats = Heartbeats(
            client, config, self.membership, self.lookup, protocol, host, self.fail, self._leave_group, log
        )
        self._client = client
        self._config = config
        self._protocol = protocol
        self._host = host
        self._log = log
        self._session_timeout_ms = config.session_timeout_ms
        self._error: KafkaError | None = None
        self._joining: Completion[None] | None = None
        self._leaving = FairLock()
        self._prepared = False

    # -- for the poll

    @property
    def has_error(self) -> bool:
        """Is there an error for the next poll to raise?"""
        return self._error is not None

    @property
    def needs_poll(self) -> bool:
        """Is there work that only a poll can do?"""
        return self._error is not None or (self._joining is None and self._rejoin_needed())

    @property
    def rebalancing(self) -> bool:
        return self._joining is not None

    def poll(self) -> None:
        """Start a rebalance if one is needed. Raises the error that has occurred since the last poll."""
        self.raise_error()
        if self._joining is None and self._rejoin_needed():
            self._prepared = False
            joining = self._joining = spawn(self._rejoin())
            joining.add_callback(self._rejoined)
            self.raise_error()

    def raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def fail(self, error: KafkaError) -> None:
        """Keep an error for the next poll to raise."""
        self._error = error
        self._host.wake()

    def _rejoin_needed(self) -> bool:
        reason = self._protocol.rejoin_reason()
        if reason is not None:
            self.membership.request_rejoin(reason)
        return self.membership.rejoin_needed

    # -- rebalance

    def _rejoined(self, joining: Completion[None]) -> None:
        self._joining = None
        error = joining.exception()
        if isinstance(error, KafkaError):
            self._error = as_client_error(error)
        elif isinstance(error, Exception):
            self._error = ClientError(f"The rebalance failed: {error!r}")
            self._error.__cause__ = error
        self._host.wake()

    async def _rejoin(self) -> None:
        """Join until the member has an assignment and nothing has changed meanwhile."""
        attempts = 0
        while self._rejoin_needed():
            if not self._prepared:
                await self._protocol.on_join_prepare()
                self._prepared = True
            try:
                generation, assignment = await self._join_and_sync()
            except _TryAgain as again:
                if again.pause:
                    await self._client.driver.sleep(self.lookup.backoff_ms(attempts))
                    attempts += 1
                continue
            await self._host.gate()
            if self.membership.stable_generation != generation:
                continue  # removed from the group before the assignment was handed over
            attempts = 0
            self._prepared = False
            await self._protocol.on_join_complete(generation, assignment)

    async def _join_and_sync(self) -> tuple[Generation, bytes]:
        joined = await self._join()
        generation = Generation(joined.generation_id, joined.member_id, joined.protocol_name)
        assignments = await self._assign_group(joined) if joined.leader == joined.member_id else {}
        request = sync_request(self._config, generation, self._protocol.protocol_type, assignments)
        response: SyncGroupResponse = await self._send(Api.SYNC, request, generation)
        protocol = joined.protocol_name or ""
        if not self._is_ours(response.protocol_type) or response.protocol_name not in (None, protocol):
            self.membership.on(Event.FAILED)
            raise InconsistentGroupProtocolError(f"SyncGroup answers for {response.protocol_name}, not for {protocol}")
        if not self.membership.synced(generation):
            raise _TryAgain(pause=False)
        return generation, bytes(response.assignment)

    async def _join(self) -> JoinGroupResponse:
        await self.lookup.find()
        self.membership.on(Event.JOIN)
        sent = self.membership.generation
        timeout_ms = max(self._client.config.request_timeout_ms, self._config.rebalance_timeout_ms + _JOIN_GRACE_MS)
        request = join_request(
            self._config,
            sent,
            self._protocol.protocol_type,
            self._protocol.metadata(),
            self._session_timeout_ms,
            self.membership.rejoin_reason,
        )
        try:
            response: JoinGroupResponse = await self._send(Api.JOIN, request, sent, timeout_ms)
        except InvalidSessionTimeoutError:
            if self._session_timeout_ms != _SESSION_TIMEOUT_SINCE_3_0_MS:
                raise
            self._session_timeout_ms = SESSION_TIMEOUT_BEFORE_3_0_MS
            raise _TryAgain(pause=False) from None
        if not self._is_ours(response.protocol_type):
            self.membership.on(Event.FAILED)
            raise InconsistentGroupProtocolError(f"The group's protocol type is {response.protocol_type}")
        if not self.membership.joined(Generation(response.generation_id, response.member_id, response.protocol_name)):
            raise _TryAgain(pause=False)
        self.heartbeats.start()
        return response

    async def _assign_group(self, joined: JoinGroupResponse) -> Mapping[str, bytes]:
        """Compute the assignment as the group's leader. If that fails, the next poll raises the error, and the one
        after it joins anew."""
        members = [JoinedMember(m.member_id, m.group_instance_id, bytes(m.metadata)) for m in joined.members]
        try:
            assignments = await self._protocol.perform_assignment(
                joined.member_id, joined.protocol_name or "", members, joined.skip_assignment
            )
        except Exception:
            self.membership.on(Event.FAILED)
            raise
        return {} if joined.skip_assignment else assignments

    def _is_ours(self, protocol_type: str | None) -> bool:
        """Is the protocol type the group's own? Old brokers do not send it."""
        return protocol_type in (None, self._protocol.protocol_type)

    async def _send(self, api: Api, request: Any, sent: Generation, timeout_ms: float | None = None) -> Any:
        """Send a request of the rebalance. Raises `_TryAgain`, or the error that ends the rebalance."""
        try:
            response = await self.lookup.send(request, timeout_ms)
        except KafkaError as failure:
            self.membership.on(Event.FAILED)
            if not getattr(failure, "retriable", False):
                raise
            self._log.info("Group %s: %s failed: %s", self._config.group_id, api.value, failure)
            raise _TryAgain(pause=True) from None
        error = Errors.for_code(response.error_code)
        if error is Errors.MEMBER_ID_REQUIRED:
            self.membership.given_id(response.member_id)
            raise _TryAgain(pause=False)
        verdict = self.membership.judge(api, error, sent)
        if verdict is Verdict.OK:
            return response
        self._log.info("Group %s: %s answered %s: %s", self._config.group_id, api.value, error.name, verdict.value)
        if verdict is Verdict.FATAL:
            raise error_for(error)
        if verdict is Verdict.FIND_COORDINATOR:
            self.lookup.forget(self.lookup.node_id, error.name)
        raise _TryAgain(pause=verdict in (Verdict.RETRY, Verdict.FIND_COORDINATOR))

    # -- leaving

    async def leave(self, reason: str) -> None:
        """Give up the assignment and tell the coordinator (a static member does not). Raises what `on_leave_prepare`
        raises.

        If another leave is under way, wait for that one; nothing is left to do then.
        """
        async with self._leaving:
            if self._joining is not None:
                self._joining.cancel()
            error: Exception | None = None
            try:
                await self._protocol.on_leave_prepare()
            except Exception as failure:
                error = failure
            await self._leave_group(reason)
            if error is not None:
                raise error

    async def close(self, reason: str, timeout_ms: float) -> None:
        """Leave within the time limit, and stop the heartbeats. Raises KafkaTimeoutError, and as `leave`."""
        try:
            await wait_for(self._client.driver, spawn(self.leave(reason)), timeout_ms)
        finally:
            if self._joining is not None:
                self._joining.cancel()
            self.heartbeats.stop()

    async def _leave_group(self, reason: str) -> None:
        generation = self.membership.generation
        was = self.membership.state
        self.membership.on(Event.LEAVE)
        try:
            dynamic = self._config.group_instance_id is None
            joined = was is not MembershipState.UNJOINED and generation.member_id
            if dynamic and joined and self.lookup.node_id is not None:
                await self.lookup.send(LeaveRequest(self._config.group_id, generation.member_id, reason))
        except (KafkaError, CancelledError) as error:
            self._log.info("Group %s: LeaveGroup failed: %s", self._config.group_id, error)
            if isinstance(error, CancelledError):
                raise
        finally:
            self.membership.left(f"{self._protocol.protocol_type} left the group")


class _TryAgain(Exception):
    """The rebalance failed in a way that the user need not know of."""

    def __init__(self, pause: bool) -> None:
        super().__init__(pause)
        self.pause = pause
