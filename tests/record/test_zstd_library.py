"""The two libraries for Zstandard do the same."""

from __future__ import annotations

import os

import pytest

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record import zstd_frame
from kafkapy.record.compression import CompressionType, compress, decompress
from kafkapy.record.zstd_library import FastZstd, StandardZstd, ZstdLibrary

LIBRARIES: list[ZstdLibrary] = [FastZstd(), StandardZstd()]
DATA = {"nothing": b"", "equal bytes": b"x" * 300_000, "noise": os.urandom(1000)}


def frame_of(library: ZstdLibrary, level: int, data: bytes) -> bytes:
    stream, flush_block = library.compressor(level)
    frame: bytes = stream.compress(data) + stream.flush(flush_block) + stream.flush()
    return frame


@pytest.mark.parametrize("level", [-5, 1, 3, 22])
@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_the_same_bytes_both_ways(level: int, data: bytes) -> None:
    frame, other = (frame_of(library, level, data) for library in LIBRARIES)
    assert frame == other
    for library in LIBRARIES:
        assert library.decompress(memoryview(frame), 1 << 20) == data
        assert b"".join(library.pieces(frame)) == data


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: type(library).__name__)
class TestFrames:
    @pytest.fixture(autouse=True)
    def chosen(self, library: ZstdLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(zstd_frame, "_library", lambda: library)

    def test_large(self) -> None:
        data = os.urandom(1 << 10) * (6 << 10)
        packed = compress(CompressionType.ZSTD, data)
        assert decompress(CompressionType.ZSTD, packed, len(data)) == data

    def test_skippable_and_several_frames(self) -> None:
        skippable = bytes.fromhex("502a4d18") + b"\4\0\0\0abcd"
        packed = compress(CompressionType.ZSTD, b"a")
        assert decompress(CompressionType.ZSTD, packed + skippable + packed, 10) == b"aa"

    @pytest.mark.parametrize("damage", [slice(5, 9), slice(-8, -4)])
    def test_damaged(self, damage: slice) -> None:
        packed = bytearray(compress(CompressionType.ZSTD, b"hello" + os.urandom(200)))
        packed[damage] = b"\xff\xff\xff\xff"
        with pytest.raises(KafkaError) as caught:
            decompress(CompressionType.ZSTD, bytes(packed[:-9]), 1 << 20)
        assert caught.value.error is Errors.UNKNOWN_SERVER_ERROR

    def test_bombs_are_stopped_at_the_limit(self) -> None:
        with pytest.raises(KafkaError) as caught:
            decompress(CompressionType.ZSTD, compress(CompressionType.ZSTD, bytes(20_000_000)), 1_000_000)
        assert caught.value.error is Errors.MESSAGE_TOO_LARGE
