"""Arrays and maps as keys of maps, which Python's lists and dictionaries cannot be."""

from __future__ import annotations

from typing import Any


class ArrayKey(list[Any]):
    """An array that is a key; must not be changed."""

    java_class = "java.util.ArrayList"

    def __hash__(self) -> int:  # type: ignore[override]  # lists have none
        return hash(repr(self))


class MapKey(dict[Any, Any]):
    """A map that is a key; must not be changed."""

    java_class = "java.util.LinkedHashMap"

    def __hash__(self) -> int:  # type: ignore[override]  # dictionaries have none
        return hash(frozenset(map(repr, self.items())))


def as_key(value: Any) -> Any:
    """Return a value that can be a key of a dictionary.

    Args:
        value: Arrays and maps become `ArrayKey` and `MapKey`, others stay.

    Example:
        >>> {as_key([1]): 2}[as_key([1])]
        2
    """
    if isinstance(value, list):
        return ArrayKey(value)
    return MapKey(value) if isinstance(value, dict) else value
