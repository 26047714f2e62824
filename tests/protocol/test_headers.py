from __future__ import annotations

import struct

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    encode_request,
    encode_response,
)
from kafkapy.protocol.messages.api_versions import ApiVersionsResponse
from kafkapy.protocol.messages.describe_groups import DescribeGroupsResponse
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.protocol.wire import SchemaError


def test_a_request_frame() -> None:
    request = HeartbeatRequest(group_id="g", member_id="m")
    frame = encode_request(ApiKey.HEARTBEAT, 4, 7, "me", request)
    assert frame == b"\0\0\0\x17" + b"\0\x0c\0\x04\0\0\0\x07\0\x02me\0" + b"\x02g\0\0\0\0\x02m\0\0"
    header, position = RequestHeader.decode(memoryview(frame), 4)
    assert header == RequestHeader(ApiKey.HEARTBEAT, 4, 7, "me")
    assert HeartbeatRequest.decode(frame, 4, position) == request


def test_every_api_and_version() -> None:
    for api in ApiKey:
        for version in range(api.max_version + 1):
            header = RequestHeader(api, version, -5, "" if api.request_header_version(version) == 0 else "client-é")
            encoded = header.encode()
            assert RequestHeader.decode(encoded + b"body") == (header, len(encoded))
            answer = ResponseHeader(-5)
            encoded = answer.encode(api, version)
            assert ResponseHeader.decode(encoded + b"body", api, version) == (answer, len(encoded))


def test_a_null_client_id_is_empty() -> None:
    header, position = RequestHeader.decode(b"\0\x0c\0\x03\0\0\0\x07\xff\xffbody")
    assert (header.client_id, position) == ("", 10)


def test_tagged_fields_of_the_header_are_skipped() -> None:
    encoded = RequestHeader(ApiKey.FETCH, 17, 7, "c").encode()
    assert RequestHeader.decode(encoded[:-1] + b"\x01\x05\x02ab" + b"body")[1] == len(encoded) + 4


def test_a_version_that_does_not_exist_is_still_read() -> None:
    """ApiVersions is answered with an error, whatever the version; so its header must be understood."""
    header, position = RequestHeader.decode(b"\0\x12\0\x63\0\0\0\x07\0\x01c\0body")
    assert (header.api_key, header.api_version, header.client_id, position) == (ApiKey.API_VERSIONS, 99, "c", 12)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\x0c\0\x03\0\0\0",
        b"\0\x0c\0\x03\0\0\0\x07",
        b"\0\x0c\0\x03\0\0\0\x07\0\x05abc",
        b"\0\x0c\0\x04\0\0\0\x07\0\x01a",
        b"\0\x0c\0\x04\0\0\0\x07\0\x01a\x01\x00\x09",
        b"\0\x07\0\0\0\0\0",
        b"\0\x37\0\0\0\0\0\x07\0\0",
        b"\xff\xff\0\0\0\0\0\x07\0\0",
    ],
)
def test_no_header(data: bytes) -> None:
    with pytest.raises(SchemaError):
        RequestHeader.decode(data)


def test_no_response_header() -> None:
    for data in (b"", b"\0\0\0\x07", b"\0\0\0\x07\x01\x00\x09"):
        with pytest.raises(SchemaError):
            ResponseHeader.decode(data, ApiKey.FETCH, 12)


def test_response_frames() -> None:
    response = HeartbeatResponse(error_code=5)
    assert encode_response(ApiKey.HEARTBEAT, 0, 7, response) == b"\0\0\0\x06\0\0\0\x07\0\x05"
    assert encode_response(ApiKey.HEARTBEAT, 4, 7, response) == b"\0\0\0\x0c\0\0\0\x07\0\0\0\0\0\0\x05\0"
    frame = encode_response(ApiKey.API_VERSIONS, 3, 7, ApiVersionsResponse())
    assert ResponseHeader.decode(frame, ApiKey.API_VERSIONS, 3, 4) == (ResponseHeader(7), 8)
    assert ApiVersionsResponse.decode_from(frame, 3, 8) == (ApiVersionsResponse(), len(frame))


@pytest.mark.parametrize("version", [11, 12])
def test_a_response_in_pieces(version: int) -> None:
    large = bytes(10_000)
    response = FetchResponse(
        responses=[
            FetchResponse.FetchableTopicResponse("t", partitions=[FetchResponse.PartitionData(records=large)] * 2)
        ]
    )
    parts = ApiCodec(ApiKey.FETCH, version).encode(7, response)
    assert [part is large for part in parts] == [False, True, False, True, False]
    assert b"".join(parts) == encode_response(ApiKey.FETCH, version, 7, response)
    assert struct.unpack_from(">i", parts[0])[0] == sum(map(len, parts)) - 4


def test_sizes_count_pieces_that_are_no_bytes() -> None:
    class LogSlice:
        def __len__(self) -> int:
            return 1000

    partition = FetchResponse.PartitionData(records=LogSlice())
    response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse("t", partitions=[partition])])
    parts = ApiCodec(ApiKey.FETCH, 12).encode(7, response)
    assert struct.unpack_from(">i", parts[0])[0] == sum(map(len, parts)) - 4


def test_frames_name_the_request_they_cannot_hold() -> None:
    with pytest.raises(SchemaError, match="FetchRequest version 12: max_wait_ms"):
        encode_request(ApiKey.FETCH, 12, 1, "c", FetchRequest(max_wait_ms=1 << 40))


def test_an_answer_of_very_many_parts() -> None:
    groups = [DescribeGroupsResponse.DescribedGroup(group_id=f"g{n}", error_code=n % 50) for n in range(20_000)]
    response = DescribeGroupsResponse(groups=groups)
    pieces = ApiCodec(ApiKey.DESCRIBE_GROUPS, 0).encode(7, response)
    body = response.encode(0)
    assert len(pieces) > 2, "nothing of it is copied once more"
    assert b"".join(pieces) == struct.pack(">ii", 4 + len(body), 7) + body
