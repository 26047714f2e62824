"""Builds schemas (`org.apache.kafka.connect.data.SchemaBuilder`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from kafkapy.connect.data.schema import Field, Schema, Type
from kafkapy.connect.data.struct import own_type, validate_value
from kafkapy.connect.errors import DataException, SchemaBuilderException


class SchemaBuilder:
    """Collects the attributes of a schema; each method returns the builder, `build` the schema.

    Args:
        type: The schema's.
        key_schema: Of a map.
        value_schema: Of a map or an array.

    Example:
        >>> SchemaBuilder(Type.STRUCT).name("Row").field("id", SchemaBuilder(Type.INT64).build()).build()
        Schema{Row:STRUCT}
    """

    def __init__(self, type: Type, key_schema: Schema | None = None, value_schema: Schema | None = None) -> None:
        self.type = type
        self._key_schema, self._value_schema = key_schema, value_schema
        self._optional: bool | None = None
        self._default: object = None
        self._name: str | None = None
        self._version: int | None = None
        self._doc: str | None = None
        self._parameters: dict[str, str] | None = None
        self._fields: dict[str, Field] = {}

    @classmethod
    def array(cls, values: Schema | None) -> Self:
        """Begin the schema of an array. Raises SchemaBuilderException without a schema of its values."""
        if values is None:
            raise SchemaBuilderException("valueSchema cannot be null.")
        return cls(Type.ARRAY, None, values)

    @classmethod
    def map(cls, keys: Schema | None, values: Schema | None) -> Self:
        """Begin the schema of a map. Raises SchemaBuilderException without schemas of its keys and values."""
        if keys is None:
            raise SchemaBuilderException("keySchema cannot be null.")
        if values is None:
            raise SchemaBuilderException("valueSchema cannot be null.")
        return cls(Type.MAP, keys, values)

    def optional(self) -> Self:
        """Allow None. Raises SchemaBuilderException after `required`."""
        self._check("optional", self._optional, True)
        self._optional = True
        return self

    def required(self) -> Self:
        """Refuse None, as is the default. Raises SchemaBuilderException after `optional`."""
        self._check("optional", self._optional, False)
        self._optional = False
        return self

    def default(self, value: object) -> Self:
        """Set the value that stands for None. Raises SchemaBuilderException if it does not fit, or one is set."""
        self._check("default", self._default, value)
        schema = self.build()
        value = own_type(schema, value)
        try:
            validate_value(schema, value)
        except DataException as error:
            raise SchemaBuilderException("Invalid default value") from error
        self._default = value
        return self

    def name(self, name: str | None) -> Self:
        """Set the name. Raises SchemaBuilderException if another is set."""
        self._check("name", self._name, name)
        self._name = name
        return self

    def version(self, version: int | None) -> Self:
        """Set the version. Raises SchemaBuilderException if another is set."""
        self._check("version", self._version, version)
        self._version = version
        return self

    def doc(self, doc: str | None) -> Self:
        """Set the description. Raises SchemaBuilderException if another is set."""
        self._check("doc", self._doc, doc)
        self._doc = doc
        return self

    def parameter(self, name: str, value: str) -> Self:
        """Set one parameter."""
        self._parameters = {**(self._parameters or {}), name: value}
        return self

    def parameters(self, parameters: Mapping[str, str]) -> Self:
        """Set some parameters."""
        if parameters:
            self._parameters = {**(self._parameters or {}), **parameters}
        return self

    def field(self, name: str | None, schema: Schema | None) -> Self:
        """Add a field to a struct. Raises SchemaBuilderException for another type, and for a name that is there."""
        if self.type is not Type.STRUCT:
            raise SchemaBuilderException(f"Cannot create fields on type {self.type}")
        if not name:
            raise SchemaBuilderException("fieldName cannot be null.")
        if schema is None:
            raise SchemaBuilderException(f"fieldSchema for field {name} cannot be null.")
        if name in self._fields:
            raise SchemaBuilderException(f"Cannot create field because of field name duplication {name}")
        self._fields[name] = Field(name, len(self._fields), schema)
        return self

    def build(self) -> Schema:
        """Return the schema."""
        return Schema(
            self.type,
            bool(self._optional),
            self._default,
            self._name,
            self._version,
            self._doc,
            self._parameters,
            self._fields.values(),
            self._key_schema,
            self._value_schema,
        )

    @staticmethod
    def _check(name: str, old: object, new: object) -> None:
        if old is not None and old != new:
            raise SchemaBuilderException(f"Invalid SchemaBuilder call: {name} has already been set.")
