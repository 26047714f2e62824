"""The in-sync replicas of a partition, and a proposed change that the controller has not confirmed yet (KIP-497).

Kafka's `PartitionState` with `CommittedPartitionState`, `PendingExpandIsr` and `PendingShrinkIsr`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from kafkapy.common.leader_and_isr import LeaderAndIsr
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.protocol.errors import Errors

AlterPartitionOutcome = LeaderAndIsr | Errors
"""The state that the controller has written, or the error with which it has refused."""


@dataclass(frozen=True, slots=True, eq=False)
class InSyncReplicas:
    """The confirmed ISR, and the proposed one while a change is in flight.

    Invariant: `members` is the ISR that the controller has confirmed last, in its order. While a change is in flight
    (`proposed` is not None) either ISR may be valid. What must be safe under both therefore uses `maximal`, their
    union: a record is committed only when all of `maximal` have it.
    """

    members: tuple[int, ...]
    proposed: LeaderAndIsr | None = None
    committed: frozenset[int] = field(init=False)
    maximal: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        wanted = () if self.proposed is None else self.proposed.isr
        object.__setattr__(self, "committed", frozenset(self.members))
        object.__setattr__(self, "maximal", self.committed.union(wanted))

    @property
    def in_flight(self) -> bool:
        return self.proposed is not None


NO_REPLICAS: Final = InSyncReplicas(())


class PartitionHost(Protocol):
    """What a partition needs of its broker."""

    @property
    def replica_lag_time_max_ms(self) -> int: ...

    def is_alive(self, broker_id: int) -> bool:
        """Is the broker alive, by the controller's last UpdateMetadata?"""
        ...

    def alter_partition(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        proposed: LeaderAndIsr,
        broker_epochs: Mapping[int, int],
        done: Callable[[AlterPartitionOutcome], None],
    ) -> None:
        """Ask the controller for another ISR. `done` is called once, later. `broker_epochs`: those of other brokers,
        where they are known."""
        ...

    def flush_log(self, log: Log, done: Callable[[Errors], None]) -> None:
        """Flush the log in a thread. `done` is called once, with the error if the flush failed."""
        ...

    def high_watermark_moved(self, topic_partition: TopicPartition) -> None:
        """The high watermark moved without an append or a fetch: waiting requests must be checked again."""
        ...
