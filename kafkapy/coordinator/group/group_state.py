"""The states of a group and all transitions between them (Kafka's `ClassicGroupState`).

The table shows each event in each state: the next state, if it changes, and the effects.

| event       | Empty            | PreparingRebalance       | CompletingRebalance      | Stable                    |
|-------------|------------------|--------------------------|--------------------------|---------------------------|
| join, new   | Preparing;       | waits (a)                | Preparing; pending syncs | Preparing; waits          |
|             | waits (KIP-134)  |                          | get: join again          |                           |
| join, known | -                | waits (a)                | reply; or, changed,      | reply; or, changed or the |
|             |                  |                          | Preparing                | leader, Preparing         |
| join, static| -                | waits in the old one's   | Preparing                | write (b); or, protocol   |
| again       |                  | place (a)                |                          | changed, Preparing        |
| join timer  | -                | (c)                      | -                        | -                         |
| sync        | -                | reply: join again        | waits; of the leader:    | reply                     |
|             |                  |                          | write (d)                |                           |
| written     | -                | -                        | (d) Stable, replies; or, | (b) reply; or, failed,    |
|             |                  |                          | failed, Preparing        | the old id again          |
| sync timer  | -                | -                        | Preparing without those  | the same                  |
|             |                  |                          | that did not sync        |                           |
| heartbeat   | -                | reply: join again; timer | reply; timer             | reply; timer              |
| leave, or   | -                | (a)                      | Preparing; replies       | Preparing                 |
| timeout     |                  |                          |                          |                           |
| commit      | write, if from   | write; timer             | refused                  | write; timer              |
|             | no member        |                          |                          |                           |
| expired     | Dead once there  | -                        | -                        | tombstones of topics that |
|             | are no offsets   |                          |                          | aren't subscribed to      |
| deleted     | Dead; tombstones | refused                  | refused                  | refused                   |
| unloaded    | Dead             | Dead; replies            | Dead; replies            | Dead; replies             |

(a) Once all members and all clients with an assigned id have joined, as (c).
(b) The group's record, with the new member id.
(c) Dynamic members that have not joined are removed. Then CompletingRebalance, and the joined ones get the generation;
    or, without members, Empty, and a write. If all members are static and none has joined, the timer restarts.
(d) The group's record, with the assignment.

Each known member has a heartbeat timer, which has no effect while it has a pending request. An assigned id (KIP-394)
has a timer until a member joins with it.
"""

from __future__ import annotations

from enum import Enum


class ClassicGroupState(Enum):
    """The value is the name that DescribeGroups and ListGroups show."""

    EMPTY = "Empty"
    """No members: a new group, one that all members have left, or one that only stores offsets."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """JoinGroup requests are parked until all known members have joined or the rebalance timeout is over."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """A generation has begun; SyncGroup requests are parked until the leader's brings the assignment."""
    STABLE = "Stable"
    """All members have an assignment; heartbeats, commits and SyncGroup are answered at once."""
    DEAD = "Dead"
    """Deleted, expired or moved to another coordinator; no event changes it any more."""


EMPTY = ClassicGroupState.EMPTY
PREPARING_REBALANCE = ClassicGroupState.PREPARING_REBALANCE
COMPLETING_REBALANCE = ClassicGroupState.COMPLETING_REBALANCE
STABLE = ClassicGroupState.STABLE
DEAD = ClassicGroupState.DEAD

TRANSITIONS: dict[ClassicGroupState, frozenset[ClassicGroupState]] = {
    EMPTY: frozenset({PREPARING_REBALANCE, DEAD}),
    PREPARING_REBALANCE: frozenset({COMPLETING_REBALANCE, EMPTY, DEAD}),
    COMPLETING_REBALANCE: frozenset({STABLE, PREPARING_REBALANCE, DEAD}),
    STABLE: frozenset({PREPARING_REBALANCE, DEAD}),
    DEAD: frozenset({DEAD}),
}
