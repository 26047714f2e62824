"""Cuts keys, values and headers out of a buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from librt.strings import read_i64_le

if TYPE_CHECKING:
    from mypy_extensions import i64

Header = tuple[str, bytes | None]


def cut(content: bytes, starts: list[int], lengths: list[int]) -> list[bytes | None]:
    """Return pieces with these starts and lengths; None for length -1."""
    return [content[start : start + size] if size >= 0 else None for start, size in zip(starts, lengths, strict=False)]


def cut_headers(content: bytes, rows: bytes, first: int, counts: list[int]) -> tuple[list[list[Header]], list[int]]:
    """Return the headers of records with these header counts, and the bytes of their keys and values, -1 for none.

    `rows`: as of a `RecordTable`; `first`: the row of the first header.
    """
    names: dict[bytes, str] = {}  # names repeat: equal ones share a string
    last: list[str] = []
    last_places: list[int] = []
    """The last name at each position in a record, which usually repeats, and its place in the buffer."""
    found: list[list[Header]] = []
    sizes: list[int] = []
    at: i64 = first << 4
    for count in counts:
        headers: list[Header] = []
        size: i64 = 0 if count else -1
        for i in range(count):
            place = read_i64_le(rows, at)
            if i < len(last) and _are_alike(content, place, last_places[i]):
                name = last[i]
            else:
                name = _name(names, content, place)
                if i == len(last):
                    last.append(name)
                    last_places.append(place)
                last[i] = name
                last_places[i] = place
            size += place >> 32
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


def _are_alike(content: bytes, place: i64, other: i64) -> bool:
    """Return whether the bytes at these places (length and start) are equal."""
    length = place >> 32
    if length != other >> 32:
        return False
    a = place & 0xFFFFFFFF
    b = other & 0xFFFFFFFF
    end = a + length
    while a + 8 <= end:
        if read_i64_le(content, a) != read_i64_le(content, b):
            return False
        a += 8
        b += 8
    while a < end:
        if content[a] != content[b]:
            return False
        a += 1
        b += 1
    return True


def _name(names: dict[bytes, str], content: bytes, place: i64) -> str:
    start = place & 0xFFFFFFFF
    raw = content[start : start + (place >> 32)]
    name = names.get(raw)
    if name is None:
        name = raw.decode("utf-8", "replace")
        names[raw] = name
    return name
