"""A classic group in __consumer_offsets (key version 2)."""

from __future__ import annotations

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, binary, int32, int64, string


class GroupMetadataKey(Message, versions="2"):
    group: str = string("2")


class GroupMetadataValue(Message, versions="0-4", flexible="4+"):
    protocol_type: str = string()
    generation: int = int32()
    protocol: str | None = string(nullable=True)
    leader: str | None = string(nullable=True)
    current_state_timestamp: int = int64("2+", default=-1, ignorable=True)
    members: list[GroupMetadataValue.MemberMetadata] = array("MemberMetadata")

    class MemberMetadata(Struct):
        member_id: str = string()
        group_instance_id: str | None = string("3+", nullable=True, default=None, ignorable=True)
        client_id: str = string()
        client_host: str = string()
        rebalance_timeout: int = int32("1+", default=-1, ignorable=True)
        session_timeout: int = int32()
        subscription: bytes = binary()
        assignment: bytes = binary()
