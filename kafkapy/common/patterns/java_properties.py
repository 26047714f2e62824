r"""The meaning of `\p{…}` in Java, as members of a set."""

from __future__ import annotations

from kafkapy.common.patterns.characters import ALL, code_points, members

_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": code_points((0, 0x7F)),
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "0-9a-zA-Z",
    "Punct": members("!", "/") + members(":", "@") + members("[", "`") + members("{", "~"),
    "Graph": members("!", "~"),
    "Print": members(" ", "~"),
    "Blank": code_points(9, 32),
    "Cntrl": code_points((0, 0x1F), 0x7F),
    "XDigit": "0-9a-fA-F",
    "Space": code_points((9, 13), 32),
}
_GRAPHIC = r"[^\p{White_Space}\p{gc=Cc}\p{gc=Cs}\p{gc=Cn}]"
_UNICODE_POSIX = {
    "Lower": r"\p{Lowercase}",
    "Upper": r"\p{Uppercase}",
    "Alpha": r"\p{Alphabetic}",
    "Digit": r"\p{gc=Nd}",
    "Alnum": r"\p{Alphabetic}\p{gc=Nd}",
    "Punct": r"\p{gc=P}",
    "Graph": _GRAPHIC,
    "Print": rf"{_GRAPHIC}\p{{gc=Zs}}",
    "Blank": r"\p{gc=Zs}" + code_points(9),
    "Cntrl": r"\p{gc=Cc}",
    "XDigit": r"\p{gc=Nd}\p{Hex_Digit}",
    "Space": r"\p{White_Space}",
}
_OWN = {
    "LowerCase": r"\p{Lowercase}",
    "UpperCase": r"\p{Uppercase}",
    "Alphabetic": r"\p{Alphabetic}",
    "Ideographic": r"\p{Ideographic}",
    "TitleCase": r"\p{gc=Lt}",
    "Digit": r"\p{gc=Nd}",
    "Defined": r"[^\p{gc=Cn}]",
    "Letter": r"\p{gc=L}",
    "LetterOrDigit": r"\p{gc=L}\p{gc=Nd}",
    "JavaIdentifierStart": r"\p{gc=L}\p{gc=Nl}\p{gc=Sc}\p{gc=Pc}",
    "JavaIdentifierPart": r"\p{gc=L}\p{gc=Nl}\p{gc=Sc}\p{gc=Pc}\p{gc=Nd}\p{gc=Mn}\p{gc=Mc}\p{gc=Cf}"
    + code_points((0, 8), (14, 0x1B), (0x7F, 0x9F)),
    "UnicodeIdentifierStart": r"\p{ID_Start}",
    "UnicodeIdentifierPart": r"\p{ID_Continue}\p{gc=Cf}" + code_points((0, 8), (14, 0x1B), (0x7F, 0x9F)),
    "IdentifierIgnorable": r"\p{gc=Cf}" + code_points((0, 8), (14, 0x1B), (0x7F, 0x9F)),
    "SpaceChar": r"\p{gc=Z}",
    "Whitespace": code_points((9, 13), (0x1C, 0x1F)) + r"[\p{gc=Z}--[" + code_points(0xA0, 0x2007, 0x202F) + "]]",
    "ISOControl": code_points((0, 0x1F), (0x7F, 0x9F)),
    "Mirrored": r"\p{Bidi_Mirrored}",
}
"""Names after `java`: the methods of `Character` that begin with `is`."""
_BINARY = {
    "ALPHABETIC": r"\p{Alphabetic}",
    "LETTER": r"\p{gc=L}",
    "IDEOGRAPHIC": r"\p{Ideographic}",
    "LOWERCASE": r"\p{Lowercase}",
    "UPPERCASE": r"\p{Uppercase}",
    "TITLECASE": r"\p{gc=Lt}",
    "WHITE_SPACE": r"\p{White_Space}",
    "WHITESPACE": r"\p{White_Space}",
    "CONTROL": r"\p{gc=Cc}",
    "PUNCTUATION": r"\p{gc=P}",
    "HEX_DIGIT": r"\p{gc=Nd}\p{Hex_Digit}",
    "HEXDIGIT": r"\p{gc=Nd}\p{Hex_Digit}",
    "ASSIGNED": r"[^\p{gc=Cn}]",
    "NONCHARACTER_CODE_POINT": r"\p{Noncharacter_Code_Point}",
    "NONCHARACTERCODEPOINT": r"\p{Noncharacter_Code_Point}",
    "DIGIT": r"\p{gc=Nd}",
    "ALNUM": r"\p{Alphabetic}\p{gc=Nd}",
    "BLANK": r"\p{gc=Zs}" + code_points(9),
    "GRAPH": _GRAPHIC,
    "PRINT": rf"{_GRAPHIC}\p{{gc=Zs}}",
    "WORD": r"\p{Alphabetic}\p{gc=M}\p{gc=Nd}\p{gc=Pc}\p{Join_Control}",
    "JOIN_CONTROL": r"\p{Join_Control}",
    "JOINCONTROL": r"\p{Join_Control}",
    "EMOJI": r"\p{Emoji}",
    "EMOJI_PRESENTATION": r"\p{Emoji_Presentation}",
    "EMOJI_MODIFIER": r"\p{Emoji_Modifier}",
    "EMOJI_MODIFIER_BASE": r"\p{Emoji_Modifier_Base}",
    "EMOJI_COMPONENT": r"\p{Emoji_Component}",
    "EXTENDED_PICTOGRAPHIC": r"\p{Extended_Pictographic}",
}
CATEGORIES = frozenset(
    [
        *("L", "LC", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No"),
        *("C", "Cc", "Cf", "Cn", "Co", "Cs", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps"),
        *("S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"),
    ]
)
_CASED_LETTERS = r"\p{gc=Ll}\p{gc=Lu}\p{gc=Lt}"
_ANY_CASE = {
    **dict.fromkeys(("Lower", "Upper"), "a-zA-Z"),
    **dict.fromkeys(("Ll", "Lu", "Lt", "javaLowerCase", "javaUpperCase", "javaTitleCase"), _CASED_LETTERS),
}
"""Properties that include all cases if case is ignored."""


def property_members(name: str, ignores_case: bool, unicode: bool) -> str | None:
    """Return the members of a property.

    Args:
        name: The text between the braces.
        ignores_case: Whether the flag `i` is set.
        unicode: Whether the flag `U` is set: POSIX classes are then Unicode's.

    Returns:
        None if Java has no such property, as far as is known without a list of all scripts and blocks.
    """
    kind, assigned, value = name.partition("=")
    if assigned:
        return _of_kind(kind.lower(), value)
    if ignores_case and name in _ANY_CASE and not (unicode and name in _UNICODE_POSIX):
        return _ANY_CASE[name]
    if unicode and name in _UNICODE_POSIX:
        return r"\p{Alphabetic}" if ignores_case and name in ("Lower", "Upper") else _UNICODE_POSIX[name]
    if name in _POSIX:
        return _POSIX[name]
    if name.startswith("In"):
        return _named("Block", name[2:])
    if name.startswith("Is"):
        return _BINARY.get(name[2:].upper()) or _category(name[2:]) or _named("Script", name[2:])
    if name.startswith("java"):
        return _OWN.get(name[4:])
    return {"L1": code_points((0, 0xFF)), "all": ALL}.get(name) or _category(name)


def _of_kind(kind: str, value: str) -> str | None:
    if kind in ("sc", "script"):
        return _named("Script", value)
    if kind in ("blk", "block"):
        return _named("Block", value)
    return _category(value) if kind in ("gc", "general_category") else None


def _category(name: str) -> str | None:
    if name == "LC":
        return _CASED_LETTERS
    return rf"\p{{gc={name}}}" if name in CATEGORIES else None


def _named(kind: str, name: str) -> str | None:
    """Return a script or block. The engine reports unknown names."""
    sound = bool(name) and all(each.isalnum() or each in "_- " for each in name) and name.isascii()
    return rf"\p{{{kind}={name}}}" if sound else None
