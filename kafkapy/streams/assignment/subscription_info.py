"""The user data of a member's subscription (Kafka's `SubscriptionInfo`, versions 1 to 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, int8, int32, int64, string, uuid
from kafkapy.protocol.wire import SchemaError
from kafkapy.streams.assignment.task_id import ProcessId, TaskId

LATEST_VERSION: Final = 11
EARLIEST_PROBEABLE_VERSION: Final = 3
"""From this version on a leader answers an unknown version with its own instead of failing (version probing)."""
UNKNOWN: Final = -1
LATEST_OFFSET: Final = -2
"""Value of an offset sum: the member runs the task."""
UNKNOWN_OFFSET_SUM: Final = -3
_NAMED_TOPOLOGIES: Final = 10
_OFFSET_SUMS: Final = 7


class SubscriptionInfoData(Message, versions="1-11"):
    """The encoded form."""

    version: int = int32()
    latest_supported_version: int = int32("3+", default=UNKNOWN)
    process_id: bytes = uuid()
    prev_tasks: list[SubscriptionInfoData.TaskIdData] = array("TaskIdData", "1-6")
    standby_tasks: list[SubscriptionInfoData.TaskIdData] = array("TaskIdData", "1-6")
    user_end_point: bytes = binary("2+")
    task_offset_sums: list[SubscriptionInfoData.TaskOffsetSum] = array("TaskOffsetSum", "7+")
    unique_field: int = int8("8+")
    error_code: int = int32("9+")
    client_tags: list[SubscriptionInfoData.ClientTag] = array("ClientTag", "11+")

    class TaskIdData(Struct):
        topic_group_id: int = int32()
        partition: int = int32()

    class TaskOffsetSum(Struct):
        topic_group_id: int = int32()
        partition: int = int32("10+")
        offset_sum: int = int64("10+")
        named_topology: str | None = string("10+", nullable=True, default=None)
        partition_to_offset_sum: list[SubscriptionInfoData.PartitionToOffsetSum] = array("PartitionToOffsetSum", "7-9")

    class PartitionToOffsetSum(Struct):
        partition: int = int32()
        offset_sum: int = int64()

    class ClientTag(Struct):
        key: bytes = binary()
        value: bytes = binary()


class SubscriptionInfo(NamedTuple):
    """The user data of a subscription.

    Attributes:
        version: Version of the encoding.
        latest_supported_version: The highest version that the member supports; -1 for versions 1 and 2.
        process_id: Process id of the instance, which may have several members (threads).
        user_end_point: The instance's `application.server`.
        task_offset_sums: The sum of changelog offsets of each of its stateful tasks, or `LATEST_OFFSET`.
        unique_field: Changes with each join, so that the coordinator triggers a rebalance.
        error_code: 0, or the reason to shut the application down.
        client_tags: Tags of the instance, for the distribution of standby replicas.
    """

    version: int
    latest_supported_version: int
    process_id: ProcessId
    user_end_point: str | None = None
    task_offset_sums: Mapping[TaskId, int] = {}
    unique_field: int = 0
    error_code: int = 0
    client_tags: Mapping[str, str] = {}

    def encode(self) -> bytes:
        """Encode as user data of a subscription.

        Raises:
            ValueError: There is no such version.
        """
        if not 1 <= self.version <= LATEST_VERSION:
            raise ValueError(f"version must be between 1 and {LATEST_VERSION}; was: {self.version}")
        data = SubscriptionInfoData(version=self.version, process_id=bytes(self.process_id))
        if self.version >= 2:
            data.user_end_point = (self.user_end_point or "").encode()
        if self.version >= EARLIEST_PROBEABLE_VERSION:
            data.latest_supported_version = self.latest_supported_version
        if self.version >= 8:
            data.unique_field = self.unique_field
        if self.version >= 9:
            data.error_code = self.error_code
        if self.version >= LATEST_VERSION:
            tag = SubscriptionInfoData.ClientTag
            data.client_tags = [tag(key=k.encode(), value=v.encode()) for k, v in self.client_tags.items()]
        self._put_tasks(data)
        return bytes(data.encode(self.version))

    def _put_tasks(self, data: SubscriptionInfoData) -> None:
        sums = self.task_offset_sums
        entry = SubscriptionInfoData.TaskOffsetSum
        if self.version >= _NAMED_TOPOLOGIES:
            data.task_offset_sums = [
                entry(topic_group_id=task.subtopology, partition=task.partition, offset_sum=offset)
                for task, offset in sums.items()
            ]
        elif self.version >= _OFFSET_SUMS:
            by_group: dict[int, list[SubscriptionInfoData.PartitionToOffsetSum]] = {}
            for task, offset in sums.items():
                pair = SubscriptionInfoData.PartitionToOffsetSum(partition=task.partition, offset_sum=offset)
                by_group.setdefault(task.subtopology, []).append(pair)
            data.task_offset_sums = [
                entry(topic_group_id=group, partition_to_offset_sum=pairs) for group, pairs in by_group.items()
            ]
        else:
            task_id = SubscriptionInfoData.TaskIdData
            for task, offset in sums.items():
                tasks = data.prev_tasks if offset == LATEST_OFFSET else data.standby_tasks
                tasks.append(task_id(topic_group_id=task.subtopology, partition=task.partition))


def decode_subscription_info(data: bytes | memoryview) -> SubscriptionInfo:
    """Decode user data of a subscription. With an unknown version, only the two version fields are decoded.

    Raises:
        ValueError: It is malformed.
    """
    version = int.from_bytes(data[:4], "big", signed=True)
    if len(data) < 4 or version < 1:
        raise ValueError(f"a subscription of Streams has version {version} in {len(data)} bytes")
    if version > LATEST_VERSION:
        latest = int.from_bytes(data[4:8], "big", signed=True)
        return SubscriptionInfo(version, latest, ProcessId(0, 0))
    try:
        decoded: SubscriptionInfoData = SubscriptionInfoData.decode(data, version)
        tags = {bytes(tag.key).decode(): bytes(tag.value).decode() for tag in decoded.client_tags}
        end_point = bytes(decoded.user_end_point).decode() or None
    except (SchemaError, UnicodeDecodeError) as error:
        raise ValueError(f"a subscription of Streams, version {version}, is malformed: {error}") from error
    return SubscriptionInfo(
        version,
        decoded.latest_supported_version,
        ProcessId.of(decoded.process_id),
        end_point,
        _tasks(decoded),
        decoded.unique_field,
        decoded.error_code,
        tags,
    )


def _tasks(data: SubscriptionInfoData) -> dict[TaskId, int]:
    if data.version >= _NAMED_TOPOLOGIES:
        return {TaskId(one.topic_group_id, one.partition): one.offset_sum for one in data.task_offset_sums}
    if data.version >= _OFFSET_SUMS:
        return {
            TaskId(one.topic_group_id, pair.partition): pair.offset_sum
            for one in data.task_offset_sums
            for pair in one.partition_to_offset_sum
        }
    active = {TaskId(one.topic_group_id, one.partition): LATEST_OFFSET for one in data.prev_tasks}
    return active | {TaskId(one.topic_group_id, one.partition): UNKNOWN_OFFSET_SUM for one in data.standby_tasks}
