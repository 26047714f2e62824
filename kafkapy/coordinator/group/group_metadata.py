"""What the coordinator knows of one group (Kafka's `GroupMetadata`)."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable

from kafkapy.common.scheduler import ScheduledTask
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.consumer_protocol import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from kafkapy.coordinator.group.group_offsets import GroupOffsets
from kafkapy.coordinator.group.group_state import TRANSITIONS, GroupState
from kafkapy.coordinator.group.member_metadata import JoinReply, MemberMetadata, Protocols, SyncReply
from kafkapy.protocol.messages.join_group import JoinGroupResponse

NO_TIMESTAMP = -1


class GroupMetadata:
    """Members, generation and state of a group; no timers run and no answers leave here.

    Invariants:
    - `state` changes only by `transition_to`, along `TRANSITIONS`.
    - `num_awaiting_join` is the number of members with `awaiting_join`, `_supporters[p]` of those that support p.
    - `leader_id` is one of `members`, or None if there are none.
    - `_static_members` maps the instance ids of the static members to their member ids; `pending_sync` is a subset of
      `members`; `pending_members` (ids given out, their JoinGroup still to come) has none of them.
    - Members of one group share the protocol type, and outside Empty at least one protocol is supported by all.
    """

    def __init__(self, group_id: str, state: GroupState, now_ms: int) -> None:
        self.group_id = group_id
        self._state = state
        self.state_timestamp = now_ms
        """Wall clock of the last transition; -1 if unknown (loaded from an old record)."""
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.leader_id: str | None = None
        self.members: dict[str, MemberMetadata] = {}
        self.pending_members: dict[str, ScheduledTask] = {}
        self.pending_sync: set[str] = set()
        self.num_awaiting_join = 0
        self._static_members: dict[str, str] = {}
        self._supporters: Counter[str] = Counter()
        self.subscribed_topics: set[str] | None = None
        """Of a consumer group's current generation; None if not known."""
        self.offsets = GroupOffsets()
        self.new_member_added = False
        """A member came during the initial rebalance delay, which may therefore be prolonged."""
        self.join_timer: ScheduledTask | None = None
        self.in_initial_delay = False
        """The join phase ends by its timer only."""
        self.sync_timer: ScheduledTask | None = None

    # ------------------------------------------------------------------------------------------------ state

    @property
    def state(self) -> GroupState:
        return self._state

    def is_in(self, state: GroupState) -> bool:
        return self._state is state

    @property
    def can_rebalance(self) -> bool:
        return GroupState.PREPARING_REBALANCE in TRANSITIONS[self._state]

    def transition_to(self, state: GroupState, now_ms: int) -> None:
        if state not in TRANSITIONS[self._state]:
            raise AssertionError(f"group {self.group_id} cannot go from {self._state.value} to {state.value}")
        self._state = state
        self.state_timestamp = now_ms

    def init_next_generation(self, now_ms: int) -> None:
        """The join phase is over: choose the protocol, or note that nobody is left."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        self.pending_sync.clear()
        self.transition_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now_ms)

    @property
    def is_consumer_group(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    # ------------------------------------------------------------------------------------------------ members

    def add(self, member: MemberMetadata, reply: JoinReply | None = None) -> None:
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self._static_members
            self._static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        assert self.protocol_type == member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._supporters.update(_names(member.protocols))
        self.set_awaiting_join(member, reply)
        self.remove_pending(member.member_id)

    def remove(self, member_id: str) -> None:
        """Take a member or pending member out, if it is one. Replies still owed to it are the caller's business."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._supporters.subtract(_names(member.protocols))
            if member.awaiting_join is not None:
                self.num_awaiting_join -= 1
            if member.group_instance_id is not None:
                del self._static_members[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.remove_pending(member_id)
        self.pending_sync.discard(member_id)

    def update_member(
        self, member: MemberMetadata, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        self._supporters.subtract(_names(member.protocols))
        member.protocols = protocols
        self._supporters.update(_names(protocols))
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def set_awaiting_join(self, member: MemberMetadata, reply: JoinReply | None) -> JoinReply | None:
        """Park a join reply (None: none); the reply that was parked before."""
        before = member.awaiting_join
        member.awaiting_join = reply
        self.num_awaiting_join += (reply is not None) - (before is not None)
        return before

    @staticmethod
    def set_awaiting_sync(member: MemberMetadata, reply: SyncReply | None) -> SyncReply | None:
        """Park a sync reply (None: none); the reply that was parked before."""
        before = member.awaiting_sync
        member.awaiting_sync = reply
        return before

    def replace_static_member(self, instance_id: str, old_member_id: str, new_member_id: str) -> MemberMetadata:
        """The static member came back: it goes on under a new member id, everything else stays."""
        member = self.members.pop(old_member_id)
        member.member_id = new_member_id
        self.members[new_member_id] = member
        self._static_members[instance_id] = new_member_id
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        if old_member_id in self.pending_sync:
            self.pending_sync.remove(old_member_id)
            self.pending_sync.add(new_member_id)
        return member

    def static_member_id(self, instance_id: str) -> str | None:
        return self._static_members.get(instance_id)

    @property
    def num_static_members(self) -> int:
        return len(self._static_members)

    def generate_member_id(self, client_id: str, instance_id: str | None) -> str:
        return f"{client_id if instance_id is None else instance_id}-{uuid.uuid4()}"

    def add_pending(self, member_id: str, expiration: ScheduledTask) -> None:
        assert member_id not in self.members
        self.pending_members[member_id] = expiration

    def remove_pending(self, member_id: str) -> None:
        expiration = self.pending_members.pop(member_id, None)
        if expiration is not None:
            expiration.cancel()

    def not_yet_rejoined(self) -> list[MemberMetadata]:
        return [member for member in self.members.values() if member.awaiting_join is None]

    @property
    def has_all_members_joined(self) -> bool:
        return self.num_awaiting_join == len(self.members) and not self.pending_members

    @property
    def rebalance_timeout_ms(self) -> int:
        """How long a join or sync phase lasts at most: what the most patient member asked for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def maybe_elect_new_joined_leader(self) -> bool:
        """Make sure the leader is one that has joined; False if the group is empty or nobody has joined."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    def member_list(self) -> list[JoinGroupResponse.JoinGroupResponseMember]:
        """What the leader is told of the members in order to assign partitions to them."""
        assert self.protocol_name is not None
        return [
            JoinGroupResponse.JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in self.members.values()
        ]

    # ------------------------------------------------------------------------------------------------ protocols

    def supports_protocols(self, protocol_type: str, protocols: Protocols) -> bool:
        """Can somebody with these protocols be a member?"""
        if self._state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        everybody = len(self.members)
        return self.protocol_type == protocol_type and any(self._supporters[name] == everybody for name, _ in protocols)

    def select_protocol(self) -> str:
        """Each member votes for the first of its protocols that all support; most votes win."""
        everybody = len(self.members)
        candidates = {name for name, supporters in self._supporters.items() if supporters == everybody}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def compute_subscribed_topics(self) -> set[str] | None:
        """The union of the members' subscriptions; None if it is no consumer group or one cannot be read."""
        if not self.is_consumer_group:
            return None
        topics: set[str] = set()
        if self.members and self.protocol_name is None:
            return None
        for member in self.members.values():
            assert self.protocol_name is not None
            subscription = subscribed_topics(member.metadata(self.protocol_name))
            if subscription is None:
                return None
            topics |= subscription
        return topics

    def is_subscribed_to(self, topic: str) -> bool:
        """True also if it is not known."""
        return self.subscribed_topics is None or topic in self.subscribed_topics

    # ------------------------------------------------------------------------------------------------ offsets

    def remove_expired_offsets(self, now_ms: int, retention_ms: int) -> list[TopicPartition]:
        """Forget what nobody uses any more (KIP-211).

        A group without members: counted from when it became empty. A stable consumer group: only topics it is no longer
        subscribed to, counted from the commit. A group that never had members: counted from the commit.
        """
        if self.protocol_type is None:
            return self.offsets.remove_expired(now_ms, retention_ms, lambda offset: offset.commit_timestamp)
        if self._state is GroupState.EMPTY:
            since = self.state_timestamp
            return self.offsets.remove_expired(
                now_ms, retention_ms, lambda offset: offset.commit_timestamp if since == NO_TIMESTAMP else since
            )
        if self.is_consumer_group and self._state is GroupState.STABLE and self.subscribed_topics is not None:
            return self.offsets.remove_expired(
                now_ms, retention_ms, lambda offset: offset.commit_timestamp, self.subscribed_topics
            )
        return []

    @classmethod
    def loaded(
        cls,
        group_id: str,
        generation_id: int,
        protocol_type: str,
        protocol_name: str | None,
        leader_id: str | None,
        state_timestamp: int,
        members: Collection[MemberMetadata],
    ) -> GroupMetadata:
        """A group as its record in the log has it: Stable, or Empty if it has no members."""
        group = cls(group_id, GroupState.STABLE if members else GroupState.EMPTY, state_timestamp)
        group.generation_id = generation_id
        group.protocol_type = protocol_type or None
        group.protocol_name = protocol_name
        for member in members:
            group.add(member)
        if leader_id in group.members:
            group.leader_id = leader_id
        group.subscribed_topics = group.compute_subscribed_topics()
        return group

    def __repr__(self) -> str:
        return (
            f"GroupMetadata(groupId={self.group_id}, generation={self.generation_id},"
            f" protocolType={self.protocol_type}, currentState={self._state.value}, members={list(self.members)})"
        )


def _names(protocols: Protocols) -> Iterable[str]:
    return {name for name, _ in protocols}
