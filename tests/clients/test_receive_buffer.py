from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.clients.frames import BulkBuffer, ReceiveBuffer
from kafkapy.protocol.errors import KafkaError


def receive(data: bytes, pieces: list[int], scratch_size: int) -> list[tuple[bytes, bool]]:
    """What comes out when the kernel gives the bytes in pieces of these sizes."""
    buffer = ReceiveBuffer(memoryview(bytearray(scratch_size)), 1 << 24)
    frames = []
    sizes = iter(pieces)
    while data:
        room = buffer.buffer()
        assert len(room) > 0
        count = min(len(room), len(data), next(sizes, 1 << 20))
        room[:count] = data[:count]
        data = data[count:]
        frames += [(bytes(frame), owned) for frame, owned in buffer.received(count)]
    return frames


@settings(max_examples=60)
@given(
    frames=st.lists(st.binary(max_size=300), max_size=12),
    pieces=st.lists(st.integers(1, 400), max_size=40),
    scratch=st.integers(8, 500),
)
def test_frames_come_out_whole_however_they_come_in(frames: list[bytes], pieces: list[int], scratch: int) -> None:
    data = b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)
    assert [frame for frame, _ in receive(data, pieces, scratch)] == frames


def test_a_large_frame_has_memory_of_its_own() -> None:
    large = bytes(5000)
    data = struct.pack(">i", 3) + b"abc" + struct.pack(">i", len(large)) + large
    assert receive(data, [], 100) == [(b"abc", False), (large, True)]


def test_memory_grows_with_what_has_come() -> None:
    buffer = ReceiveBuffer(memoryview(bytearray(100)), 1 << 30)
    buffer.buffer()[:4] = struct.pack(">i", 1 << 29)
    assert list(buffer.received(4)) == []
    assert len(buffer.buffer()) <= 1 << 21


def test_memory_of_large_frames_is_used_again_once_nobody_looks_into_it() -> None:
    buffer = ReceiveBuffer(memoryview(bytearray(100)), 1 << 30)

    def large(byte: int) -> memoryview:
        data = struct.pack(">i", 1 << 20) + bytes([byte]) * (1 << 20)
        frames: list[memoryview] = []
        while data:
            room = buffer.buffer()
            count = min(len(room), len(data))
            room[:count] = data[:count]
            data = data[count:]
            frames += [frame for frame, _ in buffer.received(count)]
        return frames[0]

    held = [large(byte)[10:] for byte in range(5)]
    assert [set(view) for view in held] == [{byte} for byte in range(5)]
    free = id(held[4].obj)
    del held[4]
    assert id(large(5).obj) == free
    assert [set(view) for view in held] == [{byte} for byte in range(4)]


@pytest.mark.parametrize("length", [-1, 1001])
def test_lengths_that_cannot_be(length: int) -> None:
    buffer = ReceiveBuffer(memoryview(bytearray(100)), 1000)
    buffer.buffer()[:4] = struct.pack(">i", length)
    with pytest.raises(KafkaError, match="announced a response"):
        list(buffer.received(4))
    slow = ReceiveBuffer(memoryview(bytearray(2)), 1000)
    slow.buffer()[:2] = struct.pack(">i", length)[:2]
    assert list(slow.received(2)) == []
    slow.buffer()[:2] = struct.pack(">i", length)[2:]
    with pytest.raises(KafkaError, match="announced a response"):
        list(slow.received(2))
        slow.buffer()


@settings(max_examples=60)
@given(frames=st.lists(st.binary(max_size=300), max_size=8), pieces=st.lists(st.integers(1, 400), max_size=40))
def test_bulk_frames_are_received_where_the_one_before_was(frames: list[bytes], pieces: list[int]) -> None:
    buffer = BulkBuffer(1 << 24)
    buffer._buffer = bytearray(64)
    sizes = iter(pieces)
    for frame in frames:
        data = struct.pack(">i", len(frame)) + frame
        found: list[bytes] = []
        while data:
            assert not found
            room = buffer.buffer()
            assert len(room) > 0
            count = min(len(room), len(data), next(sizes, 1 << 20))
            room[:count] = data[:count]
            data = data[count:]
            found += [bytes(piece) for piece, owned in buffer.received(count) if owned]
        assert found == [frame]
    assert len(buffer._buffer) <= 1 << 10


def test_bulk_memory_takes_one_frame_at_a_time_and_believes_no_length() -> None:
    buffer = BulkBuffer(1000)
    buffer.buffer()[:9] = struct.pack(">i", 4) + b"abcdX"
    with pytest.raises(KafkaError, match="more than was asked for"):
        buffer.received(9)
    greedy = BulkBuffer(1000)
    greedy.buffer()[:4] = struct.pack(">i", 1001)
    with pytest.raises(KafkaError, match="announced a response"):
        greedy.received(4)
