"""Raises exceptions that are stored elsewhere, without reference cycles."""

from __future__ import annotations

import copy
from typing import TypeVar

E = TypeVar("E", bound=Exception)


def raisable_copy(stored: E) -> E:
    """Return a copy of a stored exception, to be raised in its place.

    The traceback of a raised exception refers to its frames, and so to their variables. If one of these holds the
    exception, that is a reference cycle, which lives until the garbage collector finds it.

    Args:
        stored: An exception that can be recreated from its `args`. The copy has its traceback and `__cause__`.

    Example:
        >>> results = [1, ValueError("no such topic")]
        >>> raise raisable_copy(results[1])
        Traceback (most recent call last):
        ValueError: no such topic
    """
    made = copy.copy(stored).with_traceback(stored.__traceback__)
    made.__cause__ = stored.__cause__
    return made
