"""The codecs: what they write, what they refuse, and that they stay within limits."""

from __future__ import annotations

import gzip
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record import lz4_frame, snappy_stream
from kafkapy.record.compression import CompressionType, compress, decompress, decompress_chunks, decompress_small

CODECS = [CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4, CompressionType.ZSTD]
HELLO = b"hello hello hello hello"
# What the Java client 3.9.1 makes of it.
JAVA = {
    CompressionType.GZIP: "1f8b08000000000000ffcb48cdc9c957c8402701e3513d8d17000000",
    CompressionType.SNAPPY: "82534e415050590000000001000000010000000b171468656c6c6f20420600",
    CompressionType.LZ4: "04224d186040820f0000006868656c6c6f2006005068656c6c6f00000000",
    CompressionType.ZSTD: "28b52ffd00586400003068656c6c6f200100994b11010000",
}


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_of_the_java_client(codec: CompressionType) -> None:
    assert compress(codec, HELLO).hex() == JAVA[codec]
    assert decompress(codec, bytes.fromhex(JAVA[codec]), 100) == HELLO


def test_lz4_of_format_v0_has_the_wrong_header_checksum() -> None:
    data = compress(CompressionType.LZ4, HELLO, magic=0)
    assert data.hex() == JAVA[CompressionType.LZ4].replace("604082", "60401a")
    assert decompress(CompressionType.LZ4, data, 100, magic=0) == HELLO
    with pytest.raises(KafkaError):
        decompress(CompressionType.LZ4, data, 100)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([*CODECS, CompressionType.NONE]), st.binary(max_size=300), st.sampled_from([0, 1, 700, 3000]))
def test_round_trip(codec: CompressionType, data: bytes, times: int) -> None:
    data *= times
    packed = compress(codec, data)
    assert decompress(codec, packed, len(data)) == data
    assert b"".join(decompress_chunks(codec, packed)) == data


@pytest.mark.parametrize(
    ("codec", "level"), [(CompressionType.GZIP, 1), (CompressionType.LZ4, 17), (CompressionType.ZSTD, 19)]
)
def test_levels(codec: CompressionType, level: int) -> None:
    data = bytes(i * i // 7 % 251 for i in range(100_000))
    packed = compress(codec, data, level)
    assert packed != compress(codec, data)
    assert decompress(codec, packed, len(data)) == data


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(CODECS), st.data())
def test_damaged_data_is_refused_or_read_but_nothing_else(codec: CompressionType, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, HELLO * 50))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    del packed[data.draw(st.integers(0, len(packed))) :]
    try:
        decompress(codec, packed, 1 << 20)
    except KafkaError as error:
        assert error.error in (Errors.UNKNOWN_SERVER_ERROR, Errors.MESSAGE_TOO_LARGE)


