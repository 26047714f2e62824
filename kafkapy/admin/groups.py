"""Groups and their members."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from kafkapy.admin.results import Answer, Results, failure_of, outcomes, raise_failure, value_of
from kafkapy.admin.router import Call, Router
from kafkapy.admin.types import MemberToRemove
from kafkapy.clients.metadata import Node
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import UnsupportedVersionError
from kafkapy.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE, ConsumerProtocolAssignment
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import version_prefix
from kafkapy.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.protocol.wire import SchemaError


class GroupListing(NamedTuple):
    """A group in a list; state and type are "" if the broker is too old to report them."""

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
    """Empty unless it is a group of consumers."""


class GroupDescription(NamedTuple):
    """A group with its members; a group that does not exist has the state "Dead"."""

    group_id: str
    protocol_type: str
    partition_assignor: str
    state: str
    coordinator: Node
    members: list[MemberDescription]

    @property
    def is_consumer_group(self) -> bool:
        return self.protocol_type in ("", CONSUMER_PROTOCOL_TYPE)


class GroupOperations(Router):
    async def list_groups(
        self, states: Iterable[str] = (), types: Iterable[str] = (), timeout_ms: int | None = None
    ) -> list[GroupListing]:
        """Return all groups of all brokers, ordered by id, filtered by states and types if given."""
        call = self.call("listGroups", timeout_ms)
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))

        async def attempt() -> dict[str, GroupListing]:
            found: dict[str, GroupListing] = {}
            for node_id in sorted((await self.refresh(())).nodes):
                response = (await self.ask(node_id, request, min_version=lowest_for(request))).response
                raise_failure(response)
                for group in response.groups:
                    found[group.group_id] = GroupListing(
                        group.group_id, group.protocol_type, group.group_state, group.group_type
                    )
            return found

        return sorted((await self.retry(call, attempt)).values())

    async def describe_groups(
        self, group_ids: Iterable[str], timeout_ms: int | None = None
    ) -> Results[str, GroupDescription]:
        answers = await self.descriptions(self.call("describeGroups", timeout_ms), group_ids)
        return {
            group: answer
            if isinstance(answer, KafkaError)
            else failure_of(answer.response) or self._described(answer.response, answer.node_id)
            for group, answer in answers.items()
        }

    def _described(self, group: Any, coordinator_id: int) -> GroupDescription:
        coordinator = self.client.metadata.node(coordinator_id)
        assert coordinator is not None
        return described(group, coordinator)

    async def descriptions(
        self, call: Call, group_ids: Iterable[str], node_id: int | None = None, operations: bool = False
    ) -> Results[str, Answer[Any]]:
        def make(groups: list[str]) -> VersionedRequest:
            return VersionedRequest(
                DescribeGroupsRequest,
                lambda version: DescribeGroupsRequest(
                    groups=groups, include_authorized_operations=operations and version >= 3
                ),
            )

        return await self.on_coordinators(
            call, group_ids, make, lambda _, r: {group.group_id: group for group in r.groups}, node_id=node_id
        )

    async def delete_groups(self, group_ids: Iterable[str], timeout_ms: int | None = None) -> Results[str, None]:
        return outcomes(await self.deletions(self.call("deleteGroups", timeout_ms), group_ids))

    async def deletions(
        self, call: Call, group_ids: Iterable[str], node_id: int | None = None
    ) -> Results[str, Answer[Any]]:
        return await self.on_coordinators(
            call,
            group_ids,
            lambda groups: DeleteGroupsRequest(groups_names=groups),
            lambda _, r: {result.group_id: result for result in r.results},
            node_id=node_id,
        )

    async def remove_group_members(
        self,
        group_id: str,
        members: Sequence[MemberToRemove] | None = None,
        reason: str | None = None,
        timeout_ms: int | None = None,
    ) -> Results[MemberToRemove, None]:
        """Remove members from the group; None: all. Raises errors of the group as a whole."""
        if members is None:
            group = value_of((await self.describe_groups([group_id], timeout_ms))[group_id])
            members = [MemberToRemove(m.member_id, m.group_instance_id, reason) for m in group.members]
        return await self.remove(self.call("removeGroupMembers", timeout_ms), group_id, members)

    async def remove(
        self, call: Call, group_id: str, members: Sequence[MemberToRemove], node_id: int | None = None
    ) -> Results[MemberToRemove, None]:
        """Send LeaveGroup; before 2.3 a request has one member and no instance ids."""
        if not members:
            return {}
        results: Results[MemberToRemove, None] = {}

        left = list(members)

        def build(version: int) -> LeaveGroupRequest:
            if version < 3:
                return _leave_request_before_kip_345(group_id, left[0])
            identity = LeaveGroupRequest.MemberIdentity
            return LeaveGroupRequest(
                group_id=group_id,
                members=[
                    identity(
                        member_id=m.member_id or "",
                        group_instance_id=m.group_instance_id,
                        reason=m.reason if version >= 5 else None,
                    )
                    for m in left
                ],
            )

        while left:
            request = VersionedRequest(LeaveGroupRequest, build)
            answer = await self.on_coordinator(call, group_id, request, node_id=node_id)
            if answer.version < 3:
                results[left.pop(0)] = failure_of(answer.response)
                continue
            raise_failure(answer.response)
            by_name = {(m.member_id, m.group_instance_id): m for m in answer.response.members}
            for member in left:
                found = by_name.get((member.member_id or "", member.group_instance_id))
                found = found or next((m for m in answer.response.members if _is_same(m, member)), None)
                results[member] = failure_of(found) if found is not None else KafkaError(Errors.UNKNOWN_MEMBER_ID)
            break
        return results


def lowest_for(request: ListGroupsRequest) -> int:
    """Return the lowest version that supports the request's filters."""
    return 5 if request.types_filter else 4 if request.states_filter else 0


def _leave_request_before_kip_345(group_id: str, member: MemberToRemove) -> LeaveGroupRequest:
    if member.group_instance_id is not None:
        raise UnsupportedVersionError("Removing a static member needs a broker from 2.3 on")
    if not member.member_id:
        raise ValueError("MemberToRemove needs a member_id: the broker is older than 2.3")
    return LeaveGroupRequest(group_id=group_id, member_id=member.member_id)


def _is_same(found: Any, member: MemberToRemove) -> bool:
    """Return whether a response's member is the requested one; the response has both ids, the request may have only
    one."""
    if member.group_instance_id is not None:
        return bool(found.group_instance_id == member.group_instance_id)
    return bool(found.member_id == member.member_id)


def described(group: Any, coordinator: Node) -> GroupDescription:
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
    """Decode a consumer's assignment. Raises `KafkaError(UNKNOWN_SERVER_ERROR)` if it is malformed."""
    try:
        version = min(version_prefix(assignment), ConsumerProtocolAssignment.VERSIONS.highest)
        decoded = ConsumerProtocolAssignment.decode(assignment, version, 2)
    except (SchemaError, KafkaError) as error:
        raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"A member's assignment cannot be read: {error}") from error
    return [TopicPartition(entry.topic, index) for entry in decoded.assigned_partitions for index in entry.partitions]
