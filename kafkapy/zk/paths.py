"""Validates ZooKeeper paths (`PathUtils.validatePath`)."""

from __future__ import annotations

import re
from typing import Final

_BAD: Final = re.compile(
    r"(?P<empty>//)|(?P<relative>/\.{1,2}(?=/|\Z))|(?P<null>\0)|[\x01-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\U0010ffff]"
)
"""The last range: control characters, private use, and surrogates, which in Java include all characters beyond 16 bits.
"""

_REASONS: Final = {
    "empty": "empty node name specified",
    "relative": "relative paths not allowed",
    "null": "null character not allowed",
}


def is_valid(path: str) -> bool:
    return path == "/" or (path.startswith("/") and not path.endswith("/") and _BAD.search(path) is None)


def reason_invalid(path: str) -> str | None:
    """Return ZooKeeper's message why it refuses an absolute path; None if it doesn't."""
    if is_valid(path):
        return None
    if path.endswith("/"):
        return "Path must not end with / character"
    bad = _BAD.search(path)
    if bad is None:
        return "Path must start with / character"
    reason = _REASONS.get(bad.lastgroup or "", "invalid character")
    return f'Invalid path string "{path}" caused by {reason} @{bad.end() - 1}'
