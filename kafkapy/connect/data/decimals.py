"""Decimals as Java's `BigDecimal`: an unscaled integer of any size and a scale, whatever the decimal context."""

from __future__ import annotations

import re
from decimal import Decimal

from kafkapy.connect.errors import NumberFormatException

_TEXT = re.compile(r"([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?", re.ASCII)
_MOST_DIGITS = 1 << 20


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """Return `unscaled` * 10 ** -`scale` with exactly this scale.

    Args:
        unscaled: All digits.
        scale: How many of them are behind the point; below 0: how many zeros follow.

    Example:
        >>> decimal_of(-12300, 2)
        Decimal('-123.00')
    """
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def scale_of(value: Decimal) -> int:
    """Return the scale: how many digits are behind the point. Raises NumberFormatException for NaN and infinity."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise NumberFormatException(f"{value} is no number")
    return -exponent


def unscaled_of(value: Decimal) -> int:
    """Return all digits as an integer."""
    sign, digits, _ = value.as_tuple()
    unscaled = int("".join(map(str, digits)) or "0")
    return -unscaled if sign else unscaled


def parse_decimal(text: str) -> Decimal:
    """Read a text as `new BigDecimal(text)`.

    Args:
        text: Digits with an optional sign, point and exponent; no blanks.

    Raises:
        NumberFormatException: It is no number, or its scale needs more than 32 bits.

    Example:
        >>> parse_decimal("+1.50")
        Decimal('1.50')
    """
    match = _TEXT.fullmatch(text)
    if match is None or len(text) > _MOST_DIGITS:
        raise NumberFormatException(f"Not a number: {text[:100]}")
    sign, whole, behind, only_behind, exponent = match.groups()
    fraction = (behind if only_behind is None else only_behind) or ""
    if exponent is not None and len(exponent.lstrip("+-")) > 10:
        raise NumberFormatException("Too many nonzero exponent digits.")
    scale = len(fraction) - int(exponent or 0)
    if not -(1 << 31) <= scale < 1 << 31:
        raise NumberFormatException("Scale out of range.")
    digits = ((whole or "") + fraction).lstrip("0") or "0"
    return Decimal((int(sign == "-" and digits != "0"), tuple(map(int, digits)), -scale))


def decimal_text(value: Decimal) -> str:
    """Return the text of `BigDecimal.toString`.

    Args:
        value: A finite number.

    Example:
        >>> decimal_text(decimal_of(5, -3)), decimal_text(decimal_of(5, 8)), decimal_text(decimal_of(50, 2))
        ('5E+3', '5E-8', '0.50')
    """
    unscaled, scale = unscaled_of(value), scale_of(value)
    sign, digits = ("-" if unscaled < 0 else ""), str(abs(unscaled))
    exponent = len(digits) - 1 - scale
    if scale >= 0 and exponent >= -6:
        return sign + _plain(digits, scale)
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{mantissa}" + (f"E{exponent:+d}" if exponent else "")


def plain_text(value: Decimal) -> str:
    """Return the text of `BigDecimal.toPlainString`: no exponent."""
    unscaled, scale = unscaled_of(value), scale_of(value)
    sign, digits = ("-" if unscaled < 0 else ""), str(abs(unscaled))
    if scale < 0:
        return sign + digits + ("0" * -scale if unscaled else "")
    return sign + _plain(digits, scale)


def _plain(digits: str, scale: int) -> str:
    if scale == 0:
        return digits
    digits = digits.rjust(scale + 1, "0")
    return f"{digits[:-scale]}.{digits[-scale:]}"


def integer_part(value: Decimal) -> int:
    """Return the number without its fraction, cut to 64 bits as `BigDecimal.longValue` does."""
    unscaled, scale = unscaled_of(value), scale_of(value)
    if scale > 0:
        cut = abs(unscaled) // 10**scale if scale < len(str(unscaled)) + 1 else 0
        return -cut if unscaled < 0 else cut
    if scale <= -64:
        return 0
    return unscaled * 10**-scale
