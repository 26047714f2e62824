r"""Parses patterns of ECMA-262.

Schemas contain patterns that the flag `u` forbids, so there are two more lenient levels: needless escapes of characters
other than letters, and unescaped brackets and braces; and everything that ECMA-262 allows without the flag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum

from kafkapy.common.patterns.characters import ALL, DIGIT, WORD, code_points, members
from kafkapy.common.patterns.java_dialect import JavaReader
from kafkapy.common.patterns.java_properties import CATEGORIES
from kafkapy.common.patterns.pattern_reader import PatternPart, PatternReader

_CONTROLS = {"t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}
_SPACE = code_points(*((9, 13), 0x20, 0xA0, 0x1680, (0x2000, 0x200A), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF))
_LINE_ENDS = code_points(0x0A, 0x0D, 0x2028, 0x2029)
_CLASSES = {"d": DIGIT, "w": WORD, "s": _SPACE}
_SYNTAX = "^$\\.*+?()[]{}|/"
_FLAGS = "ims"
_BINARY = frozenset(
    """
    ASCII AHex ASCII_Hex_Digit Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored Bidi_M Case_Ignorable CI Cased
    Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL Changes_When_NFKC_Casefolded CWKCF
    Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia
    Emoji Emoji_Component EComp Emoji_Modifier EMod Emoji_Modifier_Base EBase Emoji_Presentation EPres Extended_Pictographic
    ExtPict Extender Ext Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext Hex_Digit Hex IDS_Binary_Operator IDSB
    IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS Ideographic Ideo Join_Control Join_C Logical_Order_Exception LOE
    Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS Quotation_Mark QMark
    Radical Regional_Indicator RI Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo
    Uppercase Upper Variation_Selector VS White_Space space XID_Continue XIDC XID_Start XIDS
    """.split()  # noqa: SIM905 (a list of 90 quoted words reads worse)
)
_LONG_CATEGORIES = {
    "Cased_Letter": "LC", "Close_Punctuation": "Pe", "Connector_Punctuation": "Pc", "Control": "Cc", "cntrl": "Cc",
    "Currency_Symbol": "Sc", "Dash_Punctuation": "Pd", "Decimal_Number": "Nd", "digit": "Nd", "Enclosing_Mark": "Me",
    "Final_Punctuation": "Pf", "Format": "Cf", "Initial_Punctuation": "Pi", "Letter": "L", "Letter_Number": "Nl",
    "Line_Separator": "Zl", "Lowercase_Letter": "Ll", "Mark": "M", "Combining_Mark": "M", "Math_Symbol": "Sm",
    "Modifier_Letter": "Lm", "Modifier_Symbol": "Sk", "Nonspacing_Mark": "Mn", "Number": "N", "Open_Punctuation": "Ps",
    "Other": "C", "Other_Letter": "Lo", "Other_Number": "No", "Other_Punctuation": "Po", "Other_Symbol": "So",
    "Paragraph_Separator": "Zp", "Private_Use": "Co", "Punctuation": "P", "punct": "P", "Separator": "Z",
    "Space_Separator": "Zs", "Spacing_Mark": "Mc", "Surrogate": "Cs", "Symbol": "S", "Titlecase_Letter": "Lt",
    "Unassigned": "Cn", "Uppercase_Letter": "Lu",
}  # fmt: skip


class Leniency(IntEnum):
    """What is accepted beyond the patterns that the flag `u` allows."""

    NONE = 0
    ESCAPES = 1
    LEGACY = 2


def translations_of_ecma(pattern: str) -> Iterator[Callable[[], str]]:
    """Yield readings of a pattern; the first one that succeeds is used."""
    yield EcmaReader(pattern, Leniency.NONE).translation
    yield EcmaReader(pattern, Leniency.ESCAPES).translation
    yield JavaReader(pattern).translation
    yield EcmaReader(pattern, Leniency.LEGACY).translation


class EcmaReader(PatternReader):
    openings = ("?:", "?=", "?!", "?<=", "?<!")

    def __init__(self, pattern: str, leniency: Leniency) -> None:
        super().__init__(pattern)
        self._leniency = leniency
        self._nests = False
        """Whether a set contained an opening bracket or `&&`, as in Java's dialect."""
        self._all_groups, self._all_names = _groups_of(pattern)

    # -- structure

    def skip_comments(self) -> None:
        """Do nothing: the dialect has no comments."""

    def may_be_repeated(self, part: str) -> bool:
        if part.startswith(("(?<=", "(?<!", "^", "$", "\\b", "\\B")):
            return False
        return self._leniency is Leniency.LEGACY or not part.startswith(("(?=", "(?!"))

    def no_counts(self) -> None:
        if not self._leniency:
            self.fail("braces are no quantifier")

    def plain(self, character: str) -> str:
        if character in "]{}" and (not self._leniency or (self._leniency is Leniency.ESCAPES and self._nests)):
            self.fail(f"{character} needs an escape")
        return character

    def is_group_name(self, name: str) -> bool:
        return name.replace("$", "_").isidentifier()

    def with_flags(self) -> PatternPart:
        before = self.flags
        on, _, off = self.until(":").partition("-")
        if not on + off or len(set(on + off)) < len(on + off) or not set(on + off) <= set(_FLAGS):
            self.fail("a group begins with a question mark and no kind that there is")
        self.flags = (self.flags | set(on)) - set(off)
        part = self.enclosed("(?:")
        self.flags = before
        return part

    # -- anchors

    def dot(self) -> str:
        return "(?s:.)" if "s" in self.flags else f"[^{_LINE_ENDS}]"

    def line_start(self) -> str:
        return rf"(?:\A|(?<=[{_LINE_ENDS}]))" if "m" in self.flags else r"\A"

    def line_end(self) -> str:
        return rf"(?:(?=[{_LINE_ENDS}])|\Z)" if "m" in self.flags else r"\Z"

    # -- escapes

    def escape(self) -> str:
        character = self.next()
        if character in "bB":
            return self.word_boundary(character == "B")
        if character in "123456789":
            return self._reference(character)
        if character == "k" and (self._all_names or self._leniency is not Leniency.LEGACY):
            name = self.referred_name()
            if name not in self._all_names:
                self.fail(f"no group is called {name!r}")
            return self._group_again(self._all_names[name])
        if found := self._class(character):
            return self.in_case(f"[{found}]")
        return self.literal(self._escaped(character))

    def _reference(self, digit: str) -> str:
        digits = digit
        while self.peek().isascii() and self.peek().isdigit():
            digits += self.next()
        if len(digits) < 5 and int(digits) <= self._all_groups:
            return self._group_again(int(digits))
        if self._leniency is not Leniency.LEGACY:
            self.fail(f"there is no group {digits}")
        self.at -= len(digits)
        return self.literal(self._octal(self.next()))

    def _group_again(self, number: int) -> str:
        """Return a back reference; to a group that has not matched it matches the empty string."""
        return self.in_case(rf"(?({number})\{number}|)")

    def _class(self, character: str) -> str | None:
        """Return the members of an escape's class; None if it is not a class."""
        kind = character.lower()
        if kind == "p" and (self._leniency is not Leniency.LEGACY or self.peek() == "{"):
            if not self.takes("{"):
                self.fail(rf"\{character} needs a property in braces")
            name = self.until("}")
            found = _property(name)
            if found is None:
                self.fail(f"there is no property {name!r}")
        elif kind in _CLASSES:
            found = _CLASSES[kind]
        else:
            return None
        return f"[^{found}]" if character.isupper() else found

    def _escaped(self, character: str) -> str:
        """Return the character of an escape."""
        if character in _CONTROLS:
            return _CONTROLS[character]
        if character == "c" and self.peek().isascii() and self.peek().isalpha():
            return chr(ord(self.next()) % 32)
        if character == "0" and not (self.peek().isascii() and self.peek().isdigit()):
            return "\0"
        found: str | None = None
        if character == "u":
            found = self.code_point(self.until("}")) if self.takes("{") else self.utf16()
        elif character == "x":
            found = self.hexadecimal(2)
        elif character in _SYNTAX or (self._leniency and not (character.isascii() and character.isalnum())):
            found = character
        if found is None and self._leniency is Leniency.LEGACY:
            return self._legacy(character)
        if found is None:
            self.fail(f"\\{character} is no escape")
        return found

    def _legacy(self, character: str) -> str:
        if character in "01234567":
            return self._octal(character)
        if character == "c":  # a literal backslash
            self.at -= 1
            return "\\"
        return character

    def _octal(self, first: str) -> str:
        return first if first in "89" else chr(int(self.octal_digits(first), 8))

    # -- sets

    def characters(self) -> str:
        negated = self.takes("^")
        inside, nests = "", False
        while not self.takes("]"):
            nests = nests or self.peek() == "[" or self.peek(2) == "&&"
            inside += self._member()
        self._nests = self._nests or nests
        if not inside:
            return f"[{ALL}]" if negated else f"[^{ALL}]"
        return f"[^{inside}]" if negated else f"[{inside}]"

    def _member(self) -> str:
        first, first_set = self._atom()
        if self.peek() != "-" or self.peek(2) in ("-", "-]"):
            return first_set or self.members(first)
        self.at += 1
        last, last_set = self._atom()
        if first_set or last_set:
            if not self._leniency:
                self.fail("a range begins or ends with a class")
            return (first_set or self.members(first)) + members("-", "-") + (last_set or self.members(last))
        return self.members(first, last)

    def _atom(self) -> tuple[str, str | None]:
        """Parse one item of a set: a character, or the members of a class."""
        character = self.next()
        if character != "\\":
            return character, None
        escape = self.next()
        if escape == "b":
            return "\b", None
        if escape == "-":
            return "-", None
        if found := self._class(escape):
            return "", found
        if self._leniency is Leniency.LEGACY and escape in "123456789":
            return self._octal(escape), None
        return self._escaped(escape), None


