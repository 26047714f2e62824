"""Keys, values and headers cut out of the bytes that they lie in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from librt.strings import read_i64_le

if TYPE_CHECKING:
    from mypy_extensions import i64

Header = tuple[str, bytes | None]


def cut(content: bytes, starts: list[int], lengths: list[int]) -> list[bytes | None]:
    """Pieces of these lengths; None for those of length -1."""
    return [content[start : start + size] if size >= 0 else None for start, size in zip(starts, lengths, strict=False)]


def cut_headers(content: bytes, rows: bytes, first: int, counts: list[int]) -> tuple[list[list[Header]], list[int]]:
    """Of records that have so many headers each: the headers, and the bytes of their keys and values, -1 for none.

    `rows`: as of a `RecordTable`; `first`: the row of the first header.
    """
    names: dict[bytes, str] = {}  # they repeat: one string for all that are alike
    found: list[list[Header]] = []
    sizes: list[int] = []
    at: i64 = first << 4
    for count in counts:
        headers: list[Header] = []
        size: i64 = 0 if count else -1
        for _ in range(count):
            place = read_i64_le(rows, at)
            start = place & 0xFFFFFFFF
            length = place >> 32
            raw = content[start : start + length]
            size += length
            name = names.get(raw)
            if name is None:
                name = raw.decode("utf-8", "replace")
                names[raw] = name
            place = read_i64_le(rows, at + 8)
            length = place >> 32
            at += 16
            if length < 0:
                headers.append((name, None))
            else:
                start = place & 0xFFFFFFFF
                headers.append((name, content[start : start + length]))
                size += length
        found.append(headers)
        sizes.append(size)
    return found, sizes
