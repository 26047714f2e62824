"""What the group machinery asks of the consumer around it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from kafkapy.clients.completion import Completion
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.structs import OffsetAndMetadata


class Host(Protocol):
    """Its methods are called on the driver's thread."""

    @property
    def last_poll_ms(self) -> float:
        """When the user last polled (monotonic)."""
        ...

    def gate(self) -> Completion[None]:
        """Done while the user polls (or closes): the moment to change the assignment."""
        ...

    def call_user(self, f: Any, *args: Any) -> Completion[Any]:
        """Call a function of the user's where the user polls."""
        ...

    def consumed(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """The positions after what the user has been given."""
        ...

    def drop(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the records of partitions that go away."""
        ...

    def wake(self) -> None:
        """Let a waiting poll look again."""
        ...
