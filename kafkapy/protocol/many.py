"""Is there so much in a message that to read, write or forget it takes long?"""

from __future__ import annotations

from typing import Any, Final

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct

_FREED_AT_ONCE = 1000


class _Lists:
    """The lists of structs that a struct has, by name, with those that their structs have."""

    __slots__ = ("inner",)

    def __init__(self, inner: tuple[tuple[str, _Lists], ...]) -> None:
        self.inner = inner


_known: Final[dict[type[Message], _Lists]] = {}


def has_many_structs(message: Message, many: int) -> bool:
    """Has it more structs than that? Few are counted in no time, and counting ends with `many`."""
    return _count(message, _lists_of(type(message)), many) > many


def let_go(messages: list[Message]) -> None:
    """Frees what is in them a part at a time, so that other threads have their turn; in a thread. 300,000 structs took 30 ms.

    Nobody looks at the messages any more. What else somebody refers to stays: a part of an answer may be of other answers, too.
    """
    held: list[Any] = []
    while messages:
        message = messages.pop()
        lists = _lists_of(type(message))
        _hold(message, lists, held)
        for name, _ in lists.inner:
            setattr(message, name, [])
    held.reverse()  # those with lists go before what is in the lists, so that none has to free many
    while held:
        del held[-_FREED_AT_ONCE:]


def _hold(struct: Any, lists: _Lists, held: list[Any]) -> None:
    for name, inner in lists.inner:
        items = getattr(struct, name) or ()
        held.extend(items)
        if inner.inner:
            for item in items:
                _hold(item, inner, held)


def _lists_of(message: type[Message]) -> _Lists:
    found = _known.get(message)
    if found is None:
        found = _known[message] = _lists(message, message)
    return found


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
