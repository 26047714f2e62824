"""Consumer groups with kafka-python 2's names and results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.admin.kafka_python.base import ErrorClass, error_class
from kafkapy.admin.kafka_python.groups import GroupMethods, Offsets
from kafkapy.admin.kafka_python.partitions import Chosen
from kafkapy.admin.results import values_of
from kafkapy.admin.structs import operations_of
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.protocol.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.message import Message, version_prefix
from kafkapy.protocol.messages.elect_leaders import ElectLeadersResponse
from kafkapy.protocol.wire import SchemaError
from kafkapy.structs import GroupInformation, MemberInformation


class MemberMetadata:
    """A consumer's subscription, from its join."""

    def __init__(self, said: ConsumerProtocolSubscription) -> None:
        self.topics = self.subscription = list(said.topics)
        self.user_data = said.user_data


class MemberAssignment:
    """A consumer's assignment."""

    def __init__(self, given: ConsumerProtocolAssignment) -> None:
        self.assignment = [(part.topic, list(part.partitions)) for part in given.assigned_partitions]
        self.user_data = given.user_data

    def partitions(self) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for topic, numbers in self.assignment for number in numbers]


class OldGroupMethods(GroupMethods):
    async def list_consumer_groups(self, broker_ids: Iterable[int] | None = None) -> list[tuple[str, str]]:
        """Return (group, protocol type) of every group (kafka-python 2's `list_groups`).

        Args:
            broker_ids: Ids of the brokers to ask. None (default): all.
        """
        groups = await self.list_groups(broker_ids)
        return [(group["group_id"], group["protocol_type"]) for group in groups]

    async def describe_consumer_groups(
        self,
        group_ids: Iterable[str],
        group_coordinator_id: int | None = None,
        include_authorized_operations: bool = False,
    ) -> list[GroupInformation]:
        """Return a `GroupInformation` for each group (kafka-python 2's `describe_groups`).

        Args:
            group_ids: Ids of the groups.
            group_coordinator_id: Broker to ask. None (default): the group's coordinator is looked up.
            include_authorized_operations: Return what this client may do with each group. Default False.
        """
        call = self._call("coordinator")
        answers = await self.core.descriptions(call, group_ids, group_coordinator_id, operations=True)
        return [_information(group, answer.response) for group, answer in values_of(answers).items()]

    async def list_consumer_group_offsets(
        self,
        group_id: str,
        group_coordinator_id: int | None = None,
        partitions: Iterable[TopicPartition] | None = None,
    ) -> Offsets:
        """Return partition -> committed offset (kafka-python 2's `list_group_offsets`).

        Requested partitions without a committed offset have -1. The coordinator is looked up.

        Args:
            group_id: The group's id.
            group_coordinator_id: Broker to ask. None (default): the group's coordinator is looked up.
            partitions: Which partitions. None (default): all that have a committed offset.
        """
        return (await self.list_group_offsets({group_id: partitions}))[group_id]

    async def delete_consumer_groups(
        self, group_ids: Iterable[str], group_coordinator_id: int | None = None
    ) -> list[tuple[str, ErrorClass]]:
        """Delete groups; return (group, error class) of each, `NoError` for success (kafka-python 2's
        `delete_groups`).

        Args:
            group_ids: Ids of the groups.
            group_coordinator_id: Broker to ask. None (default): the group's coordinator is looked up.
        """
        answers = await self.core.deletions(self._call("coordinator"), group_ids, group_coordinator_id)
        return [(group, error_class(answer.response.error_code)) for group, answer in values_of(answers).items()]

    async def perform_leader_election(
        self, election_type: ElectionType | int, topic_partitions: Chosen = None, timeout_ms: int | None = None
    ) -> ElectLeadersResponse:
        """Elect leaders (kafka-python 2's `elect_leaders`).

        Args:
            election_type: PREFERRED, or UNCLEAN, which may lose records (KIP-460).
            topic_partitions: Which partitions. None (default): all.
            timeout_ms: The time that the brokers may take, in ms. None (default): `request_timeout_ms`.
        """
        return await self.elect_leaders(election_type, topic_partitions, timeout_ms)


def _information(group_id: str, group: Any) -> GroupInformation:
    members = [
        MemberInformation(
            member.member_id,
            member.client_id,
            member.client_host,
            _decoded_by(ConsumerProtocolSubscription, MemberMetadata, member.member_metadata),
            _decoded_by(ConsumerProtocolAssignment, MemberAssignment, member.member_assignment),
        )
        for member in group.members
    ]
    operations = operations_of(group.authorized_operations)
    return GroupInformation(
        group.error_code, group_id, group.group_state, group.protocol_type, group.protocol_data, members, operations
    )


def _decoded_by(message: type[Message], made: Any, data: bytes) -> Any:
    """Decode `data`; return the bytes themselves if they have another format."""
    try:
        return made(message.decode(data, min(version_prefix(data), message.VERSIONS.highest), 2)) if data else None
    except (SchemaError, KafkaError):
        return bytes(data)
