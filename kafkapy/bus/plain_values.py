"""Converts between dataclasses and the plain values (dictionaries, lists, numbers …) that schema libraries read and
write.

The conversion of a class is computed once, from its annotations. Enums are converted to their values. In a union of
several dataclasses a value is written as (schema_name, dictionary), as fastavro expects, if the class has a
`schema_name`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from kafkapy.bus.errors import NotAnEventError, UnreadableEventError

Convert = Callable[[Any], Any]


_writers: WeakKeyDictionary[type[Any], Convert] = WeakKeyDictionary()
_readers: WeakKeyDictionary[type[Any], Convert] = WeakKeyDictionary()


def identity(value: Any) -> Any:
    return value


def _composed(hint: Any, of_part: Callable[[Any], Convert], of_union: Callable[[list[Any]], Convert]) -> Convert:
    """The conversion of a union, list or dictionary, composed of those of its parts; `identity` for other types."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return of_union([arg for arg in get_args(hint) if arg is not type(None)])
    if origin is list:
        inner = of_part(get_args(hint)[0])
        return identity if inner is identity else lambda value: [inner(each) for each in value]
    if origin is dict:
        inner = of_part(get_args(hint)[1])
        return identity if inner is identity else lambda value: {key: inner(each) for key, each in value.items()}
    return identity


# ------------------------------------------------------------------------------------------------------------- to plain


def to_plain(cls: type[Any]) -> Convert:
    """A function that converts an instance to a dictionary."""
    return _remembered(_writers, cls, _write_record)


def _write_record(cls: type[Any]) -> Convert:
    hints = get_type_hints(cls)
    steps: list[tuple[str, Convert]] = []
    simple: list[str] = []
    for field in fields(cls):
        convert = _writer(hints[field.name])
        if convert is identity:
            simple.append(field.name)
        else:
            steps.append((field.name, convert))

    def write(value: Any) -> dict[str, Any]:
        if type(value) is not cls:
            raise NotAnEventError(f"This must be a {cls.__name__}; it is a {type(value).__name__}: {value!r:.100}")
        found = {name: getattr(value, name) for name in simple}
        for name, convert in steps:
            found[name] = convert(getattr(value, name))
        return found

    return write


def _writer(hint: Any) -> Convert:
    if isinstance(hint, type) and is_dataclass(hint):
        return _late(hint, to_plain)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda value: value.value
    return _composed(hint, _writer, _union_writer)


def _union_writer(choices: list[Any]) -> Convert:
    writers = [_writer(choice) for choice in choices]
    if all(writer is identity for writer in writers):
        return identity
    if len(choices) == 1:
        only = writers[0]
        return lambda value: None if value is None else only(value)
    by_type = {choice if isinstance(choice, type) else get_origin(choice): i for i, choice in enumerate(choices)}
    many = sum(isinstance(choice, type) and is_dataclass(choice) for choice in choices) > 1

    def write(value: Any) -> Any:
        if value is None:
            return None
        index = by_type.get(type(value))
        written = value if index is None else writers[index](value)
        name = getattr(type(value), "schema_name", None)
        return (name, written) if many and name is not None and is_dataclass(value) else written

    return write


def _remembered(
    known: WeakKeyDictionary[type[Any], Convert], cls: type[Any], make: Callable[[type[Any]], Convert]
) -> Convert:
    found = known.get(cls)
    if found is None:
        found = known[cls] = make(cls)
    return found


def _late(cls: type[Any], make: Callable[[type[Any]], Convert]) -> Convert:
    """A conversion that is computed on first use, since classes may contain themselves."""
    found: list[Convert] = []

    def convert(value: Any) -> Any:
        if not found:
            found.append(make(cls))
        return found[0](value)

    return convert


# ----------------------------------------------------------------------------------------------------------- from plain


def from_plain(cls: type[Any]) -> Convert:
    """A function that converts a dictionary to an instance. Fields that the class does not have are ignored; a
    missing field gets its default, or UnreadableEventError is raised."""
    return _remembered(_readers, cls, _read_record)


def _read_record(cls: type[Any]) -> Convert:
    hints = get_type_hints(cls)
    readers = {field.name: _reader(hints[field.name]) for field in fields(cls)}
    required = [field.name for field in fields(cls) if field.default is MISSING and field.default_factory is MISSING]

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise UnreadableEventError(
                f"A {cls.__name__} is a record; this is a {type(value).__name__}: {value!r:.100}"
            )
        given = {
            name: found if read_field is identity else read_field(found)
            for name, read_field in readers.items()
            if (found := value.get(name, MISSING)) is not MISSING
        }
        if len(given) < len(readers):
            missing = [name for name in required if name not in given]
            if missing:
                raise UnreadableEventError(
                    f"A {cls.__name__} needs the field {missing[0]}, which this value does not have"
                )
        return cls(**given)

    return read


def _reader(hint: Any) -> Convert:
    if isinstance(hint, type) and is_dataclass(hint):
        return _late(hint, from_plain)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda value: _member(hint, value)
    return _composed(hint, _reader, _union_reader)


def _member(cls: type[Enum], value: Any) -> Enum:
    try:
        return cls(value)
    except ValueError:
        raise UnreadableEventError(
            f"{cls.__name__} has no member {value!r}; it has {', '.join(str(member.value) for member in cls)}"
        ) from None


def _union_reader(choices: list[Any]) -> Convert:
    readers = [_reader(choice) for choice in choices]
    records = [choice for choice in choices if isinstance(choice, type) and is_dataclass(choice)]
    enums = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, Enum)]
    if all(reader is identity for reader in readers):
        return identity

    def read(value: Any) -> Any:
        if value is None:
            return None
        name = None
        if isinstance(value, tuple) and len(value) == 2:
            name, value = value
        if isinstance(value, Mapping) and records:
            return _one_of(records, name, value)
        if isinstance(value, str) and enums:
            return _member(enums[0], value) if str not in choices else value
        for choice, reader in zip(choices, readers, strict=True):
            if get_origin(choice) is type(value):
                return reader(value)
        return value

    return read


def _one_of(records: list[type[Any]], name: str | None, value: Mapping[str, Any]) -> Any:
    """The record of that name; without a name, the first record that the value fits."""
    for record in records:
        known = getattr(record, "schema_name", record.__name__)
        if name is not None and name.rpartition(".")[2] == known.rpartition(".")[2]:
            return from_plain(record)(value)
    problem: UnreadableEventError | None = None
    for record in records:
        try:
            return from_plain(record)(value)
        except UnreadableEventError as error:
            problem = error
    assert problem is not None
    raise problem
