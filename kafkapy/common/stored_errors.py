"""Raising an exception that something else keeps."""

from __future__ import annotations

import copy
from typing import TypeVar

E = TypeVar("E", bound=Exception)


def raisable(stored: E) -> E:
    """A copy of an exception that a response, a result or a local variable holds, to be raised in its place.

    The traceback of a raised exception refers to the frames that it passed through, and so to what their variables hold. If
    one of these holds the exception, that is a reference cycle, which lives until the garbage collector finds it.

    Args:
        stored: Its class must be able to make it anew from its `args`. Its traceback and `__cause__` are those of the copy, too.

    Example:
        >>> results = [1, ValueError("no such topic")]
        >>> raise raisable(results[1])
        Traceback (most recent call last):
        ValueError: no such topic
    """
    made = copy.copy(stored).with_traceback(stored.__traceback__)
    made.__cause__ = stored.__cause__
    return made
