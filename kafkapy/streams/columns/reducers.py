"""Reducers that a stream in columns computes on arrays. Each is also a plain function of two values."""

from __future__ import annotations

from typing import Any


def total(left: Any, right: Any) -> Any:
    """The sum of the values of a key.

    Args:
        left: What the values before gave.
        right: The next value.

    Example:
        >>> total(3, 4)
        7
    """
    return left + right


def least(left: Any, right: Any) -> Any:
    """The least value of a key; of equal ones the first.

    Args:
        left: What the values before gave.
        right: The next value.

    Example:
        >>> least(3, 4)
        3
    """
    return right if right < left else left


def greatest(left: Any, right: Any) -> Any:
    """The greatest value of a key; of equal ones the first.

    Args:
        left: What the values before gave.
        right: The next value.

    Example:
        >>> greatest(3, 4)
        4
    """
    return right if right > left else left
