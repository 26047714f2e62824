"""Messages of Protobuf as Connect's schemas (`ProtobufData.toConnectSchema`)."""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2

from kafkapy.connect.converters.protobuf.field_meta import parameters_of
from kafkapy.connect.converters.protobuf.protobuf_options import (
    GENERAL_UNION,
    LOGICAL_MESSAGES,
    PRECISION,
    PROTO_TYPE,
    TAG,
    UNION,
    WRAPPED,
    ProtobufOptions,
)
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP
from kafkapy.connect.errors import DataException

_Field = descriptor_pb2.FieldDescriptorProto
_LOGICAL: Final = {message: name for name, (message, _) in LOGICAL_MESSAGES.items()}
_TIMES: Final = {DATE: date_builder, TIME: time_builder, TIMESTAMP: timestamp_builder}
_PLAIN: Final = {
    _Field.TYPE_FLOAT: Type.FLOAT32,
    _Field.TYPE_DOUBLE: Type.FLOAT64,
    _Field.TYPE_BOOL: Type.BOOLEAN,
    _Field.TYPE_STRING: Type.STRING,
    _Field.TYPE_BYTES: Type.BYTES,
}
_INT32: Final = (_Field.TYPE_INT32, _Field.TYPE_SINT32, _Field.TYPE_SFIXED32)
_SMALL: Final = {"int8": Type.INT8, "int16": Type.INT16}


class ProtoSchemaReader:
    """Converts one message's type.

    Invariant: `_open` has the messages whose fields are being converted; one inside of itself is refused.

    Args:
        options: The converter's settings.
    """

    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._open: list[str] = []

    def convert(self, message: Any, version: int | None = None) -> Schema:
        """Return the schema of a message's descriptor. Raises DataException.

        Args:
            message: The descriptor.
            version: In the registry. Default: None.
        """
        wrapped = WRAPPED.get(message.full_name) if self._options.wrapper_for_raw_primitives else None
        builder = self._struct(message) if wrapped is None else SchemaBuilder(wrapped)
        return builder.version(version).build()

    def _struct(self, message: Any) -> SchemaBuilder:
        if message.full_name in self._open:
            raise DataException(
                f"The Protobuf message {message.full_name} refers to itself; schemas of Connect cannot do so here"
            )
        self._open.append(message.full_name)
        shape = MessageShape(message, self._options)
        builder = SchemaBuilder(Type.STRUCT)
        builder.name(message.full_name if self._options.enhanced_protobuf_schema_support else message.name)
        for index, oneof in enumerate(shape.oneofs):
            if self._options.flatten_unions:
                for field in oneof.fields:
                    builder.field(field.name, self._field(field, shape, is_member=True))
            else:
                builder.field(shape.union_name(oneof, index), self._union(oneof, shape))
        for field in shape.others:
            builder.field(field.name, self._field(field, shape))
        self._open.pop()
        return builder

    def _union(self, oneof: Any, shape: MessageShape) -> Schema:
        builder = SchemaBuilder(Type.STRUCT)
        if self._options.generalized_sum_type_support:
            builder.name(oneof.name).parameter(GENERAL_UNION, oneof.name)
        else:
            name = oneof.full_name if self._options.enhanced_protobuf_schema_support else oneof.name
            builder.name(UNION + name)
        for field in oneof.fields:
            builder.field(field.name, self._field(field, shape, is_member=True))
        return builder.optional().build()

    def _field(self, field: Any, shape: MessageShape, *, is_member: bool = False) -> Schema:
        builder = self._builder(field, shape)
        if shape.is_repeated(field) and builder.type is not Type.MAP:
            builder = SchemaBuilder.array(builder.optional().build()).optional()
        if is_member:
            builder.optional()
        elif self._options.optional_for_nullables:
            if shape.has_keyword(field):
                builder.optional()
        elif not self._options.wrapper_for_nullables:
            builder.optional()
        return builder.parameter(TAG, str(field.number)).build()

    def _builder(self, field: Any, shape: MessageShape) -> SchemaBuilder:
        kind = field.type
        if kind in _PLAIN:
            return SchemaBuilder(_PLAIN[kind])
        if kind in _INT32:
            small = _SMALL.get(parameters_of(field.GetOptions()).get("connect.type", ""))
            if small is not None:
                return SchemaBuilder(small)
        if kind == _Field.TYPE_ENUM:
            return self._enum(field.enum_type).optional()
        if kind == _Field.TYPE_MESSAGE:
            return self._message(field, shape).optional()
        if kind == _Field.TYPE_GROUP:
            raise DataException(f"The Protobuf field {field.full_name} is a group, which Connect does not have")
        builder = SchemaBuilder(Type.INT32 if kind in _INT32 else Type.INT64)
        if kind not in (_Field.TYPE_INT32, _Field.TYPE_INT64):
            builder.parameter(PROTO_TYPE, _Field.Type.Name(kind).removeprefix("TYPE_").lower())
        return builder

    def _enum(self, enum: Any) -> SchemaBuilder:
        builder = SchemaBuilder(Type.INT32 if self._options.int_for_enums else Type.STRING)
        builder.name(enum.full_name if self._options.enhanced_protobuf_schema_support else enum.name)
        parameter = self._options.enum_parameter
        builder.parameter(parameter, enum.name)
        for value in enum.values:
            builder.parameter(f"{parameter}.{value.name}", str(value.number))
        return builder

    def _message(self, field: Any, shape: MessageShape) -> SchemaBuilder:
        message = field.message_type
        logical = _LOGICAL.get(message.full_name)
        if logical == DECIMAL:
            parameters = parameters_of(field.GetOptions())
            builder = decimal_builder(_number(parameters.get("scale")) or 0)
            precision = _number(parameters.get("precision"))
            return builder if precision is None else builder.parameter(PRECISION, str(precision))
        if logical is not None:
            return _TIMES[logical]()
        wrapped = WRAPPED.get(message.full_name) if self._options.wrapper_for_nullables else None
        if wrapped is not None:
            return SchemaBuilder(wrapped)
        if shape.is_repeated(field) and is_entry(message):
            full = message.full_name if self._options.enhanced_protobuf_schema_support else message.name
            inner = MessageShape(message, self._options)
            key, value = (self._field(each, inner) for each in message.fields)
            return SchemaBuilder.map(key, value).name(full.removesuffix("Entry"))
        return self._struct(message)


