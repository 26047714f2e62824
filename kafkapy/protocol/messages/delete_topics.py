"""DeleteTopics (API key 20): topics to delete."""

from __future__ import annotations

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct, array, int16, int32, string, uuid


class DeleteTopicsRequest(Message, api=ApiKey.DELETE_TOPICS):
    topics: list[DeleteTopicsRequest.DeleteTopicState] = array("DeleteTopicState", "6+")
    topic_names: list[str] = array("string", "0-5", ignorable=True)
    timeout_ms: int = int32()

    class DeleteTopicState(Struct):
        name: str | None = string("6+", nullable=True, default=None)
        topic_id: bytes = uuid("6+")


class DeleteTopicsResponse(Message, api=ApiKey.DELETE_TOPICS):
    throttle_time_ms: int = int32("1+", ignorable=True)
    responses: list[DeleteTopicsResponse.DeletableTopicResult] = array("DeletableTopicResult")

    class DeletableTopicResult(Struct):
        name: str | None = string(nullable="6+")
        topic_id: bytes = uuid("6+", ignorable=True)
        error_code: int = int16()
        error_message: str | None = string("5+", nullable=True, default=None, ignorable=True)
