"""Replica assignments of partitions, and their reassignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class ReplicaAssignment(NamedTuple):
    """The replicas of a partition; immutable (Kafka's `ReplicaAssignment`).

    During a reassignment `replicas` is the union of target and origin in that order; `adding_replicas` are those of the
    target that are not in the origin, `removing_replicas` those of the origin that are not in the target.
    """

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding_replicas or self.removing_replicas)

    @property
    def origin_replicas(self) -> tuple[int, ...]:
        return tuple(r for r in self.replicas if r not in self.adding_replicas)

    @property
    def target_replicas(self) -> tuple[int, ...]:
        return tuple(r for r in self.replicas if r not in self.removing_replicas)

    def reassign_to(self, target: Sequence[int]) -> ReplicaAssignment:
        """Return the assignment at the start of a reassignment to `target`. It replaces a reassignment under way.

        The origin is that of the running reassignment, so replicas that it added are removed unless the new target has
        them.
        """
        full = tuple(dict.fromkeys((*target, *self.origin_replicas)))
        return ReplicaAssignment(
            full,
            tuple(r for r in full if r not in self.origin_replicas),
            tuple(r for r in full if r not in target),
        )

    def remove_replica(self, replica: int) -> ReplicaAssignment:
        return ReplicaAssignment(
            tuple(r for r in self.replicas if r != replica),
            tuple(r for r in self.adding_replicas if r != replica),
            tuple(r for r in self.removing_replicas if r != replica),
        )


class TopicIdReplicaAssignment(NamedTuple):
    """A topic's id (16 bytes; None for topics created before IBP 2.8) and its replica assignments by partition."""

    topic: str
    topic_id: bytes | None
    assignment: dict[int, ReplicaAssignment]
