"""What a server reads and writes in passing, and what it reads and writes in a thread, are the same."""

from __future__ import annotations

from types import FunctionType

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkapy.protocol.wire import SchemaError


def request(partitions: int) -> ListOffsetsRequest:
    wanted = [ListOffsetsRequest.ListOffsetsPartition(partition_index=p, timestamp=-1) for p in range(partitions)]
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=wanted)])


def response(partitions: int) -> ListOffsetsResponse:
    found = [ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=p, offset=p) for p in range(partitions)]
    return ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=found)])


@pytest.mark.parametrize("version", [1, 7, 8])
@pytest.mark.parametrize("partitions", [0, 1, 5000, 60_000])
def test_large_messages_are_read_and_written_as_small_ones_are(version: int, partitions: int) -> None:
    codec = ApiCodec(ApiKey.LIST_OFFSETS, version)
    encoded = request(partitions).encode(version)
    assert codec.decode_in_thread(b"head" + encoded, 4) == codec.decode(b"head" + encoded, 4) == request(partitions)
    written = b"".join(codec.encode(7, response(partitions)))
    assert b"".join(codec.encode_in_thread(7, response(partitions))) == written
    header = 9 if ApiKey.LIST_OFFSETS.flexible(version) else 8
    assert written[4:8] == (7).to_bytes(4)
    assert int.from_bytes(written[:4]) == len(written) - 4
    assert ListOffsetsResponse.decode(written, version, header) == response(partitions)


def test_bytes_that_are_no_message() -> None:
    codec = ApiCodec(ApiKey.LIST_OFFSETS, 7)
    for cut in (1, 40, 39_000):
        with pytest.raises(SchemaError):
            codec.decode_in_thread(request(5000).encode(7)[:-cut], 0)
    assert ApiCodec(ApiKey.LIST_OFFSETS, 99).decode_in_thread(b"", 0) is None


def test_what_a_thread_runs_is_plain_python() -> None:
    """Machine code does not let other threads have the interpreter."""
    assert isinstance(ListOffsetsRequest.plain_decoder(7), FunctionType)
    assert isinstance(ListOffsetsResponse.plain_encoder(7), FunctionType)
