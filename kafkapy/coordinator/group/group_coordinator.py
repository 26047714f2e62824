"""The coordinator of consumer groups: Kafka's classic `GroupCoordinator`, which ZooKeeper-mode brokers use.

It maps request messages to response messages, on the reactor thread. A request becomes an event of its group
(`group.py`), and `runtime/` executes the effects. The module is independent of the network and the log.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from kafkapy.common.scheduler import ScheduledTask
from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import GroupConfig
from kafkapy.coordinator.group.group import ClassicGroup
from kafkapy.coordinator.group.group_events import NO_MEMBER_ID, Commit, Join, PartitionErrors
from kafkapy.coordinator.group.group_state import DEAD, EMPTY, STABLE
from kafkapy.coordinator.group.offsets import GroupOffset, GroupOffsets
from kafkapy.coordinator.group.records import offset_records
from kafkapy.coordinator.group.replayed_groups import ReplayedGroups
from kafkapy.coordinator.group.responses import fetched_offset, join_error, sync_error
from kafkapy.coordinator.runtime.effects import Performer
from kafkapy.coordinator.runtime.owned_topic import CoordinatorTopic, OwnedTopic
from kafkapy.coordinator.runtime.partition_log import PartitionLog
from kafkapy.protocol.errors import NONE, Errors, KafkaError
from kafkapy.protocol.messages.delete_groups import DeleteGroupsResponse
from kafkapy.protocol.messages.describe_groups import DescribeGroupsResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkapy.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from kafkapy.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafkapy.record.compression import CompressionType
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion, spawn

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")
store_log = logging.getLogger("kafkapy.coordinator.group.GroupMetadataManager")

TopicToCommit = tuple[str, Sequence[OffsetCommitRequest.OffsetCommitRequestPartition]]
"""A topic's name, and its partitions with their offsets."""


