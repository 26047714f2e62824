"""Consumer groups and their committed offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafkapy.admin.cluster_client import ClusterClient, Results, T, error_of, value_of
from kafkapy.admin.partitions import by_topic
from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.clients.metadata import Node
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.protocol.wire import SchemaError

CONSUMER_PROTOCOL_TYPE = "consumer"

_COORDINATOR_ERRORS = frozenset(
    {
        Errors.COORDINATOR_LOAD_IN_PROGRESS,
        Errors.COORDINATOR_NOT_AVAILABLE,
        Errors.NOT_COORDINATOR,
        Errors.REQUEST_TIMED_OUT,
    }
)


class GroupListing(NamedTuple):
    """State and type are "" where the broker is too old to say."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class MemberDescription(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: list[TopicPartition]
    """Empty for groups that are not of consumers."""


class GroupDescription(NamedTuple):
    """A group that does not exist has the state "Dead"."""

    group_id: str
    protocol_type: str
    partition_assignor: str
    state: str
    coordinator: Node
    members: list[MemberDescription]

    @property
    def is_consumer_group(self) -> bool:
        return self.protocol_type in ("", CONSUMER_PROTOCOL_TYPE)


class OffsetAndMetadata(NamedTuple):
    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class MemberToRemove(NamedTuple):
    """A static member by its instance id, or a dynamic one by its member id."""

    group_instance_id: str | None = None
    member_id: str = ""


