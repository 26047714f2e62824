"""Encodes and decodes text in character sets with Java's names, with Java's replacement characters."""

from __future__ import annotations

import codecs
import re

from kafkapy.connect.errors import SerializationException

_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_BIG_ENDIAN_MARK = b"\xfe\xff"


def codec_of(charset: str) -> str:
    """Return Python's name of a character set. Raises SerializationException for an unknown one."""
    try:
        return codecs.lookup(charset).name
    except LookupError:
        raise SerializationException(f"Unsupported encoding {charset}") from None


def encode(text: str, codec: str) -> bytes:
    """Encode; `?` replaces characters that the character set lacks.

    Args:
        text: The text.
        codec: As of `codec_of`.

    Example:
        >>> encode("a€", "iso8859-1"), encode("a", "utf-16")
        (b'a?', b'\\xfe\\xff\\x00a')
    """
    if codec == "utf-16":
        return _BIG_ENDIAN_MARK + encode(text, "utf-16-be") if text else b""
    return text.encode(codec, "replace")


def decode(data: bytes, codec: str) -> str:
    """Decode; U+FFFD replaces malformed bytes.

    Args:
        data: The bytes.
        codec: As of `codec_of`.

    Example:
        >>> decode(b"a\\xff", "utf-8")
        'a\\ufffd'
    """
    if codec == "utf-8":
        try:
            return data.decode()
        except UnicodeDecodeError:
            data = _ENCODED_SURROGATE.sub("\ufffd".encode(), data)
    elif codec == "utf-16" and data[:2] not in (_BIG_ENDIAN_MARK, b"\xff\xfe"):
        codec = "utf-16-be"
    return data.decode(codec, "replace")
