"""The .proto files that can be imported without a reference: Protobuf's own, Google's common types, and Confluent's."""

from __future__ import annotations

import importlib
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool

KNOWN_FOLDERS = ("google/protobuf/", "google/type/", "confluent/")
_Field = descriptor_pb2.FieldDescriptorProto
_STRING, _BYTES, _MESSAGE = _Field.TYPE_STRING, _Field.TYPE_BYTES, _Field.TYPE_MESSAGE
_OPTIONAL, _REPEATED = _Field.LABEL_OPTIONAL, _Field.LABEL_REPEATED
_META_NUMBER = 1088
"""Of the options with which Confluent's registry keeps metadata in a file."""


def known_file(name: str) -> Any:
    """A file that needs no reference, as a descriptor.

    Raises:
        KeyError: There is no such file; ImportError: the package that has it is not installed (googleapis-common-protos).
    """
    if name in _CONFLUENT:
        return _CONFLUENT[name]()
    importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    proto = descriptor_pb2.FileDescriptorProto()
    descriptor_pool.Default().FindFileByName(name).CopyToProto(proto)
    return proto


def _file(name: str) -> Any:
    package = name.rpartition("/")[0].replace("/", ".")
    return descriptor_pb2.FileDescriptorProto(name=name, package=package, syntax="proto3")


def _add_message(file: Any, name: str, *fields: tuple[str, int]) -> Any:
    """A message with optional fields, which have the numbers from 1 on."""
    message = file.message_type.add(name=name)
    for number, (field, kind) in enumerate(fields, start=1):
        message.field.add(name=field, number=number, label=_OPTIONAL, type=kind)
    return message


def _meta() -> Any:
    file = _file("confluent/meta.proto")
    file.dependency.append("google/protobuf/descriptor.proto")
    meta = _add_message(file, "Meta", ("doc", _STRING))
    for number, name, kind in (
        (2, "params", ".confluent.Meta.ParamsEntry"),
        (3, "tags", ""),
        (4, "rules", ".confluent.Rule"),
    ):
        field = meta.field.add(name=name, number=number, label=_REPEATED, type=_MESSAGE if kind else _STRING)
        if kind:
            field.type_name = kind
    entry = meta.nested_type.add(name="ParamsEntry")
    entry.options.map_entry = True
    for number, name in ((1, "key"), (2, "value")):
        entry.field.add(name=name, number=number, label=_OPTIONAL, type=_STRING)
    _add_message(file, "Rule", *((name, _STRING) for name in ("name", "doc", "expr", "sql")))
    for name, extended in (
        ("file", "File"),
        ("message", "Message"),
        ("field", "Field"),
        ("enum", "Enum"),
        ("enum_value", "EnumValue"),
    ):
        extension = file.extension.add(name=f"{name}_meta", number=_META_NUMBER, label=_OPTIONAL, type=_MESSAGE)
        extension.extendee, extension.type_name = f".google.protobuf.{extended}Options", ".confluent.Meta"
    return file


def _decimal() -> Any:
    file = _file("confluent/type/decimal.proto")
    _add_message(file, "Decimal", ("value", _BYTES), ("precision", _Field.TYPE_UINT32), ("scale", _Field.TYPE_INT32))
    return file


def _variant() -> Any:
    file = _file("confluent/type/variant.proto")
    _add_message(file, "Variant", ("metadata", _BYTES), ("value", _BYTES))
    return file


_CONFLUENT = {
    "confluent/meta.proto": _meta,
    "confluent/type/decimal.proto": _decimal,
    "confluent/type/variant.proto": _variant,
}
