from __future__ import annotations

import struct

import pytest

from kafkapy.clients import software
from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.connection import Connection
from kafkapy.common.time import MockTime
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.headers import encode_response
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.messages.produce import ProduceRequest

V = ApiVersionsResponse.ApiVersion


def negotiated(connection: Connection) -> Connection:
    connection.versions = NodeApiVersions({key: (key.min_version, key.max_version) for key in ApiKey})
    return connection


def test_a_request_is_framed_with_the_header_of_its_version() -> None:
    connection = Connection("me")
    body = FindCoordinatorRequest(key="g").encode(0)
    assert connection.send(FindCoordinatorRequest(key="g"), 0) == (
        0,
        struct.pack(">ihhih", 12 + len(body), 10, 0, 0, 2) + b"me" + body,
    )
    flexible = FindCoordinatorRequest(coordinator_keys=["g"])
    body = flexible.encode(4)
    assert connection.send(flexible, 4) == (
        1,
        struct.pack(">ihhih", 13 + len(body), 10, 4, 1, 2) + b"me\0" + body,
    )


def test_controlled_shutdown_0_has_no_client_id() -> None:
    _, frame = Connection("me").send(ControlledShutdownRequest(broker_id=1), 0)
    assert frame == struct.pack(">ihhii", 12, 7, 0, 0, 1)


def test_correlation_ids_begin_again_after_the_largest() -> None:
    connection = Connection("me")
    connection._next_correlation_id = 0x7FFFFFFF
    assert [connection.send(HeartbeatRequest(), 0)[0] for _ in range(2)] == [0x7FFFFFFF, 0]


def test_responses_come_out_in_order_with_their_ids() -> None:
    connection = negotiated(Connection("me"))
    for _ in range(2):
        connection.send(HeartbeatRequest())
    answers = [HeartbeatResponse(error_code=27), HeartbeatResponse(throttle_time_ms=5)]
    data = b"".join(encode_response(ApiKey.HEARTBEAT, 4, i, answer) for i, answer in enumerate(answers))
    assert connection.receive_data(data[:7]) == []
    assert connection.receive_data(data[7:]) == list(enumerate(answers))
    assert not connection.in_flight


def test_a_response_out_of_order_is_an_error() -> None:
    connection = Connection("me")
    connection.send(HeartbeatRequest(), 0)
    connection.send(HeartbeatRequest(), 0)
    with pytest.raises(KafkaError, match="correlation id 1 where 0 is expected"):
        connection.receive_data(encode_response(ApiKey.HEARTBEAT, 0, 1, HeartbeatResponse()))


def test_a_response_that_nobody_asked_for_is_an_error() -> None:
    with pytest.raises(KafkaError, match="answers no request"):
        Connection("me").receive_data(encode_response(ApiKey.HEARTBEAT, 0, 0, HeartbeatResponse()))


def test_a_response_that_ends_too_early_is_an_error_that_no_one_repeats() -> None:
    connection = Connection("me")
    connection.send(FindCoordinatorRequest(key="g"), 0)
    frame = encode_response(ApiKey.FIND_COORDINATOR, 0, 0, FindCoordinatorResponse(host="h"))
    cut = struct.pack(">i", len(frame) - 6) + frame[4:-2]
    with pytest.raises(KafkaError, match="A response cannot be read") as caught:
        connection.receive_data(cut)
    assert not caught.value.error.retriable


def test_produce_without_acks_awaits_no_response() -> None:
    connection = Connection("me")
    connection.send(ProduceRequest(acks=0), 3)
    assert not connection.in_flight
    connection.send(ProduceRequest(acks=1), 3)
    assert [request.correlation_id for request in connection.in_flight] == [1]


def test_expired_requests() -> None:
    time = MockTime()
    connection = Connection("me", request_timeout_ms=100, time=time)
    connection.send(HeartbeatRequest(), 0)
    connection.send(HeartbeatRequest(), 0, timeout_ms=500)
    time.advance(99)
    assert connection.expired() == []
    time.advance(1)
    assert [(r.correlation_id, r.api_key, r.version) for r in connection.expired()] == [(0, ApiKey.HEARTBEAT, 0)]
    time.advance(400)
    assert len(connection.expired()) == 2


