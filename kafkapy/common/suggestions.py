"""Suggests the known name that an unknown one probably stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NEARLY_EQUAL, _SIMILAR = 0.9, 0.8
"""Similarities of two names, as difflib computes them. Below the second, names have little in common."""

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """Return the name in `known` that is most similar to `name`; None if none is similar.

    Case, and the separators of words (dots, dashes, underscores, capitals), make no difference. A topic's
    `retention.ms` suggests the broker's `log.retention.ms`.
    """
    from difflib import get_close_matches  # imported only when a name is wrong

    plain = {_plain(each): each for each in known}
    wanted = _plain(name)
    found = get_close_matches(wanted, plain, 1, _NEARLY_EQUAL)
    if not found and "." in wanted:
        found = [each for each in plain if each.partition(".")[2] == wanted]
    found = found or get_close_matches(wanted, plain, 1, _SIMILAR)
    return plain[found[0]] if found else None


def _plain(name: str) -> str:
    return re.sub("[-_]", ".", _HUMP.sub(".", name.strip())).lower()
