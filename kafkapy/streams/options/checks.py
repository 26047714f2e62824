"""Checks of required arguments."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def required(value: T | None, name: str) -> T:
    """Return the value.

    Raises:
        TypeError: The value is None.
    """
    if value is None:
        raise TypeError(f"{name} can't be None")
    return value
