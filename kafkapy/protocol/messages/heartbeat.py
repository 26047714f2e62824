"""Heartbeat (API key 12): a member is alive."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import int16, int32, string


class HeartbeatRequest(Message, api=ApiKey.HEARTBEAT):
    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable=True, default=None)


class HeartbeatResponse(Message, api=ApiKey.HEARTBEAT):
    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
