"""Checks whether one Thrift definition can read data written with another.

A struct in the binary protocol has the ids and types of its fields. A reader skips fields with an unknown id or
another type (thriftpy2 and Apache's libraries do), so a changed type loses the value; it fails on a missing required
field or an unknown enum number. A reader can read a writer if

- no field that the writer may omit is required by the reader;
- fields with the same id have the same type (i16 and i32 differ, because their widths on the wire do);
- the reader's enums have all numbers of the writer's.

The last struct of the file is compared: by convention it uses the others.
"""

from __future__ import annotations

from typing import Any

from kafkapy.registry.compatibility.incompatibility import Incompatibility
from kafkapy.registry.formats.thrift_idl import ThriftType


def incompatible_changes(writer: Any, reader: Any) -> list[Incompatibility]:
    """Return why a reader's struct (a thriftpy2 class) cannot read all data of the writer's; empty if it can."""
    if writer.__name__ != reader.__name__:
        sentence = f"the event is struct {reader.__name__}, and was {writer.__name__}"
        return [Incompatibility("STRUCT_NAME_CHANGED", "", sentence)]
    found: list[Incompatibility] = []
    _compare_structs(writer, reader, "", found, set())
    return found


def _compare_structs(
    writer: Any, reader: Any, path: str, found: list[Incompatibility], seen: set[tuple[int, int]]
) -> None:
    if (id(writer), id(reader)) in seen:
        return
    seen.add((id(writer), id(reader)))
    written = {field.id: field for field in ThriftType.fields_of(writer)}
    for field in ThriftType.fields_of(reader):
        where = f"{path}{field.name}"
        before = written.get(field.id)
        if before is None:
            if field.required:
                found.append(
                    Incompatibility("REQUIRED_FIELD_ADDED", where, f"id {field.id} is required, and was not there")
                )
            continue
        if field.required and not before.required:
            found.append(Incompatibility("FIELD_REQUIRED", where, "it is required, and was optional"))
        if field.name != before.name:
            sentence = f"id {field.id} was called {before.name}: an id keeps its name"
            found.append(Incompatibility("FIELD_NAME_CHANGED", where, sentence))
        _compare_types(before.type, field.type, where, found, seen)


def _compare_types(
    writer: ThriftType, reader: ThriftType, where: str, found: list[Incompatibility], seen: set[tuple[int, int]]
) -> None:
    if writer.struct is not None and reader.struct is not None:
        _compare_structs(writer.struct, reader.struct, f"{where}.", found, seen)
    elif writer.enum is not None and reader.enum is not None:
        lacking = writer.enum._VALUES_TO_NAMES.keys() - reader.enum._VALUES_TO_NAMES.keys()
        for number in sorted(lacking):
            sentence = f"the enum {reader.enum.__name__} lacks {writer.enum._VALUES_TO_NAMES[number]} ({number})"
            found.append(Incompatibility("ENUM_VALUE_REMOVED", where, sentence))
    elif writer.item is not None and reader.item is not None and writer.container == reader.container:
        _compare_types(writer.item, reader.item, f"{where}[]", found, seen)
        if writer.key is not None and reader.key is not None:
            _compare_types(writer.key, reader.key, f"{where}{{}}", found, seen)
    elif writer.name != reader.name or writer[1:4].count(None) != reader[1:4].count(None):
        sentence = f"it is {reader.name}, and was {writer.name}"
        found.append(Incompatibility("FIELD_TYPE_CHANGED", where, sentence))
