"""What a user of group membership provides: settings, a protocol, and a host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from kafkapy.group_member.membership import Generation
from kafkapy.runtime.completion import Completion


class GroupRebalanceConfig(NamedTuple):
    """Settings of a member; times in milliseconds. `rebalance_timeout_ms`: the longest time between two polls, and
    for a rebalance. `group_instance_id` None: a dynamic member, which leaves the group when it closes."""

    group_id: str
    group_instance_id: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    rebalance_timeout_ms: int


class JoinedMember(NamedTuple):
    """A member as the group's leader sees it, with its metadata from JoinGroup."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class GroupProtocol(Protocol):
    """How members of one kind share work (the abstract methods of Kafka's `AbstractCoordinator`).

    All methods are called on the driver's thread. An exception ends the rebalance, and the next poll raises it.
    """

    protocol_type: str
    """The protocol type, for example `consumer`: a group refuses members of another type."""

    def metadata(self) -> Sequence[tuple[str, bytes]]:
        """(protocol, metadata for the group's leader), in order of preference. Called for each JoinGroup."""
        ...

    def rejoin_reason(self) -> str | None:
        """The reason for which the member has to join again; None if nothing has changed on its side."""
        ...

    async def on_join_prepare(self) -> None:
        """Called before the first JoinGroup of a rebalance: give up what may not be held during it."""
        ...

    async def perform_assignment(
        self, leader: str, protocol: str, members: Sequence[JoinedMember], skip: bool
    ) -> Mapping[str, bytes]:
        """Assign the work, as the group's leader: member id -> assignment. `leader`: this member's id. `skip`: the
        group keeps the assignment that it has, and the result is ignored (KIP-814)."""
        ...

    async def on_join_complete(self, generation: Generation, assignment: bytes) -> None:
        """Take over the assignment, which may be empty. Called while the user polls."""
        ...

    async def on_leave_prepare(self) -> None:
        """Called before the member leaves of its own accord. The member leaves even if this raises; `leave` raises
        the exception then."""
        ...

    def on_poll_timeout(self) -> str:
        """Called when the user has not polled for `rebalance_timeout_ms`; returns the reason for the LeaveGroup."""
        ...


class GroupHost(Protocol):
    """The client that has the member. Its methods are called on the driver's thread."""

    @property
    def last_poll_ms(self) -> float:
        """Time of the user's last poll (monotonic, ms)."""
        ...

    def gate(self) -> Completion[None]:
        """Completes while the user polls or closes: only then may the assignment change."""
        ...

    def wake(self) -> None:
        """End the wait of a poll: there is something to do, or an error to raise."""
        ...
