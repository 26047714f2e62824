"""Arguments that must be there."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def required(value: T | None, name: str) -> T:
    """The value.

    Raises:
        TypeError: It is None.
    """
    if value is None:
        raise TypeError(f"{name} can't be None")
    return value
