"""One group of the classic protocol as a state machine (Kafka's `ClassicGroup`, with the rules of `GroupCoordinator`).

Each event is a call: `join`, `sync`, `heartbeat`, `leave`, `rebalance`, `commit`, `timer_fired`, `written`, `remove_offsets`,
`expire_offsets`, `delete`, `on_loaded`, `on_unloaded`. It changes the group and returns effects
(`runtime/effects.py`): responses, timers, records to write. `now_ms` is the wall clock. There is no other input or
output, so the same events have the same effects. `group_state.py` has the table of states; `joining.py` and
`rebalance.py` have the longer events, as functions of the group.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group import joining, rebalance
from kafkapy.coordinator.group.group_data import Effects, GroupData
from kafkapy.coordinator.group.group_events import (
    JOIN_TIMER,
    NO_MEMBER_ID,
    PENDING_TIMER,
    STORE_GROUP_ERRORS,
    STORE_OFFSETS_ERRORS,
    SYNC_TIMER,
    Commit,
    Join,
    NewAssignment,
    ReplacedMember,
    Tombstones,
)
from kafkapy.coordinator.group.group_state import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from kafkapy.coordinator.group.members import HEARTBEAT_TIMER, ClassicGroupMember
from kafkapy.coordinator.group.records import group_key, offset_key
from kafkapy.coordinator.group.responses import join_error, sync_error
from kafkapy.coordinator.runtime.effects import Recipient, Write
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.sync_group import SyncGroupRequest

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")
store_log = logging.getLogger("kafkapy.coordinator.group.GroupMetadataManager")


class ClassicGroup(GroupData):
    """The events of a group; they change the state in `GroupData`, which has the invariants."""

    def join(self, join: Join, now_ms: int) -> Effects:
        joining.join(self, join, now_ms)
        return self.take_effects()

    def sync(self, request: SyncGroupRequest, to: Recipient) -> Effects:
        rebalance.sync(self, request, to)
        return self.take_effects()

    # ------------------------------------------------------------------------------------------------ members

    def heartbeat(self, member_id: str, instance_id: str | None, generation_id: int) -> tuple[Errors, Effects]:
        error = self.validate(member_id, instance_id, generation_id)
        if error is not NONE:
            return error, ()
        if self.state is PREPARING_REBALANCE:
            error = Errors.REBALANCE_IN_PROGRESS
        return error, (self.members.by_id[member_id].session,)

    def leave(self, leaving: Iterable[LeaveGroupRequest.MemberIdentity], now_ms: int) -> tuple[list[Errors], Effects]:
        """Return an error for each leaving member."""
        return [self._leave(one, now_ms) for one in leaving], self.take_effects()

    def _leave(self, leaving: LeaveGroupRequest.MemberIdentity, now_ms: int) -> Errors:
        """Remove one member. Admin clients may name a static member by its instance id alone."""
        member_id = leaving.member_id
        if member_id == NO_MEMBER_ID:
            member_id = self.members.static_member_id(leaving.group_instance_id or "") or NO_MEMBER_ID
            if member_id == NO_MEMBER_ID:
                return Errors.UNKNOWN_MEMBER_ID
        elif member_id in self.members.pending:
            log.info("Pending member %s has left group %s", member_id, self.group_id)
            self.forget(member_id)
            rebalance.maybe_complete_join(self, now_ms)
            return NONE
        else:
            error = self.validate(member_id, leaving.group_instance_id)
            if error is not NONE:
                return error
        member = self.members[member_id]
        reason = leaving.reason or "not provided"
        log.info("%r has left group %s; client reason: %s", member, self.group_id, reason)
        self._remove(member, f"Removing member {member_id} on LeaveGroup; client reason: {reason}", now_ms)
        return NONE

    def _remove(self, member: ClassicGroupMember, reason: str, now_ms: int) -> None:
        """Remove a member that has left or failed, and rebalance the others."""
        self.drop(member)
        if self.state is PREPARING_REBALANCE:
            rebalance.maybe_complete_join(self, now_ms)
        else:
            rebalance.maybe_prepare(self, reason, now_ms)

    def rebalance(self, reason: str, now_ms: int) -> Effects:
        """Let all members join again; do nothing if there are none."""
        if self.members:
            rebalance.maybe_prepare(self, reason, now_ms)
        return self.take_effects()

    # ------------------------------------------------------------------------------------------------ time

    def timer_fired(self, timer: str, of: str, now_ms: int) -> Effects:
        if timer == HEARTBEAT_TIMER:
            self._heartbeat_missed(of, now_ms)
        elif timer == JOIN_TIMER:
            rebalance.join_time_over(self, now_ms)
        elif timer == SYNC_TIMER:
            rebalance.sync_time_over(self, now_ms)
        else:
            log.info("Pending member %s in group %s has been removed after session timeout expiration.",
                     of, self.group_id)  # fmt: skip
            self.members.remove(of)
            rebalance.maybe_complete_join(self, now_ms)
        return self.take_effects()

    def _heartbeat_missed(self, member_id: str, now_ms: int) -> None:
        member = self.members[member_id]
        if member.is_awaiting and not member.is_new:
            return  # its request is pending in this group; the timer restarts with the response
        log.info("Member %s in group %s has failed, removing it from the group", member_id, self.group_id)
        self._remove(member, f"removing member {member_id} on heartbeat expiration", now_ms)

    # ------------------------------------------------------------------------------------------------ the log

    def written(self, then: Any, error: Errors, base_offset: int, now_ms: int) -> Effects:
        """Process the result of a write of this group."""
        if isinstance(then, Commit):
            return self._offsets_stored(then, error, base_offset)
        if isinstance(then, Tombstones):
            if error is not NONE:
                store_log.error(
                    "Failed to append %d tombstones for expired/deleted offsets and/or metadata for group %s: %s",
                    then.number, self.group_id, error.name,
                )  # fmt: skip
            return ()
        if error is not NONE:
            store_log.warning("Metadata from group %s with generation %d failed when appending to log due to %s",
                              self.group_id, then.generation_id, error.name)  # fmt: skip
        error = STORE_GROUP_ERRORS.get(error, error)
        if isinstance(then, NewAssignment):
            rebalance.assignment_stored(self, then, error, now_ms)
        elif isinstance(then, ReplacedMember):
            joining.static_stored(self, then, error)
        elif error is not NONE:
            # If this broker fails now, the next coordinator loads the previous generation, and its members time out.
            log.warning("Failed to write empty metadata for group %s: %s", self.group_id, error.message)
        return self.take_effects()

    def on_loaded(self, now_ms: int) -> Effects:
        """Start coordinating the loaded group."""
        log.info("Loading group metadata for %s with generation %d", self.group_id, self.generation_id)
        if len(self.members) > self.config.max_size:
            rebalance.prepare(
                self,
                f"Freshly-loaded group is over capacity ({self.config.max_size})."
                " Rebalancing in order to give a chance for consumers to commit offsets",
                now_ms,
            )
        for member in self.members:
            self.expect_heartbeat(member)
        return self.take_effects()

    def on_unloaded(self, now_ms: int) -> Effects:
        """Stop coordinating the group: redirect all members to the new coordinator."""
        log.info("Unloading group metadata for %s with generation %d", self.group_id, self.generation_id)
        self._kill(now_ms)
        for member in self.members:
            self.answer_join(member, join_error(member.member_id, Errors.NOT_COORDINATOR))
            self.answer_sync(member, sync_error(Errors.NOT_COORDINATOR))
        return self.take_effects()

    def _kill(self, now_ms: int) -> None:
        """Change the state to Dead, and cancel all timers."""
        self.transition_to(DEAD, now_ms)
        self.cancel(JOIN_TIMER)
        self.cancel(SYNC_TIMER)
        self.members.pending_sync.clear()
        for member_id in self.members.pending:
            self.cancel(PENDING_TIMER, member_id)
        self.members.pending.clear()
        for member in self.members:
            self.cancel(HEARTBEAT_TIMER, member.member_id)

    # ------------------------------------------------------------------------------------------------ offsets

    def commit(self, commit: Commit) -> Effects:
        """Write the offsets; the response is sent when they are committed to the log."""
        error = self._may_commit(commit)
        if error is not NONE:
            self.effects.append(commit.answer(error))
        elif commit.is_refused:
            self.effects.append(commit.answer(Errors.INVALID_COMMIT_OFFSET_SIZE, commit.too_large))
        elif not commit.batch:
            self.effects.append(commit.answer(NONE, commit.too_large))
        else:
            self.offsets.prepare(commit.stored(), commit.producer_id)
            self.effects.append(Write(commit.batch, commit))
        return self.take_effects()

    def _may_commit(self, commit: Commit) -> Errors:
        """Return NONE if the sender may commit; its session is renewed then."""
        member_id, instance_id, generation_id = commit.member_id, commit.group_instance_id, commit.generation_id
        is_simple = generation_id < 0
        if self.state is EMPTY and is_simple:
            return NONE
        if is_simple and member_id == NO_MEMBER_ID and instance_id is None:
            # A producer without a member id (before KIP-447) is fenced by its transactional id.
            return NONE if commit.is_transactional else Errors.UNKNOWN_MEMBER_ID
        error = self.validate(member_id, instance_id, generation_id)
        if error is not NONE or commit.is_transactional:
            return error
        if self.state is COMPLETING_REBALANCE:
            # The member has the new generation already, so its commits may concern other members' partitions.
            return Errors.REBALANCE_IN_PROGRESS
        self.expect_heartbeat(self.members[member_id])
        return NONE

    def _offsets_stored(self, commit: Commit, error: Errors, base_offset: int) -> Effects:
        if error is NONE:
            self.offsets.written(commit.stored(), base_offset, commit.producer_id)
        else:
            self.offsets.failed(commit.stored(), commit.producer_id)
            store_log.debug("Offset commit from group %s failed when appending to log: %s", self.group_id, error.name)
        error = STORE_OFFSETS_ERRORS.get(error, error)
        return (commit.answer(error, commit.too_large),)

    def remove_offsets(self, partitions: Iterable[TopicPartition], now_ms: int) -> Effects:
        return self._take_back(self.offsets.remove(partitions), now_ms)

    def expire_offsets(self, now_ms: int) -> tuple[int, Effects]:
        """Return the number of expired offsets (KIP-211), and the effects that delete them.

        A group without members: counted from when it became empty. A stable consumer group: only topics it is no longer
        subscribed to, counted from the commit. A group that never had members: counted from the commit.
        """
        since: int | None = None
        subscribed: set[str] = set()
        if self.protocol_type is not None and self.state is EMPTY:
            since = None if self.state_timestamp == NO_TIMESTAMP else self.state_timestamp
        elif self.protocol_type is not None:
            if not self.is_consumer_group or self.state is not STABLE or self.subscribed_topics is None:
                return 0, ()
            subscribed = self.subscribed_topics
        expired = self.offsets.remove_expired(now_ms, self.config.offsets.retention_ms, since, subscribed)
        return len(expired), self._take_back(expired, now_ms)

    def delete(self, now_ms: int) -> Effects:
        """Delete an Empty group and its offsets."""
        self._kill(now_ms)
        return self._take_back(self.offsets.remove(list(self.offsets.committed)), now_ms)

    def _take_back(self, partitions: Iterable[TopicPartition], now_ms: int) -> Effects:
        """Write tombstones for removed offsets, and for the group if it has become Dead."""
        keys = [offset_key(self.group_id, partition) for partition in partitions]
        if self.state is EMPTY and not self.offsets:
            store_log.info("Group %s transitioned to Dead in generation %d", self.group_id, self.generation_id)
            self.transition_to(DEAD, now_ms)
        # Generation 0: the group never had a record, it only stored offsets.
        if self.state is DEAD and self.generation_id > 0:
            keys.append(group_key(self.group_id))
        if keys:
            self.effects.append(Write([(key, None) for key in keys], Tombstones(len(keys))))
        return self.take_effects()
