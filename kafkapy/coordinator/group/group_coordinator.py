"""The coordinator of consumer groups: Kafka's classic `GroupCoordinator`, which ZooKeeper-mode brokers use.

Request messages in, response messages out; everything on the reactor thread. A request becomes an event of its group
(`group.py`), and the effects are done by `runtime/`. Nothing here knows the network or the log.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Protocol

from kafkapy.common.scheduler import ScheduledTask, Scheduler
from kafkapy.common.time import Time
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.group import ClassicGroup
from kafkapy.coordinator.group.group_events import NO_MEMBER_ID, Commit, CommitOutcome, Join, LargeCommit
from kafkapy.coordinator.group.group_state import DEAD, EMPTY, STABLE
from kafkapy.coordinator.group.offsets import GroupOffset, Offsets
from kafkapy.coordinator.group.records import offset_records
from kafkapy.coordinator.group.replayed_groups import ReplayedGroups
from kafkapy.coordinator.group.responses import (
    CommitResults,
    add_commit_results,
    deleted_offsets,
    fetched_offset,
    join_error,
    sync_error,
)
from kafkapy.coordinator.runtime.effects import Performer
from kafkapy.coordinator.runtime.owned_topic import InternalTopic, OwnedTopic
from kafkapy.coordinator.runtime.partition_log import PartitionLog
from kafkapy.coordinator.runtime.turns import in_turns
from kafkapy.protocol.errors import NONE, Errors
from kafkapy.protocol.messages.delete_groups import DeleteGroupsResponse
from kafkapy.protocol.messages.describe_groups import DescribeGroupsResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkapy.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkapy.record.compression import CompressionType
from kafkapy.runtime.clock import Steps, portions

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")
store_log = logging.getLogger("kafkapy.coordinator.group.GroupMetadataManager")

GROUPS_PER_TURN = 50
"""How many loaded groups are taken over before the reactor does something else."""
GROUPS_LOOKED_THROUGH_PER_TURN = 1000
"""How many groups are asked for offsets of deleted partitions before it does."""

OFFSETS_PER_TURN = 2_000
"""How many offsets are looked at, whether they have expired, before it does."""
OFFSETS_PER_STEP = 100
"""How many offsets are put into an answer at a time."""


class SomePartitions(Sized, Iterable[TopicPartition], Protocol):
    """They may be very many, so they need not all be there at the same time."""


class GroupCoordinator:
    """Checks that a request is for this broker and hands it to the group.

    Each method returns its answer or calls its `reply` exactly once, then or later, on the reactor thread.

    Invariants:
    - `groups` holds groups of partitions that are led here, none of them Dead.
    - `_open_groups[producer id]` are the groups in which that producer's open transaction has offsets.
    - `_ended_meanwhile` has what transactions came to while a partition was read: their markers may lie behind what was read.
    """

    def __init__(self, config: GroupConfig, partition_log: PartitionLog, scheduler: Scheduler, time: Time) -> None:
        self._config = config
        self._scheduler = scheduler
        self._time = time
        topic = InternalTopic(
            GROUP_METADATA_TOPIC,
            config.offsets.topic_num_partitions,
            CompressionType(config.offsets.compression_codec),
            config.offsets.commit_timeout_ms,
        )
        self._topic: OwnedTopic[ReplayedGroups] = OwnedTopic(topic, partition_log, self, scheduler, time, store_log)
        self._performer = Performer(self._topic, scheduler, time, log)
        self._perform = self._performer.perform
        self.groups: dict[str, ClassicGroup] = {}
        """Those that are coordinated here, by id."""
        self._open_groups: dict[int, set[str]] = {}
        self._ended_meanwhile: dict[int, list[tuple[int, bool]]] = {}
        """partition -> (producer id, was it committed?), in the order of the markers"""
        self._active = False
        self._expiry: ScheduledTask | None = None

    def startup(self, topic_partition_count: int | None = None) -> None:
        """Begin to answer; before and after `shutdown` it is COORDINATOR_NOT_AVAILABLE.

        `topic_partition_count`: how many partitions `__consumer_offsets` has; None if it is not there yet.
        """
        self._topic.startup(topic_partition_count)
        self._expiry = self._scheduler.schedule(
            "delete-expired-group-metadata",
            lambda: in_turns(self._scheduler, "expired groups", self._remove_expired()),
            0,
            self._config.offsets.retention_check_interval_ms,
        )
        self._active = True

    def shutdown(self) -> None:
        self._active = False
        if self._expiry is not None:
            self._expiry.cancel()

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` whose leader coordinates the group."""
        return self._topic.partition_for(group_id)

    def _status(self, group_id: str, may_be_empty: bool = False) -> Errors:
        """NONE if this broker can speak for the group. Offsets have always been kept for the group "" too."""
        if not group_id and not may_be_empty:
            return Errors.INVALID_GROUP_ID
        if not self._active:
            return Errors.COORDINATOR_NOT_AVAILABLE
        return self._topic.status(group_id)

    def _get_or_create(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id, self._config, self._time.milliseconds())
        return group

    # ------------------------------------------------------------------------------------------------ membership

    def join_group(
        self,
        request: JoinGroupRequest,
        version: int,
        client_id: str,
        client_host: str,
        reply: Callable[[JoinGroupResponse], None],
    ) -> None:
        """`client_host` as Java prints an address: `/127.0.0.1`."""
        error = self._status(request.group_id)
        config = self._config
        if error is NONE and not (
            config.min_session_timeout_ms <= request.session_timeout_ms <= config.max_session_timeout_ms
        ):
            error = Errors.INVALID_SESSION_TIMEOUT
        if error is NONE and request.member_id != NO_MEMBER_ID and request.group_id not in self.groups:
            error = Errors.UNKNOWN_MEMBER_ID
        if error is not NONE:
            self._performer.reply(reply, join_error(request.member_id, error))
            return
        group = self._get_or_create(request.group_id)
        join = _join(request, version, client_id, client_host, reply)
        self._perform(group, group.join(join, self._time.milliseconds()))

    def sync_group(self, request: SyncGroupRequest, reply: Callable[[SyncGroupResponse], None]) -> None:
        error = self._status(request.group_id)
        group = self.groups.get(request.group_id)
        if error is NONE and group is not None:
            self._perform(group, group.sync(request, reply))
            return
        if error is NONE:
            error = Errors.UNKNOWN_MEMBER_ID
        elif error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            # What was agreed on before is lost. Old clients do not expect the true error here; so they join again.
            error = Errors.REBALANCE_IN_PROGRESS
        self._performer.reply(reply, sync_error(error))

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        error = self._status(request.group_id)
        if error is NONE:
            group = self.groups.get(request.group_id)
            if group is None:
                error = Errors.UNKNOWN_MEMBER_ID
            else:
                error, effects = group.heartbeat(request.member_id, request.group_instance_id, request.generation_id)
                self._perform(group, effects)
        elif error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            error = NONE  # the group will be there in a moment
        return HeartbeatResponse(error_code=error.code)

    def leave_group(self, request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
        """Before v3 one member leaves, and its error is the response's."""
        members = request.members
        if version < 3:
            members = [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]
        error = self._status(request.group_id)
        if error is not NONE:
            return LeaveGroupResponse(error_code=error.code)
        group = self.groups.get(request.group_id)
        if group is None:
            errors = [Errors.UNKNOWN_MEMBER_ID] * len(members)
        else:
            errors, effects = group.leave(members, self._time.milliseconds())
            self._perform(group, effects)
        if version < 3:
            return LeaveGroupResponse(error_code=errors[0].code)
        return LeaveGroupResponse(
            members=[
                LeaveGroupResponse.MemberResponse(
                    member_id=member.member_id, group_instance_id=member.group_instance_id, error_code=error.code
                )
                for member, error in zip(members, errors, strict=True)
            ]
        )

    def rebalance(self, group_id: str, reason: str) -> Errors:
        """Have all members join again; GROUP_ID_NOT_FOUND if the group is not there."""
        error = self._status(group_id)
        group = self.groups.get(group_id)
        if error is NONE and group is None:
            error = Errors.GROUP_ID_NOT_FOUND
        if error is NONE and group is not None:
            self._perform(group, group.rebalance(reason, self._time.milliseconds()))
        return error

    # ------------------------------------------------------------------------------------------------ offsets

    def commit_offsets(self, request: OffsetCommitRequest, reply: Callable[[OffsetCommitResponse], None]) -> None:
        """Store the offsets; answered when they are committed to the log."""
        offsets = self._offsets_to_commit(request)
        generation_id = request.generation_id_or_member_epoch
        too_large = self._too_large(offsets)
        commit = Commit(request.member_id, request.group_instance_id, generation_id, offsets, too_large, reply)
        self._commit(request.group_id, commit)

    def commit_transactional_offsets(
        self, request: TxnOffsetCommitRequest, reply: Callable[[OffsetCommitResponse], None]
    ) -> None:
        """Store the offsets as part of the producer's transaction; answered when they are in the log."""
        error = self._status(request.group_id)
        offsets = self._offsets_to_commit(_as_offset_commit(request))
        commit = Commit(
            request.member_id, request.group_instance_id, request.generation_id, offsets, self._too_large(offsets), reply,
            request.producer_id, request.producer_epoch,
        )  # fmt: skip
        if error is not NONE:
            self._performer.answer(commit.answer(error))
            return
        self._open_groups.setdefault(request.producer_id, set()).add(request.group_id)
        group = self._get_or_create(request.group_id)
        self._perform(group, group.commit(commit))

    def large_commit(self, request: OffsetCommitRequest) -> LargeCommit:
        """What a commit of very many offsets takes long with; on any thread. Then comes `commit_large`."""
        offsets = self._offsets_to_commit(request)
        generation_id = request.generation_id_or_member_epoch
        too_large = self._too_large(offsets)
        commit = LargeCommit(request.member_id, request.group_instance_id, generation_id, offsets, too_large, _nobody)
        stored = commit.stored()
        if stored:
            version = self._config.offsets.offset_value_version
            commit.batch = self._topic.batch(offset_records(request.group_id, stored, version), 0)
        return commit

    def commit_large(self, group_id: str, commit: LargeCommit, reply: Callable[[CommitOutcome], None]) -> None:
        """As `commit_offsets`: all are stored as one batch, or none. The response is then made by `commit_results`."""
        commit.to = reply
        commit.is_refused = not self._topic.takes(group_id, commit.batch)
        self._commit(group_id, commit)

    def commit_results(self, topics: CommitResults, commit: LargeCommit, outcome: CommitOutcome) -> Steps[None]:
        """Adds the error of each partition."""
        for some in portions(list(commit.offsets)):
            add_commit_results(topics, some, outcome.error, outcome.too_large)
            yield

    def _commit(self, group_id: str, commit: Commit) -> None:
        error = self._status(group_id, may_be_empty=True)
        if error is NONE and commit.generation_id >= 0 and group_id not in self.groups:
            error = Errors.ILLEGAL_GENERATION
        if error is not NONE:
            self._performer.answer(commit.answer(error))
            return
        # A consumer that assigns its partitions itself has a group, too: to keep its offsets.
        group = self._get_or_create(group_id)
        self._perform(group, group.commit(commit))

    def _too_large(self, offsets: Offsets) -> set[TopicPartition]:
        is_too_large = self._config.offsets.is_metadata_too_large
        return {p for p, offset in offsets.items() if offset.metadata and is_too_large(offset.metadata)}

    def _offsets_to_commit(self, request: OffsetCommitRequest) -> Offsets:
        """With the time until which v2-4 want them kept, and the time at which v1 says they were committed."""
        now = self._time.milliseconds()
        retention = request.retention_time_ms
        expire = NO_TIMESTAMP if retention == -1 else now + retention
        return {
            TopicPartition(topic.name, partition.partition_index): GroupOffset(
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.committed_metadata or "",
                now if partition.commit_timestamp == NO_TIMESTAMP else partition.commit_timestamp,
                expire,
            )
            for topic in request.topics
            for partition in topic.partitions
        }

    def fetch_offsets(
        self, group_id: str, partitions: SomePartitions | None, require_stable: bool
    ) -> Steps[OffsetFetchResponse.OffsetFetchResponseGroup]:
        """The committed offsets of the partitions (None: of all that have one), -1 where there is none.

        `require_stable`: UNSTABLE_OFFSET_COMMIT for a partition whose offset is about to change (KIP-447).
        """
        response = OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group_id)
        error = self._status(group_id, may_be_empty=True)
        if error is not NONE:
            response.error_code = error.code
            return response
        group = self.groups.get(group_id)
        offsets = None if group is None else group.offsets
        if offsets is not None and (partitions is None or len(partitions) >= OFFSETS_PER_STEP):
            offsets = offsets.copy()  # a commit shows as a whole or not at all, whatever happens between the steps
        if partitions is None:
            partitions = () if offsets is None else offsets.committed
        topics: dict[str, OffsetFetchResponse.OffsetFetchResponseTopics] = {}
        for count, partition in enumerate(partitions, 1):
            topic = topics.get(partition.topic)
            if topic is None:
                topic = topics[partition.topic] = OffsetFetchResponse.OffsetFetchResponseTopics(name=partition.topic)
                response.topics.append(topic)
            topic.partitions.append(fetched_offset(offsets, partition, require_stable))
            if count % OFFSETS_PER_STEP == 0:
                yield
        return response

    def delete_offsets(self, request: OffsetDeleteRequest) -> Steps[OffsetDeleteResponse]:
        """Forget offsets of an empty group, or of topics that a consumer group is not subscribed to.

        Very many go some at a time, in a batch of tombstones each: one would be too large for the log.
        """
        error = self._status(request.group_id)
        group = self.groups.get(request.group_id)
        if error is NONE and group is None:
            error = Errors.GROUP_ID_NOT_FOUND
        if error is not NONE or group is None:
            return OffsetDeleteResponse(error_code=error.code)
        is_empty = group.is_in(EMPTY)
        if not is_empty and not group.is_consumer_group:
            return OffsetDeleteResponse(error_code=Errors.NON_EMPTY_GROUP.code)
        response = OffsetDeleteResponse()
        deleted: list[TopicPartition] = []
        for topic in request.topics:
            answer = OffsetDeleteResponse.OffsetDeleteResponseTopic(name=topic.name)
            response.topics.append(answer)
            for some in portions(topic.partitions):
                indexes = [partition.partition_index for partition in some]
                error = NONE
                if not (group.is_in(EMPTY) or group.is_in(DEAD)) and group.is_subscribed_to(topic.name):
                    error = Errors.GROUP_SUBSCRIBED_TO_TOPIC
                else:
                    deleted += [TopicPartition(topic.name, index) for index in indexes]
                answer.partitions += deleted_offsets(indexes, error)
                if len(deleted) >= OFFSETS_PER_STEP:
                    self._remove_if_there(group, deleted)
                    deleted = []
                yield
        self._remove_if_there(group, deleted)
        return response

    def _remove_if_there(self, group: ClassicGroup, partitions: Sequence[TopicPartition]) -> None:
        """Whoever has the id of a group that is gone keeps its offsets."""
        if partitions and self.groups.get(group.group_id) is group:
            self._remove_offsets(group, partitions)

    def _remove_offsets(self, group: ClassicGroup, partitions: Iterable[TopicPartition]) -> None:
        self._perform(group, group.remove_offsets(partitions, self._time.milliseconds()))
        self._forget_if_dead(group)

    def _forget_if_dead(self, group: ClassicGroup) -> None:
        if group.is_in(DEAD) and self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]

    def _remove_expired(self) -> Iterator[None]:
        """Go through all groups, some at a time."""
        seen, removed = 0, 0
        for group in list(self.groups.values()):
            if not group.is_in(DEAD):
                seen += 1 + len(group.offsets.committed)
                expired, effects = group.expire_offsets(self._time.milliseconds())
                removed += expired
                self._perform(group, effects)
                self._forget_if_dead(group)
            if seen >= OFFSETS_PER_TURN:
                seen = 0
                yield
        if removed:
            store_log.info("Removed %d expired offsets.", removed)

    # ------------------------------------------------------------------------------------------------ administration

    def list_groups(self, request: ListGroupsRequest) -> Steps[ListGroupsResponse]:
        """The groups of this broker; filters are case-insensitive, and all groups here are of the type "classic"."""
        if not self._active:
            return ListGroupsResponse(error_code=Errors.COORDINATOR_NOT_AVAILABLE.code)
        states = {state.lower() for state in request.states_filter}
        types = {group_type.lower() for group_type in request.types_filter}
        error = Errors.COORDINATOR_LOAD_IN_PROGRESS if self._topic.is_loading else NONE
        response = ListGroupsResponse(error_code=error.code)
        if types and "classic" not in types:
            return response
        for some in portions(list(self.groups.values())):
            response.groups += [
                ListGroupsResponse.ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type="classic",
                )
                for group in some
                if not group.is_in(DEAD) and (not states or group.state.value.lower() in states)
            ]
            yield
        return response

    def describe_group(self, group_id: str) -> DescribeGroupsResponse.DescribedGroup:
        """A group that is not there is Dead."""
        described = DescribeGroupsResponse.DescribedGroup(group_id=group_id)
        error = self._status(group_id, may_be_empty=True)
        if error is not NONE:
            described.error_code = error.code
            return described
        group = self.groups.get(group_id)
        if group is None:
            described.group_state = DEAD.value
            return described
        stable = group.is_in(STABLE)
        described.group_state = group.state.value
        described.protocol_type = group.protocol_type or ""
        described.protocol_data = (group.protocol_name or "") if stable else ""
        described.members = [
            DescribeGroupsResponse.DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol_name or "") if stable else b"",
                member_assignment=member.assignment if stable else b"",
            )
            for member in group.members
        ]
        return described

    def delete_groups(self, group_ids: Iterable[str]) -> Steps[list[DeleteGroupsResponse.DeletableGroupResult]]:
        """Delete groups without members, with their offsets. Each is named once."""
        results = []
        for group_id in group_ids:
            yield from self._delete_many_offsets(group_id)
            result = DeleteGroupsResponse.DeletableGroupResult(group_id=group_id)
            result.error_code = self._delete_group(group_id).code
            results.append(result)
            yield
        return results

    def _delete_many_offsets(self, group_id: str) -> Steps[None]:
        """All but one of a group that has very many and may be deleted; that goes with the group."""
        group = self.groups.get(group_id)
        if group is None or len(group.offsets.committed) <= OFFSETS_PER_STEP:
            return
        for some in portions(list(group.offsets.committed)[1:]):
            if self._status(group_id, may_be_empty=True) is NONE and group.is_in(EMPTY):
                self._remove_if_there(group, some)
            yield

    def _delete_group(self, group_id: str) -> Errors:
        error = self._status(group_id, may_be_empty=True)
        if error is not NONE:
            return error
        group = self.groups.get(group_id)
        if group is None:
            return Errors.GROUP_ID_NOT_FOUND
        if not group.is_in(EMPTY):
            return Errors.NON_EMPTY_GROUP
        self._perform(group, group.delete(self._time.milliseconds()))
        self._forget_if_dead(group)
        return NONE

    # ------------------------------------------------------------------------------------------------ the cluster

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """This broker became leader of that partition of `__consumer_offsets`."""
        self._topic.on_election(partition, leader_epoch)

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """This broker leads that partition no longer (None: the replica is gone, whatever the epoch)."""
        self._topic.on_resignation(partition, leader_epoch)

    def handle_deleted_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Their topics were deleted: forget their offsets, in all groups.

        Groups that had no offsets before are left to the expiry; Kafka removes those that are Empty here as well.
        """
        in_turns(self._scheduler, "offsets of deleted topics", self._remove_deleted(frozenset(partitions)))

    def _remove_deleted(self, gone: frozenset[TopicPartition]) -> Iterator[None]:
        """A topic may be made again, and committed to, before the last turn: what is younger than this one stays."""
        now_ms = self._time.milliseconds()
        removed = 0
        for number, group in enumerate(list(self.groups.values())):
            if number and number % GROUPS_LOOKED_THROUGH_PER_TURN == 0:
                yield
            known = group.offsets.known_of(gone)
            if number >= GROUPS_LOOKED_THROUGH_PER_TURN:
                known = [partition for partition in known if not group.offsets.is_committed_after(partition, now_ms)]
            for start in range(0, len(known), OFFSETS_PER_TURN):
                part = known[start : start + OFFSETS_PER_TURN]
                removed += len(part)
                if removed > OFFSETS_PER_TURN:
                    removed = len(part)
                    yield
                    part = [partition for partition in part if not group.offsets.is_committed_after(partition, now_ms)]
                if self.groups.get(group.group_id) is group:
                    self._remove_offsets(group, part)

    def on_transaction_completed(self, producer_id: int, partitions: Iterable[int], commit: bool) -> None:
        """A transaction marker was written to these partitions of `__consumer_offsets`: the producer's offsets in their
        groups hold, or are forgotten. Those of a partition that is being read wait until it is known."""
        of_these = set(partitions)
        for partition in [partition for partition in of_these if self._topic.is_being_loaded(partition)]:
            of_these.discard(partition)
            self._ended_meanwhile.setdefault(partition, []).append((producer_id, commit))
        open_groups = self._open_groups.get(producer_id, set())
        for group_id in [group_id for group_id in open_groups if self.partition_for(group_id) in of_these]:
            open_groups.discard(group_id)
            group = self.groups.get(group_id)
            if group is not None:
                group.offsets.complete_transaction(producer_id, commit)
        if not open_groups:
            self._open_groups.pop(producer_id, None)

    # ------------------------------------------------------------------------------------------------ loading (`Keeper`)

    def new_replayed(self) -> ReplayedGroups:
        return ReplayedGroups(self._config)

    def install(self, partition: int, replayed: ReplayedGroups) -> Iterator[None]:
        for number, group in enumerate(replayed.all_groups(self._time.milliseconds())):
            if number and number % GROUPS_PER_TURN == 0:
                yield
            for producer_id in group.offsets.producers:
                self._open_groups.setdefault(producer_id, set()).add(group.group_id)
            self.groups[group.group_id] = group
            self._perform(group, group.on_loaded(self._time.milliseconds()))

    def installed(self, partition: TopicPartition, elapsed_ms: int) -> None:
        store_log.info("Finished loading offsets and group metadata from %s in %d milliseconds.", partition, elapsed_ms)
        for producer_id, commit in self._ended_meanwhile.pop(partition.partition, ()):
            self.on_transaction_completed(producer_id, [partition.partition], commit)

    def load_failed(self, partition: TopicPartition, error: Exception) -> None:
        # An owned partition with half its offsets would send consumers back to the start of their topics.
        store_log.error("Error loading offsets from %s; trying again", partition, exc_info=error)

    def unload(self, partition: int) -> None:
        self._ended_meanwhile.pop(partition, None)
        now, effects = self._time.milliseconds(), []
        for group in [group for group in self.groups.values() if self.partition_for(group.group_id) == partition]:
            del self.groups[group.group_id]
            for producer_id in group.offsets.producers:
                self._open_groups.get(producer_id, set()).discard(group.group_id)
            effects.append((group, group.on_unloaded(now)))
        self._performer.perform_all(effects)


def _nobody(answer: object) -> None:
    """Waits for it so far."""


def _as_offset_commit(request: TxnOffsetCommitRequest) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=request.group_id,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitRequest.OffsetCommitRequestPartition(
                        partition_index=partition.partition_index,
                        committed_offset=partition.committed_offset,
                        committed_leader_epoch=partition.committed_leader_epoch,
                        committed_metadata=partition.committed_metadata,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _join(
    request: JoinGroupRequest, version: int, client_id: str, client_host: str, to: Callable[[JoinGroupResponse], None]
) -> Join:
    name = client_id if request.group_instance_id is None else request.group_instance_id
    return Join(
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        new_member_id="" if request.member_id != NO_MEMBER_ID else f"{name}-{uuid.uuid4()}",
        require_known_member_id=version >= 4 and request.group_instance_id is None,
        supports_skipping_assignment=version >= 9,
        client_id=client_id,
        client_host=client_host,
        rebalance_timeout_ms=request.session_timeout_ms if version == 0 else request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=[(protocol.name, protocol.metadata) for protocol in request.protocols],
        reason=request.reason or "not provided",
        to=to,
    )
