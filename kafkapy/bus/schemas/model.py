"""One model for schemas of all kinds: records with fields, whose types are Python's. Typed classes, pages and
differences are generated from it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from kafkapy.common.exact_json import identity_of, loads


class ModelField(NamedTuple):
    """A field. `type`: a Python annotation that names classes of the model. `default`: a Python expression, None if
    the field is required. `schema_type`, `schema_default`: in the schema's language; None: the schema has no default."""

    name: str
    type: str
    default: str | None = None
    doc: str = ""
    schema_type: str = ""
    schema_default: str | None = None


class ModelRecord(NamedTuple):
    """`schema_name`: its name in the schema."""

    name: str
    schema_name: str
    fields: tuple[ModelField, ...]
    doc: str = ""


class ModelEnum(NamedTuple):
    name: str
    symbols: tuple[str, ...]
    doc: str = ""


class EventModel(NamedTuple):
    """The records of an event. In `records` a record stands after those that it uses, where that is possible; `root`
    is the event's record."""

    root: ModelRecord
    records: tuple[ModelRecord, ...]
    enums: tuple[ModelEnum, ...]
    descriptor: bytes | None = None


_READERS = {"AVRO": "avro_model", "JSON": "json_model", "PROTOBUF": "protobuf_model", "THRIFT": "thrift_model"}


def model_of(kind: str, text: str, name: str | None = None) -> EventModel:
    """Parse a schema. `name`: the full name of the event, which the schema must have. Raises RepositoryError."""
    read: Callable[[str, str | None], EventModel] = import_module(f"kafkapy.bus.schemas.{_READERS[kind]}").read
    return read(text, name)


def field_lines(kind: str, text: str) -> dict[str, str]:
    """Path of each field -> (type, default) in the schema's language. A field of a record that is used several times
    has the record's name as its prefix."""
    model = model_of(kind, text)
    found: dict[str, str] = {}
    for record in (model.root, *(each for each in model.records if each != model.root)):
        prefix = "" if record == model.root else f"{record.name}."
        for field in record.fields:
            default = "" if field.schema_default is None else f" = {field.schema_default}"
            found[prefix + field.name] = field.schema_type + default
    for enum in model.enums:
        found[enum.name] = "enum " + " | ".join(enum.symbols)
    return found


def same_schema(kind: str, one: str, other: str) -> bool:
    """Do the texts differ in white space only?"""
    if kind in ("AVRO", "JSON"):
        try:
            left, right = (identity_of(loads(text, comments=kind == "AVRO")) for text in (one, other))
        except ValueError:
            return False
        return left == right
    return one.split() == other.split()


def union_of(parts: list[str]) -> str:
    """A union of types, with None last; `Any` replaces all others."""
    if "Any" in parts:
        return "Any"
    some = [part for part in parts if part != "None"]
    return " | ".join(dict.fromkeys([*some, *(["None"] if "None" in parts else [])]))
