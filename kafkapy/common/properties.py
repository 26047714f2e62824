"""Java's `.properties` files, read as by `Properties.load`, and written so that it can read them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from kafkapy.common.java_text import from_java_chars

_BLANKS = " \t\f"
_SIMPLE_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY_TO_ESCAPE = re.compile(r"[\\=:#!]|[^!-~]")
_VALUE_TO_ESCAPE = re.compile(r"\\|^ |[^ -~]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


def load_file(path: str | Path) -> dict[str, str]:
    """Read a file (ISO 8859-1, as Java reads it).

    Raises:
        ValueError: the file is malformed; the message names it.
    """
    try:
        return load(Path(path).read_bytes().decode("latin-1"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    except OSError as error:  # errors of reading contain no file name
        raise type(error)(error.errno, error.strerror, str(path)) from None


def load(text: str) -> dict[str, str]:
    """Parse keys and values.

    A key ends at the first `=`, `:` or blank; `\\` escapes and continues; the last one of a key wins.
    """
    properties = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        properties[_unescape(key)] = _unescape(value)
    return properties


def dump(properties: Mapping[str, object]) -> str:
    """Write properties as ASCII text that `load` and Java can read."""
    return "".join(
        f"{_KEY_TO_ESCAPE.sub(_escaped, name)}={_VALUE_TO_ESCAPE.sub(_escaped, str(value))}\n"
        for name, value in properties.items()
    )


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without leading blanks and comments, with continued lines joined.

    A comment may follow a line that continues with nothing.
    """
    continued = ""
    continues = False
    for natural_line in re.split(r"\r\n|\r|\n", text):
        line = natural_line.lstrip(_BLANKS)
        if not continued and (not line or line[0] in "#!"):
            continues = False
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        continues = backslashes % 2 == 1
        continued += line[:-1] if continues else line
        if not continues:
            yield continued
            continued = ""
    if continues:  # the file ends with a backslash
        yield continued


def _split(line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    start = end
    while start < len(line) and line[start] in _BLANKS:
        start += 1
    if start < len(line) and line[start] in "=:":
        start += 1
    return line[:end], line[start:].lstrip(_BLANKS)


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 16))
        if match[2] == "u":
            raise ValueError("Malformed \\uxxxx encoding.")
        return _SIMPLE_ESCAPES.get(match[2], match[2])

    return from_java_chars(_ESCAPE.sub(character, text)) if "\\" in text else text


def _escaped(match: re.Match[str]) -> str:
    if match[0] in "\\=:#! ":
        return "\\" + match[0]
    return "".join(f"\\u{unit:04x}" for (unit,) in struct.iter_unpack(">H", match[0].encode("utf-16-be")))
