"""The codec that a build compiles says what that of the run time says, of any message and of any bytes."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import KafkaError
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.wire import DECODE_ERRORS, SchemaError
from kafkapy.record.file_records import FileRecords
from tests.protocol.hot_codecs import hot, hot_codec, maker, schema_codec

VERSIONS = range(11, 18)

names = st.text("abcxyz.-_é", max_size=8) | st.sampled_from(["", "t" * 126, "t" * 127, "t" * 249, "t" * 300])
ids = st.sampled_from([bytes(16), bytes(range(16))])
int32s = st.integers(-(1 << 31), (1 << 31) - 1) | st.just(-1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1) | st.just(-1)


@st.composite
def requests(draw: st.DrawFn, version: int) -> FetchRequest:
    """One that the version can say."""
    named: dict[str, Any] = {"topic_id": ids} if version >= 13 else {"topic": names}
    partition = st.builds(
        FetchRequest.FetchPartition,
        partition=int32s,
        current_leader_epoch=int32s if version >= 9 else st.just(-1),
        fetch_offset=int64s,
        last_fetched_epoch=int32s if version >= 12 else st.just(-1),
        log_start_offset=int64s if version >= 5 else st.just(-1),
        partition_max_bytes=int32s,
        replica_directory_id=ids if version >= 17 and draw(st.booleans()) else st.just(bytes(16)),
    )
    many = st.sampled_from([1, 3, 200])
    forgotten = st.builds(FetchRequest.ForgottenTopic, partitions=st.lists(int32s, max_size=draw(many)), **named)
    made = FetchRequest(
        max_wait_ms=draw(int32s),
        min_bytes=draw(int32s),
        topics=draw(
            st.lists(
                st.builds(FetchRequest.FetchTopic, partitions=st.lists(partition, max_size=draw(many)), **named),
                max_size=3,
            )
        ),
    )
    if version < 15:
        made.replica_id = draw(int32s)
    elif draw(st.booleans()):
        made.replica_state = FetchRequest.ReplicaState(replica_id=draw(st.integers(0, 9)), replica_epoch=draw(int64s))
    if version >= 3:
        made.max_bytes = draw(int32s)
    if version >= 4:
        made.isolation_level = draw(st.sampled_from([0, 1, -1]))
    if version >= 7:
        made.session_id, made.session_epoch = draw(int32s), draw(int32s)
        made.forgotten_topics_data = draw(st.lists(forgotten, max_size=3))
    if version >= 11:
        made.rack_id = draw(names)
    if version >= 12:
        made.cluster_id = draw(st.none() | st.none() | st.just("c"))
    return made


def outcome(codec: ApiCodec, data: bytes, position: int) -> Any:
    try:
        return codec.decode(memoryview(data), position)
    except SchemaError:
        return "malformed"


@given(st.data(), st.sampled_from(VERSIONS), st.binary(max_size=3))
@settings(max_examples=300, deadline=None)
def test_reads_what_the_schema_reads(data: st.DataObject, version: int, rest: bytes) -> None:
    request = data.draw(requests(version))
    encoded = b"??" + request.encode(version) + rest
    decoded = hot_codec(ApiKey.FETCH, version).decode(memoryview(encoded), 2)
    assert decoded == request == schema_codec(ApiKey.FETCH, version).decode(memoryview(encoded), 2)


@given(st.data(), st.sampled_from(VERSIONS))
@settings(max_examples=300, deadline=None)
def test_refuses_what_the_schema_refuses(data: st.DataObject, version: int) -> None:
    encoded = bytearray(data.draw(requests(version)).encode(version))
    for _ in range(data.draw(st.integers(0, 2))):
        encoded[data.draw(st.integers(0, min(len(encoded), 100) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(encoded[: data.draw(st.integers(0, len(encoded)))]) if data.draw(st.booleans()) else bytes(encoded)
    assert outcome(hot_codec(ApiKey.FETCH, version), cut, 0) == outcome(schema_codec(ApiKey.FETCH, version), cut, 0)


NO_FILE: Any = None


def partition_data(index: int, error_code: int, high_watermark: int, *others: Any) -> FetchResponse.PartitionData:
    last_stable_offset, log_start_offset, preferred_read_replica, records = others
    return FetchResponse.PartitionData(
        index,
        error_code,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        aborted_transactions=None,
        preferred_read_replica=preferred_read_replica,
        records=records,
    )


usual = st.builds(
    partition_data,
    int32s,
    st.sampled_from([0, 1, 6]),
    int64s,
    int64s,
    int64s,
    st.just(-1) | st.just(-1) | st.just(2),
    st.binary(max_size=5)
    | st.sampled_from([b"", b"r" * 126, b"r" * 127, b"r" * 20_000])
    | st.builds(FileRecords, st.just(NO_FILE), st.integers(0, 99), st.integers(0, 1 << 21)),
)
any_data = st.builds(
    FetchResponse.PartitionData,
    partition_index=int32s,
    aborted_transactions=st.none()
    | st.lists(st.builds(FetchResponse.AbortedTransaction, producer_id=int64s, first_offset=int64s), max_size=2),
    diverging_epoch=st.none() | st.builds(FetchResponse.EpochEndOffset, epoch=int32s),
    current_leader=st.none() | st.builds(FetchResponse.LeaderIdAndEpoch, leader_id=int32s),
    snapshot_id=st.none() | st.builds(FetchResponse.SnapshotId, epoch=int32s),
    records=st.none() | st.binary(max_size=5),
)
nodes = st.builds(FetchResponse.NodeEndpoint, node_id=int32s, host=st.just("h"))


def written(codec: ApiCodec, response: FetchResponse) -> Any:
    """Bytes, and what is sent from files between them."""
    try:
        pieces = codec.encode(5, response)
    except KafkaError as error:
        return error.error
    whole: list[Any] = [b""]
    for piece in pieces:
        if isinstance(piece, FileRecords):
            whole += [piece, b""]
        else:
            whole[-1] += piece
    return whole


@given(st.data(), st.sampled_from(VERSIONS))
@settings(max_examples=300, deadline=None)
def test_writes_what_the_schema_writes(data: st.DataObject, version: int) -> None:
    topics = []
    for _ in range(data.draw(st.integers(0, 3))):
        answers = data.draw(st.lists(usual | usual | usual | any_data, max_size=data.draw(st.sampled_from([3, 200]))))
        topics.append(FetchResponse.FetchableTopicResponse(data.draw(names), data.draw(ids), answers))
    response = FetchResponse(session_id=data.draw(int32s), responses=topics)
    response.throttle_time_ms = data.draw(int32s)
    response.error_code = data.draw(st.sampled_from([0, 70]))
    response.node_endpoints = data.draw(st.just([]) | st.just([]) | st.lists(nodes, max_size=1))
    assert written(hot_codec(ApiKey.FETCH, version), response) == written(schema_codec(ApiKey.FETCH, version), response)
    read_as_the_schema_does(response, version)


def read_as_the_schema_does(response: FetchResponse, version: int) -> None:
    """The client's side."""
    for topic in response.responses:
        for answer in topic.partitions:
            answer.records = b"r" * len(answer.records or b"")
    try:
        encoded = response.encode(version)
    except KafkaError:
        return
    decoded = FetchResponse.decode(encoded, version)
    try:
        assert hot(FetchResponse, "decode", version)(memoryview(encoded), 0) == (decoded, len(encoded))
    except DECODE_ERRORS:
        assert any(len(topic.topic) > 240 for topic in response.responses)


@given(st.data(), st.sampled_from(VERSIONS))
@settings(max_examples=100, deadline=None)
def test_asks_what_the_schema_asks(data: st.DataObject, version: int) -> None:
    request = data.draw(requests(version))
    parts: list[Any] = []
    hot(FetchRequest, "encode", version)(request, parts, [])
    assert b"".join(parts) == request.encode(version)


def test_makers_are_constructors() -> None:
    values = (1, 2, 3, 4, 5, None, None, None, None, 6, b"r")
    assert maker(FetchResponse.PartitionData)(*values) == FetchResponse.PartitionData(*values)
    assert FetchResponse.PartitionData.maker(*values) == FetchResponse.PartitionData(*values)
    for struct in (*FetchRequest.structs(), *FetchResponse.structs()):
        assert maker(struct)() == struct() == struct.maker()
