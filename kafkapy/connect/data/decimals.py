"""Decimals as Java's `BigDecimal`: an unscaled integer of any size and a scale, whatever the decimal context."""

from __future__ import annotations

import re
from decimal import Decimal

from kafkapy.connect.errors import NumberFormatException

_TEXT = re.compile(r"([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?")
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
    return Decimal((int(unscaled < 0), Decimal(unscaled).as_tuple().digits, -scale))


def scale_of(value: Decimal) -> int:
    """Return the scale: how many digits are behind the point. Raises NumberFormatException for NaN and infinity."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise NumberFormatException(f"{value} is no number")
    return -exponent


def unscaled_of(value: Decimal) -> int:
    """Return all digits as an integer."""
    sign, digits, _ = value.as_tuple()
    unscaled = int(Decimal((0, digits, 0)))
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
    sign, digits, scale = _digits_of(value)
    exponent = len(digits) - 1 - scale
    if scale >= 0 and exponent >= -6:
        return sign + _plain(digits, scale)
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{mantissa}" + (f"E{exponent:+d}" if exponent else "")


def plain_text(value: Decimal) -> str:
    """Return the text of `BigDecimal.toPlainString`: no exponent."""
    sign, digits, scale = _digits_of(value)
    if scale < 0:
        return sign + digits + ("" if digits == "0" else "0" * -scale)
    return sign + _plain(digits, scale)


def _digits_of(value: Decimal) -> tuple[str, str, int]:
    sign, digits, _ = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0") or "0"
    return ("-" if sign and text != "0" else ""), text, scale_of(value)


def _plain(digits: str, scale: int) -> str:
    if scale == 0:
        return digits
    digits = digits.rjust(scale + 1, "0")
    return f"{digits[:-scale]}.{digits[-scale:]}"


def integer_part(value: Decimal) -> int:
    """Return the low 64 bits of the number without its fraction, as `BigDecimal.longValue`.

    Example:
        >>> integer_part(Decimal("-1.9")), integer_part(Decimal("1E+100"))
        (-1, 0)
    """
    _, digits, scale = _digits_of(value)
    unscaled = unscaled_of(value)
    if scale > 0:
        cut = abs(unscaled) // 10**scale if scale <= len(digits) else 0
        return wrap(-cut if unscaled < 0 else cut, 64)
    return 0 if scale <= -64 else wrap(unscaled * 10**-scale, 64)


def wrap(value: int, bits: int) -> int:
    """Return the low bits of an integer as a signed one.

    Args:
        value: Of any size.
        bits: How many.

    Example:
        >>> wrap(200, 8)
        -56
    """
    half = 1 << (bits - 1)
    return (value + half) % (half << 1) - half
