"""The consumer's part of the group protocol (Kafka's `ConsumerCoordinator`).

A `GroupMember` joins, sends heartbeats and leaves. The coordinator provides its subscription, assigns partitions as
the leader, applies the member's assignment, and commits. The assignment changes, and listeners are called, only while
the user polls.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from kafkapy.clients.metadata import ClusterMetadata
from kafkapy.clients.network_client import NetworkClient
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol, SubscribedMember
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.group.commits import OffsetCommits
from kafkapy.consumer.group.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    partitions_of,
)
from kafkapy.consumer.group.partitions_seen import SeenPartitions, partition_snapshot
from kafkapy.consumer.host import Host
from kafkapy.consumer.subscription_state import SubscriptionState
from kafkapy.errors import ClientError, InconsistentGroupProtocolError
from kafkapy.group_member.group_member import GroupMember
from kafkapy.group_member.group_protocol import GroupRebalanceConfig, JoinedMember
from kafkapy.group_member.membership import NO_GENERATION, Generation, MembershipState
from kafkapy.protocol.errors import KafkaError

_log = logging.getLogger("kafkapy.consumer")


class ConsumerCoordinator:
    """The `GroupProtocol` of consumers, and the member that uses it.

    Invariant: `_snapshot` describes the current partitions of the group's topics; `_assigned_snapshot`, only set at
    the leader, those that it assigned. `_joined_subscription` is the subscription of the last JoinGroup.
    """

    protocol_type = PROTOCOL_TYPE

    def __init__(
        self,
        client: NetworkClient,
        config: ConsumerConfig,
        subscriptions: SubscriptionState,
        host: Host,
    ) -> None:
        self.rebalances = client.metrics.stat()
        """Rebalances that this member completed."""
        self._client = client
        self._config = config
        self._group_id = config.group_id or ""
        self._subscriptions = subscriptions
        self._host = host
        rebalance_config = GroupRebalanceConfig(
            self._group_id,
            config.group_instance_id,
            config.session_timeout_ms,
            config.heartbeat_interval_ms,
            config.max_poll_interval_ms,
        )
        self.member = GroupMember(client, rebalance_config, self, host, _log)
        self.commits = OffsetCommits(client, config, self.member, lambda: subscriptions.auto_assigned)
        self.joined = NO_GENERATION
        """The last generation whose assignment was received. A member that is thrown out keeps it, so that the transactions
        that it has begun are fenced."""
        self._is_leader = False
        self._joined_subscription: frozenset[str] | None = None
        self._snapshot: dict[str, Any] = {}
        self._assigned_snapshot: dict[str, Any] | None = None
        client.metadata.listeners.append(self._metadata_changed)

    # -- for the poll

    @property
    def needs_poll(self) -> bool:
        """Return whether there is work that only a poll can do."""
        return self.member.has_error or (self._subscriptions.auto_assigned and self.member.needs_poll)

    def poll(self) -> None:
        """Begin a rebalance that is needed, and a commit that is due. Raises errors since the last poll."""
        self.member.raise_error()
        if self._subscriptions.auto_assigned:
            self.member.poll()
        if self.commits.auto_commit_due and not self.member.rebalancing:
            self.commits.auto_commit(self._host.consumed())

    # -- called by the member

    def metadata(self) -> Sequence[tuple[str, bytes]]:
        """Return one protocol for each assignor, in order of preference."""
        topics = self._joined_subscription = self._subscriptions.subscription
        owned, generation = list(self._subscriptions.assigned_partitions()), self.member.membership.generation.id
        rack = self._config.client_rack or None
        return [
            (assignor.name, encode_subscription(assignor.metadata(topics), owned, generation, rack))
            for assignor in self._config.assignors
        ]

    def rejoin_reason(self) -> str | None:
        if self._assigned_snapshot is not None and self._assigned_snapshot != self._snapshot:
            return "cached metadata has changed"
        if self._joined_subscription not in (None, self._subscriptions.subscription):
            return "subscription has changed"
        return None

    def on_poll_timeout(self) -> str:
        _log.warning(
            "Group %s: consumer poll timeout has expired. The time between subsequent calls to poll() was longer"
            " than max_poll_interval_ms=%d; process records faster, or fewer at a time (max_poll_records).",
            self._group_id,
            self._config.max_poll_interval_ms,
        )
        return "consumer poll timeout has expired."

    async def on_join_prepare(self) -> None:
        """Commit, and revoke the partitions that the rebalance protocol revokes before a join."""
        subscriptions = self._subscriptions
        if subscriptions.pattern is not None:
            await self._client.metadata.request_update()
        eager = self._config.rebalance_protocol is RebalanceProtocol.EAGER
        if self._config.enable_auto_commit and self.member.membership.generation.valid and subscriptions.assignment:
            if eager:
                subscriptions.mark_pending_revocation(subscriptions.assignment)
            await self.commits.auto_commit_before_rebalance(self._host.consumed())
            await self._host.gate()
        owned = subscriptions.assigned_partitions()
        if not self.member.membership.generation.valid:
            given_up = owned
            error = await self._give_up("on_partitions_lost", given_up)
        else:
            given_up = owned if eager else {p for p in owned if p.topic not in subscriptions.subscription}
            # In an eager rebalance the listener is called even if no partition is revoked, as in Kafka.
            tell = self._listen if eager and not given_up else self._give_up
            error = await tell("on_partitions_revoked", given_up)
        if given_up:
            self._assign(owned - given_up)
        self._is_leader = False
        subscriptions.group_subscribe(())
        if error is not None:
            raise _listener_failure(error)

    async def on_join_complete(self, generation: Generation, assignment: bytes) -> None:
        """Apply the assignment. Raises KafkaProtocolError if it is malformed."""
        self.joined = generation
        message = decode_assignment(assignment)
        subscriptions = self._subscriptions
        if not self._is_leader:
            self._assigned_snapshot = None
        assigned = set(partitions_of(message))
        if not self._matches_subscription(assigned):
            self.member.membership.request_rejoin("received assignment does not match the current subscription")
            return
        owned = subscriptions.assigned_partitions()
        error = None
        if self._config.rebalance_protocol is RebalanceProtocol.COOPERATIVE and owned - assigned:
            error = await self._give_up("on_partitions_revoked", owned - assigned)
            self.member.membership.request_rejoin("need to revoke partitions and re-join")
        if subscriptions.pattern is not None:
            topics = subscriptions.subscription | {partition.topic for partition in assigned}
            subscriptions.change_subscription(topics)
            self._joined_subscription = subscriptions.subscription
        self._assignor(generation.protocol or "").on_assignment(message, generation.id)
        self.commits.postpone_auto_commit()
        self._assign(assigned)
        self.rebalances.record(1, self._client.driver.time.monotonic_ms())
        _log.info("Group %s: generation %d assigned %s", self._group_id, generation.id, sorted(assigned))
        self._host.wake()
        error = await self._listen("on_partitions_assigned", assigned - owned) or error
        if error is not None:
            raise _listener_failure(error)

    async def perform_assignment(
        self, leader: str, protocol: str, members: Sequence[JoinedMember], skip: bool
    ) -> dict[str, bytes]:
        """Assign partitions as the leader. Raises InconsistentGroupProtocolError for a protocol that this member
        lacks."""
        subscribed = [
            SubscribedMember(m.member_id, m.group_instance_id, decode_subscription(m.metadata)) for m in members
        ]
        await self._watch_topics({topic for member in subscribed for topic in member.metadata.topics})
        self._is_leader = True
        self._assigned_snapshot = self._snapshot
        if skip:
            return {}
        assignor, seen = self._assignor(protocol), SeenPartitions(self._client.metadata.cluster)
        if assignor.in_user_thread:
            assignment = await self._host.call_user(assignor.assign, seen, subscribed)
        else:
            assignment = assignor.assign(seen, subscribed)
        return {member: encode_assignment(share) for member, share in assignment.items()}

    def _assignor(self, protocol: str) -> AbstractPartitionAssignor:
        for assignor in self._config.assignors:
            if assignor.name == protocol:
                return assignor
        raise InconsistentGroupProtocolError(f"The group chose {protocol}, which is not configured here")

    async def on_leave_prepare(self) -> None:
        """Revoke all partitions. Raises a listener's failure."""
        error = None
        subscriptions = self._subscriptions
        if subscriptions.auto_assigned and subscriptions.assignment:
            lost = self.member.membership.state is not MembershipState.STABLE
            method = "on_partitions_lost" if lost else "on_partitions_revoked"
            error = await self._give_up(method, subscriptions.assigned_partitions())
            self._assign(())
        self._assigned_snapshot = self._joined_subscription = None
        if error is not None:
            raise _listener_failure(error)

    # -- the assignment

    def _matches_subscription(self, assigned: Iterable[TopicPartition]) -> bool:
        subscriptions = self._subscriptions
        if subscriptions.pattern is not None:
            return all(subscriptions.matches(partition.topic) for partition in assigned)
        return all(partition.topic in subscriptions.subscription for partition in assigned)

    def _assign(self, partitions: Collection[TopicPartition]) -> None:
        """Assign the group's partitions. Topics that the subscription no longer has are revoked by the next join."""
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
        """Call the user's listener; log and return its failure."""
        listener = self._subscriptions.listener
        if listener is None:
            return None
        try:
            await self._host.call_user(getattr(listener, method), set(partitions))
        except Exception as error:
            _log.exception("User provided listener %r failed on invocation of %s for %s", listener, method, partitions)
            return error
        return None

    # -- metadata

    async def _watch_topics(self, topics: set[str]) -> None:
        """Request metadata of all topics of the group: the leader needs more than those of its own subscription."""
        self._subscriptions.group_subscribe(topics)
        metadata = self._client.metadata
        if not metadata.all_topics:
            news = metadata.set_topics(self._subscriptions.group_subscription)
            if news is not None:
                await news
        elif metadata.update_wanted:
            await metadata.request_update()
        self._snapshot = self._snapshot_of(metadata.cluster)

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


def _listener_failure(error: Exception) -> KafkaError:
    if isinstance(error, KafkaError):
        return error
    failure = ClientError("User rebalance callback throws an error")
    failure.__cause__ = error
    return failure
