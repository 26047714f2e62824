"""Requests and responses as frames."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kafkapy.clients.client_apis import api_of
from kafkapy.clients.pipeline import Pipeline
from kafkapy.common.time import MockTime
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.headers import encode_response
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.produce import ProduceRequest


def pipeline() -> Pipeline:
    return Pipeline("me", MockTime())


def sent(pipeline: Pipeline, message: Any, version: int, context: Any = None) -> bytes:
    return b"".join(pipeline.send(message, api_of(message.API_KEY), version, 100, context))


def frame_of(data: bytes) -> memoryview:
    return memoryview(data)[4:]


def test_a_request_is_framed_with_the_header_of_its_version() -> None:
    line = pipeline()
    body = FindCoordinatorRequest(key="g").encode(0)
    frame = struct.pack(">ihhih", 12 + len(body), 10, 0, 0, 2) + b"me" + body
    assert sent(line, FindCoordinatorRequest(key="g"), 0) == frame
    flexible = FindCoordinatorRequest(coordinator_keys=["g"])
    body = flexible.encode(4)
    assert sent(line, flexible, 4) == struct.pack(">ihhih", 13 + len(body), 10, 4, 1, 2) + b"me\0" + body


def test_controlled_shutdown_0_has_no_client_id() -> None:
    frame = sent(pipeline(), ControlledShutdownRequest(broker_id=1), 0)
    assert frame == struct.pack(">ihhii", 12, 7, 0, 0, 1)


def test_correlation_ids_begin_again_after_the_largest() -> None:
    line = pipeline()
    line._next_correlation_id = 0x7FFFFFFF
    for _ in range(2):
        sent(line, HeartbeatRequest(), 0)
    assert [request.correlation_id for request in line.in_flight] == [0x7FFFFFFF, 0]


def test_responses_belong_to_the_oldest_request() -> None:
    line = pipeline()
    for context in "ab":
        sent(line, HeartbeatRequest(), 4, context)
    for i, (context, answer) in enumerate([("a", HeartbeatResponse(error_code=27)), ("b", HeartbeatResponse())]):
        request, response = line.receive(frame_of(encode_response(ApiKey.HEARTBEAT, 4, i, answer)), True)
        assert (request.context, response) == (context, answer)
    assert not line.in_flight


def test_a_response_out_of_order_is_an_error() -> None:
    line = pipeline()
    sent(line, HeartbeatRequest(), 0)
    with pytest.raises(KafkaError, match="correlation id 1 where 0 is expected"):
        line.receive(frame_of(encode_response(ApiKey.HEARTBEAT, 0, 1, HeartbeatResponse())), True)


def test_a_response_that_nobody_asked_for_is_an_error() -> None:
    with pytest.raises(KafkaError, match="answers no request"):
        pipeline().receive(frame_of(encode_response(ApiKey.HEARTBEAT, 0, 0, HeartbeatResponse())), True)


def test_a_response_that_ends_too_early_is_an_error_that_no_one_repeats() -> None:
    line = pipeline()
    sent(line, FindCoordinatorRequest(key="g"), 0)
    frame = encode_response(ApiKey.FIND_COORDINATOR, 0, 0, FindCoordinatorResponse(host="h"))
    with pytest.raises(KafkaError, match="A response cannot be read") as caught:
        line.receive(memoryview(frame)[4:-2], True)
    assert not caught.value.error.retriable
    assert line.in_flight


def test_produce_without_acks_awaits_no_response() -> None:
    line = pipeline()
    sent(line, ProduceRequest(acks=0), 3)
    assert not line.in_flight
    sent(line, ProduceRequest(acks=1), 3)
    assert [request.correlation_id for request in line.in_flight] == [1]
