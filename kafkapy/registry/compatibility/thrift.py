"""Which Thrift definitions can read what others wrote.

A struct of the binary protocol has its fields' ids and types. A reader passes over fields whose id it does not know, and those
whose type is not the one that it knows (thriftpy2 and Apache's libraries do), so a changed type loses the value; and it fails
where a required field is missing, or an enum's number is unknown. A reader can read a writer if every field that the writer may
leave out is not required by the reader, types of the same id are the same (i16 and i32 are not: widths differ on the wire), and
no enum of the writer has a number that the reader's lacks. The struct that is compared is the last of the file, as is usual for
the one that uses the others.
"""

from __future__ import annotations

from typing import Any

from kafkapy.registry.compatibility.incompatibility import Incompatibility
from kafkapy.registry.formats.thrift_idl import ThriftType


def incompatible_changes(writer: Any, reader: Any) -> list[Incompatibility]:
    """Why a reader with one struct (as thriftpy2 makes it) cannot read all that was written with another; empty if it can."""
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
