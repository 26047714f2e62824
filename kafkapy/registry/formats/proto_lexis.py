r"""Converts strings and numbers of .proto files like protoc.

Adjacent strings are joined, with C's escapes; integers may be hexadecimal or octal."""

from __future__ import annotations

import re

_STRING = r"""(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_COMMENT = r"(?://[^\n]*|/\*.*?\*/)"
_TOKEN = re.compile(
    rf"{_COMMENT}|(?P<strings>{_STRING}(?:(?:\s|{_COMMENT})*{_STRING})*)"
    r"|(?<![\w.])(?P<number>0(?:[xX][0-9a-fA-F]+|[0-7]+))(?![\w.])",
    re.DOTALL,
)
_PIECE = re.compile(rf"{_COMMENT}|(?P<piece>{_STRING})", re.DOTALL)
_BARE_QUOTE = re.compile(r'(\\.)|"', re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:(?P<plain>[abfnrtv\\'\"?])|[xX](?P<hex>[0-9a-fA-F]{1,2})|(?P<octal>[0-7]{1,3})"
    r"|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8}))"
)
_PLAIN = dict(zip("abfnrtv\\'\"?", "\a\b\f\n\r\t\v\\'\"?", strict=True))


def plain_tokens(text: str) -> str:
    """Rewrite a .proto file with joined, double-quoted strings and decimal numbers.

    Example:
        >>> plain_tokens('''option x = "a" 'b"';  int32 id = 0x10;''')
        'option x = "ab\\\\"";  int32 id = 16;'
    """
    return _TOKEN.sub(_plain, text)


def _plain(found: re.Match[str]) -> str:
    if found["number"] is not None:
        digits = found["number"]
        return str(int(digits, 16 if digits[1] in "xX" else 8))
    if found["strings"] is None:
        return found[0]
    pieces = [each["piece"][1:-1] for each in _PIECE.finditer(found["strings"]) if each["piece"]]
    return '"' + "".join(_BARE_QUOTE.sub(lambda quote: quote[1] or '\\"', piece) for piece in pieces) + '"'


def unescaped(text: str) -> str:
    """Return the contents of a string literal; bytes that are no UTF-8 are replaced."""
    if "\\" not in text:
        return text
    parts, at = [], 0
    for found in _ESCAPE.finditer(text):
        parts += [text[at : found.start()].encode(), _byte_or_character(found)]
        at = found.end()
    return b"".join([*parts, text[at:].encode()]).decode(errors="replace")


def _byte_or_character(found: re.Match[str]) -> bytes:
    if found["plain"]:
        return _PLAIN[found["plain"]].encode()
    if found["hex"] or found["octal"]:
        return bytes([int(found["hex"], 16) if found["hex"] else int(found["octal"], 8) & 0xFF])
    code = int(found["short"] or found["long"], 16)
    return chr(code if code <= 0x10FFFF else 0xFFFD).encode(errors="replace")
