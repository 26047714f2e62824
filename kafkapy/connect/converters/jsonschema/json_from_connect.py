"""Connect's schemas as JSON Schema (`JsonSchemaData.fromConnectSchema`)."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.connect.converters.avro.avro_from_connect import required
from kafkapy.connect.converters.jsonschema.json_data import JsonData
from kafkapy.connect.converters.jsonschema.json_options import (
    ENUM,
    GENERAL_ENUM,
    NAMESPACE,
    NULL_SYMBOL,
    JsonOptions,
    has_text_keys,
    is_one_of,
)
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DECIMAL
from kafkapy.connect.errors import DataException

_NULL: Final = {"type": "null"}
_INTEGERS: Final = (Type.INT8, Type.INT16, Type.INT32, Type.INT64)


class JsonSchemaMaker:
    """Converts schemas.

    Args:
        options: The converter's settings.

    Example:
        >>> from kafkapy.connect.data.schema import OPTIONAL_INT32_SCHEMA
        >>> JsonSchemaMaker(JsonOptions()).convert(OPTIONAL_INT32_SCHEMA)
        {'oneOf': [{'type': 'null'}, {'type': 'integer', 'connect.type': 'int32'}]}
    """

    def __init__(self, options: JsonOptions) -> None:
        self._options = options
        self._data = JsonData(options)

    def convert(self, schema: Schema | None, index: int | None = None, as_member: bool = False) -> dict[str, Any]:
        """Return the JSON of a schema. Raises DataException.

        Args:
            schema: Must not be None.
            index: Of the field. Default: it is no field's.
            as_member: It is a member of a union, which has null itself. Default: it is none.
        """
        if schema is None:
            raise DataException("A schema of elements is missing, which JSON Schema needs")
        made = self._base(schema)
        if "oneOf" not in made:
            self._describe(schema, made)
            if schema.optional and not as_member:
                made = {"oneOf": [_NULL, made]}
        if index is not None:
            made["connect.index"] = index
        return made

    def _base(self, schema: Schema) -> dict[str, Any]:
        match schema.type:
            case Type.BOOLEAN:
                return {"type": "boolean"}
            case Type.STRING:
                return self._string(schema)
            case Type.BYTES:
                is_number = schema.name == DECIMAL and self._options.numeric_decimals
                return {"type": "number" if is_number else "string", "connect.type": "bytes"}
            case Type.ARRAY:
                return {"type": "array", "items": self.convert(schema.value_schema)}
            case Type.MAP:
                return self._map(schema)
            case Type.STRUCT:
                return self._struct(schema)
        return {"type": "integer" if schema.type in _INTEGERS else "number", "connect.type": schema.type.value}

    def _string(self, schema: Schema) -> dict[str, Any]:
        parameters, name = schema.parameters or {}, self._options.enum_parameter
        if ENUM not in parameters and GENERAL_ENUM not in parameters:
            return {"type": "string"}
        symbols = [key.removeprefix(f"{name}.") for key in parameters if key.startswith(f"{name}.")]
        return {"enum": [None if symbol == NULL_SYMBOL else symbol for symbol in symbols]}

    def _map(self, schema: Schema) -> dict[str, Any]:
        if has_text_keys(schema):
            values = self.convert(schema.value_schema)
            return {"type": "object", "additionalProperties": values, "connect.type": "map"}
        entry = {"key": self.convert(schema.key_schema, 0), "value": self.convert(schema.value_schema, 1)}
        return {"type": "array", "items": {"type": "object", "properties": entry}, "connect.type": "map"}

    def _struct(self, schema: Schema) -> dict[str, Any]:
        if is_one_of(schema):
            members = [self.convert(required(field.schema), field.index, as_member=True) for field in schema.fields]
            return {"oneOf": [*([_NULL] if schema.optional else []), *members]}
        if schema.optional:
            return {"oneOf": [_NULL, self.convert(required(schema))]}
        properties = {field.name: self.convert(field.schema, field.index) for field in schema.fields}
        made: dict[str, Any] = {"type": "object", "properties": properties}
        if not self._options.object_additional_properties:
            made["additionalProperties"] = False
        return made

    def _describe(self, schema: Schema, made: dict[str, Any]) -> None:
        if schema.name is not None:
            made["title"] = schema.name
        if schema.doc is not None:
            made["description"] = schema.doc
        if schema.default is not None:
            made["default"] = self._data.node(schema, schema.default)
        if schema.version is not None:
            made["connect.version"] = schema.version
        parameters = schema.parameters or {}
        shown = {key: value for key, value in parameters.items() if not key.startswith(NAMESPACE)}
        if shown:
            made["connect.parameters"] = shown
