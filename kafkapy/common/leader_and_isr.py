"""A partition's leader and ISR: decided by the controller, stored in ZooKeeper, sent by LeaderAndIsr."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

NO_LEADER: Final = -1
LEADER_DURING_DELETE: Final = -2
NO_EPOCH: Final = -1
"""The leader epoch is unknown."""
INITIAL_LEADER_EPOCH = 0
INITIAL_PARTITION_EPOCH = 0


class LeaderRecoveryState(IntEnum):
    """RECOVERING from an unclean election until the leader has made the partition consistent (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class LeaderAndIsr(NamedTuple):
    """The state of one partition; immutable (Kafka's `LeaderAndIsr`).

    `partition_epoch` is the version of the partition's state znode, so it grows with each change. `leader_epoch` grows
    only with changes made by a controller.
    """

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = INITIAL_LEADER_EPOCH
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    partition_epoch: int = INITIAL_PARTITION_EPOCH

    def new_leader_and_isr(self, leader: int, isr: Sequence[int]) -> LeaderAndIsr:
        """Return the state after a controller's change. The leader epoch grows even if the leader stays."""
        return self._replace(leader=leader, isr=tuple(isr), leader_epoch=self.leader_epoch + 1)

    def new_leader(self, leader: int) -> LeaderAndIsr:
        return self.new_leader_and_isr(leader, self.isr)

    def new_epoch(self) -> LeaderAndIsr:
        return self.new_leader_and_isr(self.leader, self.isr)

    def with_partition_epoch(self, partition_epoch: int) -> LeaderAndIsr:
        """Return the same state with the version that ZooKeeper returned."""
        return self._replace(partition_epoch=partition_epoch)


class LeaderIsrAndControllerEpoch(NamedTuple):
    """The state of a partition, and the epoch of the controller that wrote it last."""

    leader_and_isr: LeaderAndIsr
    controller_epoch: int
