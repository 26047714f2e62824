from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.clients.frames import FrameReader
from kafkapy.protocol.errors import KafkaError


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=40), max_size=6), st.lists(st.integers(1, 30), max_size=20))
def test_frames_come_out_however_the_bytes_are_cut(bodies: list[bytes], cuts: list[int]) -> None:
    stream = framed(*bodies)
    reader = FrameReader()
    frames = []
    for size in [*cuts, len(stream)]:
        frames += reader.feed(stream[:size])
        stream = stream[size:]
    assert [bytes(frame) for frame in frames] == bodies


def test_one_byte_at_a_time() -> None:
    reader = FrameReader()
    frames = [frame for byte in framed(b"abc", b"", b"d") for frame in reader.feed(bytes([byte]))]
    assert [bytes(frame) for frame in frames] == [b"abc", b"", b"d"]


def test_a_frame_in_one_piece_is_not_copied() -> None:
    data = framed(b"abc")
    assert FrameReader().feed(data)[0].obj is data


@pytest.mark.parametrize("length", [-1, 101, 0x48545450])
@pytest.mark.parametrize("cut", [4, 2])
def test_impossible_length_is_refused_before_anything_is_kept(length: int, cut: int) -> None:
    reader = FrameReader(max_frame_bytes=100)
    head = struct.pack(">i", length)
    with pytest.raises(KafkaError, match=f"announced a response of {length} bytes; at most 100"):
        for piece in (head[:cut], head[cut:] + b"x"):
            reader.feed(piece)


def test_memory_grows_with_the_bytes_that_came() -> None:
    reader = FrameReader()
    reader.feed(struct.pack(">i", 1 << 29) + b"abc")
    assert len(reader._buffer) == 7
