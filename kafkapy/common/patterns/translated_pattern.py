r"""Regular expressions in Java's or ECMA-262's syntax, which Python's `re` cannot read.

`java` and `ecma` translate a pattern for the package `regex`, which has what `re` lacks: Unicode properties and
scripts, nested sets, lookbehinds of any length, and time limits. Differences of the dialects (`$`, `.`, `\s`, `\b`,
flags, references to groups that have not matched) are expanded, so nothing depends on the defaults of `regex`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from kafkapy.common.patterns.ecma_dialect import translations_of_ecma
from kafkapy.common.patterns.java_dialect import JavaReader
from kafkapy.common.patterns.java_replacement import expanded
from kafkapy.common.patterns.pattern_reader import PatternError, has_nested_sets

if TYPE_CHECKING:
    import regex

__all__ = ["PatternError", "PatternTimeoutError", "TranslatedPattern", "ecma", "java", "java_whole", "python_or_java"]

MATCH_SECONDS = 1.0
"""Default time limit of a match: an untrusted pattern may need exponential time."""
_MAX_LENGTH = 65_536
"""Limit of a pattern's length in characters, because untrusted patterns are compiled in one go."""


class PatternTimeoutError(PatternError):
    """A match took longer than its limit."""


class TranslatedPattern:
    """A compiled pattern.

    Attributes:
        pattern: As the user wrote it.
    """

    def __init__(self, pattern: str, translated: str, groups: Mapping[str, int] | None = None) -> None:
        """Raises PatternError. `groups` are the numbers of named groups, for `replace_first`."""
        from kafkapy.common.patterns.regex_engine import compiled

        self.pattern = pattern
        self._translated = translated
        self._groups = dict(groups or {})
        self._compiled: regex.Pattern[str] = compiled(translated)

    def __reduce__(self) -> tuple[object, ...]:
        return TranslatedPattern, (self.pattern, self._translated, self._groups)

    def __repr__(self) -> str:
        return f"TranslatedPattern({self.pattern!r})"

    def search(self, text: str, seconds: float = MATCH_SECONDS) -> bool:
        """Return whether it matches somewhere in the text. Raises PatternTimeoutError."""
        try:
            return self._compiled.search(text, timeout=seconds) is not None
        except TimeoutError:
            raise self._too_long(text, seconds) from None

    def match(self, text: str, seconds: float = MATCH_SECONDS) -> bool:
        """Return whether it matches at the start of the text. Raises PatternTimeoutError."""
        try:
            return self._compiled.match(text, timeout=seconds) is not None
        except TimeoutError:
            raise self._too_long(text, seconds) from None

    def fullmatch(self, text: str, seconds: float = MATCH_SECONDS) -> bool:
        """Return whether it matches the whole text. Raises PatternTimeoutError."""
        try:
            return self._compiled.fullmatch(text, timeout=seconds) is not None
        except TimeoutError:
            raise self._too_long(text, seconds) from None

    def split(self, text: str, seconds: float = MATCH_SECONDS) -> list[str]:
        """Return the parts of the text between matches, without the groups' text. Raises PatternTimeoutError."""
        parts, start = [], 0
        try:
            for found in self._compiled.finditer(text, timeout=seconds):
                if found.end() > found.start() or 0 < found.start() < len(text):
                    parts.append(text[start : found.start()])
                    start = found.end()
        except TimeoutError:
            raise self._too_long(text, seconds) from None
        return [*parts, text[start:]]

    def replace_first(self, text: str, replacement: str, seconds: float = MATCH_SECONDS) -> str:
        """Return the text with the first match replaced, as Java's `Matcher.replaceFirst`.

        Args:
            text: Stays as it is if nothing matches.
            replacement: `$1` and `${name}` stand for groups, a backslash makes the next character a plain one.
            seconds: Time limit of the match. Default: `MATCH_SECONDS`.

        Raises:
            PatternTimeoutError: The match took longer.
            ValueError: A reference in the replacement is malformed, or names a group that the pattern lacks.
            IndexError: The pattern has no group of this number.
        """
        try:
            found = self._compiled.search(text, timeout=seconds)
        except TimeoutError:
            raise self._too_long(text, seconds) from None
        if found is None:
            return text
        return text[: found.start()] + expanded(replacement, found, self._groups) + text[found.end() :]

    def _too_long(self, text: str, seconds: float) -> PatternTimeoutError:
        return PatternTimeoutError(
            f"Matching {self.pattern[:200]!r} with a text of {len(text)} characters took longer than {seconds:g} s"
        )


@lru_cache(maxsize=1_000)
def java(pattern: str) -> TranslatedPattern:
    r"""Compile a pattern of `java.util.regex` without flags; it may set some itself (`(?i)`).

    Raises:
        PatternError: It is no pattern of Java; the sentence says what is wrong, and where.

    Example:
        >>> java(r"orders-\p{Alpha}+(?<!old)").fullmatch("orders-new")
        True
    """
    _check_length(pattern)
    reader = JavaReader(pattern)
    return TranslatedPattern(pattern, reader.translation(), reader.names)


def java_whole(pattern: str) -> TranslatedPattern:
    """Compile a pattern of Java that must match whole texts, such as topic names in Kafka's Java clients.

    Raises:
        PatternError: It is no pattern of Java.
    """
    _check_length(pattern)
    return TranslatedPattern(pattern, rf"(?:{JavaReader(pattern).translation()})\Z")


@lru_cache(maxsize=1_000)
def ecma(pattern: str) -> TranslatedPattern:
    r"""Compile a pattern of ECMA-262 with the flag `u`, as JSON Schema requires.

    Schemas are written for validators in several languages, so what the flag `u` forbids is tried further: escapes of
    characters that need none (`\-`), then as Java's dialect, then ECMA-262 without the flag.

    Raises:
        PatternError: It is a pattern of none of these; the sentence is ECMA-262's complaint.

    Example:
        >>> ecma(r"^\p{Lu}\d{3}$").search("Ä123")
        True
    """
    _check_length(pattern)
    complaint: PatternError | None = None
    for translation in translations_of_ecma(pattern):
        try:
            return TranslatedPattern(pattern, translation())
        except PatternError as error:
            complaint = complaint or error
    assert complaint is not None
    raise complaint


def python_or_java(pattern: str) -> re.Pattern[str] | TranslatedPattern:
    """Compile a pattern of Python's `re`, or else one of Java, since users of both kinds of clients supply patterns.

    Nested sets (`[a-z&&[^b]]`) are tried as Java first: Python warns about them, and reads their brackets as literals.

    Raises:
        PatternError: It is neither.
    """
    java_first = has_nested_sets(pattern)
    try:
        return java(pattern) if java_first else re.compile(pattern)
    except (ValueError, re.error, RecursionError, OverflowError) as error:
        try:
            return re.compile(pattern) if java_first else java(pattern)
        except (ValueError, re.error, RecursionError, OverflowError) as other:
            of_python, of_java = (other, error) if java_first else (error, other)
            raise PatternError(f"it is no pattern of Python ({of_python}) and none of Java ({of_java})") from None


def _check_length(pattern: str) -> None:
    if len(pattern) > _MAX_LENGTH:
        raise PatternError(f"it has {len(pattern)} characters, of {_MAX_LENGTH} at most")
