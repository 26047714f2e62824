"""The consumer's side of a group (Kafka's `ConsumerCoordinator`): joining, heartbeats, leaving, in the background.

`GroupMembership` says what a state or an answer means; this sends the requests. What changes the assignment, and the
user's listeners with it, happens only while the user polls: the `Host` opens the gate for that.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from typing import Any

from kafkapy.clients.completion import CancelledError, Completion, spawn, wait_for
from kafkapy.clients.metadata import ClusterMetadata
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import GroupMember, RebalanceProtocol
from kafkapy.consumer.commits import OffsetCommits
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.coordinator_lookup import CoordinatorLookup
from kafkapy.consumer.group_membership import Api, Event, Generation, GroupMembership, State, Verdict
from kafkapy.consumer.group_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    partitions_of,
)
from kafkapy.consumer.group_requests import ClusterView, LeaveRequest, join_request, partition_snapshot, sync_request
from kafkapy.consumer.heartbeats import Heartbeats
from kafkapy.consumer.host import Host
from kafkapy.consumer.subscription_state import SubscriptionState
from kafkapy.errors import (
    ClientError,
    InconsistentGroupProtocolError,
    InvalidSessionTimeoutError,
    as_client_error,
    error_for,
)
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_log = logging.getLogger("kafkapy.consumer")
_JOIN_GRACE_MS = 5_000
_REASON_LENGTH = 255
_SESSION_TIMEOUT_BEFORE_3_0_MS = 30_000
_SESSION_TIMEOUT_SINCE_3_0_MS = 45_000


class ConsumerCoordinator:
    """The member of a group.

    Invariant: `_joining` is the one rebalance under way, None if there is none. `_snapshot` describes the partitions
    that the group's topics have now; `_assigned_snapshot`, of the leader only, those it assigned.
    """

    def __init__(
        self,
        client: NetworkClient,
        config: ConsumerConfig,
        subscriptions: SubscriptionState,
        host: Host,
    ) -> None:
        self.membership = GroupMembership()
        self.lookup = CoordinatorLookup(client, config.group_id or "")
        self.commits = OffsetCommits(client, config, self.lookup, self.membership, lambda: subscriptions.auto_assigned)
        self.is_leader = False
        self.rebalances = 0
        """Rebalances that this member completed."""
        self._client = client
        self._config = config
        self._group_id = config.group_id or ""
        self._subscriptions = subscriptions
        self._host = host
        self._session_timeout_ms = config.session_timeout_ms
        self._error: KafkaError | None = None
        self._joining: Completion[None] | None = None
        self._prepared = False
        self._joined_subscription: frozenset[str] | None = None
        self._snapshot: dict[str, Any] = {}
        self._assigned_snapshot: dict[str, Any] | None = None
        self.heartbeats = Heartbeats(
            client.driver, config, self.membership, self.lookup, host, self.fail, self._leave_group
        )
        client.metadata.listeners.append(self._metadata_changed)

    # -- for the poll

    @property
    def needs_poll(self) -> bool:
        """Is there something that only a poll can do?"""
        return self._error is not None or (self._joining is None and self._rejoin_needed())

    def poll(self) -> None:
        """Let the rebalance begin that is needed, and the commit that is due. Raises what went wrong since."""
        self.raise_error()
        if self._joining is None and self._rejoin_needed():
            self._prepared = False
            joining = self._joining = spawn(self._rejoin())
            joining.add_callback(self._rejoined)
            self.raise_error()
        if self.commits.auto_commit_due and self._joining is None:
            self.commits.auto_commit(self._host.consumed())

    def raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def fail(self, error: KafkaError) -> None:
        """The next poll raises this."""
        self._error = error
        self._host.wake()

    @property
    def rebalancing(self) -> bool:
        return self._joining is not None

    def _rejoin_needed(self) -> bool:
        if not self._subscriptions.auto_assigned:
            return False
        if self._assigned_snapshot is not None and self._assigned_snapshot != self._snapshot:
            self.membership.request_rejoin("cached metadata has changed")
        elif self._joined_subscription not in (None, self._subscriptions.subscription):
            self.membership.request_rejoin("subscription has changed")
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
        """Until the member has an assignment and nothing has changed meanwhile."""
        attempts = 0
        while self._rejoin_needed():
            if self._subscriptions.pattern is not None:
                await self._client.metadata.request_update()
            if not self._prepared:
                await self._prepare()
                self._prepared = True
            try:
                generation, protocol, assignment = await self._join_and_sync()
            except _TryAgain as again:
                if again.pause:
                    await self._client.driver.sleep(self._backoff_ms(attempts))
                    attempts += 1
                continue
            await self._host.gate()
            if self.membership.stable_generation != generation:
                continue  # thrown out before the assignment could be taken
            attempts = 0
            self._prepared = False
            await self._complete(generation, protocol, assignment)

    async def _prepare(self) -> None:
        """Commit, and give up what this protocol gives up before a join (Kafka's `onJoinPrepare`)."""
        subscriptions = self._subscriptions
        eager = self._config.rebalance_protocol is RebalanceProtocol.EAGER
        if self._config.enable_auto_commit and self.membership.generation.valid and subscriptions.assignment:
            if eager:
                subscriptions.mark_pending_revocation(subscriptions.assignment)
            await self.commits.auto_commit_before_rebalance(self._host.consumed())
            await self._host.gate()
        owned = subscriptions.assigned_partitions()
        if not self.membership.generation.valid:
            given_up = owned
            error = await self._give_up("on_partitions_lost", given_up)
        else:
            given_up = owned if eager else {p for p in owned if p.topic not in subscriptions.subscription}
            # In an eager rebalance listeners hear of it even if they lose nothing, as in Kafka.
            tell = self._listen if eager and not given_up else self._give_up
            error = await tell("on_partitions_revoked", given_up)
        if given_up:
            self._assign(owned - given_up)
        self.is_leader = False
        subscriptions.group_subscribe(())
        if error is not None:
            raise _listener_failure(error)

    async def _complete(self, generation: Generation, protocol: str, assignment: ConsumerProtocolAssignment) -> None:
        """Take the assignment (Kafka's `onJoinComplete`)."""
        subscriptions = self._subscriptions
        if not self.is_leader:
            self._assigned_snapshot = None
        assigned = set(partitions_of(assignment))
        if not self._matches_subscription(assigned):
            self.membership.request_rejoin("received assignment does not match the current subscription")
            return
        owned = subscriptions.assigned_partitions()
        error = None
        if self._config.rebalance_protocol is RebalanceProtocol.COOPERATIVE and owned - assigned:
            error = await self._give_up("on_partitions_revoked", owned - assigned)
            self.membership.request_rejoin("need to revoke partitions and re-join")
        if subscriptions.pattern is not None:
            topics = subscriptions.subscription | {partition.topic for partition in assigned}
            subscriptions.change_subscription(topics)
            self._joined_subscription = subscriptions.subscription
        assignor = next(assignor for assignor in self._config.assignors if assignor.name == protocol)
        assignor.on_assignment(assignment, generation.id)
        self.commits.postpone_auto_commit()
        self._assign(assigned)
        self.rebalances += 1
        _log.info("Group %s: generation %d assigned %s", self._group_id, generation.id, sorted(assigned))
        self._host.wake()
        error = await self._listen("on_partitions_assigned", assigned - owned) or error
        if error is not None:
            raise _listener_failure(error)

    def _matches_subscription(self, assigned: Iterable[TopicPartition]) -> bool:
        subscriptions = self._subscriptions
        if subscriptions.pattern is not None:
            return all(subscriptions.matches(partition.topic) for partition in assigned)
        return all(partition.topic in subscriptions.subscription for partition in assigned)

    def _assign(self, partitions: Collection[TopicPartition]) -> None:
        """From the group, which may give topics that a shrunk subscription has no more: they go with the next join."""
        subscribed = self._subscriptions.subscription
        self._subscriptions.assign_from_subscribed(p for p in partitions if p.topic in subscribed)

    async def _give_up(self, method: str, partitions: Collection[TopicPartition]) -> Exception | None:
        if not partitions:
            return None
        self._subscriptions.mark_pending_revocation(partitions)
        error = await self._listen(method, partitions)
        self._host.drop(partitions)
        return error

    async def _listen(self, method: str, partitions: Collection[TopicPartition]) -> Exception | None:
        """Tell the user's listener; its failure, after a log entry."""
        listener = self._subscriptions.listener
        if listener is None:
            return None
        try:
            await self._host.call_user(getattr(listener, method), set(partitions))
        except Exception as error:
            _log.exception("User provided listener %r failed on invocation of %s for %s", listener, method, partitions)
            return error
        return None

    # -- join and sync

    async def _join_and_sync(self) -> tuple[Generation, str, ConsumerProtocolAssignment]:
        joined = await self._join()
        generation = Generation(joined.generation_id, joined.member_id, joined.protocol_name)
        if joined.leader == joined.member_id:
            assignments = await self._assign_group(joined)
        else:
            assignments = []
        request = sync_request(self._config, generation, assignments)
        response: SyncGroupResponse = await self._send(Api.SYNC, request, generation)
        protocol = joined.protocol_name or ""
        if response.protocol_type not in (None, PROTOCOL_TYPE) or response.protocol_name not in (None, protocol):
            self.membership.on(Event.FAILED)
            raise InconsistentGroupProtocolError(f"SyncGroup answers for {response.protocol_name}, not for {protocol}")
        if not self.membership.synced(generation):
            raise _TryAgain(pause=False)
        return generation, protocol, decode_assignment(response.assignment)

    async def _join(self) -> JoinGroupResponse:
        await self.lookup.find()
        self.membership.on(Event.JOIN)
        self._joined_subscription = self._subscriptions.subscription
        sent = self.membership.generation
        timeout_ms = max(self._config.request_timeout_ms, self._config.max_poll_interval_ms + _JOIN_GRACE_MS)
        try:
            request = join_request(
                self._config,
                sent,
                self._session_timeout_ms,
                self._subscriptions.subscription,
                self._subscriptions.assigned_partitions(),
                self.membership.rejoin_reason,
            )
            response: JoinGroupResponse = await self._send(Api.JOIN, request, sent, timeout_ms)
        except InvalidSessionTimeoutError:
            # A broker before 3.0 allows 30 s at most (KIP-735).
            if self._session_timeout_ms != _SESSION_TIMEOUT_SINCE_3_0_MS:
                raise
            self._session_timeout_ms = _SESSION_TIMEOUT_BEFORE_3_0_MS
            raise _TryAgain(pause=False) from None
        if response.protocol_type not in (None, PROTOCOL_TYPE):
            self.membership.on(Event.FAILED)
            raise InconsistentGroupProtocolError(f"The group's protocol type is {response.protocol_type}")
        generation = Generation(response.generation_id, response.member_id, response.protocol_name)
        if not self.membership.joined(generation):
            raise _TryAgain(pause=False)
        self.heartbeats.start()
        return response

    async def _assign_group(self, joined: JoinGroupResponse) -> list[SyncGroupRequest.SyncGroupRequestAssignment]:
        """The leader's work."""
        members = [
            GroupMember(member.member_id, member.group_instance_id, decode_subscription(member.metadata))
            for member in joined.members
        ]
        await self._watch_topics({topic for member in members for topic in member.metadata.topics})
        self.is_leader = True
        self._assigned_snapshot = self._snapshot
        if joined.skip_assignment:
            return []
        found = [assignor for assignor in self._config.assignors if assignor.name == joined.protocol_name]
        if not found:
            self.membership.on(Event.FAILED)
            raise InconsistentGroupProtocolError(
                f"The group chose {joined.protocol_name}, which is not configured here"
            )
        assignment = found[0].assign(ClusterView(self._client.metadata.cluster), members)
        entry = SyncGroupRequest.SyncGroupRequestAssignment
        return [entry(member_id=member, assignment=encode_assignment(share)) for member, share in assignment.items()]

    async def _watch_topics(self, topics: set[str]) -> None:
        """Metadata of all topics of the group: the leader's interest is wider than its own subscription."""
        self._subscriptions.group_subscribe(topics)
        metadata = self._client.metadata
        if not metadata.all_topics:
            news = metadata.set_topics(self._subscriptions.group_subscription)
            if news is not None:
                await news
        elif metadata.update_wanted:
            await metadata.request_update()
        self._snapshot = self._snapshot_of(metadata.cluster)

    async def _send(self, api: Api, request: Any, sent: Generation, timeout_ms: float | None = None) -> Any:
        """A request of the rebalance. Raises `_TryAgain`, or the error that ends it."""
        try:
            response = await self.lookup.send(request, timeout_ms)
        except KafkaError as failure:
            self.membership.on(Event.FAILED)
            if not getattr(failure, "retriable", False):
                raise
            _log.info("Group %s: %s failed: %s", self._group_id, api.value, failure)
            raise _TryAgain(pause=True) from None
        error = Errors.for_code(response.error_code)
        if error is Errors.MEMBER_ID_REQUIRED:
            self.membership.given_id(response.member_id)
            raise _TryAgain(pause=False)
        verdict = self.membership.judge(api, error, sent)
        if verdict is Verdict.OK:
            return response
        _log.info("Group %s: %s answered %s: %s", self._group_id, api.value, error.name, verdict.value)
        if verdict is Verdict.FATAL:
            raise error_for(error)
        if verdict is Verdict.FIND_COORDINATOR:
            self.lookup.forget(self.lookup.node_id, error.name)
        raise _TryAgain(pause=verdict in (Verdict.RETRY, Verdict.FIND_COORDINATOR))

    # -- leaving

    async def leave(self, reason: str) -> None:
        """Give everything up, tell the listener and the coordinator (unless static). Raises a listener's failure."""
        if self._joining is not None:
            self._joining.cancel()
        error = None
        subscriptions = self._subscriptions
        if subscriptions.auto_assigned and subscriptions.assignment:
            lost = self.membership.state is not State.STABLE
            method = "on_partitions_lost" if lost else "on_partitions_revoked"
            error = await self._give_up(method, subscriptions.assigned_partitions())
            self._assign(())
        await self._leave_group(reason)
        self._assigned_snapshot = self._joined_subscription = None
        if error is not None:
            raise _listener_failure(error)

    async def close(self, timeout_ms: float) -> None:
        """Leave, within a time, and end the heartbeats."""
        try:
            await wait_for(self._client.driver, spawn(self.leave("the consumer is being closed")), timeout_ms)
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
            if dynamic and was is not State.UNJOINED and generation.member_id and self.lookup.node_id is not None:
                await self.lookup.send(LeaveRequest(self._group_id, generation.member_id, reason))
        except (KafkaError, CancelledError) as error:
            _log.info("Group %s: LeaveGroup failed: %s", self._group_id, error)
            if isinstance(error, CancelledError):
                raise
        finally:
            self.membership.left()

    # -- metadata

    def _metadata_changed(self, cluster: ClusterMetadata) -> None:
        subscriptions = self._subscriptions
        if subscriptions.pattern is not None and self._client.metadata.all_topics:
            subscriptions.match(cluster.topics, self._config.exclude_internal_topics)
        snapshot = self._snapshot_of(cluster)
        if snapshot != self._snapshot:
            self._snapshot = snapshot
            self._host.wake()

    def _snapshot_of(self, cluster: ClusterMetadata) -> dict[str, Any]:
        return partition_snapshot(cluster, self._subscriptions.group_subscription, bool(self._config.client_rack))

    def _backoff_ms(self, attempts: int) -> float:
        return min(self._config.retry_backoff_max_ms, self._config.retry_backoff_ms * 2.0 ** min(attempts, 20))


class _TryAgain(Exception):
    """The rebalance did not come about; nothing that the user must know."""

    def __init__(self, pause: bool) -> None:
        super().__init__(pause)
        self.pause = pause


def _listener_failure(error: Exception) -> KafkaError:
    if isinstance(error, KafkaError):
        return error
    failure = ClientError("User rebalance callback throws an error")
    failure.__cause__ = error
    return failure
