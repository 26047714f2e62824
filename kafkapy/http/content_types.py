"""Parses `Accept` and `Content-Type`."""

from __future__ import annotations

import re
from collections.abc import Sequence

_QUALITY = re.compile(r"(?:0(?:\.[0-9]*)?|1(?:\.0*)?)")


def media_type(header: str) -> str:
    """Return the media type in lower case, without parameters."""
    return header.partition(";")[0].strip().lower()


def accepted(header: str | None, offered: Sequence[str]) -> str | None:
    """Return the offered type that the client prefers, the first of equal ones; None: it accepts none of them."""
    if not header or not header.strip():
        return offered[0]
    best: tuple[float, int] | None = None
    for part in header.split(","):
        wanted = media_type(part)
        quality = _quality(part)
        for place, name in enumerate(offered):
            if quality > 0 and _fits(wanted, name) and (best is None or (-quality, place) < best):
                best = -quality, place
    return None if best is None else offered[best[1]]


def _quality(part: str) -> float:
    for parameter in part.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            return float(value) if _QUALITY.fullmatch(value := value.strip()) else 0.0
    return 1.0


def _fits(wanted: str, name: str) -> bool:
    return wanted in ("*", name) or wanted.startswith("*/") or (wanted.endswith("/*") and name.startswith(wanted[:-1]))
