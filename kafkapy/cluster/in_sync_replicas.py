"""The in-sync replicas of a partition, and a change of them that the controller has not confirmed yet (KIP-497).

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
"""The state that the controller has written, or why it has not."""


@dataclass(frozen=True, slots=True, eq=False)
class InSyncReplicas:
    """What is agreed on, and what is asked for.

    Invariant: `members` are what the controller has confirmed last, in its order. While a change is in flight (`proposed` is
    not None) either set may hold, so whatever must be safe under both takes `maximal`: a record is committed only when all of
    it has the record.
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


NOBODY: Final = InSyncReplicas(())


class PartitionHost(Protocol):
    """What a partition needs of its broker."""

    @property
    def replica_lag_time_max_ms(self) -> int: ...

    def is_alive(self, broker_id: int) -> bool:
        """Is the broker alive as far as the controller has told?"""
        ...

    def alter_partition(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        proposed: LeaderAndIsr,
        broker_epochs: Mapping[int, int],
        done: Callable[[AlterPartitionOutcome], None],
    ) -> None:
        """Ask for another ISR; `done` comes once, later. `broker_epochs` as far as they are known, of other brokers."""
        ...

    def flush_log(self, log: Log, done: Callable[[Errors], None]) -> None:
        """Flush it in a thread; `done` comes once, with the error if it can't be."""
        ...

    def high_watermark_moved(self, topic_partition: TopicPartition) -> None:
        """By something else than an append or a fetch: whoever waits for it must look."""
        ...