@pytest.mark.parametrize("codec", CODECS)
def test_truncated_data_is_refused(codec: CompressionType) -> None:
    packed = compress(codec, bytes(range(256)) * 100)
    for cut in (0, 1, 5, len(packed) // 2, len(packed) - 1):
        if codec is CompressionType.SNAPPY and cut == 0:
            continue
        with pytest.raises(KafkaError) as caught:
            decompress(codec, packed[:cut], 1 << 20)
        assert caught.value.error is Errors.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize("codec", CODECS)
def test_bombs_are_stopped_at_the_limit(codec: CompressionType) -> None:
    packed = compress(codec, bytes(20_000_000))
    with pytest.raises(KafkaError) as caught:
        decompress(codec, packed, 1_000_000)
    assert caught.value.error is Errors.MESSAGE_TOO_LARGE
    assert all(len(chunk) <= 4 << 20 for chunk in itertools.islice(decompress_chunks(codec, packed), 5))


def test_announced_sizes_are_not_believed() -> None:
    snappy_of_4_gigabytes = b"\xff\xff\xff\xff\x0f" + b"\x00a" * 10
    zstd_of_an_exabyte = b"\x28\xb5\x2f\xfd\xe0" + (1 << 60).to_bytes(8, "little") + b"\x01\x00\x00"
    for codec, data in (
        (CompressionType.SNAPPY, snappy_of_4_gigabytes),
        (CompressionType.ZSTD, zstd_of_an_exabyte),
    ):
        with pytest.raises(KafkaError) as caught:
            decompress(codec, data, 1 << 20)
        assert caught.value.error is Errors.UNKNOWN_SERVER_ERROR


def test_snappy_without_framing_and_concatenated() -> None:
    import snappy

    assert decompress(CompressionType.SNAPPY, snappy.compress(HELLO), 100) == HELLO
    twice = compress(CompressionType.SNAPPY, HELLO) * 2
    assert decompress(CompressionType.SNAPPY, twice, 100) == HELLO * 2


def test_snappy_stream_in_blocks_of_32_kilobytes() -> None:
    data = bytes(range(256)) * 300
    assert [len(block) for block in snappy_stream.blocks(compress(CompressionType.SNAPPY, data), 1 << 20)] == [
        32768,
        32768,
        11264,
    ]


def test_gzip_members_and_garbage_behind_them() -> None:
    members = gzip.compress(b"a") + gzip.compress(b"b")
    assert decompress(CompressionType.GZIP, members, 10) == b"ab"
    assert decompress(CompressionType.GZIP, members + b"garbage", 10) == b"ab"


@pytest.mark.parametrize("data", [HELLO, b"x" * (1 << 16), bytes(range(256)) * 16], ids=["small", "64 KB", "stored"])
def test_the_usual_lz4_frame_is_decompressed_at_once(data: bytes) -> None:
    frame = compress(CompressionType.LZ4, data)
    assert decompress_small(CompressionType.LZ4, memoryview(frame)) == data
    assert decompress_small(CompressionType.LZ4, memoryview(frame + b"more")) == data


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != CompressionType.LZ4])
def test_no_other_codec_tells_at_once_how_much_there_is(codec: CompressionType) -> None:
    assert decompress_small(codec, memoryview(compress(codec, HELLO))) is None


def test_several_lz4_blocks_are_not_small() -> None:
    frame = compress(CompressionType.LZ4, b"x" * ((1 << 16) + 1))
    assert decompress_small(CompressionType.LZ4, memoryview(frame)) is None


@given(st.binary(max_size=60) | st.just(b"ab" * 3000), st.data())
@settings(max_examples=300, deadline=None)
def test_what_is_decompressed_at_once_is_what_the_frame_holds(content: bytes, data: st.DataObject) -> None:
    frame = bytearray(compress(CompressionType.LZ4, content))
    if data.draw(st.booleans()):
        del frame[data.draw(st.integers(0, len(frame))) :]
    if frame and data.draw(st.booleans()):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    frame += data.draw(st.binary(max_size=3))
    found = decompress_small(CompressionType.LZ4, memoryview(frame))
    if found is not None:
        assert found == decompress(CompressionType.LZ4, frame, 1 << 20)


def test_lz4_frames_of_other_clients() -> None:
    import lz4.frame

    data = bytes(i % 251 for i in range(300_000))
    for options in (
        {"content_checksum": True},
        {"store_size": True, "block_size": lz4.frame.BLOCKSIZE_MAX4MB},
        {"block_checksum": True, "block_size": lz4.frame.BLOCKSIZE_MAX256KB},
        {"compression_level": 9},
    ):
        frame = lz4.frame.compress(data, block_linked=False, **options)
        assert decompress(CompressionType.LZ4, frame, len(data)) == data
    with pytest.raises(KafkaError):
        decompress(CompressionType.LZ4, lz4.frame.compress(data, block_linked=True), len(data))


def test_xxh32() -> None:
    assert lz4_frame.xxh32_short(b"") == 0x02CC5D05
    assert lz4_frame.xxh32_short(b"abc") == 0x32D153FF


def test_names_and_ids() -> None:
    assert [c.text for c in CompressionType] == ["none", "gzip", "snappy", "lz4", "zstd"]
    assert CompressionType.for_name("zstd") is CompressionType.ZSTD
    with pytest.raises(ValueError, match="Unknown compression name: lzo"):
        CompressionType.for_name("lzo")
    with pytest.raises(KafkaError) as caught:
        CompressionType.for_id(5)
    assert caught.value.error is Errors.UNKNOWN_SERVER_ERROR
