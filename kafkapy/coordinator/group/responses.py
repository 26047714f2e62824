"""Answers that say no."""

from __future__ import annotations

from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.sync_group import SyncGroupResponse

NO_MEMBER_ID = ""
NO_GENERATION = -1


def join_error(member_id: str, error: Errors) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error.code, generation_id=NO_GENERATION, protocol_name=None, leader="", member_id=member_id
    )


def sync_error(error: Errors) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error.code)