class TestNegotiation:
    def test_common_versions(self) -> None:
        connection = Connection("me")
        step = connection.negotiate()
        assert step is not None
        _, frame = step
        assert frame[4:8] == struct.pack(">hh", 18, 4)
        request = ApiVersionsRequest.decode(frame, 4, 4 + 8 + 4 + 1)
        assert (request.client_software_name, request.client_software_version) == (software.NAME, software.VERSION)
        answer = ApiVersionsResponse(api_keys=[V(api_key=3, min_version=1, max_version=5), V(api_key=9999)])
        ((_, response),) = connection.receive_data(encode_response(ApiKey.API_VERSIONS, 4, 0, answer))
        assert connection.negotiate(response) is None
        assert connection.versions is not None
        assert connection.versions.latest_usable(ApiKey.METADATA) == 5
        _, frame = connection.send(MetadataRequest())
        assert frame[6:8] == b"\0\5"

    def test_an_older_broker_answers_in_version_0_and_is_asked_again(self) -> None:
        connection = Connection("me")
        connection.negotiate()
        refusal = ApiVersionsResponse(
            error_code=Errors.UNSUPPORTED_VERSION.code, api_keys=[V(api_key=18, min_version=0, max_version=2)]
        )
        ((_, response),) = connection.receive_data(encode_response(ApiKey.API_VERSIONS, 0, 0, refusal))
        step = connection.negotiate(response)
        assert step is not None
        assert step[1][4:8] == struct.pack(">hh", 18, 2)
        answer = ApiVersionsResponse(api_keys=[V(api_key=18, min_version=0, max_version=2)])
        ((_, response),) = connection.receive_data(encode_response(ApiKey.API_VERSIONS, 2, 1, answer))
        assert connection.negotiate(response) is None
        assert connection.versions is not None
        assert connection.versions.ranges == {18: (0, 2)}

    def test_before_kip_511_the_refusal_names_no_versions(self) -> None:
        connection = Connection("me")
        connection.negotiate()
        step = connection.negotiate(ApiVersionsResponse(error_code=Errors.UNSUPPORTED_VERSION.code))
        assert step is not None
        assert step[1][4:8] == struct.pack(">hh", 18, 0)

    def test_a_second_refusal_is_final(self) -> None:
        connection = Connection("me")
        connection.negotiate()
        refusal = ApiVersionsResponse(error_code=Errors.UNSUPPORTED_VERSION.code)
        connection.negotiate(refusal)
        with pytest.raises(KafkaError, match="refused to tell its API versions") as caught:
            connection.negotiate(refusal)
        assert caught.value.error is Errors.UNSUPPORTED_VERSION

    def test_without_negotiation_the_version_must_be_given(self) -> None:
        with pytest.raises(KafkaError, match="No version of METADATA has been negotiated"):
            Connection("me").send(MetadataRequest())


class TestNodeApiVersions:
    def test_latest_usable_is_the_highest_in_common(self) -> None:
        versions = NodeApiVersions({3: (1, 99), 1: (0, 4)})
        assert versions.latest_usable(ApiKey.METADATA) == ApiKey.METADATA.max_version
        assert versions.latest_usable(ApiKey.METADATA, highest=7) == 7
        assert versions.latest_usable(ApiKey.FETCH) == 4

    @pytest.mark.parametrize(
        ("served", "lowest", "sentence"),
        [
            ({}, 0, "The node does not support METADATA"),
            ({3: (0, 4)}, 5, r"METADATA with version in range \[5,12\]. The supported range is \[0,4\]."),
            ({3: (13, 14)}, 0, r"METADATA with version in range \[0,12\]. The supported range is \[13,14\]."),
        ],
    )
    def test_nothing_in_common(self, served: dict[int, tuple[int, int]], lowest: int, sentence: str) -> None:
        versions = NodeApiVersions(served)
        with pytest.raises(KafkaError, match=sentence) as caught:
            versions.latest_usable(ApiKey.METADATA, lowest)
        assert caught.value.error is Errors.UNSUPPORTED_VERSION

    def test_supports(self) -> None:
        assert NodeApiVersions({3: (1, 2)}).supports(ApiKey.METADATA)
        assert not NodeApiVersions({3: (13, 20)}).supports(ApiKey.METADATA)
        assert not NodeApiVersions({}).supports(ApiKey.METADATA)
