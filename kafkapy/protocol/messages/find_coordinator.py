"""FindCoordinator (API key 10): the broker that coordinates a group or a transactional id."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int8, int16, int32, string


class FindCoordinatorRequest(Message, api=ApiKey.FIND_COORDINATOR):
    key: str = string("0-3")
    key_type: int = int8("1+")
    coordinator_keys: list[str] = array("string", "4+")


class FindCoordinatorResponse(Message, api=ApiKey.FIND_COORDINATOR):
    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16("0-3")
    error_message: str | None = string("1-3", nullable=True, ignorable=True)
    node_id: int = int32("0-3")
    host: str = string("0-3")
    port: int = int32("0-3")
    coordinators: list[FindCoordinatorResponse.Coordinator] = array("Coordinator", "4+")

    class Coordinator(Struct):
        key: str = string("4+")
        node_id: int = int32("4+")
        host: str = string("4+")
        port: int = int32("4+")
        error_code: int = int16("4+")
        error_message: str | None = string("4+", nullable=True, ignorable=True)
