"""Thrift's structs as a model. Sets become lists; a field that is not required may be None."""

from __future__ import annotations

from typing import Any

from kafkapy.bus.schemas.model import EventModel, ModelEnum, ModelField, ModelRecord
from kafkapy.bus.schemas.repository import RepositoryError
from kafkapy.registry.compatibility import SchemaParseError
from kafkapy.registry.formats.thrift_idl import ThriftType, enums_of, structs_of

_INTEGERS = ("byte", "i16", "i32", "i64")
_SCALARS = {"bool": "bool", "double": "float", "string": "str", "binary": "bytes", **dict.fromkeys(_INTEGERS, "int")}


def read(text: str, name: str | None) -> EventModel:
    """The model of a Thrift file. Raises RepositoryError."""
    try:
        structs = structs_of(text)
    except SchemaParseError as error:
        raise RepositoryError(str(error)) from error
    records = [_record(struct) for struct in structs]
    enums = tuple(ModelEnum(enum.__name__, tuple(enum._NAMES_TO_VALUES)) for enum in enums_of(text))
    last = structs[-1].__name__
    if name is not None and last != name.rpartition(".")[2]:
        raise RepositoryError(
            f"The last struct is called {last}, and must be called {name.rpartition('.')[2]} as its folder"
        )
    return EventModel(records[-1], tuple(records), enums)


def _record(struct: Any) -> ModelRecord:
    made = []
    for field in ThriftType.fields_of(struct):
        kind, written = _type(field.type), field.type.name
        if field.required:
            made.append(ModelField(field.name, kind, None, f"id {field.id}", f"required {written}"))
        else:
            made.append(ModelField(field.name, f"{kind} | None", "None", f"id {field.id}", f"optional {written}"))
    return ModelRecord(struct.__name__, struct.__name__, tuple(made))


def _type(kind: ThriftType) -> str:
    if kind.struct is not None or kind.enum is not None:
        return kind.name
    if kind.key is not None:
        return f"dict[{_type(kind.key)}, {_type(kind.item)}]"
    if kind.item is not None:
        return f"list[{_type(kind.item)}]"
    return _SCALARS.get(kind.name, "Any")
