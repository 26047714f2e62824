"""Connect's schemas as files of Protobuf (`ProtobufData.fromConnectSchema`)."""

from __future__ import annotations

import re
from typing import Any, Final

from google.protobuf import descriptor_pb2

from kafkapy.connect.converters.protobuf.field_meta import set_parameters
from kafkapy.connect.converters.protobuf.protobuf_options import (
    DEFAULT_NAME,
    GENERAL_UNION,
    LOGICAL_MESSAGES,
    META_FILE,
    PRECISION,
    PROTO_TYPE,
    TAG,
    UNION,
    WRAPPER_FILE,
    WRAPPERS,
    ProtobufOptions,
    enum_name,
    is_oneof,
)
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DECIMAL
from kafkapy.connect.errors import DataException

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS: Final = {
    Type.INT8: _Field.TYPE_INT32,
    Type.INT16: _Field.TYPE_INT32,
    Type.INT32: _Field.TYPE_INT32,
    Type.INT64: _Field.TYPE_INT64,
    Type.FLOAT32: _Field.TYPE_FLOAT,
    Type.FLOAT64: _Field.TYPE_DOUBLE,
    Type.BOOLEAN: _Field.TYPE_BOOL,
    Type.STRING: _Field.TYPE_STRING,
    Type.BYTES: _Field.TYPE_BYTES,
}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = range(19_000, 20_000)


