"""The members of one group: their ids, their leader, their common protocols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from kafkapy.coordinator.runtime.effects import Recipient, StartTimer
from kafkapy.protocol.consumer_protocol import ConsumerProtocolSubscription
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.wire import SchemaError

HEARTBEAT_TIMER = "heartbeat"
"""Runs for each member until its next heartbeat."""

_SUBSCRIPTION_VERSION_SIZE = 2

Protocols = list[tuple[str, bytes]]
"""(protocol name, the member's metadata for it), in the member's order of preference."""


@dataclass(slots=True, eq=False, repr=False)
class ClassicGroupMember:
    """A member's data, and its pending requests.

    Invariant: `awaiting_join` and `awaiting_sync` are the pending responses to the member; the code that removes one answers
    it. The member's id and session timeout change by `set_session` only.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    awaiting_join: Recipient | None = None
    """Set by `Members.set_awaiting_join`, which counts such members."""
    awaiting_sync: Recipient | None = None
    is_new: bool = False
    """True until its first join completes: it does not know its id, so it cannot send heartbeats."""
    session: StartTimer = field(init=False)
    """The effect that restarts the session timer, cached because it is the only one of most heartbeats."""

    def __post_init__(self) -> None:
        self.set_session(self.member_id, self.session_timeout_ms)

    def set_session(self, member_id: str, session_timeout_ms: int) -> None:
        self.member_id = member_id
        self.session_timeout_ms = session_timeout_ms
        self.session = StartTimer(HEARTBEAT_TIMER, member_id, session_timeout_ms)

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_awaiting(self) -> bool:
        return self.awaiting_join is not None or self.awaiting_sync is not None

    def metadata(self, protocol: str) -> bytes:
        """Return the member's metadata for the protocol; `KeyError` if it does not support it."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise KeyError(protocol)

    def vote(self, candidates: Collection[str]) -> str:
        """Return the first of the member's protocols that is a candidate."""
        return next(name for name, _ in self.protocols if name in candidates)

    def __repr__(self) -> str:
        names = [name for name, _ in self.protocols]
        return (
            f"MemberMetadata(memberId={self.member_id}, groupInstanceId={self.group_instance_id},"
            f" clientId={self.client_id}, clientHost={self.client_host}, sessionTimeoutMs={self.session_timeout_ms},"
            f" rebalanceTimeoutMs={self.rebalance_timeout_ms}, supportedProtocols={names})"
        )


class Members:
    """The members by id, in the order of their first joins; iteration yields the members.

    Invariants:
    - `num_awaiting_join` is the number of members with `awaiting_join`, `_supporters[p]` of those that support p.
    - `leader_id` is one of the members, or None if there are none.
    - `_static` maps the instance ids of the static members to their member ids; `pending_sync` (members of the
      current generation that have not sent SyncGroup) is a subset of the members; `pending` (assigned ids without a
      second JoinGroup yet) is disjoint from the members.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, ClassicGroupMember] = {}
        self.leader_id: str | None = None
        self.pending: set[str] = set()
        self.pending_sync: set[str] = set()
        self.num_awaiting_join = 0
        self._static: dict[str, str] = {}
        self._supporters: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[ClassicGroupMember]:
        return iter(self.by_id.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self.by_id

    def __getitem__(self, member_id: str) -> ClassicGroupMember:
        return self.by_id[member_id]

    def get(self, member_id: str) -> ClassicGroupMember | None:
        return self.by_id.get(member_id)

    # --------------------------------------------------------------------------------------------- adding and removing

    def add(self, member: ClassicGroupMember) -> None:
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self._static
            self._static[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.by_id[member.member_id] = member
        self._supporters.update(_names(member.protocols))
        self.pending.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member or pending member, if there is one. The caller answers its pending requests."""
        member = self.by_id.pop(member_id, None)
        if member is not None:
            self._supporters.subtract(_names(member.protocols))
            if member.awaiting_join is not None:
                self.num_awaiting_join -= 1
            if member.group_instance_id is not None:
                del self._static[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.by_id), None)
        self.pending.discard(member_id)
        self.pending_sync.discard(member_id)

    def update(
        self, member: ClassicGroupMember, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        self._supporters.subtract(_names(member.protocols))
        member.protocols = protocols
        self._supporters.update(_names(protocols))
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.set_session(member.member_id, session_timeout_ms)

    def set_awaiting_join(self, member: ClassicGroupMember, to: Recipient | None) -> Recipient | None:
        """Set the member's pending JoinGroup (None: there is none); return the previous one."""
        before = member.awaiting_join
        member.awaiting_join = to
        self.num_awaiting_join += (to is not None) - (before is not None)
        return before

    @property
    def have_all_joined(self) -> bool:
        return self.num_awaiting_join == len(self.by_id) and not self.pending

    # ------------------------------------------------------------------------------------------------ static members

    def static_member_id(self, instance_id: str) -> str | None:
        return self._static.get(instance_id)

    @property
    def num_static(self) -> int:
        return len(self._static)

    def replace_static(self, instance_id: str, old_id: str, new_id: str) -> ClassicGroupMember:
        """Change a static member's id, and nothing else."""
        member = self.by_id.pop(old_id)
        member.set_session(new_id, member.session_timeout_ms)
        self.by_id[new_id] = member
        self._static[instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        if old_id in self.pending_sync:
            self.pending_sync.remove(old_id)
            self.pending_sync.add(new_id)
        return member

    # ----------------------------------------------------------------------------------------------- leader and protocol

    @property
    def rebalance_timeout_ms(self) -> int:
        """The time limit of a join or sync phase: the longest rebalance timeout of a member."""
        return max((member.rebalance_timeout_ms for member in self), default=0)

    def elect_joined_leader(self) -> bool:
        """Ensure that the leader has joined, by election if needed; return False if no member has joined."""
        if self.leader_id is None:
            return False
        if self.by_id[self.leader_id].awaiting_join is not None:
            return True
        for member in self:
            if member.awaiting_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    def all_support_one_of(self, protocols: Protocols) -> bool:
        return any(self._supporters[name] == len(self.by_id) for name, _ in protocols)

    def select_protocol(self) -> str:
        """Return the protocol with most votes: each member votes for the first of its protocols that all support."""
        candidates = {name for name, supporters in self._supporters.items() if supporters == len(self.by_id)}
        votes = Counter(member.vote(candidates) for member in self)
        return votes.most_common(1)[0][0]

    def subscribed_topics(self, protocol: str) -> set[str] | None:
        """Return the union of the members' subscriptions; None if one cannot be decoded."""
        topics: set[str] = set()
        for member in self:
            subscription = subscribed_topics(member.metadata(protocol))
            if subscription is None:
                return None
            topics |= subscription
        return topics

    def described(self, protocol: str) -> list[JoinGroupResponse.JoinGroupResponseMember]:
        """Return the members' metadata for the leader, which computes the assignment."""
        return [
            JoinGroupResponse.JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(protocol),
            )
            for member in self
        ]


def _names(protocols: Protocols) -> Iterable[str]:
    return {name for name, _ in protocols}


def subscribed_topics(metadata: bytes) -> set[str] | None:
    """Return the topics in a consumer's subscription; None if it cannot be decoded. Other metadata of members are
    opaque.

    Decoded as version 0, which is a prefix of all versions, so that newer ones are supported.
    """
    try:
        return set(ConsumerProtocolSubscription.decode(metadata, 0, _SUBSCRIPTION_VERSION_SIZE).topics)
    except SchemaError:
        return None
