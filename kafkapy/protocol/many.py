"""Is there so much in a message that to read, write or forget it takes long?"""

from __future__ import annotations

from typing import Any, Final

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct
from kafkapy.runtime.hand_over import hand_over

_FREED_AT_ONCE = 1000
"""Objects that are freed, or looked at, before another thread runs: some 0.1 ms (300,000 take 30 ms)."""


class _Lists:
    """The lists that a struct has: of structs, by name, with those that their structs have; and the names of others."""

    __slots__ = ("inner", "leaves", "plain")

    def __init__(self, inner: tuple[tuple[str, _Lists], ...], plain: tuple[str, ...]) -> None:
        self.inner = inner
        self.plain = plain
        self.leaves = () if any(lists.inner for _, lists in inner) else tuple(name for name, _ in inner)
        """The names in `inner`, if none of those structs has structs: they are counted without a call for each."""

    @property
    def has_any(self) -> bool:
        return bool(self.inner or self.plain)


_known: Final[dict[type[Message], _Lists]] = {}


def has_many_structs(message: Message, many: int) -> bool:
    """Has it more structs than that? Few are counted in no time, and counting ends with `many`."""
    return _count(message, _lists_of(type(message)), many, False) > many


def names_many(message: Message, many: int) -> bool:
    """Has it more structs, numbers and strings in its lists than that? Then its answer will have as many structs."""
    return _count(message, _lists_of(type(message)), many, True) > many


def free(things: list[Any]) -> None:
    """Free messages, and lists and dicts of other objects, a part at a time, so that other threads run in between; in a thread.

    300,000 structs at once took 30 ms. Nothing may read the messages, lists and dicts any more, and they are emptied; lists,
    dicts and messages in them are not. What else refers to their items keeps those: a part of an answer may be of others, too.
    """
    held: list[Any] = []
    while things:
        thing = things.pop()
        if isinstance(thing, Message):
            lists = _lists_of(type(thing))
            _hold(thing, lists, held)
            for name, _ in lists.inner:
                setattr(thing, name, [])
            for name in lists.plain:
                setattr(thing, name, [])
        elif isinstance(thing, list):
            _hold_items(thing, held)
            thing.clear()
        elif isinstance(thing, dict):
            held.extend(thing)
            _hold_items(thing.values(), held)
            thing.clear()
    held.reverse()  # those with lists go before what is in the lists, so that none has to free many
    while held:
        del held[-_FREED_AT_ONCE:]
        hand_over()


def _hold_items(items: Any, held: list[Any]) -> None:
    """Hold the items, and what is in those of them that may have many items themselves."""
    held.extend(items)
    for number, item in enumerate(items, 1):
        kind = type(item)
        if kind is list or kind is tuple:  # not `TopicPartition`
            _hold_items(item, held)
        elif kind is dict:
            held.extend(item)
            _hold_items(item.values(), held)
        elif isinstance(item, Message):
            _hold(item, _lists_of(type(item)), held)
        if number % _FREED_AT_ONCE == 0:
            hand_over()


def _hold(struct: Any, lists: _Lists, held: list[Any]) -> None:
    for name in lists.plain:
        values = getattr(struct, name)
        if values is not None and len(values) > _FREED_AT_ONCE:
            held.extend(values)
    for name, inner in lists.inner:
        items = getattr(struct, name) or ()
        held.extend(items)
        if inner.has_any:
            for number, item in enumerate(items, 1):
                _hold(item, inner, held)
                if number % _FREED_AT_ONCE == 0:
                    hand_over()


def _lists_of(message: type[Message]) -> _Lists:
    found = _known.get(message)
    if found is None:
        found = _known[message] = _lists(message, message)
    return found


def _lists(struct: type[Struct], message: type[Message]) -> _Lists:
    arrays = [field for field in struct.FIELDS if field.element_type]
    return _Lists(
        tuple(
            (field.name, _lists(getattr(message, field.struct_name), message)) for field in arrays if field.struct_name
        ),
        tuple(field.name for field in arrays if not field.struct_name),
    )


def _count(struct: Any, lists: _Lists, many: int, values_too: bool) -> int:
    found = 0
    if values_too:
        for name in lists.plain:
            found += len(getattr(struct, name) or ())
    for name, inner in lists.inner:
        items = getattr(struct, name) or ()
        found += len(items)
        if inner.leaves and not values_too:
            for item in items:
                if found > many:
                    return found
                for leaf in inner.leaves:
                    found += len(getattr(item, leaf) or ())
        elif inner.inner or (values_too and inner.plain):
            for item in items:
                if found > many:
                    return found
                found += _count(item, inner, many, values_too)
    return found
