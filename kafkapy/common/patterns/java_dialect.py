r"""Parses patterns of `java.util.regex` (Java 9 to 25).

Not supported: `\b{g}`, and flags of `Pattern.compile`. Lookbehinds may be of any length.
"""

from __future__ import annotations

import re
import unicodedata

from kafkapy.common.patterns.characters import DIGIT, WORD, code_points
from kafkapy.common.patterns.java_properties import property_members
from kafkapy.common.patterns.pattern_reader import PatternPart, PatternReader

_FLAGS = "idmsuxU"
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_SPACE = code_points((9, 13), 32)
_HORIZONTAL = code_points(0x09, 0x20, 0xA0, 0x1680, 0x180E, (0x2000, 0x200A), 0x202F, 0x205F, 0x3000)
_VERTICAL = code_points((0x0A, 0x0D), 0x85, 0x2028, 0x2029)
_LINE_ENDS = code_points(0x0A, 0x0D, 0x85, 0x2028, 0x2029)
_LINE_ENDS_BUT_RETURN = code_points(0x0A, 0x85, 0x2028, 0x2029)
_CLASSES = {"d": DIGIT, "w": WORD, "s": _SPACE, "h": _HORIZONTAL, "v": _VERTICAL}
_UNICODE_CLASSES = {
    **_CLASSES,
    "d": r"\p{gc=Nd}",
    "s": r"\p{White_Space}",
    "w": r"\p{Alphabetic}\p{gc=M}\p{gc=Nd}\p{gc=Pc}\p{Join_Control}",
}


