"""Selects the replica that a consumer should read from (KIP-392)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kafkapy.common.config_def import ConfigException

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LEADER = "org.apache.kafka.common.replica.LeaderSelector"


class ReplicaView(NamedTuple):
    """A replica with the requested offset."""

    broker_id: int
    rack: str | None
    log_end_offset: int
    since_last_caught_up_ms: int


class ReplicaSelector(Protocol):
    def select(self, client_rack: str, leader: ReplicaView, followers: Sequence[ReplicaView]) -> int:
        """Return the broker to read from."""
        ...


class LeaderSelector:
    def select(self, client_rack: str, leader: ReplicaView, followers: Sequence[ReplicaView]) -> int:
        return leader.broker_id


class RackAwareReplicaSelector:
    """Selects a replica in the client's rack: the leader if it is there, else the most advanced one."""

    def select(self, client_rack: str, leader: ReplicaView, followers: Sequence[ReplicaView]) -> int:
        if not client_rack or leader.rack == client_rack:
            return leader.broker_id
        near = [view for view in followers if view.rack == client_rack]
        best = max(
            near, key=lambda view: (view.log_end_offset, -view.since_last_caught_up_ms, view.broker_id), default=leader
        )
        return best.broker_id


def make_replica_selector(class_name: str | None) -> ReplicaSelector | None:
    """Return the selector of `replica.selector.class`; None if it is not set. `ConfigException` for an unknown class."""
    if not class_name:
        return None
    if class_name == RACK_AWARE:
        return RackAwareReplicaSelector()
    if class_name == LEADER:
        return LeaderSelector()
    raise ConfigException(f"replica.selector.class {class_name} is not known; it may be {RACK_AWARE} or {LEADER}")
