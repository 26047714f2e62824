"""The codec that a build compiles says what that of the run time says, of any message and of any bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.protocol.api_codecs import ApiCodecs, NotServedError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.messages.produce import ProduceRequest, ProduceResponse
from kafkapy.protocol.wire import SchemaError
from tests.protocol.hot_codecs import hot, hot_codec, maker, schema_codec

VERSIONS = range(7, 12)

names = st.text("abcxyz.-_é", max_size=8) | st.sampled_from(["", "t" * 125, "t" * 126, "t" * 127, "t" * 249, "t" * 300])
record_sets = st.none() | st.binary(max_size=20) | st.integers(0, 40_000).map(bytes)


@st.composite
def requests(draw: st.DrawFn) -> ProduceRequest:
    partition = st.builds(ProduceRequest.PartitionProduceData, index=st.integers(-1, 1 << 30), records=record_sets)
    topic = st.builds(
        ProduceRequest.TopicProduceData,
        name=names,
        partition_data=st.lists(partition, max_size=draw(st.sampled_from([1, 3, 200]))),
    )
    return ProduceRequest(
        transactional_id=draw(st.none() | st.none() | st.just("me")),
        acks=draw(st.sampled_from([-1, 0, 1, 7])),
        timeout_ms=draw(st.integers(-(1 << 31), (1 << 31) - 1)),
        topic_data=draw(st.lists(topic, max_size=3)),
    )


def outcome(codec: ApiCodec, data: bytes, position: int) -> Any:
    try:
        return codec.decode(memoryview(data), position)
    except SchemaError:
        return "malformed"


@given(requests(), st.sampled_from(VERSIONS), st.binary(max_size=3))
@settings(max_examples=300, deadline=None)
def test_reads_what_the_schema_reads(request: ProduceRequest, version: int, rest: bytes) -> None:
    data = b"??" + request.encode(version) + rest
    decoded = hot_codec(ApiKey.PRODUCE, version).decode(memoryview(data), 2)
    assert decoded == request == schema_codec(ApiKey.PRODUCE, version).decode(memoryview(data), 2)


@given(requests(), st.sampled_from(VERSIONS), st.data())
@settings(max_examples=300, deadline=None)
def test_refuses_what_the_schema_refuses(request: ProduceRequest, version: int, data: st.DataObject) -> None:
    encoded = bytearray(request.encode(version))
    for _ in range(data.draw(st.integers(0, 2))):
        encoded[data.draw(st.integers(0, min(len(encoded), 60) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(encoded[: data.draw(st.integers(0, len(encoded)))]) if data.draw(st.booleans()) else bytes(encoded)
    assert outcome(hot_codec(ApiKey.PRODUCE, version), cut, 0) == outcome(schema_codec(ApiKey.PRODUCE, version), cut, 0)


answers = st.builds(
    ProduceResponse.PartitionProduceResponse,
    st.integers(0, 1 << 30),
    st.just(0),
    st.integers(-1, 1 << 40),
    st.integers(-1, 1 << 40),
    st.integers(-1, 1 << 40),
)
errors = st.builds(
    ProduceResponse.PartitionProduceResponse,
    index=st.integers(0, 9),
    error_code=st.sampled_from([0, 3, 6]),
    error_message=st.none() | st.text(max_size=3),
    record_errors=st.lists(
        st.builds(ProduceResponse.BatchIndexAndErrorMessage, batch_index=st.integers(0, 9)), max_size=1
    ),
    current_leader=st.none() | st.builds(ProduceResponse.LeaderIdAndEpoch, leader_id=st.integers(0, 9)),
)


@given(
    st.lists(
        st.builds(
            ProduceResponse.TopicProduceResponse, names, st.lists(answers | answers | answers | errors, max_size=200)
        ),
        max_size=3,
    ),
    st.integers(0, 1 << 30),
    st.sampled_from(VERSIONS),
)
@settings(max_examples=300, deadline=None)
def test_writes_what_the_schema_writes(
    topics: list[ProduceResponse.TopicProduceResponse], throttle_time_ms: int, version: int
) -> None:
    response = ProduceResponse(topics)
    response.throttle_time_ms = throttle_time_ms
    for topic in topics:
        for answer in topic.partition_responses:
            if version < 10:
                answer.current_leader = None
    written = b"".join(hot_codec(ApiKey.PRODUCE, version).encode(5, response))
    assert written == b"".join(schema_codec(ApiKey.PRODUCE, version).encode(5, response))
    encoded = response.encode(version)
    decoded, end = hot(ProduceResponse, "decode", version)(memoryview(encoded), 0)
    assert (decoded, end) == (ProduceResponse.decode(encoded, version), len(encoded))


def test_nodes_are_written() -> None:
    response = ProduceResponse([])
    response.node_endpoints = [ProduceResponse.NodeEndpoint(node_id=1, host="h", port=2)]
    assert hot_codec(ApiKey.PRODUCE, 10).encode(5, response) == schema_codec(ApiKey.PRODUCE, 10).encode(5, response)


@given(requests(), st.sampled_from(VERSIONS))
@settings(max_examples=100, deadline=None)
def test_asks_what_the_schema_asks(request: ProduceRequest, version: int) -> None:
    parts: list[Any] = []
    hot(ProduceRequest, "encode", version)(request, parts, [])
    assert b"".join(parts) == request.encode(version)


def test_makers_are_constructors() -> None:
    for struct in (*ProduceRequest.structs(), *ProduceResponse.structs()):
        assert maker(struct)() == struct() == struct.maker()


def test_codecs_of_what_is_served() -> None:
    codecs = ApiCodecs([ApiKey.PRODUCE, ApiKey.API_VERSIONS, ApiKey.FETCH, ApiKey.LIST_OFFSETS])
    assert codecs.find(0, 11) is codecs.find(0, 11)
    assert [codecs.find(key, 6).api_key for key in (0, 1, 2)] == [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS]
    assert codecs.find(ApiKey.API_VERSIONS, 99).decode(memoryview(b"?"), 0) is None
    with pytest.raises(NotServedError, match="PRODUCE was asked for in version 12, which is not supported"):
        codecs.find(0, 12)
    with pytest.raises(NotServedError, match="request with api key METADATA, which is not served"):
        codecs.find(3, 1)
