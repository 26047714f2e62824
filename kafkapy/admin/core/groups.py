"""Consumer groups: list, describe, delete; their offsets and members."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkapy.admin.core.partitions import PartitionOperations
from kafkapy.admin.core.router import ErrorClass, by_topic, error_class, raise_code, topic_partitions
from kafkapy.admin.core.structs import as_dict, with_operations
from kafkapy.admin.core.types import GroupState, GroupType, MemberToRemove
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import UnsupportedVersionError, error_for
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.message import Message, version_prefix
from kafkapy.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkapy.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkapy.protocol.messages.leave_group import LeaveGroupRequest
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_delete import OffsetDeleteRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.protocol.wire import SchemaError
from kafkapy.structs import OffsetAndMetadata, OffsetSpec, OffsetTimestamp

_log = logging.getLogger("kafkapy.admin")

Offsets = dict[TopicPartition, OffsetAndMetadata]


class GroupOperations(PartitionOperations):
    # --- groups

    async def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[GroupState | str] | None = None,
        types_filter: Iterable[GroupType | str] | None = None,
    ) -> list[dict[str, Any]]:
        """Groups as dicts, as in ListGroups; of these brokers, else of all."""
        states = [GroupState.value_for(state) for state in states_filter or ()]
        types = [GroupType.value_for(kind) for kind in types_filter or ()]
        lowest = 5 if types else 4 if states else 0
        request = ListGroupsRequest(states_filter=states, types_filter=types)
        groups = []
        for node_id in await self._broker_ids() if broker_ids is None else broker_ids:
            answer = await self._node(node_id, request, min_version=lowest)
            raise_code(answer.response.error_code)
            groups += [as_dict(group, answer.version) for group in answer.response.groups]
        return groups

    async def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Group -> description, as in DescribeGroups, members' metadata and assignment decoded. `error` is None or a
        sentence. `include_authorized_operations` has no effect: they are always asked for, as kafka-python does."""

        def make(groups: list[str]) -> VersionedRequest:
            return VersionedRequest(
                DescribeGroupsRequest,
                lambda version: DescribeGroupsRequest(groups=groups, include_authorized_operations=version >= 3),
            )

        answers = await self._coordinator(
            group_ids, make, lambda r: [group.error_code for group in r.groups], group_coordinator_id
        )
        described = {}
        for _, answer in answers:
            for group in answer.response.groups:
                plain = with_operations(as_dict(group, answer.version))
                for member, shown in zip(group.members, plain["members"], strict=True):
                    shown["member_metadata"] = _decoded(ConsumerProtocolSubscription, member.member_metadata)
                    shown["member_assignment"] = _decoded(ConsumerProtocolAssignment, member.member_assignment)
                code = plain.pop("error_code")
                plain["error"] = str(error_for(code)) if code else None
                described[group.group_id] = plain
        return described

    async def delete_groups(self, group_ids: Iterable[str], group_coordinator_id: int | None = None) -> dict[str, str]:
        """Group -> "OK" or the name of an error's class."""
        answers = await self._coordinator(
            group_ids,
            lambda groups: DeleteGroupsRequest(groups_names=groups),
            lambda r: [result.error_code for result in r.results],
            group_coordinator_id,
        )
        return {
            result.group_id: error_class(result.error_code).__name__ if result.error_code else "OK"
            for _, answer in answers
            for result in answer.response.results
        }

    async def remove_group_members(
        self, group_id: str, members: Iterable[MemberToRemove], group_coordinator_id: int | None = None
    ) -> dict[str, ErrorClass]:
        """Throw members out. Member id (else instance id) -> error class, `NoError` for success."""
        leaving = list(members)
        if not leaving:
            return {}
        node_id = await self._coordinator_of(group_id, group_coordinator_id)
        if await self._serves(node_id, LeaveGroupRequest, 3):
            answer = await self._one_coordinator(
                group_id, _leave_request(group_id, leaving), lambda r: [r.error_code], group_coordinator_id, 3
            )
            raise_code(answer.error_code)
            return {m.member_id or m.group_instance_id: error_class(m.error_code) for m in answer.members}
        removed: dict[str, ErrorClass] = {}
        for member in leaving:
            if member.group_instance_id is not None:
                raise UnsupportedVersionError("Removing a static member needs a broker from 2.3 on")
            if not member.member_id:
                raise ValueError("MemberToRemove needs a member_id: the broker is older than 2.3")
            request = LeaveGroupRequest(group_id=group_id, member_id=member.member_id)
            response = await self.client.send(node_id, request, max_version=2)
            removed[member.member_id] = error_class(response.error_code)
        return removed

    # --- offsets

    async def list_group_offsets(
        self, group_specs: str | Sequence[str] | Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, Offsets]:
        """Group -> partition -> committed offset. Groups by name, or {group: partitions} (None: all there are).

        Partitions without a committed offset that are asked for by name have offset -1. Raises the first error.
        """
        if isinstance(group_specs, str):
            group_specs = [group_specs]
        specs: Mapping[str, Iterable[TopicPartition] | None] = (
            group_specs if isinstance(group_specs, Mapping) else dict.fromkeys(group_specs)
        )
        if not specs:
            return {}
        wanted = {group: None if some is None else by_topic(some) for group, some in specs.items()}
        found: dict[str, Offsets] = {}
        ids = await self._coordinator_ids(wanted)
        batched = await self._serves(next(iter(ids.values())), OffsetFetchRequest, 8)
        for groups in [list(wanted)] if batched else [[group] for group in wanted]:
            answers = await self._coordinator(
                groups, lambda keys: _offset_fetch({key: wanted[key] for key in keys}), _offset_fetch_codes
            )
            for _, answer in answers:
                if answer.version >= 8:
                    found |= {group.group_id: _offsets_of(group) for group in answer.response.groups}
                else:
                    found[groups[0]] = _offsets_of(answer.response)
        return found

    async def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, ErrorClass]:
        """Commit offsets for a group without members. Partition -> error class, `NoError` for success."""
        wanted = topic_partitions(offsets)
        if not wanted:
            return {}
        response = await self._one_coordinator(
            group_id,
            _commit_request(group_id, wanted),
            lambda r: [p.error_code for topic in r.topics for p in topic.partitions],
            group_coordinator_id,
            max_version=8,
        )
        return {
            TopicPartition(topic.name, p.partition_index): error_class(p.error_code)
            for topic in response.topics
            for p in topic.partitions
        }

    async def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Mapping[TopicPartition, OffsetSpec | OffsetTimestamp | int],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Commit what `OffsetSpec`, `OffsetTimestamp` or a plain offset stand for, moved into the partition's range.

        Partition -> {error: class, offset: what was committed}.
        """
        specs = topic_partitions(offset_specs)
        if not specs:
            return {}
        for partition, spec in specs.items():
            if not isinstance(spec, int):
                raise TypeError(f"{partition}: {spec!r} is no OffsetSpec, OffsetTimestamp or offset")
        looked_up = {tp: spec for tp, spec in specs.items() if isinstance(spec, OffsetSpec | OffsetTimestamp)}
        current = (await self.list_group_offsets({group_id: list(specs)}))[group_id]
        earliest = await self.list_partition_offsets(dict.fromkeys(specs, OffsetSpec.EARLIEST))
        latest = await self.list_partition_offsets(dict.fromkeys(specs, OffsetSpec.LATEST))
        found = await self.list_partition_offsets(looked_up)
        targets = {}
        for partition, spec in specs.items():
            raw = found[partition].offset if partition in found else int(spec)
            last = latest[partition].offset
            offset = last if raw < 0 or raw > last else max(raw, earliest[partition].offset)
            known = current.get(partition, OffsetAndMetadata(offset))
            targets[partition] = known._replace(offset=offset)
        errors = await self.alter_group_offsets(group_id, targets, group_coordinator_id)
        return {tp: {"error": error, "offset": targets[tp].offset} for tp, error in errors.items()}

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], group_coordinator_id: int | None = None
    ) -> dict[TopicPartition, ErrorClass]:
        """Forget committed offsets. Partition -> error class, `NoError` for success. Raises what concerns the group."""
        topics = by_topic(partitions)
        if not topics:
            return {}
        message = OffsetDeleteRequest
        request = message(
            group_id=group_id,
            topics=[
                message.OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[message.OffsetDeleteRequestPartition(partition_index=number) for number in numbers],
                )
                for topic, numbers in topics.items()
            ],
        )
        response = await self._one_coordinator(group_id, request, lambda r: [r.error_code], group_coordinator_id)
        raise_code(response.error_code)
        return {
            TopicPartition(topic.name, p.partition_index): error_class(p.error_code)
            for topic in response.topics
            for p in topic.partitions
        }

    # --- helpers

    async def _coordinator_of(self, group_id: str, node_id: int | None) -> int:
        return node_id if node_id is not None else (await self._coordinator_ids([group_id]))[group_id]

    async def _serves(self, node_id: int, request: type[Message], version: int) -> bool:
        """Does the broker know this version of an API?"""
        await self._know([node_id])
        served = (await self.client.connect(node_id)).ranges.get(request.API_KEY)
        return served is not None and served[1] >= version

    async def _one_coordinator(
        self,
        group_id: str,
        request: Any,
        codes: Any,
        node_id: int | None,
        min_version: int = 0,
        max_version: int = 32767,
    ) -> Any:
        answers = await self._coordinator(
            [group_id], lambda _: request, codes, node_id, min_version=min_version, max_version=max_version
        )
        return answers[0][1].response


def _decoded(message: type[Message], data: bytes) -> Any:
    """What members of a consumer group tell each other, as a dict; text where it is something else."""
    if not data:
        return ""
    try:
        version = min(version_prefix(data), message.VERSIONS.highest)
        return as_dict(message.decode(data, version, 2), version)
    except (SchemaError, KafkaError):
        return bytes(data).decode(errors="backslashreplace")


def _leave_request(group_id: str, members: list[MemberToRemove]) -> LeaveGroupRequest:
    identity = LeaveGroupRequest.MemberIdentity
    return LeaveGroupRequest(
        group_id=group_id,
        members=[
            identity(member_id=m.member_id or "", group_instance_id=m.group_instance_id, reason=m.reason)
            for m in members
        ],
    )


def _offset_fetch(groups: dict[str, Mapping[str, list[int]] | None]) -> VersionedRequest:
    message = OffsetFetchRequest

    def build(version: int) -> OffsetFetchRequest:
        if version >= 8:
            return message(
                groups=[
                    message.OffsetFetchRequestGroup(
                        group_id=group,
                        topics=None
                        if topics is None
                        else [
                            message.OffsetFetchRequestTopics(name=name, partition_indexes=list(numbers))
                            for name, numbers in topics.items()
                        ],
                    )
                    for group, topics in groups.items()
                ]
            )
        ((group, topics),) = groups.items()
        if topics is None and version < 2:
            raise UnsupportedVersionError("All offsets of a group can be asked for from 0.10.2 on: name partitions")
        named = (topics or {}).items()
        return message(
            group_id=group,
            topics=None
            if topics is None
            else [
                message.OffsetFetchRequestTopic(name=name, partition_indexes=list(numbers)) for name, numbers in named
            ],
        )

    return VersionedRequest(message, build)


def _offset_fetch_codes(response: Any) -> list[int]:
    return [response.error_code, *(group.error_code for group in response.groups)]


def _offsets_of(group: Any) -> Offsets:
    raise_code(group.error_code)
    offsets = {}
    for topic in group.topics:
        for part in topic.partitions:
            partition = TopicPartition(topic.name, part.partition_index)
            raise_code(part.error_code, f"OffsetFetch failed for {partition}")
            offsets[partition] = OffsetAndMetadata(part.committed_offset, part.metadata, part.committed_leader_epoch)
    return offsets


def _commit_request(group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> OffsetCommitRequest:
    message = OffsetCommitRequest

    def part(topic: str, number: int) -> OffsetCommitRequest.OffsetCommitRequestPartition:
        given = offsets[TopicPartition(topic, number)]
        epoch = given.leader_epoch
        return message.OffsetCommitRequestPartition(
            partition_index=number,
            committed_offset=given.offset,
            committed_leader_epoch=-1 if epoch is None else epoch,
            committed_metadata=given.metadata,
        )

    return message(
        group_id=group_id,
        topics=[
            message.OffsetCommitRequestTopic(name=topic, partitions=[part(topic, number) for number in numbers])
            for topic, numbers in by_topic(offsets).items()
        ],
    )
