"""Is there so much in a message that to read or write it takes long?"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct


class _Lists(NamedTuple):
    """The lists of structs that a struct has, by name, with those that their structs have."""

    inner: tuple[tuple[str, _Lists], ...]


def has_many_structs(message: Message, many: int) -> bool:
    """Has it more structs than that? Few are counted in no time, and counting ends with `many`."""
    return _count(message, _lists_of(type(message)), many) > many


@cache
def _lists_of(message: type[Message]) -> _Lists:
    return _lists(message, message)


def _lists(struct: type[Struct], message: type[Message]) -> _Lists:
    named = [(field.name, field.struct_name) for field in struct.FIELDS if field.element_type and field.struct_name]
    return _Lists(tuple((name, _lists(getattr(message, inner), message)) for name, inner in named))


def _count(struct: Any, lists: _Lists, many: int) -> int:
    found = 0
    for name, inner in lists.inner:
        items = getattr(struct, name) or ()
        found += len(items)
        if inner.inner:
            for item in items:
                if found > many:
                    return found
                found += _count(item, inner, many)
    return found
