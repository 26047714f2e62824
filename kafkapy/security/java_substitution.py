"""Java's `String.replaceAll` and `replaceFirst` with Java's patterns, for rules in configs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkapy.common.patterns import PatternError, PatternTimeoutError

if TYPE_CHECKING:
    import regex

_SECONDS: Final = 0.1
"""Time limit per name: a client chooses the name, and a pattern may need exponential time."""
_PARTS = re.compile(r"\\(.)|\$([0-9]+)|\$\{([A-Za-z][A-Za-z0-9]*)\}|([^\\$]+)|(.)", re.DOTALL)


class JavaSubstitution:
    r"""A pattern and the replacement of its matches: `$1`, `${name}` are groups, `\$` is a dollar.

    Args:
        pattern: Syntax of `java.util.regex`.
        replacement: Syntax of `Matcher.appendReplacement`.

    Raises:
        PatternError: One of them is invalid.

    Example:
        >>> JavaSubstitution("@(.*)", ".$1").replace_all("a@b")
        'a.b'
    """

    def __init__(self, pattern: str, replacement: str) -> None:
        from kafkapy.common.patterns import java
        from kafkapy.common.patterns.java_dialect import JavaReader
        from kafkapy.common.patterns.regex_engine import compiled

        java(pattern)  # checks its length
        reader = JavaReader(pattern)
        self._compiled: regex.Pattern[str] = compiled(reader.translation())
        self._parts = [_part(match, self._compiled.groups, reader.names) for match in _PARTS.finditer(replacement)]

    @property
    def groups(self) -> int:
        """The number of groups in the pattern."""
        groups: int = self._compiled.groups
        return groups

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches the whole text (`Matcher.matches`). Raises PatternTimeoutError."""
        try:
            return self._compiled.fullmatch(text, timeout=_SECONDS) is not None
        except TimeoutError:
            raise PatternTimeoutError(f"A match took longer than {_SECONDS:g} s") from None

    def replace_all(self, text: str) -> str:
        """Replace all matches. Raises PatternTimeoutError."""
        return self._replaced(text, 0)

    def replace_first(self, text: str) -> str:
        """Replace the first match. Raises PatternTimeoutError."""
        return self._replaced(text, 1)

    def _replaced(self, text: str, count: int) -> str:
        try:
            result: str = self._compiled.sub(self._expanded, text, count=count, timeout=_SECONDS)
        except TimeoutError:
            raise PatternTimeoutError(f"A substitution took longer than {_SECONDS:g} s") from None
        return result

    def _expanded(self, match: regex.Match[str]) -> str:
        # A group that has not matched is empty, as in Java.
        return "".join(
            text + ((match[group] or "") if group is not None else "") + rest for text, group, rest in self._parts
        )


def _part(match: re.Match[str], groups: int, names: dict[str, int]) -> tuple[str, int | None, str]:
    """Return text, the following group, and the text after that."""
    escaped, digits, name, text, wrong = match.groups()
    if wrong is not None:
        raise PatternError("a replacement must not end with a backslash, and a dollar must be followed by a group")
    if name is not None:
        if name not in names:
            raise PatternError(f"the replacement names a group {name}, which the pattern lacks")
        return "", names[name], ""
    if digits is not None:
        size = 1
        while size < len(digits) and int(digits[: size + 1]) <= groups:
            size += 1
        if int(digits[:size]) > groups:
            raise PatternError(f"the replacement names group {digits[:size]}, which the pattern lacks")
        return "", int(digits[:size]), digits[size:]
    return text if text is not None else escaped, None, ""
