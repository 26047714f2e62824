"""What a user of groups brings along: its settings, what it says to the group, and where it lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from kafkapy.group_member.membership import Generation
from kafkapy.runtime.completion import Completion


class GroupRebalanceConfig(NamedTuple):
    """Times in ms. `rebalance_timeout_ms`: how long a member may go without a poll, a rebalance included.
    `group_instance_id` None: a dynamic member, which leaves when it goes."""

    group_id: str
    group_instance_id: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    rebalance_timeout_ms: int


class JoinedMember(NamedTuple):
    """A member as the leader sees it, with the metadata it joined with."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class GroupProtocol(Protocol):
    """What members of one kind agree about (the abstract methods of Kafka's `AbstractCoordinator`).

    All methods are called on the driver's thread. What they raise ends the rebalance, and the next poll raises it.
    """

    protocol_type: str
    """The kind: groups refuse members of another."""

    def metadata(self) -> Sequence[tuple[str, bytes]]:
        """(protocol, what the leader must know of this member), in order of preference. Asked for with each JoinGroup."""
        ...

    def rejoin_reason(self) -> str | None:
        """Why the member has to join again; None: nothing has changed on its side."""
        ...

    async def on_join_prepare(self) -> None:
        """Before the first JoinGroup of a rebalance: give up what must not be held meanwhile."""
        ...

    async def perform_assignment(
        self, leader: str, protocol: str, members: Sequence[JoinedMember], skip: bool
    ) -> Mapping[str, bytes]:
        """The leader's work: member id -> its assignment. `leader`: this member's id. `skip`: the group goes on with the
        assignment that it has, and what is returned counts for nothing (KIP-814)."""
        ...

    async def on_join_complete(self, generation: Generation, assignment: bytes) -> None:
        """The member is in and has its assignment, which may be empty. Called while the user polls."""
        ...

    async def on_leave_prepare(self) -> None:
        """Before the member leaves of its own accord. It leaves whatever this raises, and the caller hears of it."""
        ...

    def on_poll_timeout(self) -> str:
        """Nobody has polled for `rebalance_timeout_ms`: the reason with which the member leaves."""
        ...


class GroupHost(Protocol):
    """Where a member lives. Its methods are called on the driver's thread."""

    @property
    def last_poll_ms(self) -> float:
        """When the user last polled (monotonic)."""
        ...

    def gate(self) -> Completion[None]:
        """Done while the user polls (or closes): the moment to change the assignment."""
        ...

    def wake(self) -> None:
        """Let the user poll: there is something to do, or an error to raise."""
        ...
