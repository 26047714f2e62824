"""The interface of the consumer that the group coordinator uses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.group_member.group_protocol import GroupHost
from kafkapy.runtime.completion import Completion
from kafkapy.structs import OffsetAndMetadata


class Host(GroupHost, Protocol):
    """Its methods are called on the driver's thread."""

    def call_user(self, f: Any, *args: Any) -> Completion[Any]:
        """Call a user's function on the thread that polls."""
        ...

    def consumed(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the positions after the records that the user got."""
        ...

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        """Discard the records of partitions that are revoked."""
        ...
