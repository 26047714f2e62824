"""Resolves type names in .proto files that Protobuf's runtime rejects, but that a registry has stored.

Types that are found get their full names, so that the file can still be compared and returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf import descriptor_pb2

_Field = descriptor_pb2.FieldDescriptorProto


def linked_loosely(file: Any, others: Mapping[str, Any]) -> Any:
    """Return a copy whose fields have full type names.

    Args:
        file: A `FileDescriptorProto` with the type names of its text. others: Name -> the files that it may import.
    """
    linked = type(file)()
    linked.CopyFrom(file)
    types = {name: kind for each in (*others.values(), linked) for name, kind in _types(each)}
    prefix = f".{linked.package}" if linked.package else ""
    for message in linked.message_type:
        _link(message, prefix, types)
    for field in linked.extension:
        _link_field(field, prefix, types)
    return linked


def _types(file: Any) -> Iterator[tuple[str, int]]:
    prefix = f".{file.package}" if file.package else ""
    yield from ((f"{prefix}.{enum.name}", _Field.TYPE_ENUM) for enum in file.enum_type)
    waiting = [(prefix, message) for message in file.message_type]
    while waiting:
        outer, message = waiting.pop()
        name = f"{outer}.{message.name}"
        yield name, _Field.TYPE_MESSAGE
        yield from ((f"{name}.{enum.name}", _Field.TYPE_ENUM) for enum in message.enum_type)
        waiting += [(name, nested) for nested in message.nested_type]


def _link(message: Any, outer: str, types: Mapping[str, int]) -> None:
    scope = f"{outer}.{message.name}"
    for field in (*message.field, *message.extension):
        _link_field(field, scope, types)
    for nested in message.nested_type:
        _link(nested, scope, types)


def _link_field(field: Any, scope: str, types: Mapping[str, int]) -> None:
    """Resolve a field's type like Protobuf, from the innermost scope outwards; a type that is not found counts as a
    message."""
    if not field.type_name:
        return
    found = field.type_name
    if not found.startswith("."):
        while scope and f"{scope}.{field.type_name}" not in types:
            scope = scope.rpartition(".")[0]
        found = f"{scope}.{field.type_name}"
    field.type_name = found
    if not field.HasField("type"):
        field.type = types.get(found, _Field.TYPE_MESSAGE)