def _groups_of(pattern: str) -> tuple[int, dict[str, int]]:
    """Return the number of capturing groups, and the numbers of named ones, since references may precede groups."""
    count, names, at, in_set = 0, {}, 0, False
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            at += 1
        elif in_set:
            in_set = character != "]"
        elif character == "[":
            in_set = True
        elif character == "(":
            named = pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!")
            if named or pattern[at + 1 : at + 2] != "?":
                count += 1
            if named:
                names[pattern[at + 3 : max(pattern.find(">", at), at + 3)]] = count
        at += 1
    return count, names


def _property(name: str) -> str | None:
    """Return the members of a property; None if it is unknown."""
    kind, assigned, value = name.partition("=")
    if kind in ("Script", "sc", "Script_Extensions", "scx") and assigned:
        sound = value.replace("_", "").isalnum() and value.isascii()
        return rf"\p{{{'Script' if kind in ('Script', 'sc') else 'scx'}={value}}}" if sound else None
    if assigned and kind not in ("General_Category", "gc"):
        return None
    category = _LONG_CATEGORIES.get(value if assigned else name, value if assigned else name)
    if category == "LC":
        return r"\p{gc=Ll}\p{gc=Lu}\p{gc=Lt}"
    if category in CATEGORIES:
        return rf"\p{{gc={category}}}"
    if name == "Any":
        return ALL
    if name == "Assigned":
        return r"[^\p{gc=Cn}]"
    return rf"\p{{{name}}}" if name in _BINARY else None