class MessageShape:
    """What a message's descriptor says about its fields besides their types.

    Args:
        message: The descriptor.
        options: The converter's settings.
    """

    def __init__(self, message: Any, options: ProtobufOptions) -> None:
        proto, file = descriptor_pb2.DescriptorProto(), descriptor_pb2.FileDescriptorProto()
        message.CopyToProto(proto)
        message.file.CopyToProto(file)
        self._protos = {each.name: each for each in proto.field}
        self._options = options
        self._is_proto2 = file.syntax in ("", "proto2")
        self.oneofs = [
            each
            for each in message.oneofs
            if not any(self._protos[field.name].proto3_optional for field in each.fields)
        ]
        members = {field.name for each in self.oneofs for field in each.fields}
        self.others = [field for field in message.fields if field.name not in members]

    def union_name(self, oneof: Any, index: int) -> str:
        """Return the name of the field that stands for a oneof."""
        return f"{oneof.name}_{index}" if self._options.generate_index_for_unions else str(oneof.name)

    def is_repeated(self, field: Any) -> bool:
        """Return whether a field has a list of values."""
        return bool(self._protos[field.name].label == _Field.LABEL_REPEATED)

    def has_keyword(self, field: Any) -> bool:
        """Return whether a field is marked as `optional`."""
        proto = self._protos[field.name]
        if proto.proto3_optional:
            return True
        return self._is_proto2 and proto.label == _Field.LABEL_OPTIONAL and not proto.HasField("oneof_index")

    def is_optional(self, field: Any) -> bool:
        """Return whether a field that is not set is None, and not the default of its type."""
        if self._protos[field.name].proto3_optional:
            return True
        return self._options.optional_for_proto2 and self.has_keyword(field)


def is_entry(message: Any) -> bool:
    """Return whether a message is an entry of a map, if it is repeated: its name ends with Entry, with key and value.

    Args:
        message: The descriptor.
    """
    return message.name.endswith("Entry") and [each.name for each in message.fields] == ["key", "value"]


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
