"""Values of Connect in messages of Protobuf, and back (`ProtobufData`)."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from google.protobuf import descriptor_pb2

from kafkapy.connect.converters.protobuf.proto_to_connect import MessageShape
from kafkapy.connect.converters.protobuf.protobuf_options import (
    WRAPPED,
    ProtobufOptions,
    enum_name,
    is_oneof,
)
from kafkapy.connect.data.decimals import decimal_of, scale_of, unscaled_of, wrap
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.logical import big_integer_bytes, date_to_days, time_to_ms, timestamp_to_ms
from kafkapy.connect.data.numbers import float32
from kafkapy.connect.data.scalars import Instant, Int8, Int16, Int32, Int64
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP, Struct, fits_type
from kafkapy.connect.errors import DataException

_Field = descriptor_pb2.FieldDescriptorProto
_UNSIGNED_32: Final = (_Field.TYPE_UINT32, _Field.TYPE_FIXED32)
_UNSIGNED_64: Final = (_Field.TYPE_UINT64, _Field.TYPE_FIXED64)
_INTEGERS: Final = {Type.INT8: (Int8, 8), Type.INT16: (Int16, 16), Type.INT32: (Int32, 32), Type.INT64: (Int64, 64)}
_SHAPES: Final = 1_000
_EPOCH: Final = dt.date(1970, 1, 1)


class ProtoValues:
    """Converts values.

    Invariant: `_shapes` has what is known of messages by their descriptors: versions of a message differ.

    Args:
        options: The converter's settings.
    """

    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options
        self._shapes = SchemaCache[Any, MessageShape](_SHAPES)

    def _shape(self, message: Any) -> MessageShape:
        return self._shapes.get(message, lambda each: MessageShape(each, self._options))

    # -- to messages

    def fill(self, message: Any, schema: Schema, value: Any) -> None:
        """Set the fields of a message.

        Args:
            message: Empty.
            schema: Connect's.
            value: A struct, or a primitive for a message that wraps it.

        Raises:
            DataException: The value does not fit.
        """
        if schema.type is not Type.STRUCT:
            self._set(message, message.DESCRIPTOR.fields_by_name["value"], schema, value, True)
            return
        if not isinstance(value, Struct) or value.schema != schema:
            raise DataException("Mismatching struct schema")
        get = value.get_without_default if self._options.ignore_default_for_nullables else value.get
        for field in schema.fields:
            found = get(field.name)
            if found is None:
                continue
            if is_oneof(field.schema):
                self._set_member(message, field.schema, found)
            else:
                self._set_named(message, field.name, field.schema, found, False)

    def _set_member(self, message: Any, schema: Schema, value: Struct) -> None:
        for field in schema.fields:
            found = value.get(field.name)
            if found is not None:
                self._set_named(message, field.name, field.schema, found, True)
                return
        raise DataException("Cannot find non-null field")

    def _set_named(self, message: Any, name: str, schema: Schema, value: Any, is_member: bool) -> None:
        field = message.DESCRIPTOR.fields_by_name.get(self._options.name(name))
        if field is None:
            raise DataException(f"Cannot find field with name {name}")
        self._set(message, field, schema, value, is_member)

    def _set(self, message: Any, field: Any, schema: Schema, value: Any, is_member: bool) -> None:
        name = field.name
        if schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            for each in value:
                self._append(getattr(message, name), field, schema.value_schema, each)
        elif schema.type is Type.MAP:
            self._put_entries(getattr(message, name), field, schema, value)
        elif field.type == _Field.TYPE_MESSAGE:
            target = getattr(message, name)
            target.SetInParent()
            self._fill_nested(target, schema, value)
        else:
            setattr(message, name, self._plain(field, schema, value))

    def _append(self, target: Any, field: Any, schema: Schema, value: Any) -> None:
        if value is None:
            raise DataException(f"Protobuf has no null in arrays, as in the field {field.name}")
        if field.type == _Field.TYPE_MESSAGE:
            self._fill_nested(target.add(), schema, value)
        else:
            target.append(self._plain(field, schema, value))

    def _put_entries(self, target: Any, field: Any, schema: Schema, value: dict[Any, Any]) -> None:
        assert schema.key_schema is not None and schema.value_schema is not None
        entry = field.message_type
        if entry.GetOptions().map_entry:
            inner = entry.fields_by_name["value"]
            for key, each in value.items():
                if inner.type == _Field.TYPE_MESSAGE:
                    self._fill_nested(target[key], schema.value_schema, each)
                else:
                    target[key] = self._plain(inner, schema.value_schema, each)
            return
        for key, each in value.items():
            made = target.add()
            for name, inner_schema, part in (("key", schema.key_schema, key), ("value", schema.value_schema, each)):
                if part is not None:
                    self._set(made, entry.fields_by_name[name], inner_schema, part, False)

    def _fill_nested(self, target: Any, schema: Schema, value: Any) -> None:
        if schema.name == DECIMAL:
            unscaled = unscaled_of(value)
            target.value, target.scale = big_integer_bytes(unscaled), scale_of(value)
            target.precision = len(str(abs(unscaled)))
        elif schema.name == DATE:
            day = _EPOCH + dt.timedelta(date_to_days(schema, value))
            target.year, target.month, target.day = day.year, day.month, day.day
        elif schema.name == TIME:
            seconds, ms = divmod(time_to_ms(schema, value), 1000)
            target.hours, target.minutes, target.seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
            target.nanos = ms * 1_000_000
        elif schema.name == TIMESTAMP:
            seconds, ms = divmod(timestamp_to_ms(schema, value), 1000)
            target.seconds, target.nanos = seconds, ms * 1_000_000
        else:
            self.fill(target, schema, value)

    def _plain(self, field: Any, schema: Schema, value: Any) -> Any:
        if field.type == _Field.TYPE_ENUM and enum_name(schema) is not None:
            return self._enum_number(field, value)
        if not fits_type(schema.type, value):
            raise DataException(f"Invalid type for {schema.type}: {type(value).__name__}")
        if field.type in _UNSIGNED_32:
            return value & 0xFFFFFFFF
        return value & 0xFFFFFFFFFFFFFFFF if field.type in _UNSIGNED_64 else value

    @staticmethod
    def _enum_number(field: Any, value: Any) -> int:
        if isinstance(value, int):
            return value
        found = field.enum_type.values_by_name.get(value)
        if found is None:
            raise DataException(f"{value} is no symbol of the enum {field.enum_type.full_name}")
        return int(found.number)

    # -- from messages

    def value(self, schema: Schema, message: Any) -> Any:
        """Return the value of a message. Raises DataException.

        Args:
            schema: Connect's, made of the message's type.
            message: The message.
        """
        if schema.type is not Type.STRUCT:
            return self._scalar(schema, message.DESCRIPTOR.fields_by_name["value"], message.value)
        made, shape = Struct(schema), self._shape(message.DESCRIPTOR)
        for index, oneof in enumerate(shape.oneofs):
            chosen = message.WhichOneof(oneof.name)
            if chosen is None:
                continue
            field = message.DESCRIPTOR.fields_by_name[chosen]
            if self._options.flatten_unions:
                made.put(chosen, self._field_value(made.schema, chosen, field, message))
                continue
            union = schema.field(shape.union_name(oneof, index))
            assert union is not None
            made.put(
                union.name, Struct(union.schema, {chosen: self._field_value(union.schema, chosen, field, message)})
            )
        for field in shape.others:
            if self._is_read(shape, field, message):
                made.put(field.name, self._field_value(schema, field.name, field, message))
        return made

    def _is_read(self, shape: MessageShape, field: Any, message: Any) -> bool:
        if shape.is_repeated(field) or (field.type != _Field.TYPE_MESSAGE and not shape.is_optional(field)):
            return True
        return self._options.generate_struct_for_nulls or message.HasField(field.name)

    def _field_value(self, schema: Schema, name: str, field: Any, message: Any) -> Any:
        found = schema.field(name)
        assert found is not None
        return self._any(found.schema, field, getattr(message, field.name))

    def _any(self, schema: Schema, field: Any, value: Any) -> Any:
        if schema.type is Type.ARRAY:
            assert schema.value_schema is not None
            return [self._any(schema.value_schema, field, each) for each in value]
        if schema.type is Type.MAP:
            return self._entries(schema, field, value)
        if schema.name in (DECIMAL, DATE, TIME, TIMESTAMP) and field.type == _Field.TYPE_MESSAGE:
            return _logical(schema, value)
        if field.type != _Field.TYPE_MESSAGE:
            return self._scalar(schema, field, value)
        if field.message_type.full_name in WRAPPED and schema.type is not Type.STRUCT:
            return self._scalar(schema, field.message_type.fields_by_name["value"], value.value)
        return self.value(schema, value)

    def _entries(self, schema: Schema, field: Any, value: Any) -> dict[Any, Any]:
        assert schema.key_schema is not None and schema.value_schema is not None
        parts = field.message_type.fields_by_name
        is_map = field.message_type.GetOptions().map_entry
        pairs = value.items() if is_map else ((each.key, each.value) for each in value)
        return {
            as_key(self._any(schema.key_schema, parts["key"], key)): self._any(
                schema.value_schema, parts["value"], each
            )
            for key, each in pairs
        }

    @staticmethod
    def _scalar(schema: Schema, field: Any, value: Any) -> Any:
        if field.type == _Field.TYPE_ENUM and schema.type is Type.STRING:
            known = field.enum_type.values_by_number.get(value)
            return f"UNKNOWN_ENUM_VALUE_{field.enum_type.name}_{value}" if known is None else known.name
        if schema.type in _INTEGERS:
            integer, bits = _INTEGERS[schema.type]
            return integer(wrap(value, bits))
        return float32(value) if schema.type is Type.FLOAT32 else value


def _logical(schema: Schema, message: Any) -> Any:
    if schema.name == DECIMAL:
        return decimal_of(int.from_bytes(message.value, "big", signed=True), message.scale)
    if schema.name == TIME:
        seconds = message.hours * 3600 + message.minutes * 60 + message.seconds
        return Instant(seconds * 1000 + message.nanos // 1_000_000)
    if schema.name == TIMESTAMP:
        return Instant(message.seconds * 1000 + message.nanos // 1_000_000)
    try:
        return Instant.of(dt.date(message.year, message.month, message.day))
    except ValueError as error:
        raise DataException(f"{message.year}-{message.month}-{message.day} is no day: {error}") from error