class ProtoFileMaker:
    """Converts one schema of a struct.

    Args:
        options: The converter's settings.
    """

    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._unnamed = 0

    def convert(self, schema: Schema) -> tuple[Any, str]:
        """Return the file and the message's full name. Raises DataException."""
        if schema.type is not Type.STRUCT:
            raise DataException(
                f"Unsupported root schema of type {schema.type}; Protobuf needs a struct or a primitive"
            )
        parts = [self._checked(each) for each in self._named(schema.name).split(".")]
        self._file = descriptor_pb2.FileDescriptorProto(syntax="proto3", package=".".join(parts[:-1]))
        message = self._file.message_type.add(name=parts[-1])
        self._fill(message, ".".join(["", *parts]), schema)
        return self._file, ".".join(parts)

    def _named(self, name: str | None) -> str:
        if name:
            return name
        self._unnamed += 1
        return f"{DEFAULT_NAME}{self._unnamed}"

    def _simple(self, name: str | None) -> str:
        return self._checked(self._named(name).rpartition(".")[2])

    def _checked(self, name: str) -> str:
        found = self._options.name(name)
        if not _NAME.fullmatch(found):
            raise DataException(
                f"Protobuf does not allow the name {name!r}: only letters, digits and _; set scrub.invalid.names=true to "
                "replace other characters"
            )
        return found

    def _import(self, file: str) -> None:
        if file not in self._file.dependency:
            self._file.dependency.append(file)

    def _fill(self, message: Any, scope: str, schema: Schema) -> None:
        tags = _Tags(schema)
        optional = []
        for field in schema.fields:
            if is_oneof(field.schema):
                self._add_oneof(message, scope, field.schema, tags)
                continue
            made = self._field(message, scope, self._checked(field.name), field.schema, tags.next(field.schema), False)
            if made.label == _Field.LABEL_OPTIONAL and self._options.optional_for_nullables and field.schema.optional:
                optional.append(made)
        for made in optional:  # their oneofs must be the last
            made.proto3_optional = True
            made.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{made.name}")

    def _add_oneof(self, message: Any, scope: str, schema: Schema, tags: _Tags) -> None:
        name = (schema.parameters or {}).get(GENERAL_UNION) or (schema.name or "").removeprefix(UNION)
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=self._simple(name))
        for field in schema.fields:
            tag = tags.next(field.schema)
            self._field(message, scope, self._checked(field.name), field.schema, tag, True).oneof_index = index

    def _field(self, message: Any, scope: str, name: str, schema: Schema, tag: int, is_member: bool) -> Any:
        repeated = schema.type in (Type.ARRAY, Type.MAP)
        if schema.type is Type.ARRAY:
            if schema.value_schema is None or schema.value_schema.type in (Type.ARRAY, Type.MAP):
                raise DataException(f"Protobuf has no array of arrays or maps, as the field {name} is")
            schema = schema.value_schema
        made = message.field.add(name=name, number=tag)
        made.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
        parameters = self._typed(made, message, scope, name, schema, is_member or repeated)
        if parameters:
            self._import(META_FILE)
            set_parameters(made.options, parameters)
        return made

    def _typed(self, made: Any, message: Any, scope: str, name: str, schema: Schema, is_member: bool) -> dict[str, str]:
        """Set the field's type, and return its parameters."""
        parameters: dict[str, str] = {}
        own = schema.parameters or {}
        if schema.name in LOGICAL_MESSAGES:
            kind, file = LOGICAL_MESSAGES[schema.name]
            self._import(file)
            made.type, made.type_name = _Field.TYPE_MESSAGE, f".{kind}"
            if schema.name == DECIMAL:
                known = {"precision": own.get(PRECISION), "scale": own.get("scale")}
                parameters = {key: value for key, value in known.items() if value is not None}
        elif schema.type is Type.MAP:
            made.type, made.type_name = _Field.TYPE_MESSAGE, self._add_entry(message, scope, schema)
        elif schema.type is Type.STRUCT:
            made.type, made.type_name = _Field.TYPE_MESSAGE, self._add_message(message, scope, name, schema)
        elif enum_name(schema) is not None and schema.type in (Type.STRING, Type.INT32):
            made.type, made.type_name = _Field.TYPE_ENUM, self._add_enum(message, scope, schema)
        else:
            if schema.type in (Type.INT8, Type.INT16):
                parameters["connect.type"] = schema.type.value
            if self._options.wraps(schema, is_member):
                self._import(WRAPPER_FILE)
                made.type, made.type_name = _Field.TYPE_MESSAGE, f".{WRAPPERS[schema.type]}"
            else:
                made.type = (
                    _Field.Type.Value(f"TYPE_{own[PROTO_TYPE].upper()}") if PROTO_TYPE in own else _KINDS[schema.type]
                )
        return parameters

    def _add_message(self, message: Any, scope: str, field: str, schema: Schema) -> str:
        name = self._simple(schema.name)
        name = f"{name}Message" if name == field else name
        if all(each.name != name for each in message.nested_type):
            self._fill(message.nested_type.add(name=name), f"{scope}.{name}", schema)
        return f"{scope}.{name}"

    def _add_entry(self, message: Any, scope: str, schema: Schema) -> str:
        base = self._simple(schema.name)
        name = f"{''.join(part[:1].upper() + part[1:] for part in base.split('_')) if '_' in base else base}Entry"
        if all(each.name != name for each in message.nested_type):
            entry = message.nested_type.add(name=name)
            for place, (part, inner) in enumerate((("key", schema.key_schema), ("value", schema.value_schema)), 1):
                assert inner is not None
                self._field(entry, f"{scope}.{name}", part, inner, place, False)
        return f"{scope}.{name}"

    def _add_enum(self, message: Any, scope: str, schema: Schema) -> str:
        name, prefix = self._checked(enum_name(schema) or ""), f"{self._options.enum_parameter}."
        if all(each.name != name for each in message.enum_type):
            made = message.enum_type.add(name=name)
            for key, number in (schema.parameters or {}).items():
                if key.startswith(prefix):
                    made.value.add(name=key.removeprefix(prefix), number=int(number))
        return f"{scope}.{name}"


class _Tags:
    """Numbers of a message's fields: those that the schemas name, and the lowest free ones for others."""

    def __init__(self, schema: Schema) -> None:
        members = [each for field in schema.fields if is_oneof(field.schema) for each in field.schema.fields]
        named = [(each.schema.parameters or {}).get(TAG) for each in (*schema.fields, *members)]
        self._taken = {int(tag) for tag in named if tag is not None}
        self._used: set[int] = set()
        self._last = 0

    def next(self, schema: Schema) -> int:
        own = (schema.parameters or {}).get(TAG)
        if own is not None and int(own) not in self._used:
            self._used.add(int(own))
            return int(own)
        self._last += 1
        while self._last in self._taken or self._last in self._used or self._last in _RESERVED:
            self._last += 1
        self._used.add(self._last)
        return self._last
