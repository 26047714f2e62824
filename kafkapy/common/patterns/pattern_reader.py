"""The common part of the dialects: a recursive-descent parser of alternatives, groups, quantifiers and sets.

A reader translates a pattern to the syntax of the package `regex`, with literals escaped and character classes
expanded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, NoReturn

from kafkapy.common.patterns.characters import WORD, literal, members

_MAX_COPIES = 100_000
"""Limit of copies of parts: `regex` expands repetitions."""
_MAX_COUNT = 2**31 - 1
_MAX_GROUPS = 1_000
_MAX_DEPTH = 100
"""Limits of groups and their nesting: patterns are untrusted, and the reader and `regex` recurse for each level."""


class PatternError(ValueError):
    """An invalid regular expression; the message says what is wrong, and where.

    Attributes:
        java_text: The message of Java's `PatternSyntaxException`, where it is known; otherwise this one's.
    """

    def __init__(self, message: str, java_text: str | None = None) -> None:
        super().__init__(message)
        self.java_text = java_text or message


class PatternPart(NamedTuple):
    """A part of the translation, and the number of copies of parts that `regex` will make of it."""

    text: str
    copies: int = 1


class PatternReader(ABC):
    """Parses one pattern. `flags` are those in effect at the current position; they end with their group."""

    possessive = False
    """Whether the dialect has possessive quantifiers (`a*+`)."""
    openings: ClassVar[tuple[str, ...]]
    """What follows the parenthesis of non-capturing groups, except those with flags."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags: frozenset[str] = frozenset()
        self.groups = 0
        self.names: dict[str, int] = {}
        self._depth = 0

    def translation(self) -> str:
        """Return the translated pattern. Raises PatternError."""
        found = self._alternatives()
        if self.at < len(self.pattern):
            self.fail("a closing parenthesis without an opening one", "Unmatched closing ')'", self.at - 1)
        return found.text

    # -- reading

    def peek(self, count: int = 1) -> str:
        return self.pattern[self.at : self.at + count]

    def takes(self, text: str) -> bool:
        """Skip the text if it comes next, and return whether it did."""
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def next(self) -> str:
        if self.at >= len(self.pattern):
            self.fail("it ends too early", *self.java_end)
        self.at += 1
        return self.pattern[self.at - 1]

    def until(self, end: str) -> str:
        """Return the text before `end`, and skip that."""
        stop = self.pattern.find(end, self.at)
        if stop < 0:
            self.fail(f"{end} is missing")
        found = self.pattern[self.at : stop]
        self.at = stop + len(end)
        return found

    def hexadecimal(self, digits: int) -> str | None:
        """Parse a hexadecimal code of this many digits, and return its character; None if there is none."""
        code = self.peek(digits)
        if len(code) != digits or not all(digit in "0123456789abcdefABCDEF" for digit in code):
            return None
        self.at += digits
        return chr(int(code, 16))

    def code_point(self, code: str) -> str:
        """Return the character of the hexadecimal digits between braces."""
        if not code or len(code) > 8 or not all(digit in "0123456789abcdefABCDEF" for digit in code):
            self.fail(f"{{{code}}} is no code of a character")
        number = int(code, 16)
        if number > 0x10FFFF:
            self.fail(f"{{{code}}} is beyond the last character")
        return chr(number)

    def utf16(self) -> str | None:
        """Return the character after `\\u`, which may be a surrogate pair; None if there are no four digits."""
        high = self.hexadecimal(4)
        if high is None or not "\ud800" <= high <= "\udbff" or self.peek(2) != "\\u":
            return high
        here = self.at
        self.at += 2
        low = self.hexadecimal(4)
        if low is None or not "\udc00" <= low <= "\udfff":
            self.at = here
            return high
        return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(low) - 0xDC00))

    @property
    def java_end(self) -> tuple[str, int]:
        """Java's complaint about a pattern that ends too early, and the index that it names."""
        return "Unexpected internal error", self.at

    def fail(self, reason: str, java: str | None = None, index: int | None = None) -> NoReturn:
        """Raise PatternError.

        Args:
            reason: What is wrong.
            java: Java's description of it. Default: `reason`.
            index: The index that Java names. Default: the current one.
        """
        near = self.at if index is None else index
        text = f"{java or reason}{f' near index {near}' if near >= 0 else ''}\n{self.pattern}"
        if 0 <= near < len(self.pattern):
            text += f"\n{' ' * near}^"
        position = min(self.at, len(self.pattern)) + 1
        raise PatternError(f"{reason} (near character {position} of {self.pattern[:200]!r})", text)

    # -- structure

    def _alternatives(self) -> PatternPart:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self.fail(f"groups are nested deeper than {_MAX_DEPTH}")
        parts = [self._sequence()]
        while self.takes("|"):
            parts.append(self._sequence())
        self._depth -= 1
        return PatternPart("|".join(part.text for part in parts), sum(part.copies for part in parts))

    def _sequence(self) -> PatternPart:
        parts = []
        self.skip_comments()
        while self.at < len(self.pattern) and self.peek() not in "|)":
            parts.append(self._quantified())
            self.skip_comments()
        return PatternPart("".join(part.text for part in parts), sum(part.copies for part in parts) or 1)

    def _quantified(self) -> PatternPart:
        start = self.at
        part = self._part()
        self.skip_comments()
        counts = self._counts()
        if counts is None:
            return part
        if not part.text or not self.may_be_repeated(self.pattern[start : self.at]):
            sign = self.pattern[self.at - 1]
            self.fail(
                "there is nothing to repeat before a quantifier", f"Dangling meta character '{sign}'", self.at - 1
            )
        least, most = counts
        if most is not None and most < least:
            self.fail(f"a quantifier goes from {least} to {most}", "Illegal repetition range", self.at - 1)
        copies = part.copies * max(least, 1)
        if copies > _MAX_COPIES:
            self.fail(f"a part must be there more than {_MAX_COPIES:,} times")
        suffix = "?" if self.takes("?") else "+" if self.possessive and self.takes("+") else ""
        return PatternPart(f"(?:{part.text}){{{least},{'' if most is None else most}}}{suffix}", copies)

    def _counts(self) -> tuple[int, int | None] | None:
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.takes(sign):
                return counts
        return self._braces() if self.peek() == "{" else None

    def _braces(self) -> tuple[int, int | None] | None:
        """Parse a quantifier in braces; None if the braces are literals."""
        stop = self.pattern.find("}", self.at)
        first, comma, last = self.pattern[self.at + 1 : max(stop, self.at + 1)].partition(",")
        numbers = [each for each in (first, last) if each]
        if not first or not all(each.isascii() and each.isdigit() for each in numbers):
            return self.no_counts()
        if any(len(each.lstrip("0")) > 10 or int(each) > _MAX_COUNT for each in numbers):
            self.fail(f"a quantifier counts up to {_MAX_COUNT}", "Illegal repetition range", self.at + 10)
        self.at = stop + 1
        least = int(first)
        return least, int(last) if last else None if comma else least

    def _part(self) -> PatternPart:
        character = self.next()
        if character == "(":
            return self.group()
        if character == "[":
            return PatternPart(self.in_case(self.characters()))
        if character == "\\":
            return PatternPart(self.escape())
        if character in "*+?":
            self.fail(
                f"there is nothing to repeat before {character}",
                f"Dangling meta character '{character}'",
                self.at - 1,
            )
        if character in ".^$":
            return PatternPart({".": self.dot, "^": self.line_start, "$": self.line_end}[character]())
        return PatternPart(self.literal(self.plain(character)))

    def group(self) -> PatternPart:
        """Parse what follows an opening parenthesis."""
        for opening in self.openings:
            if self.takes(opening):
                return self.enclosed(f"({opening}")
        if self.takes("?<"):
            name = self.until(">")
            if not self.is_group_name(name):
                self.fail(
                    f"{name!r} is no name of a group",
                    "capturing group name does not start with a Latin letter",
                    self.at - len(name) - 1,
                )
            return self.capturing(name)
        return self.with_flags() if self.takes("?") else self.capturing()

    def enclosed(self, opening: str) -> PatternPart:
        """Parse a group up to its end; `opening` is its start in the translation."""
        flags = self.flags
        inner = self._alternatives()
        if not self.takes(")"):
            self.fail("a closing parenthesis is missing", "Unclosed group")
        self.flags = flags
        return PatternPart(f"{opening}{inner.text})", inner.copies)

    def capturing(self, name: str | None = None) -> PatternPart:
        self.groups += 1
        if self.groups > _MAX_GROUPS:
            self.fail(f"it has more than {_MAX_GROUPS} groups")
        if name is not None:
            if name in self.names:
                text = f"Named capturing group <{name}> is already defined"
                self.fail(f"two groups are called {name}", text, self.at - 1)
            self.names[name] = self.groups
        return self.enclosed("(")

    # -- characters

    def octal_digits(self, digits: str = "") -> str:
        """Extend these by the octal digits that follow: at most three, and no number above 0o377."""
        while len(digits) < 3 and self.peek() in tuple("01234567") and int(digits + self.peek(), 8) <= 0o377:
            digits += self.next()
        return digits

    def referred_name(self) -> str:
        r"""Return the group name after `\k`."""
        if not self.takes("<"):
            self.fail(r"\k needs the name of a group")
        return self.until(">")

    def literal(self, character: str) -> str:
        if "i" not in self.flags or self.folds_unicode:
            return self.in_case(literal(character))
        return f"[{self.members(character)}]"

    def members(self, first: str, last: str | None = None) -> str:
        """Return the members of a set from one character to another."""
        if last is not None and last < first:
            self.fail(f"a range goes from {first!r} to {last!r}", "Illegal character range", self.at - 1)
        return members(first, last or first, "i" in self.flags and not self.folds_unicode)

    @property
    def folds_unicode(self) -> bool:
        """Whether ignoring case applies beyond ASCII."""
        return True

    def in_case(self, translation: str) -> str:
        """Wrap a literal, set or reference so that it matches under the current flags."""
        return f"(?i-f:{translation})" if "i" in self.flags and self.folds_unicode else translation

    def word_boundary(self, negated: bool, word: str = WORD) -> str:
        one, other = ("=", "=") if negated else ("!", "=")
        return f"(?:(?<=[{word}])(?{one}[{word}])|(?<![{word}])(?{'!' if negated else other}[{word}]))"

    # -- differences of dialects

    @abstractmethod
    def skip_comments(self) -> None:
        """Skip white space and comments if a flag says that they are ignored."""

    def may_be_repeated(self, part: str) -> bool:
        """Return whether a quantifier may follow this part. The text includes the quantifier."""
        return True

    def plain(self, character: str) -> str:
        """Return a character that stands for itself. Raises PatternError if it needs an escape."""
        return character

    @abstractmethod
    def no_counts(self) -> None:
        """Handle a brace that starts no quantifier: None if it is a literal. Raises PatternError."""

    @abstractmethod
    def is_group_name(self, name: str) -> bool: ...

    @abstractmethod
    def with_flags(self) -> PatternPart:
        """Parse what follows `(?` in a group with flags."""

    @abstractmethod
    def characters(self) -> str:
        """Parse what follows an opening bracket, as a set."""

    @abstractmethod
    def escape(self) -> str:
        """Parse what follows a backslash outside of brackets."""

    @abstractmethod
    def dot(self) -> str: ...

    @abstractmethod
    def line_start(self) -> str: ...

    @abstractmethod
    def line_end(self) -> str: ...


def has_nested_sets(pattern: str) -> bool:
    """Return whether a set contains a bracket or `&&`, as in Java's dialect. `[[]` does not count."""
    at, in_set = 0, False
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif not in_set:
            in_set = pattern[at] == "["
            at += in_set and pattern.startswith(("^]", "]"), at + 1)
        elif pattern[at] == "]":
            in_set = False
        elif pattern.startswith("&&", at) or (pattern[at] == "[" and pattern.find("]", at) < pattern.rfind("]")):
            return True
        at += 1
    return False
