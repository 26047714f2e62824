"""Functions that join values, in the form that processors call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Joiner = Callable[[Any, Any], Any]
KeyedJoiner = Callable[[Any, Any, Any], Any]


def keyed_joiner(joiner: Callable[..., Any], with_key: bool) -> KeyedJoiner:
    """A joiner of key, left and right value."""
    if with_key:
        return joiner
    return lambda key, left, right: joiner(left, right)


def reversed_joiner(joiner: KeyedJoiner) -> KeyedJoiner:
    """The same for the right side."""
    return lambda key, right, left: joiner(key, left, right)


def reversed_values(joiner: Joiner) -> Joiner:
    """A joiner of two values with its arguments swapped."""
    return lambda right, left: joiner(left, right)
