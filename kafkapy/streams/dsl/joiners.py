"""Adapts users' joiners to the form that processors call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Joiner = Callable[[Any, Any], Any]
KeyedJoiner = Callable[[Any, Any, Any], Any]


def keyed_joiner(joiner: Callable[..., Any], with_key: bool) -> KeyedJoiner:
    """Return a joiner of key, left and right value."""
    if with_key:
        return joiner
    return lambda key, left, right: joiner(left, right)


def reversed_joiner(joiner: KeyedJoiner) -> KeyedJoiner:
    """Return a keyed joiner with left and right value swapped, for the right side."""
    return lambda key, right, left: joiner(key, left, right)


def reversed_values(joiner: Joiner) -> Joiner:
    """Return a joiner of two values with its arguments swapped."""
    return lambda right, left: joiner(left, right)
