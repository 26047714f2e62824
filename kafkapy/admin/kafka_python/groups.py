"""Consumer groups: list, describe, delete; their offsets and members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kafkapy.admin.groups import lowest_for
from kafkapy.admin.kafka_python.base import ErrorClass, error_class, raise_code, topic_partitions
from kafkapy.admin.kafka_python.partitions import PartitionMethods
from kafkapy.admin.results import Answer, values_of
from kafkapy.admin.structs import as_dict, with_operations
from kafkapy.admin.types import GroupState, GroupType, MemberToRemove
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import error_for
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.message import Message, version_prefix
from kafkapy.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkapy.protocol.wire import SchemaError
from kafkapy.structs import OffsetAndMetadata, OffsetSpec, OffsetTimestamp

Offsets = dict[TopicPartition, OffsetAndMetadata]


class GroupMethods(PartitionMethods):
    # --- groups

    async def list_groups(
        self,
        broker_ids: Iterable[int] | None = None,
        states_filter: Iterable[GroupState | str] | None = None,
        types_filter: Iterable[GroupType | str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return groups as dicts, as in ListGroups, of these brokers, else of all.

        As in Java's admin client, a broker that is loading its groups is asked again.

        Args:
            broker_ids: Ids of the brokers to ask. None (default): all.
            states_filter: Return only groups in these states (KIP-518). None (default): all.
            types_filter: Return only groups of these types (KIP-848). None (default): all.
        """
        states = [GroupState.value_for(state) for state in states_filter or ()]
        types = [GroupType.value_for(kind) for kind in types_filter or ()]
        request = ListGroupsRequest(states_filter=states, types_filter=types)
        groups = []
        for node_id in await self._broker_ids() if broker_ids is None else broker_ids:
            answer = await self._loaded_groups(node_id, request)
            groups += [as_dict(group, answer.version) for group in answer.response.groups]
        return groups

    async def _loaded_groups(self, node_id: int, request: ListGroupsRequest) -> Answer[ListGroupsResponse]:
        call = self._call("ListGroups")

        async def attempt() -> Answer[ListGroupsResponse]:
            answer = await self.core.on_node(call, node_id, request, min_version=lowest_for(request))
            raise_code(answer.response.error_code)
            return answer

        return await self.core.retry(call, attempt)

    async def describe_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> dict[str, dict[str, Any]]:
        """Return group -> description, as in DescribeGroups, with members' metadata and assignment decoded.

        `error` is None or a message. As in kafka-python, `include_authorized_operations` has no effect: they are
        always requested.

        Args:
            group_ids: Ids of the groups.
            group_coordinator_id: Broker to ask. None (default): the group's coordinator is looked up.
            include_authorized_operations: Has no effect. Default False.
        """
        call = self._call("coordinator")
        answers = await self.core.descriptions(call, group_ids, group_coordinator_id, operations=True)
        described = {}
        for group_id, answer in values_of(answers).items():
            plain = with_operations(as_dict(answer.response, answer.version))
            for member, shown in zip(answer.response.members, plain["members"], strict=True):
                shown["member_metadata"] = _decoded(ConsumerProtocolSubscription, member.member_metadata)
                shown["member_assignment"] = _decoded(ConsumerProtocolAssignment, member.member_assignment)
            code = plain.pop("error_code")
            plain["error"] = str(error_for(code)) if code else None
            described[group_id] = plain
        return described

    async def delete_groups(self, group_ids: Iterable[str], group_coordinator_id: int | None = None) -> dict[str, str]:
        """Delete groups; return group -> "OK" or the name of an error's class.

        Args:
            group_ids: Ids of the groups.
            group_coordinator_id: Broker to ask. None (default): the group's coordinator is looked up.
        """
        answers = await self.core.deletions(self._call("coordinator"), group_ids, group_coordinator_id)
        codes = {group: answer.response.error_code for group, answer in values_of(answers).items()}
        return {group: error_class(code).__name__ if code else "OK" for group, code in codes.items()}

    async def remove_group_members(
        self, group_id: str, members: Iterable[MemberToRemove], group_coordinator_id: int | None = None
    ) -> dict[str, ErrorClass]:
        """Remove members; return member id (else instance id) -> error class, `NoError` for success.

        Args:
            group_id: The group's id.
            members: The members (KIP-345).
            group_coordinator_id: Broker to ask. None (default): the group's coordinator is looked up.
        """
        call = self._call("coordinator")
        results = await self.core.remove(call, group_id, list(members), group_coordinator_id)
        return {m.member_id or m.group_instance_id or "": error_class(error) for m, error in results.items()}

    # --- offsets

    async def list_group_offsets(
        self, group_specs: str | Sequence[str] | Mapping[str, Iterable[TopicPartition] | None]
    ) -> dict[str, Offsets]:
        """Return group -> partition -> committed offset. Groups by name, or {group: partitions} (None: all).

        Requested partitions without a committed offset have offset -1. Raises the first error.

        Args:
            group_specs: The groups, with or without partitions.
        """
        if isinstance(group_specs, str):
            group_specs = [group_specs]
        wanted = group_specs if isinstance(group_specs, Mapping) else dict.fromkeys(group_specs)
        answers = await self.core.fetch_offsets(self._call("coordinator"), wanted)
        return {group: _offsets_of(answer.response) for group, answer in values_of(answers).items()}

    async def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, ErrorClass]:
        """Commit offsets for a group without members; return partition -> error class, `NoError` for success.

        Args:
            group_id: The group's id.
            offsets: Offsets of the next records to read, by partition: `OffsetAndMetadata`.
            group_coordinator_id: Broker to ask. None (default): the group's coordinator is looked up.
        """
        wanted = topic_partitions(offsets)
        if not wanted:
            return {}
        call = self._call("coordinator")
        results = await self.core.commit(call, group_id, wanted, group_coordinator_id, max_version=8)
        return {partition: error_class(error) for partition, error in results.items()}

    async def reset_group_offsets(
        self,
        group_id: str,
        offset_specs: Mapping[TopicPartition, OffsetSpec | OffsetTimestamp | int],
        group_coordinator_id: int | None = None,
    ) -> dict[TopicPartition, dict[str, Any]]:
        """Commit the offsets of `OffsetSpec`, `OffsetTimestamp` or plain numbers, clamped to the partition's range.

        Return partition -> {error: class, offset: the committed offset}.

        Args:
            group_id: The group's id.
            offset_specs: Partition -> an `OffsetSpec`, an `OffsetTimestamp`, or an offset.
            group_coordinator_id: Broker to ask. None (default): the group's coordinator is looked up.
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
        """Delete committed offsets; return partition -> error class, `NoError` for success. Raises errors of the
        group.

        Args:
            group_id: The group's id.
            partitions: Partitions whose offsets are deleted; the group must not have subscribed their topics (KIP-496).
            group_coordinator_id: Broker to ask. None (default): the group's coordinator is looked up.
        """
        wanted = list(partitions)
        if not wanted:
            return {}
        call = self._call("coordinator")
        results = await self.core.forget(call, group_id, wanted, group_coordinator_id)
        return {partition: error_class(error) for partition, error in results.items()}


def _decoded(message: type[Message], data: bytes) -> Any:
    """Decode a consumer's subscription or assignment to a dict; return other data as text."""
    if not data:
        return ""
    try:
        version = min(version_prefix(data), message.VERSIONS.highest)
        return as_dict(message.decode(data, version, 2), version)
    except (SchemaError, KafkaError):
        return bytes(data).decode(errors="backslashreplace")


def _offsets_of(group: Any) -> Offsets:
    raise_code(group.error_code)
    offsets = {}
    for topic in group.topics:
        for part in topic.partitions:
            partition = TopicPartition(topic.name, part.partition_index)
            raise_code(part.error_code, f"OffsetFetch failed for {partition}")
            offsets[partition] = OffsetAndMetadata(part.committed_offset, part.metadata, part.committed_leader_epoch)
    return offsets
