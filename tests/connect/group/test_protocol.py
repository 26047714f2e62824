from __future__ import annotations

import pytest

from kafkapy.connect.group.assignment import ConnectAssignment, ConnectProtocol, WorkerState
from kafkapy.connect.group.protocol import (
    ConnectProtocolError,
    decode_assignment,
    decode_metadata,
    encode_assignment,
    encode_metadata,
    metadata_of,
)
from kafkapy.connect.storage import ConnectorTaskId

ASSIGNMENT = ConnectAssignment(
    2, 0, "m", "http://a:1", 5, ("c",), (ConnectorTaskId("c", 0), ConnectorTaskId("c", 1)), ("d",), (), 300
)


def test_an_assignment_has_kafkas_bytes() -> None:
    common = "000000016d000a687474703a2f2f613a310000000000000005"
    assigned = "0000000100016300000003ffffffff0000000000000001"
    revoked = "0000000100016400000001ffffffff"
    assert encode_assignment(ASSIGNMENT, 0).hex() == "0000" + common + assigned
    assert encode_assignment(ASSIGNMENT, 2).hex() == "0002" + common + assigned + revoked + "0000012c"


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_written_is_read_back(version: int) -> None:
    state = WorkerState("http://b:2", 9, ASSIGNMENT)
    read = decode_metadata(encode_metadata(state, version))
    assert (read.url, read.offset) == ("http://b:2", 9)
    assert read.assignment is not None and read.assignment.tasks == ASSIGNMENT.tasks
    assert decode_metadata(encode_metadata(WorkerState("u", 1), version)).assignment is None


def test_an_eager_assignment_lacks_what_came_later() -> None:
    read = decode_assignment(encode_assignment(ASSIGNMENT, 0))
    assert read.connectors == ("c",) and read.revoked_connectors == () and read.delay == 0


def test_the_newest_protocol_is_offered_first() -> None:
    state = WorkerState("u", 1)
    assert [name for name, _ in metadata_of(state, ConnectProtocol.SESSIONED)] == ["sessioned", "compatible", "default"]
    assert [name for name, _ in metadata_of(state, ConnectProtocol.COMPATIBLE)] == ["compatible", "default"]
    assert [name for name, _ in metadata_of(state, ConnectProtocol.EAGER)] == ["default"]


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xff", b"\x00\x00\x7f\xff", encode_metadata(WorkerState("u", 1, ASSIGNMENT), 1)[:-1], b"\0\0\0\1\xff"],
)
def test_broken_metadata_is_refused(data: bytes) -> None:
    with pytest.raises(ConnectProtocolError):
        decode_metadata(data)


def test_an_announced_length_takes_no_memory() -> None:
    head = encode_assignment(ConnectAssignment(leader="m", leader_url="u", connectors=("c",)), 1)
    assert head.endswith(b"\0\0\0\0" * 2)
    huge = head[:-16] + b"\x7f\xff\xff\xff"
    with pytest.raises(ConnectProtocolError):
        decode_assignment(huge)
