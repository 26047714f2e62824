"""What the coordinator asks of the consumer around it."""

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
        """Call a function of the user's where the user polls."""
        ...

    def consumed(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """The positions after what the user has been given."""
        ...

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the records of partitions that go away."""
        ...
