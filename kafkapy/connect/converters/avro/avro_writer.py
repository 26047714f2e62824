"""Writes values of a Connect schema as a type of Avro; what to do is decided once for each pair of them."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.converters.avro.avro_anything import ANYTHING, put_anything
from kafkapy.connect.converters.avro.avro_defaults import default_value
from kafkapy.connect.converters.avro.avro_encoding import DOUBLE, FLOAT, Encode, put_bytes, put_long, put_text
from kafkapy.connect.converters.avro.avro_options import AvroOptions, is_union
from kafkapy.connect.converters.avro.avro_to_connect import ConnectSchemas
from kafkapy.connect.converters.avro.avro_type import NO_DEFAULT, AvroFieldNode, AvroTypeNode
from kafkapy.connect.converters.logical_values import FROM_LOGICAL
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DECIMAL, Struct, fits_type
from kafkapy.connect.errors import DataException

_KINDS = {
    Type.INT8: ("int",),
    Type.INT16: ("int",),
    Type.INT32: ("int", "long"),
    Type.INT64: ("long",),
    Type.FLOAT32: ("float", "double"),
    Type.FLOAT64: ("double",),
    Type.BOOLEAN: ("boolean",),
    Type.STRING: ("string", "enum"),
    Type.BYTES: ("bytes", "fixed"),
    Type.ARRAY: ("array",),
    Type.MAP: ("map", "array"),
    Type.STRUCT: ("record",),
}


class AvroWriters:
    """Makes functions that append values.

    Args:
        options: The converter's settings.

    Example:
        >>> put = AvroWriters(AvroOptions()).writer(Schema(Type.STRING), AvroTypeNode("string"))
        >>> put(out := bytearray(), "ab"), bytes(out)
        (None, b'\\x04ab')
    """

    def __init__(self, options: AvroOptions) -> None:
        self._options = options

    def writer(self, schema: Schema | None, type: AvroTypeNode) -> Encode:
        """Return the function that appends values of a schema. Raises DataException if the two do not fit.

        Args:
            schema: Connect's. None: values have none.
            type: Avro's.
        """
        if schema is None:
            if type.name != ANYTHING:
                raise DataException(f"Values without a schema cannot be written as Avro's {type.name or type.kind}")
            return put_anything
        if is_union(schema):
            return self._union(schema, type)
        if type.kind == "union":
            return self._branch(schema, type)
        return _checked(schema, self._present(schema, type))

    def _branch(self, schema: Schema, union: AvroTypeNode) -> Encode:
        at, kind = self._member(schema, union)
        put = self._present(schema, kind)
        null = next((index for index, each in enumerate(union.branches) if each.kind == "null"), None)
        if null is None:
            return _prefixed(at, _checked(schema, put))

        def write(out: bytearray, value: Any) -> None:
            if value is None:
                _check_none(schema)
                put_long(out, null)
            else:
                put_long(out, at)
                put(out, value)

        return write

    def _member(self, schema: Schema, union: AvroTypeNode) -> tuple[int, AvroTypeNode]:
        kinds = _KINDS[schema.type]
        fitting = [(index, each) for index, each in enumerate(union.branches) if each.kind in kinds]
        named = [each for each in fitting if each[1].name == self._options.full_name(schema.name or "")]
        exact = [each for each in fitting if each[1].kind == kinds[0]]
        if schema.type is Type.STRING:
            enum = (schema.parameters or {}).get(self._options.enum_parameter)
            named = [each for each in fitting if each[1].name is not None and each[1].name == enum]
        found = named or exact or fitting
        if not found:
            raise DataException(f"No member of Avro's union fits the schema {schema}")
        return found[0]

    def _union(self, schema: Schema, type: AvroTypeNode) -> Encode:
        branches = type.branches or [type]
        fields = {field.name: self.writer(field.schema, type) for field in schema.fields}
        null = next((index for index, each in enumerate(branches) if each.kind == "null"), None)

        def write(out: bytearray, value: Any) -> None:
            for name, put in fields.items():
                each = None if value is None else value.get(name)
                if each is not None:
                    put(out, each)
                    return
            if null is None:
                raise DataException("Found null value for non-optional schema")
            put_long(out, null)

        return write

    def _present(self, schema: Schema, type: AvroTypeNode) -> Encode:
        """The function for values that are not None."""
        if type.kind not in _KINDS[schema.type]:
            raise DataException(f"Values of the schema {schema} cannot be written as Avro's {type.name or type.kind}")
        match schema.type:
            case Type.ARRAY:
                return _array(self.writer(schema.value_schema, type.item))
            case Type.MAP if type.kind == "map":
                return _map(self.writer(schema.value_schema, type.item))
            case Type.MAP:
                key, value = type.item.field("key"), type.item.field("value")
                if key is None or value is None:
                    raise DataException(f"Entries of a map cannot be written as Avro's {type.item.name}")
                return _entries(self.writer(schema.key_schema, key.type), self.writer(schema.value_schema, value.type))
            case Type.STRUCT:
                return self._struct(schema, type)
        return _logical(schema, _primitive(schema, type))

    def _struct(self, schema: Schema, type: AvroTypeNode) -> Encode:
        names = {self._options.name(field.name): field for field in schema.fields}
        parts: list[tuple[str, Encode]] = []
        for target in type.fields:
            field = names.get(target.name)
            put = self._missing(target) if field is None else self.writer(field.schema, target.type)
            parts.append((target.name if field is None else field.name, put))
        known = {field.name for field in schema.fields}
        without_default = self._options.ignore_default_for_nullables

        def write(out: bytearray, value: Any) -> None:
            if not isinstance(value, Struct) or (value.schema is not schema and value.schema != schema):
                raise DataException("Mismatching struct schema")
            get = value.get_without_default if without_default else value.get
            for name, put in parts:
                put(out, get(name) if name in known else None)

        return write

    def _missing(self, target: AvroFieldNode) -> Encode:
        """The function for a field of the registry's schema that Connect's lacks: it appends the default."""
        if target.default is NO_DEFAULT:
            raise DataException(f"The field {target.name} of the Avro schema has no default, and the record lacks it")
        schema = ConnectSchemas(self._options).convert(target.type, target.default is None)
        constant = bytearray()
        self.writer(schema, target.type)(constant, default_value(self._options, schema, target.type, target.default))
        written = bytes(constant)

        def write(out: bytearray, value: Any) -> None:
            out.extend(written)

        return write


def _check_none(schema: Schema) -> None:
    if not schema.optional:
        raise DataException("Found null value for non-optional schema")


def _checked(schema: Schema, put: Encode) -> Encode:
    def write(out: bytearray, value: Any) -> None:
        if value is None:
            _check_none(schema)
            raise DataException(f"Avro's type for the schema {schema} has no null")
        put(out, value)

    return write


def _prefixed(index: int, put: Encode) -> Encode:
    def write(out: bytearray, value: Any) -> None:
        put_long(out, index)
        put(out, value)

    return write


def _logical(schema: Schema, put: Encode) -> Encode:
    convert = FROM_LOGICAL.get(schema.name or "")

    def write(out: bytearray, value: Any) -> None:
        if convert is not None:
            value = convert(schema, value)
        elif not fits_type(schema.type, value):
            raise DataException(f"Invalid type for {schema.type}: {type(value).__name__}")
        put(out, value)

    return write


def _primitive(schema: Schema, type: AvroTypeNode) -> Encode:
    match type.kind:
        case "int" | "long":
            return put_long
        case "float":
            return lambda out, value: out.extend(FLOAT.pack(value))
        case "double":
            return lambda out, value: out.extend(DOUBLE.pack(value))
        case "boolean":
            return lambda out, value: out.append(value)
        case "bytes":
            return put_bytes
        case "fixed":
            return _fixed(schema, type.size)
        case "enum":
            return _enum(type)
    return put_text


def _fixed(schema: Schema, size: int) -> Encode:
    def write(out: bytearray, value: bytes) -> None:
        if schema.name == DECIMAL and len(value) < size:
            value = (b"\xff" if value[0] & 0x80 else b"\x00") * (size - len(value)) + value
        if len(value) != size:
            raise DataException(f"{len(value)} bytes do not fit the schema {schema}, whose values have {size} bytes")
        out.extend(value)

    return write


def _enum(type: AvroTypeNode) -> Encode:
    places = {symbol: index for index, symbol in enumerate(type.symbols)}

    def write(out: bytearray, value: str) -> None:
        if value not in places:
            raise DataException(f"{value} is no symbol of the enum {type.name}")
        put_long(out, places[value])

    return write


def _array(put: Encode) -> Encode:
    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, list):
            raise DataException(f"Invalid type for ARRAY: {type(value).__name__}")
        if value:
            put_long(out, len(value))
            for each in value:
                put(out, each)
        out.append(0)

    return write


def _map(put: Encode) -> Encode:
    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, dict):
            raise DataException(f"Invalid type for MAP: {type(value).__name__}")
        if value:
            put_long(out, len(value))
            for key, each in value.items():
                if not isinstance(key, str):
                    raise DataException("Avro's maps have keys that are strings and not null")
                put_text(out, key)
                put(out, each)
        out.append(0)

    return write


def _entries(put_key: Encode, put_value: Encode) -> Encode:
    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, dict):
            raise DataException(f"Invalid type for MAP: {type(value).__name__}")
        if value:
            put_long(out, len(value))
            for key, each in value.items():
                put_key(out, key)
                put_value(out, each)
        out.append(0)

    return write
