"""One member of a group (Kafka's `MemberMetadata`)."""

from __future__ import annotations

from collections.abc import Callable, Collection

from kafkapy.common.scheduler import ScheduledTask
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse

JoinReply = Callable[[JoinGroupResponse], None]
SyncReply = Callable[[SyncGroupResponse], None]
Protocols = list[tuple[str, bytes]]
"""(protocol name, the member's metadata for it), the member's favourite first."""


class MemberMetadata:
    """What a member told of itself, the requests of it that wait, and when it must be heard of again.

    Invariant: `awaiting_join` and `awaiting_sync` are the replies still owed to the member; whoever takes one out
    answers it. The replies and the timer belong to the reactor thread; a member built while loading has none.
    """

    __slots__ = (
        "assignment",
        "awaiting_join",
        "awaiting_sync",
        "client_host",
        "client_id",
        "group_instance_id",
        "heartbeat_deadline_ms",
        "heartbeat_timer",
        "heartbeat_timer_due_ms",
        "is_new",
        "member_id",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: Protocols,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.assignment = assignment
        self.awaiting_join: JoinReply | None = None
        self.awaiting_sync: SyncReply | None = None
        self.is_new = False
        """Its first join is not completed: it does not know its id, so it cannot send heartbeats."""
        self.heartbeat_deadline_ms = 0
        self.heartbeat_timer: ScheduledTask | None = None
        self.heartbeat_timer_due_ms = 0

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_awaiting(self) -> bool:
        return self.awaiting_join is not None or self.awaiting_sync is not None

    def metadata(self, protocol: str) -> bytes:
        """The member's metadata for that protocol; `KeyError` if it does not support it."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise KeyError(protocol)

    def vote(self, candidates: Collection[str]) -> str:
        """The first of the member's protocols that is a candidate."""
        return next(name for name, _ in self.protocols if name in candidates)

    def __repr__(self) -> str:
        names = [name for name, _ in self.protocols]
        return (
            f"MemberMetadata(memberId={self.member_id}, groupInstanceId={self.group_instance_id},"
            f" clientId={self.client_id}, clientHost={self.client_host}, sessionTimeoutMs={self.session_timeout_ms},"
            f" rebalanceTimeoutMs={self.rebalance_timeout_ms}, supportedProtocols={names})"
        )
