"""The coordinator of consumer groups: Kafka's classic `GroupCoordinator`, which ZooKeeper-mode brokers use.

Request messages in, response messages out; everything on the reactor thread. Nothing here knows the network or the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import GroupConfig, OffsetConfig
from kafkapy.coordinator.group.group_metadata import GroupMetadata
from kafkapy.coordinator.group.group_metadata_manager import GroupMetadataManager
from kafkapy.coordinator.group.group_offsets import NO_TIMESTAMP, OffsetAndMetadata, Offsets
from kafkapy.coordinator.group.group_state import GroupState
from kafkapy.coordinator.group.member_metadata import JoinReply, SyncReply
from kafkapy.coordinator.group.membership import Join, Membership
from kafkapy.coordinator.group.rebalance import Rebalance
from kafkapy.coordinator.group.replies import Replies
from kafkapy.coordinator.group.responses import (
    NO_MEMBER_ID,
    commit_response,
    deleted_offsets,
    fetched_offset,
    join_error,
    sync_error,
)
from kafkapy.coordinator.partition_writer import PartitionReader, PartitionWriter
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.delete_groups import DeleteGroupsResponse
from kafkapy.protocol.messages.describe_groups import DescribeGroupsResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.join_group import JoinGroupRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from kafkapy.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from kafkapy.protocol.messages.offset_fetch import OffsetFetchResponse
from kafkapy.protocol.messages.sync_group import SyncGroupRequest


class GroupCoordinator:
    """Checks that a request is for this broker and hands it to the group.

    Each method returns its answer or calls its `reply` exactly once, then or later, on the reactor thread.
    """

    def __init__(
        self,
        group_config: GroupConfig,
        offset_config: OffsetConfig,
        writer: PartitionWriter,
        reader: PartitionReader,
        scheduler: Scheduler,
        time: Time,
    ) -> None:
        self._config = group_config
        self._time = time
        self._replies = Replies()
        self._manager = GroupMetadataManager(offset_config, writer, reader, scheduler, time)
        self._rebalance = Rebalance(group_config, self._manager, scheduler, time, self._replies)
        self._members = Membership(group_config, self._manager, self._rebalance, self._replies)
        self._active = False

    def startup(self, topic_partition_count: int | None = None) -> None:
        """Begin to answer; before and after `shutdown` it is COORDINATOR_NOT_AVAILABLE.

        `topic_partition_count`: how many partitions `__consumer_offsets` has; None if it is not there yet.
        """
        self._manager.startup(topic_partition_count)
        self._active = True

    def shutdown(self) -> None:
        self._active = False
        self._manager.shutdown()

    @property
    def groups(self) -> Mapping[str, GroupMetadata]:
        """Those that are coordinated here, by id."""
        return self._manager.groups

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` whose leader coordinates the group."""
        return self._manager.partition_for(group_id)

    def _status(self, group_id: str, may_be_empty: bool = False) -> Errors:
        """NONE if this broker can speak for the group. Offsets have always been kept for the group "" too."""
        if not group_id and not may_be_empty:
            return Errors.INVALID_GROUP_ID
        if not self._active:
            return Errors.COORDINATOR_NOT_AVAILABLE
        if self._manager.is_group_loading(group_id):
            return Errors.COORDINATOR_LOAD_IN_PROGRESS
        if not self._manager.is_group_local(group_id):
            return Errors.NOT_COORDINATOR
        return Errors.NONE

    # ------------------------------------------------------------------------------------------------ membership

    def join_group(
        self, request: JoinGroupRequest, version: int, client_id: str, client_host: str, reply: JoinReply
    ) -> None:
        """`client_host` as Java prints an address: `/127.0.0.1`."""
        with self._replies:
            error = self._status(request.group_id)
            if error is Errors.NONE and not (
                self._config.min_session_timeout_ms <= request.session_timeout_ms <= self._config.max_session_timeout_ms
            ):
                error = Errors.INVALID_SESSION_TIMEOUT
            if error is Errors.NONE:
                group = self._manager.get(request.group_id)
                if group is None and request.member_id == NO_MEMBER_ID:
                    group = self._manager.get_or_create(request.group_id)
                if group is not None:
                    self._members.join(group, _join(request, version, client_id, client_host, reply))
                    return
                error = Errors.UNKNOWN_MEMBER_ID
            self._replies.put(reply, join_error(request.member_id, error))

    def sync_group(self, request: SyncGroupRequest, reply: SyncReply) -> None:
        with self._replies:
            error = self._status(request.group_id)
            if error is Errors.NONE:
                group = self._manager.get(request.group_id)
                if group is not None:
                    self._members.sync(group, request, reply)
                    return
                error = Errors.UNKNOWN_MEMBER_ID
            elif error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
                # What was agreed on before is lost. Old clients do not expect the true error here; so they join again.
                error = Errors.REBALANCE_IN_PROGRESS
            self._replies.put(reply, sync_error(error))

    def heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        error = self._status(request.group_id)
        if error is Errors.NONE:
            group = self._manager.get(request.group_id)
            if group is None:
                error = Errors.UNKNOWN_MEMBER_ID
            else:
                error = self._members.heartbeat(
                    group, request.member_id, request.group_instance_id, request.generation_id
                )
        elif error is Errors.COORDINATOR_LOAD_IN_PROGRESS:
            error = Errors.NONE  # the group will be there in a moment
        return HeartbeatResponse(error_code=error.code)

    def leave_group(self, request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
        """Before v3 one member leaves, and its error is the response's."""
        members = request.members
        if version < 3:
            members = [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]
        error = self._status(request.group_id)
        if error is not Errors.NONE:
            return LeaveGroupResponse(error_code=error.code)
        group = self._manager.get(request.group_id)
        with self._replies:
            errors = [
                Errors.UNKNOWN_MEMBER_ID if group is None else self._members.leave(group, member) for member in members
            ]
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

    # ------------------------------------------------------------------------------------------------ offsets

    def commit_offsets(self, request: OffsetCommitRequest, reply: Callable[[OffsetCommitResponse], None]) -> None:
        """Store the offsets; answered when they are committed to the log."""
        offsets = self._offsets_to_commit(request)
        error = self._status(request.group_id, may_be_empty=True)
        group = self._manager.get(request.group_id)
        generation_id = request.generation_id_or_member_epoch
        if error is Errors.NONE and group is None:
            if generation_id < 0:
                # A consumer that assigns its partitions itself: the group is there to keep its offsets.
                group = self._manager.get_or_create(request.group_id)
            else:
                error = Errors.ILLEGAL_GENERATION
        if error is Errors.NONE and group is not None:
            error = self._may_commit(group, request, generation_id)
        is_valid = self._manager.is_metadata_valid
        valid = {partition: offset for partition, offset in offsets.items() if is_valid(offset.metadata)}

        def done(error: Errors) -> None:
            errors = {
                partition: error if partition in valid else Errors.OFFSET_METADATA_TOO_LARGE for partition in offsets
            }
            reply(commit_response(errors))

        if error is not Errors.NONE or group is None:
            reply(commit_response(dict.fromkeys(offsets, error)))
        elif not valid:
            done(Errors.NONE)
        else:
            self._manager.store_offsets(group, valid, done)

    def _may_commit(self, group: GroupMetadata, request: OffsetCommitRequest, generation_id: int) -> Errors:
        """NONE if the sender may; its session is renewed then."""
        is_member = generation_id >= 0 or request.member_id != NO_MEMBER_ID or request.group_instance_id is not None
        if group.is_in(GroupState.EMPTY) and generation_id < 0:
            return Errors.NONE
        if not is_member:
            return Errors.UNKNOWN_MEMBER_ID
        error = self._members.validate_member(group, request.member_id, request.group_instance_id, generation_id)
        if error is not Errors.NONE:
            return error
        if group.is_in(GroupState.COMPLETING_REBALANCE):
            # The member has the new generation already, so what it commits may belong to somebody else.
            return Errors.REBALANCE_IN_PROGRESS
        self._rebalance.expect_heartbeat(group, group.members[request.member_id])
        return Errors.NONE

    def _offsets_to_commit(self, request: OffsetCommitRequest) -> Offsets:
        """With the time until which v2-4 want them kept, and the time at which v1 says they were committed."""
        now = self._time.milliseconds()
        retention = request.retention_time_ms
        expire = NO_TIMESTAMP if retention == -1 else now + retention
        return {
            TopicPartition(topic.name, partition.partition_index): OffsetAndMetadata(
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
        self, group_id: str, partitions: Iterable[TopicPartition] | None, require_stable: bool
    ) -> OffsetFetchResponse.OffsetFetchResponseGroup:
        """The committed offsets of the partitions (None: of all that have one), -1 where there is none.

        `require_stable`: UNSTABLE_OFFSET_COMMIT for a partition whose offset is about to change (KIP-447).
        """
        response = OffsetFetchResponse.OffsetFetchResponseGroup(group_id=group_id)
        error = self._status(group_id, may_be_empty=True)
        if error is not Errors.NONE:
            response.error_code = error.code
            return response
        group = self._manager.get(group_id)
        if partitions is None:
            partitions = () if group is None else group.offsets.committed
        topics: dict[str, OffsetFetchResponse.OffsetFetchResponseTopics] = {}
        for partition in partitions:
            topic = topics.get(partition.topic)
            if topic is None:
                topic = topics[partition.topic] = OffsetFetchResponse.OffsetFetchResponseTopics(name=partition.topic)
                response.topics.append(topic)
            topic.partitions.append(fetched_offset(group, partition, require_stable))
        return response

    def delete_offsets(self, request: OffsetDeleteRequest) -> OffsetDeleteResponse:
        """Forget offsets of an empty group, or of topics that a consumer group is not subscribed to."""
        error = self._status(request.group_id)
        group = self._manager.get(request.group_id)
        if error is Errors.NONE and group is None:
            error = Errors.GROUP_ID_NOT_FOUND
        if error is not Errors.NONE or group is None:
            return OffsetDeleteResponse(error_code=error.code)
        is_empty = group.is_in(GroupState.EMPTY)
        if not is_empty and not group.is_consumer_group:
            return OffsetDeleteResponse(error_code=Errors.NON_EMPTY_GROUP.code)
        response = OffsetDeleteResponse()
        deleted: list[TopicPartition] = []
        for topic in request.topics:
            indexes = [partition.partition_index for partition in topic.partitions]
            error = Errors.NONE
            if not is_empty and group.is_subscribed_to(topic.name):
                error = Errors.GROUP_SUBSCRIBED_TO_TOPIC
            else:
                deleted += [TopicPartition(topic.name, index) for index in indexes]
            response.topics.append(deleted_offsets(topic.name, indexes, error))
        if deleted:
            self._manager.clean_up([group], lambda group: group.offsets.remove(deleted))
        return response

    # ------------------------------------------------------------------------------------------------ administration

    def list_groups(self, request: ListGroupsRequest) -> ListGroupsResponse:
        """The groups of this broker; filters are case-insensitive, and all groups here are of the type "classic"."""
        if not self._active:
            return ListGroupsResponse(error_code=Errors.COORDINATOR_NOT_AVAILABLE.code)
        states = {state.lower() for state in request.states_filter}
        types = {group_type.lower() for group_type in request.types_filter}
        error = Errors.COORDINATOR_LOAD_IN_PROGRESS if self._manager.is_loading else Errors.NONE
        return ListGroupsResponse(
            error_code=error.code,
            groups=[
                ListGroupsResponse.ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type or "",
                    group_state=group.state.value,
                    group_type="classic",
                )
                for group in self._manager.groups.values()
                if (not states or group.state.value.lower() in states) and (not types or "classic" in types)
            ],
        )

    def describe_group(self, group_id: str) -> DescribeGroupsResponse.DescribedGroup:
        """A group that is not there is Dead."""
        described = DescribeGroupsResponse.DescribedGroup(group_id=group_id)
        error = self._status(group_id, may_be_empty=True)
        if error is not Errors.NONE:
            described.error_code = error.code
            return described
        group = self._manager.get(group_id)
        if group is None:
            described.group_state = GroupState.DEAD.value
            return described
        stable = group.is_in(GroupState.STABLE)
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
            for member in group.members.values()
        ]
        return described

    def delete_groups(self, group_ids: Iterable[str]) -> list[DeleteGroupsResponse.DeletableGroupResult]:
        """Delete groups without members, with their offsets."""
        return [
            DeleteGroupsResponse.DeletableGroupResult(group_id=group_id, error_code=self._delete_group(group_id).code)
            for group_id in dict.fromkeys(group_ids)
        ]

    def _delete_group(self, group_id: str) -> Errors:
        error = self._status(group_id, may_be_empty=True)
        if error is not Errors.NONE:
            return error
        group = self._manager.get(group_id)
        if group is None:
            return Errors.GROUP_ID_NOT_FOUND
        if not group.is_in(GroupState.EMPTY):
            return Errors.NON_EMPTY_GROUP
        self._rebalance.kill(group)
        self._manager.clean_up([group], lambda group: group.offsets.remove_all())
        return Errors.NONE

    # ------------------------------------------------------------------------------------------------ the cluster

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """This broker became leader of that partition of `__consumer_offsets`."""
        self._manager.load(partition, leader_epoch, self._on_loaded)

    def _on_loaded(self, group: GroupMetadata) -> None:
        with self._replies:
            self._rebalance.on_group_loaded(group)

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """This broker leads that partition no longer (None: the replica is gone, whatever the epoch)."""
        with self._replies:
            self._manager.unload(partition, leader_epoch, self._rebalance.on_group_unloaded)

    def handle_deleted_partitions(self, partitions: Iterable[TopicPartition]) -> None:
        """Their topics were deleted: forget their offsets, in all groups.

        Groups that had no offsets before are left to the expiry; Kafka removes those that are Empty here as well.
        """
        gone = list(partitions)
        with_offsets = [group for group in self._manager.groups.values() if group.offsets]
        self._manager.clean_up(with_offsets, lambda group: group.offsets.remove(gone))

    def on_transaction_completed(self, producer_id: int, partitions: Iterable[int], commit: bool) -> None:
        """A transaction marker was written to these partitions of `__consumer_offsets`."""
        self._manager.complete_transaction(producer_id, partitions, commit)


def _join(request: JoinGroupRequest, version: int, client_id: str, client_host: str, reply: JoinReply) -> Join:
    return Join(
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        require_known_member_id=version >= 4 and request.group_instance_id is None,
        supports_skipping_assignment=version >= 9,
        client_id=client_id,
        client_host=client_host,
        rebalance_timeout_ms=request.session_timeout_ms if version == 0 else request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=[(protocol.name, protocol.metadata) for protocol in request.protocols],
        reason=request.reason or "not provided",
        reply=reply,
    )
