"""Places in the write-ahead log: `16/B374D848` as PostgreSQL writes it, a number here."""

from __future__ import annotations


def lsn_text(lsn: int) -> str:
    """Return a place as PostgreSQL writes it.

    Args:
        lsn: From 0 to 2**64 - 1.

    Example:
        >>> lsn_text(97500059720)
        '16/B374D848'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def parse_lsn(text: str) -> int:
    """Return a place as a number.

    Args:
        text: As PostgreSQL writes it.

    Raises:
        ValueError: It is none.

    Example:
        >>> parse_lsn("16/B374D848")
        97500059720
    """
    high, slash, low = text.partition("/")
    if not slash:
        raise ValueError(f"{text!r} is no LSN")
    return int(high, 16) << 32 | int(low, 16)
