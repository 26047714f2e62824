"""Values of Connect as JSON, and back (`JsonSchemaData`)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from kafkapy.connect.converters.jsonschema.json_options import JsonOptions, has_text_keys, is_one_of, sum_name
from kafkapy.connect.converters.logical_values import FROM_LOGICAL, TO_LOGICAL
from kafkapy.connect.data.conversions import schema_type
from kafkapy.connect.data.decimals import decimal_of
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.keys import as_key
from kafkapy.connect.data.numbers import byte_value, double_value, float32, int_value, long_value, short_value
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DECIMAL, Struct, fits_type
from kafkapy.connect.errors import DataException

ABSENT: Final = object()
"""Stands for a field that the JSON lacks."""
_NUMBERS: Final[dict[Type, Callable[[Any], Any]]] = {
    Type.INT8: byte_value,
    Type.INT16: short_value,
    Type.INT32: int_value,
    Type.INT64: long_value,
    Type.FLOAT32: float32,
    Type.FLOAT64: double_value,
}
_INTEGERS: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)


class JsonData:
    """Converts values to JSON nodes and back; numbers with a point are `Decimal` in nodes that are read.

    Args:
        options: The converter's settings.

    Example:
        >>> data = JsonData(JsonOptions())
        >>> data.node(Schema(Type.BYTES), b"ab"), data.value(Schema(Type.BYTES), "YWI=")
        ('YWI=', b'ab')
    """

    def __init__(self, options: JsonOptions) -> None:
        self._options = options

    # -- to JSON

    def node(self, schema: Schema | None, value: Any) -> Any:
        """Return the JSON of a value; `ABSENT` if a required value is None. Raises DataException.

        Args:
            schema: None: the value has none.
            value: The value.
        """
        if value is None:
            return self._null(schema)
        kind = schema_type(value) if schema is None else schema.type
        if kind is None:
            raise DataException(f"Java class class {java_class_name(value)} does not have corresponding schema type.")
        if schema is not None:
            if schema.name == DECIMAL and isinstance(value, Decimal) and self._options.numeric_decimals:
                return value
            convert = FROM_LOGICAL.get(schema.name or "")
            if convert is not None:
                value = convert(schema, value)
            elif not fits_type(kind, value):
                raise DataException(f"Invalid type for {kind}: class {java_class_name(value)}")
        match kind:
            case Type.BYTES:
                return base64.b64encode(value).decode()
            case Type.ARRAY:
                items = None if schema is None else schema.value_schema
                return [_present(self.node(items, each)) for each in value]
            case Type.MAP:
                return self._map_node(schema, value)
            case Type.STRUCT:
                return self._struct_node(schema, value)
        return value

    def _null(self, schema: Schema | None) -> Any:
        if schema is None:
            return None
        if schema.default is not None and not self._options.ignore_default_for_nullables:
            return self.node(schema, schema.default)
        return None if schema.optional else ABSENT

    def _map_node(self, schema: Schema | None, value: dict[Any, Any]) -> Any:
        keys = None if schema is None else schema.key_schema
        values = None if schema is None else schema.value_schema
        is_object = all(isinstance(key, str) for key in value) if schema is None else has_text_keys(schema)
        if is_object:
            return {key: _present(self.node(values, each)) for key, each in value.items()}
        return [
            {"key": _present(self.node(keys, key)), "value": _present(self.node(values, each))}
            for key, each in value.items()
        ]

    def _struct_node(self, schema: Schema | None, value: Struct) -> Any:
        if schema is None or value.schema != schema:
            raise DataException("Mismatching schema.")
        get = value.get_without_default if self._options.ignore_default_for_nullables else value.get
        if is_one_of(schema):
            for field in schema.fields:
                found = get(field.name)
                if found is not None:
                    return self.node(field.schema, found)
            return self._null(schema)
        nodes = ((field.name, self.node(field.schema, get(field.name))) for field in schema.fields)
        return {name: each for name, each in nodes if each is not ABSENT}

    # -- from JSON

    def value(self, schema: Schema | None, node: Any) -> Any:
        """Return the value of JSON. Raises DataException.

        Args:
            schema: None: the JSON's own types decide.
            node: `ABSENT`: there is none.
        """
        if node is None or node is ABSENT:
            if schema is None:
                return None
            if schema.default is not None:
                return schema.default
            if node is ABSENT or schema.optional:
                return None
            raise DataException(f"Invalid null value for required {schema.type} field")
        if schema is None:
            return self._untyped(node)
        match schema.type:
            case Type.STRUCT:
                return self._struct(schema, node)
            case Type.ARRAY:
                items = _checked(node, list, "Arrays should be encoded as JSON arrays")
                return [self.value(schema.value_schema, each) for each in items]
            case Type.MAP:
                return self._map(schema, node)
        plain = _scalar(schema, node)
        convert = TO_LOGICAL.get(schema.name or "")
        return plain if convert is None or isinstance(plain, Decimal) else convert(schema, plain)

    def _untyped(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.value(None, each) for each in node]
        if isinstance(node, dict):
            return {key: self.value(None, each) for key, each in node.items()}
        if isinstance(node, Decimal):
            return double_value(node)
        return long_value(node) if isinstance(node, int) and not isinstance(node, bool) else node

    def _map(self, schema: Schema, node: Any) -> dict[Any, Any]:
        if has_text_keys(schema):
            entries = _checked(node, dict, "Maps with string fields should be encoded as JSON objects")
            return {key: self.value(schema.value_schema, each) for key, each in entries.items()}
        found: dict[Any, Any] = {}
        for entry in _checked(node, list, "Maps with non-string fields should be encoded as JSON array of objects"):
            if not isinstance(entry, dict) or len(entry) != 2:
                raise DataException(f"Found invalid map entry: {json.dumps(entry, default=str)[:200]}")
            key = as_key(self.value(schema.key_schema, entry.get("key", ABSENT)))
            found[key] = self.value(schema.value_schema, entry.get("value", ABSENT))
        return found

    def _struct(self, schema: Schema, node: Any) -> Struct:
        if is_one_of(schema):
            return self._one_of(schema, node)
        entries = _checked(node, dict, "Structs should be encoded as JSON objects")
        made = Struct(schema)
        for field in schema.fields:
            value = self.value(field.schema, entries.get(field.name, ABSENT))
            if value is not None:
                made.put(field.name, value)
        return made

    def _one_of(self, schema: Schema, node: Any) -> Struct:
        most, matching = 0, None
        for field in schema.fields:
            if _is_simple(field.schema, node):
                matching = field
                break
            count = _matches(field.schema, node)
            if count > most:
                most, matching = count, field
        if matching is None:
            raise DataException("Did not find matching oneof field for data")
        return Struct(schema, {sum_name(schema, matching.index): self.value(matching.schema, node)})


def _present(node: Any) -> Any:
    return None if node is ABSENT else node


def _checked(node: Any, kind: type[Any], message: str) -> Any:
    if not isinstance(node, kind):
        raise DataException(f"{message}, but found {type(node).__name__}")
    return node


def _scalar(schema: Schema, node: Any) -> Any:
    is_number = isinstance(node, int | float | Decimal) and not isinstance(node, bool)
    match schema.type:
        case Type.BOOLEAN if isinstance(node, bool):
            return node
        case Type.STRING if isinstance(node, str):
            return node
        case Type.BYTES if isinstance(node, str):
            try:
                return base64.b64decode(node, validate=True)
            except (binascii.Error, ValueError) as error:
                raise DataException(f"Invalid bytes field: {error}") from error
        case Type.BYTES if is_number and schema.name == DECIMAL:
            return decimal_of(node, 0) if isinstance(node, int) else Decimal(str(node))
        case kind if kind in _NUMBERS and is_number:
            return _NUMBERS[kind](node)
        case Type.STRING if schema.parameters and (is_number or isinstance(node, bool)):
            return json.dumps(node, default=str)  # a symbol of an enum that is no text
    raise DataException(f"Invalid JSON for {schema.type}: {json.dumps(node, default=str)[:200]}")


def _is_simple(schema: Schema, node: Any) -> bool:
    is_number = isinstance(node, int | float | Decimal) and not isinstance(node, bool)
    match schema.type:
        case Type.BOOLEAN:
            return isinstance(node, bool)
        case Type.STRING:
            return isinstance(node, str)
        case Type.BYTES:
            return isinstance(node, Decimal)
        case Type.ARRAY:
            return isinstance(node, list)
        case Type.MAP:
            return isinstance(node, dict | list)
        case Type.STRUCT:
            return False
    return is_number and (schema.type not in _INTEGERS or isinstance(node, int))


def _matches(schema: Schema, node: Any) -> int:
    """How many fields of a struct the JSON has, with those inside of them."""
    if schema.type is not Type.STRUCT or not isinstance(node, dict):
        return 0
    common = [field for field in schema.fields if field.name in node]
    return len(common) + sum(_matches(field.schema, node[field.name]) for field in common)
