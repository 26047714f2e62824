"""Keys, values and headers cut out of the bytes that they lie in."""

from __future__ import annotations

Header = tuple[str, bytes | None]


def cut(content: bytes, starts: list[int], lengths: list[int]) -> list[bytes | None]:
    """Pieces of these lengths; None for those of length -1."""
    return [content[start : start + size] if size >= 0 else None for start, size in zip(starts, lengths, strict=False)]


def cut_headers(
    content: bytes,
    key_starts: list[int],
    key_lengths: list[int],
    starts: list[int],
    lengths: list[int],
    counts: list[int],
) -> list[list[Header]]:
    """Of records that have so many headers each, whose keys and values lie there."""
    names: dict[bytes, str] = {}  # they repeat: one string for all that are alike
    found: list[list[Header]] = []
    at = 0
    for count in counts:
        headers: list[Header] = []
        for _ in range(count):
            start = key_starts[at]
            raw = content[start : start + key_lengths[at]]
            name = names.get(raw)
            if name is None:
                name = raw.decode("utf-8", "replace")
                names[raw] = name
            start, size = starts[at], lengths[at]
            headers.append((name, content[start : start + size] if size >= 0 else None))
            at += 1
        found.append(headers)
    return found
