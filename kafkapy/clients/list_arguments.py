"""Checks arguments that must be lists. A string is rejected, because it would be taken for a list of its letters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import cache
from types import FunctionType, MethodType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints


def check_list(name: str, value: Any) -> None:
    """Raise TypeError for a string or bytes, a named tuple such as `TopicPartition`, and anything that is no list."""
    if isinstance(value, str | bytes | bytearray) or hasattr(value, "_fields") or not isinstance(value, Iterable):
        raise TypeError(f"{name} takes a list, not {value!r}: write [{value!r}]")


def check_lists(method: MethodType, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Apply `check_list` to all arguments that a method annotates as lists or mappings to lists. Raises TypeError.

    It avoids `inspect`, whose import would delay the tools' start.
    """
    found = _list_parameters(method.__func__)
    given = {**dict(zip(found.names, args, strict=False)), **kwargs}
    for name in found.lists & given.keys():
        value = given[name]
        if value is not None and not (name in found.mappings and isinstance(value, Mapping)):
            check_list(name, value)
    for name in found.mappings & given.keys():
        for key, value in given[name].items() if isinstance(given[name], Mapping) else ():
            if value is not None:
                check_list(f"{name}[{key!r}]", value)


class ListParameters(NamedTuple):
    """Names of parameters: all of a method, those that take lists, and those that take mappings whose values are lists."""

    names: Sequence[str]
    lists: Set[str]
    mappings: Set[str]


@cache
def _list_parameters(function: FunctionType) -> ListParameters:
    names = function.__code__.co_varnames[1 : function.__code__.co_argcount]
    hints = {name: _members(hint) for name, hint in get_type_hints(function).items() if name != "return"}
    return ListParameters(
        names,
        {name for name, members in hints.items() if str not in members and any(map(_is_list, members))},
        {name for name, members in hints.items() if any(map(_is_mapping_to_lists, members))},
    )


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_list(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, Mapping)


def _is_mapping_to_lists(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping) and any(map(_is_list, _members(get_args(hint)[1])))
