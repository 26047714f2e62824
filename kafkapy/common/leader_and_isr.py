"""Who leads a partition and who is in sync: what the controller decides, ZooKeeper keeps and LeaderAndIsr carries."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

NO_LEADER: Final = -1
LEADER_DURING_DELETE: Final = -2
NO_EPOCH: Final = -1
"""No leader epoch is known."""
INITIAL_LEADER_EPOCH = 0
INITIAL_PARTITION_EPOCH = 0


class LeaderRecoveryState(IntEnum):
    """RECOVERING after an unclean election until the leader has made the partition consistent (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class LeaderAndIsr(NamedTuple):
    """One partition's state; a value, never changed in place (Kafka's `LeaderAndIsr`).

    `partition_epoch` is the version of the partition's state znode: it grows with each change, `leader_epoch` only with
    those that a controller made.
    """

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = INITIAL_LEADER_EPOCH
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    partition_epoch: int = INITIAL_PARTITION_EPOCH

    def new_leader_and_isr(self, leader: int, isr: Sequence[int]) -> LeaderAndIsr:
        """A controller's change: the leader epoch grows, even if the leader stays."""
        return self._replace(leader=leader, isr=tuple(isr), leader_epoch=self.leader_epoch + 1)

    def new_leader(self, leader: int) -> LeaderAndIsr:
        return self.new_leader_and_isr(leader, self.isr)

    def new_epoch(self) -> LeaderAndIsr:
        return self.new_leader_and_isr(self.leader, self.isr)

    def with_partition_epoch(self, partition_epoch: int) -> LeaderAndIsr:
        """The same state under the version that ZooKeeper gave it."""
        return self._replace(partition_epoch=partition_epoch)


class LeaderIsrAndControllerEpoch(NamedTuple):
    """A partition's state and the epoch of the controller that wrote it last."""

    leader_and_isr: LeaderAndIsr
    controller_epoch: int