class JavaReader(PatternReader):
    possessive = True
    openings = ("?:", "?=", "?!", "?<=", "?<!", "?>")

    def __init__(self, pattern: str) -> None:
        super().__init__(_without_quotes(pattern))
        self._sets = 0  # how many are open

    @property
    def folds_unicode(self) -> bool:
        return "u" in self.flags or "U" in self.flags

    # -- structure

    def skip_comments(self) -> None:
        while "x" in self.flags and self.at < len(self.pattern):
            if self.peek() in " \t\n\x0b\f\r":
                self.at += 1
            elif self.takes("#"):
                while self.at < len(self.pattern) and self.next() not in "\n\r\x85\u2028\u2029":
                    pass
            else:
                break

    def no_counts(self) -> None:
        digits = re.match(r"\{(\d+)(,\d*)?$", self.pattern[self.at :])
        if digits is not None:
            self.fail("braces are no quantifier", "Unclosed counted closure", len(self.pattern))
        self.fail("braces are no quantifier", "Illegal repetition", self.at + 1)

    def plain(self, character: str) -> str:
        if character == "{":
            self.fail("a brace needs an escape", "Illegal repetition")
        return character

    def is_group_name(self, name: str) -> bool:
        return name.isascii() and name.isalnum() and name[0].isalpha()

    def with_flags(self) -> PatternPart:
        before = self.flags
        self._set_flags()
        if self.next() == ")":
            return PatternPart("")  # applies to the rest of the enclosing group
        part = self.enclosed("(?:")
        self.flags = before
        return part

    def _set_flags(self) -> None:
        on, flags = True, set(self.flags)
        while self.peek() not in ("", ":", ")"):
            flag = self.next()
            if flag == "-" and on:
                on = False
            elif flag not in _FLAGS:
                self.fail(f"{flag!r} is no flag", "Unknown inline modifier", self.at - 1)
            elif on:
                flags.add(flag)
            else:
                flags.discard(flag)
        self.flags = frozenset(flags)

    # -- anchors

    def dot(self) -> str:
        if "s" in self.flags:
            return "(?s:.)"
        return r"[^\n]" if "d" in self.flags else f"[^{_LINE_ENDS}]"

    def line_start(self) -> str:
        if "m" not in self.flags:
            return r"\A"
        if "d" in self.flags:
            return r"(?:\A|(?<=\n)(?!\Z))"
        return rf"(?:\A|(?:(?<=[{_LINE_ENDS_BUT_RETURN}])|(?<=\r)(?!\n))(?!\Z))"

    def line_end(self) -> str:
        if "d" in self.flags:
            return r"(?=\n|\Z)" if "m" in self.flags else r"(?=\n?\Z)"
        end = rf"(?:\r\n|(?<!\r)\n|[\r{code_points(0x85, 0x2028, 0x2029)}])"
        return rf"(?:(?={end})|\Z)" if "m" in self.flags else rf"(?={end}?\Z)"

    # -- escapes

    def escape(self) -> str:
        character = self.next()
        if character in "123456789":
            return self._reference(character)
        if character == "k":
            return self._named_reference()
        if character in "bB":
            if self.peek(3) == "{g}":
                self.fail("boundaries of graphemes are not supported")
            return self.word_boundary(character == "B", self._classes["w"] if "U" in self.flags else WORD)
        if character == "Z":
            flags, self.flags = self.flags, self.flags - {"m"}
            found = self.line_end()
            self.flags = flags
            return found
        anchors = {"A": r"\A", "z": r"\Z", "G": r"\G", "X": r"\X"}
        if character in anchors:
            return anchors[character]
        if character == "R":
            return rf"(?:\r\n|[{_VERTICAL}])"
        if members := self._class(character):
            return self.in_case(f"[{members}]")
        return self.literal(self._escaped(character))

    @property
    def _classes(self) -> dict[str, str]:
        return _UNICODE_CLASSES if "U" in self.flags else _CLASSES

    def _class(self, character: str) -> str | None:
        """Return the members of an escape's class; None if it is not a class."""
        kind = character.lower()
        if kind == "p":
            name = self.until("}") if self.takes("{") else self.next()
            members = property_members(name, "i" in self.flags, "U" in self.flags)
            if members is None:
                self.fail(f"there is no property {name!r}", f"Unknown character property name {{{name}}}", self.at - 1)
        elif kind in self._classes:
            members = self._classes[kind]
        else:
            return None
        return f"[^{members}]" if character.isupper() else members

    def _reference(self, digits: str) -> str:
        """Parse a back reference: the longest number that is an existing group."""
        while self.peek().isascii() and self.peek().isdigit() and int(digits + self.peek()) <= self.groups:
            digits += self.next()
        return self.in_case(rf"(?:\{digits})") if int(digits) <= self.groups else "(?!)"

    def _named_reference(self) -> str:
        name = self.referred_name()
        if name not in self.names:
            self.fail(
                f"no group before is called {name!r}", f"named capturing group <{name}> does not exist", self.at - 1
            )
        return self.in_case(rf"(?:\{self.names[name]})")

    def _escaped(self, character: str) -> str:
        """Return the character of an escape."""
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character == "c":
            return chr(ord(self.next()) ^ 64)
        if character == "0":
            return self._octal()
        found: str | None = character
        if character == "u":
            found = self.utf16()
        elif character == "x":
            found = self.code_point(self.until("}")) if self.takes("{") else self.hexadecimal(2)
        elif character == "N" and self.takes("{"):
            found = self._by_name(self.until("}"))
        elif character.isascii() and character.isalpha():
            found = None
        if found is None:
            texts = {"x": "Illegal hexadecimal escape sequence", "u": "Illegal Unicode escape sequence"}
            index = self.at if character in texts else self.at - 1
            self.fail(f"\\{character} is no escape", texts.get(character, "Illegal/unsupported escape sequence"), index)
        return found

    def _octal(self) -> str:
        digits = self.octal_digits()
        if not digits:
            self.fail(r"\0 needs octal digits")
        return chr(int(digits, 8))

    def _by_name(self, name: str) -> str:
        try:
            return unicodedata.lookup(name)
        except KeyError:
            self.fail(f"no character is called {name!r}")

    # -- sets

    @property
    def java_end(self) -> tuple[str, int]:
        return ("Unclosed character class", self.at - 1) if self._sets else super().java_end

    def characters(self) -> str:
        self._sets += 1
        negated = self.takes("^")
        unions, members = [], ""
        start = self.at
        while True:
            self.skip_comments()
            if self.takes("&&"):
                if members:
                    unions.append(members)
                members = ""
            elif self.peek() == "]" and (members or unions):
                break
            else:
                members += self._member()
                if self.at - start > len(self.pattern):
                    break
        self.at += 1
        self._sets -= 1
        if members:
            unions.append(members)
        inside = unions[0] if len(unions) == 1 else "&&".join(f"[{union}]" for union in unions)
        return f"[^[{inside}]]" if negated else f"[{inside}]"

    def _member(self) -> str:
        character = self.next()
        if character == "[":
            return self.characters()
        if character == "\\":
            escape = self.next()
            if found := self._class(escape):
                return found
            character = self._escaped(escape)
        self.skip_comments()
        if self.peek() != "-" or self.peek(2) in ("-]", "-["):
            return self.members(character)
        self.at += 1
        self.skip_comments()
        last = self.next()
        if last == "\\":
            last = self._escaped(self.next())
        return self.members(character, last)


def _without_quotes(pattern: str) -> str:
    r"""Replace text between `\Q` and `\E` by escapes."""
    found, at = "", 0
    while at < len(pattern):
        if pattern[at] != "\\":
            found += pattern[at]
            at += 1
        elif pattern[at + 1 : at + 2] != "Q":
            found += pattern[at : at + 2]
            at += 2
        else:
            stop = pattern.find("\\E", at + 2)
            quoted = pattern[at + 2 :] if stop < 0 else pattern[at + 2 : stop]
            found += "".join(f"\\{each}" if each.isascii() and not each.isalnum() else each for each in quoted)
            at += len(quoted) + 4
    return found