class GroupOperations(ClusterClient):
    def list_groups(
        self, states: Iterable[str] = (), types: Iterable[str] = (), timeout_ms: int | None = None
    ) -> list[GroupListing]:
        """All groups of all brokers, in order of their ids; only those in these states and of these types, if given."""
        states, types = list(states), list(types)

        def attempt() -> dict[str, GroupListing]:
            found: dict[str, GroupListing] = {}
            for node_id in self.refresh(()).nodes:
                client = self.node(node_id)
                lowest = 5 if types else 4 if states else 0
                version = client.versions().latest_usable(ApiKey.LIST_GROUPS, lowest)
                response = self.call(client, ListGroupsRequest(states_filter=states, types_filter=types), version)
                if response.error_code != 0:
                    raise KafkaError(Errors.for_code(response.error_code))
                for group in response.groups:
                    found[group.group_id] = GroupListing(
                        group.group_id, group.protocol_type, group.group_state, group.group_type
                    )
            return found

        return sorted(self.retry("listGroups", attempt, timeout_ms).values())

    def describe_groups(
        self, group_ids: Iterable[str], timeout_ms: int | None = None
    ) -> Results[str, GroupDescription]:
        def ask(coordinator: Node, client: BlockingClient, groups: list[str]) -> Results[str, GroupDescription]:
            response = self.call(client, DescribeGroupsRequest(groups=groups))
            return {g.group_id: error_of(g.error_code) or _described(g, coordinator) for g in response.groups}

        return self._on_coordinators("describeGroups", group_ids, ask, timeout_ms)

    def delete_groups(self, group_ids: Iterable[str], timeout_ms: int | None = None) -> Results[str, None]:
        def ask(_: Node, client: BlockingClient, groups: list[str]) -> Results[str, None]:
            response = self.call(client, DeleteGroupsRequest(groups_names=groups))
            return {result.group_id: error_of(result.error_code) for result in response.results}

        return self._on_coordinators("deleteGroups", group_ids, ask, timeout_ms)

    def list_group_offsets(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None = None,
        require_stable: bool = False,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Committed offsets, of these partitions (None where there is none) or all that the group has."""
        topics = None if partitions is None else by_topic(partitions)

        def ask(client: BlockingClient) -> dict[TopicPartition, OffsetAndMetadata | None]:
            if client.versions().latest_usable(ApiKey.OFFSET_FETCH) >= 8:
                return self._fetch_offsets(client, group_id, topics, require_stable)
            return self._fetch_offsets_before_kip_709(client, group_id, topics, require_stable)

        return self._on_coordinator("listGroupOffsets", group_id, ask, timeout_ms)

    def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: int | None = None
    ) -> Results[TopicPartition, None]:
        """Commit these offsets for a group that has no members."""
        request = OffsetCommitRequest(group_id=group_id, generation_id_or_member_epoch=-1)
        for topic, indexes in by_topic(offsets).items():
            entries = [(index, offsets[TopicPartition(topic, index)]) for index in indexes]
            request.topics.append(
                OffsetCommitRequest.OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        OffsetCommitRequest.OffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=entry.offset,
                            committed_leader_epoch=entry.leader_epoch,
                            committed_metadata=entry.metadata,
                        )
                        for index, entry in entries
                    ],
                )
            )

        def ask(client: BlockingClient) -> Results[TopicPartition, None]:
            response = self.call(client, request)
            results = _partition_errors(response)
            for error in results.values():
                if error is not None and (
                    error.error in _COORDINATOR_ERRORS or error.error is Errors.REBALANCE_IN_PROGRESS
                ):
                    raise error
            return results

        return self._on_coordinator("alterGroupOffsets", group_id, ask, timeout_ms)

    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> Results[TopicPartition, None]:
        """Raises what concerns the group as a whole (GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP ...)."""
        partition = OffsetDeleteRequest.OffsetDeleteRequestPartition
        request = OffsetDeleteRequest(group_id=group_id)
        for topic, indexes in by_topic(partitions).items():
            request.topics.append(
                OffsetDeleteRequest.OffsetDeleteRequestTopic(
                    name=topic, partitions=[partition(partition_index=index) for index in indexes]
                )
            )

        def ask(client: BlockingClient) -> Results[TopicPartition, None]:
            response = self.call(client, request)
            if response.error_code != 0:
                raise KafkaError(Errors.for_code(response.error_code))
            return dict(_partition_errors(response))

        return self._on_coordinator("deleteGroupOffsets", group_id, ask, timeout_ms)

    def remove_group_members(
        self,
        group_id: str,
        members: Sequence[MemberToRemove] | None = None,
        reason: str | None = None,
        timeout_ms: int | None = None,
    ) -> Results[MemberToRemove, None]:
        """Throw these members out of the group; None: all it has."""
        if members is None:
            group = value_of(self.describe_groups([group_id], timeout_ms)[group_id])
            members = [MemberToRemove(m.group_instance_id, m.member_id) for m in group.members]
        if not members:
            return {}
        identity = LeaveGroupRequest.MemberIdentity
        leaving = [
            identity(member_id=m.member_id, group_instance_id=m.group_instance_id, reason=reason) for m in members
        ]

        def ask(client: BlockingClient) -> Results[MemberToRemove, None]:
            version = client.versions().latest_usable(ApiKey.LEAVE_GROUP, 3)
            if version < 5:
                for member in leaving:
                    member.reason = None
            response = self.call(client, LeaveGroupRequest(group_id=group_id, members=leaving), version)
            if response.error_code != 0:
                raise KafkaError(Errors.for_code(response.error_code))
            return {MemberToRemove(m.group_instance_id, m.member_id): error_of(m.error_code) for m in response.members}

        return self._on_coordinator("removeGroupMembers", group_id, ask, timeout_ms)

    # --- coordinators

    def find_coordinators(self, group_ids: Iterable[str]) -> Results[str, Node]:
        """Which broker coordinates each group; asked once, not repeated."""
        groups = list(group_ids)
        client = self.any_node()
        if client.versions().latest_usable(ApiKey.FIND_COORDINATOR) >= 4:
            response = self.call(client, FindCoordinatorRequest(coordinator_keys=groups))
            return {
                c.key: error_of(c.error_code, c.error_message) or Node(c.node_id, c.host, c.port)
                for c in response.coordinators
            }
        results: Results[str, Node] = {}
        for group in groups:
            answer = self.call(client, FindCoordinatorRequest(key=group))
            error = error_of(answer.error_code, answer.error_message)
            results[group] = error or Node(answer.node_id, answer.host, answer.port)
        return results

    def _on_coordinators(
        self,
        name: str,
        groups: Iterable[str],
        ask: Callable[[Node, BlockingClient, list[str]], Mapping[str, Any]],
        timeout_ms: int | None,
    ) -> Results[str, Any]:
        """Ask each coordinator for its groups; look it up again for those that are to be repeated."""
        missing = KafkaError(Errors.UNKNOWN_SERVER_ERROR, "The coordinator's response lacks a result for this group")

        def attempt(left: list[str]) -> Results[str, Any]:
            results: Results[str, Any] = {}
            by_coordinator: dict[Node, list[str]] = {}
            found = self.find_coordinators(left)
            for group in left:
                coordinator = found.get(group, missing)
                if isinstance(coordinator, KafkaError):
                    results[group] = coordinator
                else:
                    by_coordinator.setdefault(coordinator, []).append(group)
            for node, wanted in by_coordinator.items():
                answer: Mapping[str, Any]
                try:
                    answer = ask(node, self.client_of(node), wanted)
                except KafkaError as error:
                    answer = dict.fromkeys(wanted, error)
                results.update({group: answer.get(group, missing) for group in wanted})
            return results

        return self.retry_each(name, groups, attempt, timeout_ms, lambda error: error in _COORDINATOR_ERRORS)

    def _on_coordinator(self, name: str, group: str, ask: Callable[[BlockingClient], T], timeout_ms: int | None) -> T:
        def attempt() -> T:
            coordinator = value_of(self.find_coordinators([group])[group])
            return ask(self.client_of(coordinator))

        return self.retry(name, attempt, timeout_ms)

    # --- OffsetFetch in its two forms

    def _fetch_offsets(
        self, client: BlockingClient, group_id: str, topics: dict[str, list[int]] | None, require_stable: bool
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        topic = OffsetFetchRequest.OffsetFetchRequestTopics
        wanted = None if topics is None else [topic(name=name, partition_indexes=p) for name, p in topics.items()]
        group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=wanted)
        response = self.call(client, OffsetFetchRequest(groups=[group], require_stable=require_stable))
        answer = response.groups[0]
        if answer.error_code != 0:
            raise KafkaError(Errors.for_code(answer.error_code))
        return _committed(answer.topics)

    def _fetch_offsets_before_kip_709(
        self, client: BlockingClient, group_id: str, topics: dict[str, list[int]] | None, require_stable: bool
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        topic = OffsetFetchRequest.OffsetFetchRequestTopic
        wanted = None if topics is None else [topic(name=name, partition_indexes=p) for name, p in topics.items()]
        version = client.versions().latest_usable(ApiKey.OFFSET_FETCH, 2 if wanted is None else 0)
        request = OffsetFetchRequest(group_id=group_id, topics=wanted, require_stable=require_stable and version >= 7)
        response = self.call(client, request, version)
        if response.error_code != 0:
            raise KafkaError(Errors.for_code(response.error_code))
        return _committed(response.topics)


def _described(group: DescribeGroupsResponse.DescribedGroup, coordinator: Node) -> GroupDescription:
    consumers = group.protocol_type in ("", CONSUMER_PROTOCOL_TYPE)
    members = [
        MemberDescription(
            m.member_id,
            m.group_instance_id,
            m.client_id,
            m.client_host,
            assigned_partitions(m.member_assignment) if consumers and m.member_assignment else [],
        )
        for m in group.members
    ]
    return GroupDescription(
        group.group_id, group.protocol_type, group.protocol_data, group.group_state, coordinator, members
    )


def assigned_partitions(assignment: bytes) -> list[TopicPartition]:
    """What a member of a consumer group was assigned; `KafkaError(UNKNOWN_SERVER_ERROR)` if it cannot be read."""
    try:
        version = min(int.from_bytes(assignment[:2], "big", signed=True), ConsumerProtocolAssignment.VERSIONS.highest)
        decoded = ConsumerProtocolAssignment.decode(assignment, version, 2)
    except (SchemaError, KafkaError) as error:
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"A member's assignment cannot be read: {error}") from error
    return [TopicPartition(entry.topic, index) for entry in decoded.assigned_partitions for index in entry.partitions]


def _partition_errors(response: Any) -> dict[TopicPartition, KafkaError | None]:
    return {
        TopicPartition(topic.name, p.partition_index): error_of(p.error_code)
        for topic in response.topics
        for p in topic.partitions
    }


def _committed(topics: Iterable[Any]) -> dict[TopicPartition, OffsetAndMetadata | None]:
    """A partition with an error is left out, as Kafka does; a negative offset means that there is none."""
    return {
        TopicPartition(topic.name, p.partition_index): OffsetAndMetadata(
            p.committed_offset, p.metadata or "", p.committed_leader_epoch
        )
        if p.committed_offset >= 0
        else None
        for topic in topics
        for p in topic.partitions
        if p.error_code == 0
    }
