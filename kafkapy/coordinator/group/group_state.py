"""The five states of a group and every way from one to another (Kafka's `GroupState`)."""

from __future__ import annotations

from enum import Enum


class GroupState(Enum):
    """The value is the name that DescribeGroups and ListGroups show."""

    EMPTY = "Empty"
    """No members: a new group, one that everybody left, or one that only stores offsets."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """JoinGroup requests are parked until all known members have joined or the rebalance timeout is over."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """A generation has begun; SyncGroup requests are parked until the leader's brings the assignment."""
    STABLE = "Stable"
    """Everybody has an assignment; heartbeats, commits and SyncGroup are answered at once."""
    DEAD = "Dead"
    """Deleted, expired or moved to another coordinator; whoever still holds the object must not change it."""


# The whole machine. What drives each step:
#   Empty               -> PreparingRebalance   a member joins
#   PreparingRebalance  -> CompletingRebalance  all known members joined, or the time is over
#   PreparingRebalance  -> Empty                the same, and nobody is left
#   CompletingRebalance -> Stable               the leader's assignment is stored
#   CompletingRebalance -> PreparingRebalance   a member joins, leaves, changes its protocols, or fails
#   Stable              -> PreparingRebalance   the same, or the leader joins again
#   any                 -> Dead                 unloaded, deleted, or expired
TRANSITIONS: dict[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE, GroupState.DEAD}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.COMPLETING_REBALANCE, GroupState.EMPTY, GroupState.DEAD}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.STABLE, GroupState.PREPARING_REBALANCE, GroupState.DEAD}),
    GroupState.STABLE: frozenset({GroupState.PREPARING_REBALANCE, GroupState.DEAD}),
    GroupState.DEAD: frozenset({GroupState.DEAD}),
}
