"""Parses arguments of overloaded methods, and keywords that replace options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from kafkapy.streams.options.consumed import Consumed
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.named import validate_name
from kafkapy.streams.options.produced import Produced
from kafkapy.streams.serdes import Serde
from kafkapy.streams.type_serdes import serde_of

Typed = TypeVar("Typed", Consumed[Any, Any], Produced[Any, Any])


def bound(arguments: Sequence[Any], options: Mapping[str, Any], *names: str) -> list[Any]:
    """Return the values of named parameters, given by position or keyword; None for missing ones.

    Raises:
        TypeError: Too many arguments, a duplicate one, or an unknown keyword.
    """
    if len(arguments) > len(names):
        raise TypeError(f"at most {len(names)} arguments are expected ({', '.join(names)}), not {len(arguments)}")
    given = dict(zip(names, arguments, strict=False))
    for name, value in options.items():
        if name not in names:
            raise TypeError(f"unexpected keyword argument {name!r}; known are {', '.join(names)}")
        if name in given:
            raise TypeError(f"multiple values for argument {name!r}")
        given[name] = value
    return [given.get(name) for name in names]


def typed(options: Typed, key: Serde[Any] | type[Any] | None, value: Serde[Any] | type[Any] | None) -> Typed:
    """Return the options with the serdes of the given types.

    Raises:
        TypeError: There is no serde for a type.
    """
    if key is not None:
        options = options.with_key_serde(serde_of(key))
    return options if value is None else options.with_value_serde(serde_of(value))


def stored(materialized: Materialized[Any, Any] | None, store: str | None) -> Materialized[Any, Any] | None:
    """Return the options of a store with the given name, if any.

    Raises:
        TopologyException: The name is not valid for a topic.
        TypeError: The options also name a store.
    """
    if store is None:
        return materialized
    if materialized is None:
        return Materialized.as_(store)
    if materialized.store_name is not None or materialized.store_supplier is not None:
        raise TypeError("the store has a name already in materialized")
    return replace(materialized, store_name=validate_name(store))
