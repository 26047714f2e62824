"""A group's data: its state, its members, and the effects of the current event; operations that the events share."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Self

from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.group_events import (
    NO_MEMBER_ID,
    PENDING_TIMER,
    EmptyGeneration,
    NewAssignment,
    ReplacedMember,
)
from kafkapy.coordinator.group.group_state import EMPTY, STABLE, TRANSITIONS, ClassicGroupState
from kafkapy.coordinator.group.members import HEARTBEAT_TIMER, ClassicGroupMember, Members, Protocols
from kafkapy.coordinator.group.offsets import GroupOffsets
from kafkapy.coordinator.group.records import group_key, group_value
from kafkapy.coordinator.group.responses import join_error, sync_error
from kafkapy.coordinator.runtime.effects import CancelTimer, Effect, Recipient, Reply, StartTimer, Write
from kafkapy.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse
from kafkapy.protocol.records.group_metadata import GroupMetadataValue

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")

Effects = Sequence[Effect]


class GroupData:
    """Invariants:
    - `state` changes only by `transition_to`, along `TRANSITIONS`.
    - Members share the protocol type, and outside Empty at least one protocol is supported by all.
    - `initial_delay` is set only while the group is PreparingRebalance; the join phase ends by its timer only then.
    - `effects` is empty between events.
    """

    def __init__(
        self, group_id: str, config: GroupConfig, now_ms: int, state: ClassicGroupState = ClassicGroupState.EMPTY
    ) -> None:
        self.group_id = group_id
        self.config = config
        self.state = state
        self.state_timestamp = now_ms
        """Wall clock of the last transition; -1 if unknown (loaded from an old record)."""
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.generation_id = 0
        self.members = Members()
        self.offsets = GroupOffsets()
        self.subscribed_topics: set[str] | None = None
        """Topics of a consumer group's current generation; None if unknown."""
        self.initial_delay: tuple[int, int] | None = None
        """The current initial delay and its possible extension, in ms (KIP-134)."""
        self.new_member_added = False
        """Whether a member has joined during the initial delay, which is then extended."""
        self.effects: list[Effect] = []

    @property
    def key(self) -> str:
        """The key, which determines the partition of `__consumer_offsets`."""
        return self.group_id

    def is_in(self, state: ClassicGroupState) -> bool:
        return self.state is state

    @property
    def is_consumer_group(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether the group is subscribed to the topic; True also if that is unknown."""
        return self.subscribed_topics is None or topic in self.subscribed_topics

    def transition_to(self, state: ClassicGroupState, now_ms: int) -> None:
        if state not in TRANSITIONS[self.state]:
            raise AssertionError(f"group {self.group_id} cannot go from {self.state.value} to {state.value}")
        self.state = state
        self.state_timestamp = now_ms

    # ------------------------------------------------------------------------------------------------ effects

    def take_effects(self) -> Effects:
        effects, self.effects = self.effects, []
        return effects

    def reply(self, to: Recipient | None, response: Message) -> bool:
        """Return False if there is no waiting request."""
        if to is not None:
            self.effects.append(Reply(to, response))
        return to is not None

    def answer_join(self, member: ClassicGroupMember, response: JoinGroupResponse) -> None:
        self.reply(self.members.set_awaiting_join(member, None), response)

    def answer_sync(self, member: ClassicGroupMember, response: SyncGroupResponse) -> bool:
        to, member.awaiting_sync = member.awaiting_sync, None
        return self.reply(to, response)

    def start(self, timer: str, delay_ms: int, of: str = "") -> None:
        self.effects.append(StartTimer(timer, of, delay_ms))

    def cancel(self, timer: str, of: str = "") -> None:
        self.effects.append(CancelTimer(timer, of))

    def expect_heartbeat(self, member: ClassicGroupMember) -> None:
        """Restart the member's session timer."""
        self.effects.append(member.session)

    def store(self, assignment: Mapping[str, bytes], then: NewAssignment | ReplacedMember | EmptyGeneration) -> None:
        value = group_value(self.to_record(assignment), self.config.offsets.group_value_version)
        self.effects.append(Write([(group_key(self.group_id), value)], then))

    # ------------------------------------------------------------------------------------------------ members

    def validate(self, member_id: str, instance_id: str | None, generation_id: int | None = None) -> Errors:
        """Return NONE if the sender is this member, and its generation, if given, is the current one."""
        if instance_id is not None:
            current = self.members.static_member_id(instance_id)
            if current is None:
                return Errors.UNKNOWN_MEMBER_ID
            if current != member_id:
                log.info(
                    "Request memberId=%s for static member with groupInstanceId=%s is fenced by current memberId=%s",
                    member_id, instance_id, current,
                )  # fmt: skip
                return Errors.FENCED_INSTANCE_ID
        if member_id not in self.members.by_id:
            return Errors.UNKNOWN_MEMBER_ID
        if generation_id is not None and generation_id != self.generation_id:
            return Errors.ILLEGAL_GENERATION
        return NONE

    def drop(self, member: ClassicGroupMember) -> None:
        """Remove the member and answer its pending requests."""
        self.answer_join(member, join_error(NO_MEMBER_ID, Errors.UNKNOWN_MEMBER_ID))
        self.answer_sync(member, sync_error(Errors.UNKNOWN_MEMBER_ID))
        self.forget(member.member_id)

    def forget(self, member_id: str) -> None:
        """Remove the member or pending member, if there is one with this id."""
        timer = PENDING_TIMER if member_id in self.members.pending else HEARTBEAT_TIMER
        self.cancel(timer, member_id)
        self.members.remove(member_id)

    def supports_protocols(self, protocol_type: str, protocols: Protocols) -> bool:
        """Return whether a client with these protocols can be a member."""
        if self.state is EMPTY:
            return bool(protocol_type and protocols)
        return self.protocol_type == protocol_type and self.members.all_support_one_of(protocols)

    # ------------------------------------------------------------------------------------------------ generation

    def joined(self, member: ClassicGroupMember, skip_assignment: bool = False) -> JoinGroupResponse:
        """Return the response with the current generation; the leader's includes the members."""
        is_leader = self.members.leader_id == member.member_id
        return JoinGroupResponse(
            generation_id=self.generation_id,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.members.leader_id or "",
            skip_assignment=skip_assignment,
            member_id=member.member_id,
            members=self.members.described(self.protocol_name or "") if is_leader else [],
        )

    def synced(self, member: ClassicGroupMember) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=self.protocol_type, protocol_name=self.protocol_name, assignment=member.assignment
        )

    def subscriptions(self) -> set[str] | None:
        """Return the topics of a consumer group's subscriptions; None for other groups, or if one can't be decoded."""
        if not self.is_consumer_group or (self.members and self.protocol_name is None):
            return None
        return self.members.subscribed_topics(self.protocol_name or "")

    # ------------------------------------------------------------------------------------------------ the log

    def to_record(self, assignment: Mapping[str, bytes]) -> GroupMetadataValue:
        """Return the record of the current generation with this assignment."""
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation_id,
            protocol=self.protocol_name,
            leader=self.members.leader_id,
            current_state_timestamp=self.state_timestamp,
            members=[
                GroupMetadataValue.MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=member.metadata(self.protocol_name or ""),
                    assignment=assignment[member.member_id],
                )
                for member in self.members
            ],
        )

    @classmethod
    def loaded(cls, group_id: str, record: GroupMetadataValue, config: GroupConfig) -> Self:
        """Create a group from its record: Stable, or Empty if it has no members."""
        group = cls(group_id, config, record.current_state_timestamp, STABLE if record.members else EMPTY)
        group.generation_id = record.generation
        group.protocol_type = record.protocol_type or None
        group.protocol_name = record.protocol
        for member in record.members:
            group.members.add(
                ClassicGroupMember(
                    member.member_id, member.group_instance_id, member.client_id, member.client_host,
                    member.rebalance_timeout, member.session_timeout, record.protocol_type,
                    [(record.protocol or "", member.subscription)], member.assignment,
                )
            )  # fmt: skip
        if record.leader is not None and record.leader in group.members:
            group.members.leader_id = record.leader
        group.subscribed_topics = group.subscriptions()
        return group