class GroupCoordinator:
    """Checks that this broker coordinates the group of a request, and passes the request to the group.

    An event changes the group before its method returns; a `Completion` is the response, which may come later.

    Invariants:
    - `groups` holds groups of partitions that this broker leads, none of them Dead.
    - `_open_groups[producer id]` are the groups in which that producer's open transaction has offsets.
    - `_ended_meanwhile` has the transactions that ended while a partition was read: the read may miss their markers.
    """

    def __init__(self, config: GroupConfig, partition_log: PartitionLog, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        topic = CoordinatorTopic(
            GROUP_METADATA_TOPIC,
            config.offsets.topic_num_partitions,
            CompressionType(config.offsets.compression_codec),
            config.offsets.commit_timeout_ms,
        )
        self._topic: OwnedTopic[ReplayedGroups] = OwnedTopic(topic, partition_log, self, clock, store_log)
        self._performer = Performer(self._topic, clock, log)
        self._perform = self._performer.perform
        self.groups: dict[str, ClassicGroup] = {}
        """The groups of this coordinator, by id."""
        self._open_groups: dict[int, set[str]] = {}
        self._ended_meanwhile: dict[int, list[tuple[int, bool]]] = {}
        """partition -> (producer id, whether it was committed), in the order of the markers"""
        self._active = False
        self._expiry: ScheduledTask | None = None

    def startup(self, topic_partition_count: int | None = None) -> None:
        """Start; before it and after `shutdown`, requests fail with COORDINATOR_NOT_AVAILABLE.

        `topic_partition_count`: number of partitions of `__consumer_offsets`; None if it does not exist yet.
        """
        self._topic.startup(topic_partition_count)
        self._expiry = self._clock.schedule(
            "delete-expired-group-metadata",
            lambda: spawn(self._remove_expired()),
            0,
            self._config.offsets.retention_check_interval_ms,
        )
        self._active = True

    def shutdown(self) -> None:
        self._active = False
        if self._expiry is not None:
            self._expiry.cancel()

    def partition_for(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` whose leader coordinates the group."""
        return self._topic.partition_for(group_id)

    def _status(self, group_id: str, may_be_empty: bool = False) -> Errors:
        """Return NONE if this broker coordinates the group. The group "" is valid for offsets only."""
        if not group_id and not may_be_empty:
            return Errors.INVALID_GROUP_ID
        if not self._active:
            return Errors.COORDINATOR_NOT_AVAILABLE
        return self._topic.status(group_id)

    def _get_or_create(self, group_id: str) -> ClassicGroup:
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = ClassicGroup(group_id, self._config, self._clock.milliseconds())
        return group

    # ------------------------------------------------------------------------------------------------ membership

    def join_group(
        self, request: JoinGroupRequest, version: int, client_id: str, client_host: str
    ) -> Completion[JoinGroupResponse]:
        """Return the response, which completes with the rebalance. `client_host` is in Java's format: `/127.0.0.1`."""
        error = self._status(request.group_id)
        config = self._config
        if error is NONE and not (
            config.min_session_timeout_ms <= request.session_timeout_ms <= config.max_session_timeout_ms
        ):
            error = Errors.INVALID_SESSION_TIMEOUT
        if error is NONE and request.member_id != NO_MEMBER_ID and request.group_id not in self.groups:
            error = Errors.UNKNOWN_MEMBER_ID
        if error is not NONE:
            return Completion.of(join_error(request.member_id, error))
        group = self._get_or_create(request.group_id)
        answer: Completion[JoinGroupResponse] = Completion()
        join = _join(request, version, client_id, client_host, answer.set_result)
        self._perform(group, group.join(join, self._clock.milliseconds()))
        return answer

    def sync_group(self, request: SyncGroupRequest) -> Completion[SyncGroupResponse]:
        """Return the response, which completes when the leader has sent the assignment."""
        error = self._status(request.group_id)
        group = self.groups.get(request.group_id)
        if error is NONE and group is not None:
            answer: Completion[SyncGroupResponse] = Completion()
            self._perform(group, group.sync(request, answer.set_result))
            return answer
        if error is NONE:
            error = Errors.UNKNOWN_MEMBER_ID
        elif error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            # The pending assignment is lost. Older clients don't expect a loading error here; after this one they join
            # again.
            error = Errors.REBALANCE_IN_PROGRESS
        return Completion.of(sync_error(error))

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
            error = NONE  # the group is being loaded
        return HeartbeatResponse(error_code=error.code)

    def leave_group(self, request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
        """Remove members; before v3 there is only one, and its error is the response's."""
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
            errors, effects = group.leave(members, self._clock.milliseconds())
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
        """Let all members join again; GROUP_ID_NOT_FOUND if there is no such group."""
        error = self._status(group_id)
        group = self.groups.get(group_id)
        if error is NONE and group is None:
            error = Errors.GROUP_ID_NOT_FOUND
        if error is NONE and group is not None:
            self._perform(group, group.rebalance(reason, self._clock.milliseconds()))
        return error

    # ------------------------------------------------------------------------------------------------ offsets

    def new_commit(self, request: OffsetCommitRequest, topics: Iterable[TopicToCommit]) -> Commit:
        """Return the argument of `commit_offsets`: the offsets of `topics`, and their batch. Thread-safe.

        It includes the expiry time that v2-4 request, and the commit time of v1.
        """
        now = self._clock.milliseconds()
        retention = request.retention_time_ms
        expire = NO_TIMESTAMP if retention == -1 else now + retention
        offsets = {
            TopicPartition(name, partition.partition_index): GroupOffset(
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.committed_metadata or "",
                now if partition.commit_timestamp == NO_TIMESTAMP else partition.commit_timestamp,
                expire,
            )
            for name, partitions in topics
            for partition in partitions
        }
        generation_id = request.generation_id_or_member_epoch
        commit = Commit(request.member_id, request.group_instance_id, generation_id, offsets)
        return self._with_batch(request.group_id, commit)

    def begin_transactional_commit(self, group_id: str) -> Errors:
        """Prepare the group for offsets of a transaction, before the transaction is verified. As in Kafka, a missing
        group is created even if that fails; it is removed, empty, at the next check for expired offsets."""
        error = self._status(group_id)
        if error is NONE:
            self._get_or_create(group_id)
        return error

    def new_transactional_commit(self, request: TxnOffsetCommitRequest) -> Commit:
        """As `new_commit`, for offsets that become valid when the producer's transaction is committed."""
        now = self._clock.milliseconds()
        offsets = {
            TopicPartition(topic.name, partition.partition_index): GroupOffset(
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.committed_metadata or "",
                now,
            )
            for topic in request.topics
            for partition in topic.partitions
        }
        commit = Commit(
            request.member_id, request.group_instance_id, request.generation_id, offsets,
            request.producer_id, request.producer_epoch,
        )  # fmt: skip
        return self._with_batch(request.group_id, commit)

    def _with_batch(self, group_id: str, commit: Commit) -> Commit:
        is_too_large = self._config.offsets.is_metadata_too_large
        commit.too_large = {
            p for p, offset in commit.offsets.items() if offset.metadata and is_too_large(offset.metadata)
        }
        stored = commit.stored()
        if stored:
            records = offset_records(group_id, stored, self._config.offsets.offset_value_version)
            # Kafka gives commits the sequence 0 although they have no producer id; so the bytes are the same.
            commit.batch = self._topic.batch(records, 0, commit.producer_id, commit.producer_epoch)
        return commit

    def commit_offsets(self, group_id: str, commit: Commit) -> Completion[PartitionErrors]:
        """Store the offsets, all in one batch; completes when they are committed to the log, or refused."""
        error = self._status(group_id, may_be_empty=not commit.is_transactional)
        if commit.is_transactional:
            if error is NONE:
                self._open_groups.setdefault(commit.producer_id, set()).add(group_id)
        elif error is NONE and commit.generation_id >= 0 and group_id not in self.groups:
            error = Errors.ILLEGAL_GENERATION
        if error is not NONE:
            return Completion.of(dict.fromkeys(commit.offsets, error))
        commit.is_refused = not self._topic.takes(group_id, commit.batch)
        # A consumer with manual assignment has a group, too, for its offsets.
        group = self._get_or_create(group_id)
        self._perform(group, group.commit(commit))
        return commit.errors

    async def fetch_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None, require_stable: bool
    ) -> OffsetFetchResponse.OffsetFetchResponseGroup:
        """Return the committed offsets of the partitions (None: of all with an offset), -1 where there is none.

        `require_stable`: UNSTABLE_OFFSET_COMMIT for a partition whose offset is about to change (KIP-447).
        """
        response = OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group_id)
        error = self._status(group_id, may_be_empty=True)
        if error is not NONE:
            response.error_code = error.code
            return response
        group = self.groups.get(group_id)
        offsets = GroupOffsets() if group is None else group.offsets
        is_copy = partitions is None
        if partitions is None:
            offsets = offsets.copy()
            partitions = offsets.committed
        topics: dict[str, OffsetFetchResponse.OffsetFetchResponseTopics] = {}
        for chunk in chunks(partitions):
            if topics:
                if not is_copy:
                    offsets, is_copy = offsets.copy(), True  # a commit must be visible as a whole or not at all
                await self._clock.checkpoint()
            for partition in chunk:
                topic = topics.get(partition.topic)
                if topic is None:
                    topic = OffsetFetchResponse.OffsetFetchResponseTopics(name=partition.topic)
                    topics[partition.topic] = topic
                topic.partitions.append(fetched_offset(offsets, partition, require_stable))
        response.topics = list(topics.values())
        return response

    async def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> PartitionErrors:
        """Delete offsets of an empty group, or of topics that a consumer group is not subscribed to.

        Each chunk has its own batch of tombstones: a single batch could be too large for the log.
        Raises the error of the group as `KafkaError`.
        """
        error = self._status(group_id)
        group = self.groups.get(group_id)
        if error is NONE and group is None:
            error = Errors.GROUP_ID_NOT_FOUND
        if error is not NONE or group is None:
            raise KafkaError(error)
        if not group.is_in(EMPTY) and not group.is_consumer_group:
            raise KafkaError(Errors.NON_EMPTY_GROUP)
        errors: PartitionErrors = {}
        for chunk in chunks(partitions):
            await self._clock.checkpoint()
            is_unused = group.is_in(EMPTY) or group.is_in(DEAD)
            deleted = [p for p in chunk if is_unused or not group.is_subscribed_to(p.topic)]
            errors.update(dict.fromkeys(chunk, Errors.GROUP_SUBSCRIBED_TO_TOPIC))
            errors.update(dict.fromkeys(deleted, NONE))
            self._remove_if_there(group, deleted)
        return errors

    def _remove_if_there(self, group: ClassicGroup, partitions: Sequence[TopicPartition]) -> None:
        """Remove offsets, unless the group has been replaced or removed."""
        if partitions and self.groups.get(group.group_id) is group:
            self._remove_offsets(group, partitions)

    def _remove_offsets(self, group: ClassicGroup, partitions: Iterable[TopicPartition]) -> None:
        self._perform(group, group.remove_offsets(partitions, self._clock.milliseconds()))
        self._forget_if_dead(group)

    def _forget_if_dead(self, group: ClassicGroup) -> None:
        if group.is_in(DEAD) and self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]

    async def _remove_expired(self) -> None:
        """Remove expired offsets of all groups."""
        removed = 0
        for group in list(self.groups.values()):
            await self._clock.checkpoint()
            if not self._active:
                return
            if not group.is_in(DEAD):
                expired, effects = group.expire_offsets(self._clock.milliseconds())
                removed += expired
                self._perform(group, effects)
                self._forget_if_dead(group)
        if removed:
            store_log.info("Removed %d expired offsets.", removed)

    # ------------------------------------------------------------------------------------------------ administration

    async def list_groups(self, request: ListGroupsRequest) -> ListGroupsResponse:
        """Return this coordinator's groups; filters are case-insensitive, and all groups have the type "classic"."""
        if not self._active:
            return ListGroupsResponse(error_code=Errors.COORDINATOR_NOT_AVAILABLE.code)
        states = {state.lower() for state in request.states_filter}
        types = {group_type.lower() for group_type in request.types_filter}
        error = Errors.COORDINATOR_LOAD_IN_PROGRESS if self._topic.is_loading else NONE
        response = ListGroupsResponse(error_code=error.code)
        if types and "classic" not in types:
            return response
        for chunk in chunks(list(self.groups.values())):
            await self._clock.checkpoint()
            response.groups += [
                ListGroupsResponse.ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type="classic",
                )
                for group in chunk
                if not group.is_in(DEAD) and (not states or group.state.value.lower() in states)
            ]
        return response

    def describe_group(self, group_id: str) -> DescribeGroupsResponse.DescribedGroup:
        """Describe a group; a missing one is Dead."""
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

    async def delete_groups(self, group_ids: Iterable[str]) -> list[DeleteGroupsResponse.DeletableGroupResult]:
        """Delete groups without members, with their offsets. The ids must be distinct."""
        results = []
        for group_id in group_ids:
            await self._clock.checkpoint()
            await self._delete_offsets_of(group_id)
            result = DeleteGroupsResponse.DeletableGroupResult(group_id=group_id)
            result.error_code = self._delete_group(group_id).code
            results.append(result)
        return results

    async def _delete_offsets_of(self, group_id: str) -> None:
        """If the group may be deleted, delete its offsets except the first chunk: a single batch of tombstones could
        be too large."""
        group = self.groups.get(group_id)
        if group is None:
            return
        for chunk in islice(chunks(list(group.offsets.committed)), 1, None):
            await self._clock.checkpoint()
            if self._status(group_id, may_be_empty=True) is NONE and group.is_in(EMPTY):
                self._remove_if_there(group, chunk)

    def _delete_group(self, group_id: str) -> Errors:
        error = self._status(group_id, may_be_empty=True)
        if error is not NONE:
            return error
        group = self.groups.get(group_id)
        if group is None:
            return Errors.GROUP_ID_NOT_FOUND
        if not group.is_in(EMPTY):
            return Errors.NON_EMPTY_GROUP
        self._perform(group, group.delete(self._clock.milliseconds()))
        self._forget_if_dead(group)
        return NONE

    # ------------------------------------------------------------------------------------------------ the cluster

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """Load the partition of `__consumer_offsets`, which this broker now leads."""
        self._topic.on_election(partition, leader_epoch)

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """Unload the partition, which this broker no longer leads (None: the replica was removed, regardless of the epoch)."""
        self._topic.on_resignation(partition, leader_epoch)

    def handle_deleted_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove the offsets of deleted partitions from all groups, and Empty groups without offsets."""
        spawn(self._remove_deleted(frozenset(partitions)))

    async def _remove_deleted(self, gone: frozenset[TopicPartition]) -> None:
        """Remove the offsets older than this call: a topic of the same name may be created, and get commits, before
        the last group is checked."""
        now_ms = self._clock.milliseconds()
        for group in list(self.groups.values()):
            await self._clock.checkpoint()
            for chunk in chunks(group.offsets.known_of(gone)):
                await self._clock.checkpoint()
                if not self._active:
                    return
                self._remove_if_there(group, [p for p in chunk if not group.offsets.is_committed_after(p, now_ms)])
            if not self._active:
                return
            if group.is_in(EMPTY) and not group.offsets and self.groups.get(group.group_id) is group:
                self._remove_offsets(group, ())

    def on_transaction_completed(self, producer_id: int, partitions: Iterable[int], commit: bool) -> None:
        """Commit or drop the producer's offsets after a transaction marker in these partitions of
        `__consumer_offsets`. For a partition that is being loaded, that is done after the load."""
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

    # ------------------------------------------------------------------------------------------------ loading (`ContentStore`)

    def new_replayed(self) -> ReplayedGroups:
        return ReplayedGroups(self._config)

    def install(self, partition: int, replayed: ReplayedGroups) -> Iterator[None]:
        for chunk in chunks(replayed.all_groups(self._clock.milliseconds())):
            for group in chunk:
                for producer_id in group.offsets.producers:
                    self._open_groups.setdefault(producer_id, set()).add(group.group_id)
                self.groups[group.group_id] = group
                self._perform(group, group.on_loaded(self._clock.milliseconds()))
            yield

    def installed(self, partition: TopicPartition, elapsed_ms: int) -> None:
        store_log.info("Finished loading offsets and group metadata from %s in %d milliseconds.", partition, elapsed_ms)
        for producer_id, commit in self._ended_meanwhile.pop(partition.partition, ()):
            self.on_transaction_completed(producer_id, [partition.partition], commit)

    def load_failed(self, partition: TopicPartition, error: Exception) -> None:
        # Not activated with a part of its offsets: consumers would restart at the beginning of their topics.
        store_log.error("Error loading offsets from %s; trying again", partition, exc_info=error)

    def unload(self, partition: int) -> None:
        self._ended_meanwhile.pop(partition, None)
        now, effects = self._clock.milliseconds(), []
        for group in [group for group in self.groups.values() if self.partition_for(group.group_id) == partition]:
            del self.groups[group.group_id]
            for producer_id in group.offsets.producers:
                self._open_groups.get(producer_id, set()).discard(group.group_id)
            effects.append((group, group.on_unloaded(now)))
        self._performer.perform_all(effects)


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
