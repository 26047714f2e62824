"""Detects messages that are so large that decoding, encoding or freeing them takes long, and frees them in portions."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import Struct
from kafkapy.runtime.yield_gil import yield_gil

_OBJECTS_PER_YIELD = 1000
"""Objects that are freed, or examined, before another thread runs: some 0.1 ms (300,000 take 30 ms)."""


class _Lists:
    """The lists of a struct: those of structs, by name, with the lists of these structs; and the names of others."""

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
    """Return whether it has more structs than `many`. Counting few takes no time, and counting ends at `many`."""
    return _count(message, _lists_of(type(message)), many, False) > many


def has_many_names(message: Message, many: int) -> bool:
    """Return whether it has more than `many` structs, numbers and strings in its lists: then its response has as many
    structs.
    """
    return _count(message, _lists_of(type(message)), many, True) > many


def free(things: list[Any]) -> None:
    """Free messages, and lists and dicts of other objects, in portions, so that other threads run in between; in a
    thread.

    Freeing 300,000 structs at once takes 30 ms. The messages, lists and dicts must not be used any more, and are
    emptied; lists, dicts and messages in them are not. Items with other references survive, such as parts shared by
    responses.
    """
    collected: list[Any] = []
    while things:
        thing = things.pop()
        if isinstance(thing, Message):
            lists = _lists_of(type(thing))
            _collect(thing, lists, collected)
            for name, _ in lists.inner:
                setattr(thing, name, [])
            for name in lists.plain:
                setattr(thing, name, [])
        elif isinstance(thing, list):
            _collect_items(thing, collected)
            thing.clear()
        elif isinstance(thing, dict):
            collected.extend(thing)
            _collect_items(thing.values(), collected)
            thing.clear()
    collected.reverse()  # objects with lists come before the content of the lists, so that each frees few others
    while collected:
        del collected[-_OBJECTS_PER_YIELD:]
        yield_gil()


def _collect_items(items: Any, collected: list[Any]) -> None:
    """Keep references to the items, and to the content of items that may have many items themselves."""
    collected.extend(items)
    for number, item in enumerate(items, 1):
        kind = type(item)
        if kind is list or kind is tuple:  # not for `TopicPartition`
            _collect_items(item, collected)
        elif kind is dict:
            collected.extend(item)
            _collect_items(item.values(), collected)
        elif isinstance(item, Message):
            _collect(item, _lists_of(type(item)), collected)
        if number % _OBJECTS_PER_YIELD == 0:
            yield_gil()


def _collect(struct: Any, lists: _Lists, collected: list[Any]) -> None:
    for name in lists.plain:
        values = getattr(struct, name)
        if values is not None and len(values) > _OBJECTS_PER_YIELD:
            collected.extend(values)
    for name, inner in lists.inner:
        items = getattr(struct, name) or ()
        collected.extend(items)
        if inner.has_any:
            for number, item in enumerate(items, 1):
                _collect(item, inner, collected)
                if number % _OBJECTS_PER_YIELD == 0:
                    yield_gil()


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
