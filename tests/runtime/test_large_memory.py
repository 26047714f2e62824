"""Large memory of single requests."""

from __future__ import annotations

from mmap import PAGESIZE
from pathlib import Path

import pytest

from kafkapy.runtime import large_memory
from kafkapy.runtime.large_memory import LargeBytes

MB = 1 << 20


def resident() -> int:
    """Bytes of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGESIZE


def test_memory_comes_as_it_is_written_to_and_goes() -> None:
    before = resident()
    view = large_memory.allocate(64 * MB + 5)
    assert len(view) == 64 * MB + 5
    assert resident() - before < 8 * MB
    view[: 32 * MB] = b"x" * (32 * MB)
    view[-1] = 7
    assert resident() - before > 24 * MB
    parts = [view[:MB], view[MB:]]
    large_memory.release(parts)
    assert parts == []
    assert resident() - before < 16 * MB, "whatever still refers to it"
    assert (view[0], view[-1]) == (0, 0)


def test_other_memory_is_only_let_go() -> None:
    content = bytearray(b"content")
    views = [memoryview(content), memoryview(b"constant")]
    large_memory.release(views)
    assert views == []
    content.append(0)  # nobody holds it
    assert content == b"content\0"


@pytest.mark.parametrize("expected", [1000, 3])
def test_bytes_in_pieces(expected: int) -> None:
    data = LargeBytes(expected)
    assert (len(data), bytes(data.view())) == (0, b"")
    for piece in (b"ab", bytearray(b"cd"), memoryview(b"e"), b"", b"f" * 50):
        data.extend(piece)
    assert len(data) == 55
    view = data.view()
    view[0] = ord("x")
    assert bytes(view) == b"xbcde" + b"f" * 50


def test_what_is_there_does_not_move_while_no_more_comes_than_was_expected() -> None:
    data = LargeBytes(3 * MB)
    data.extend(b"a" * MB)
    first = data.view()
    data.extend(b"b" * MB)
    data.view()[0] = 0
    assert first[0] == 0
