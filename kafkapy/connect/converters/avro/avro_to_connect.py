"""Avro's schemas as Connect's (`AvroData.toConnectSchema`)."""

from __future__ import annotations

import logging
from typing import Any, Final

from kafkapy.connect.converters.avro.avro_defaults import default_value
from kafkapy.connect.converters.avro.avro_options import (
    DEFAULT_FULL_NAME,
    DEFAULT_PRECISION,
    ENUM_DEFAULT,
    ENUM_DOC,
    FIELD_DEFAULT,
    FIELD_DOC,
    FIXED_SIZE,
    GENERAL_UNION,
    MAP_ENTRY,
    NAMESPACE,
    PRECISION,
    RECORD_DOC,
    UNION,
    AvroOptions,
)
from kafkapy.connect.converters.avro.avro_type import NO_DEFAULT, AvroFieldNode, AvroTypeNode
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.schema import STRING_SCHEMA, Schema, Type
from kafkapy.connect.data.struct import DECIMAL
from kafkapy.connect.errors import DataException

log = logging.getLogger("kafkapy.connect.avro")

_TYPES: Final = {
    "boolean": Type.BOOLEAN,
    "double": Type.FLOAT64,
    "float": Type.FLOAT32,
    "int": Type.INT32,
    "long": Type.INT64,
    "string": Type.STRING,
    "bytes": Type.BYTES,
    "fixed": Type.BYTES,
}


class ConnectSchemas:
    """Converts one schema of Avro.

    Invariant: `_open` has the records whose fields are being converted; a record inside of itself is refused.

    Args:
        options: The converter's settings.

    Example:
        >>> ConnectSchemas(AvroOptions()).convert(AvroTypeNode("long"))
        Schema{INT64}
    """

    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._open: list[AvroTypeNode] = []
        self._unions = 0

    def convert(
        self,
        type: AvroTypeNode,
        optional: bool = False,
        default: Any = NO_DEFAULT,
        doc: str | None = None,
        version: int | None = None,
    ) -> Schema:
        """Return the schema of a type.

        Args:
            type: Of Avro.
            optional: Whether None is allowed besides. Default: no.
            default: The field's, in JSON. Default: none.
            doc: The field's. Default: None.
            version: The schema's in the registry. Default: None.

        Raises:
            DataException: Connect has nothing for it.
        """
        if type.kind == "union":
            only = self._only_member(type)
            if only is not None:
                return self.convert(only, len(type.branches) == 2, NO_DEFAULT, doc)
        builder = self._builder(type)
        self._add_doc(builder, type, doc)
        self._add_version(builder, type, version)
        self._add_parameters(builder, type)
        self._add_default(builder, type, default)
        self._add_name(builder, type)
        if optional:
            builder.optional()
        return builder.build()

    def _only_member(self, type: AvroTypeNode) -> AvroTypeNode | None:
        """The type that a union without a choice stands for."""
        others = [each for each in type.branches if each.kind != "null"]
        count = len(type.branches)
        if len(others) == 1 and (count == 2 or (count == 1 and self._options.flatten_singleton_unions)):
            return others[0]
        return None

    def _builder(self, type: AvroTypeNode) -> SchemaBuilder:
        match type.kind:
            case "bytes" | "fixed":
                return _bytes(type)
            case "int" | "long":
                return _integer(type)
            case "array" if _is_entry(type.item):
                return self._entries(type.item)
            case "array":
                return SchemaBuilder.array(self.convert(type.item))
            case "map":
                return SchemaBuilder.map(STRING_SCHEMA, self.convert(type.item))
            case "record":
                return self._struct(type)
            case "enum":
                return self._enum(type)
            case "union":
                return self._union(type)
            case "null":
                raise DataException("Standalone null schemas are not supported by this converter")
        return SchemaBuilder(_TYPES[type.kind])

    def _entries(self, entry: AvroTypeNode) -> SchemaBuilder:
        key, value = entry.field("key"), entry.field("value")
        if len(entry.fields) != 2 or key is None or value is None:
            raise DataException(
                "Found map encoded as array of key-value pairs, but array elements do not match the expected format."
            )
        return SchemaBuilder.map(self.convert(key.type), self.convert(value.type))

    def _struct(self, type: AvroTypeNode) -> SchemaBuilder:
        if any(each is type for each in self._open):
            raise DataException(f"The Avro schema {type.name} refers to itself; schemas of Connect cannot do so here")
        self._open.append(type)
        builder, keeps = SchemaBuilder(Type.STRUCT), self._keeps_docs
        if keeps and type.doc is not None:
            builder.parameter(RECORD_DOC, type.doc)
        for field in type.fields:
            if keeps and field.doc is not None:
                builder.parameter(FIELD_DOC + field.name, field.doc)
            builder.field(field.name, self._field(field))
        self._open.pop()
        return builder

    @property
    def _keeps_docs(self) -> bool:
        return self._options.connect_meta_data and not self._options.discard_type_doc_default

    def _field(self, field: AvroFieldNode) -> Schema:
        schema = self.convert(field.type, False, field.default, field.doc)
        added = field.props.get("connect.parameters")
        if not self._options.connect_meta_data or not isinstance(added, dict):
            return schema
        return with_parameters(schema, {str(key): str(value) for key, value in added.items()})

    def _enum(self, type: AvroTypeNode) -> SchemaBuilder:
        builder, name = SchemaBuilder(Type.STRING), self._options.enum_parameter
        if self._options.connect_meta_data and type.doc is not None:
            discards = self._options.discard_type_doc_default
            builder.parameter("connect.enum.doc" if discards else ENUM_DOC + type.simple_name, type.doc)
        if self._keeps_docs and type.default_symbol is not None:
            builder.parameter(ENUM_DEFAULT + type.simple_name, type.default_symbol)
        builder.parameter(name, type.name or "")
        for index, symbol in enumerate(type.symbols):
            shown = str(index) if self._options.generalized_sum_type_support else symbol
            builder.parameter(f"{name}.{symbol}", shown)
        return builder

    def _union(self, type: AvroTypeNode) -> SchemaBuilder:
        builder = SchemaBuilder(Type.STRUCT)
        if self._options.generalized_sum_type_support:
            name = f"connect_union_{self._unions}"
            self._unions += 1
            builder.name(name).parameter(GENERAL_UNION, name)
        else:
            builder.name(UNION)
        names = set()
        for index, member in enumerate(type.branches):
            if member.kind == "null":
                builder.optional()
                continue
            name = self.member_name(member, index)
            if name in names:
                raise DataException("Multiple union schemas map to the Connect union field name")
            names.add(name)
            builder.field(name, self.convert(member, True))
        return builder

    def member_name(self, member: AvroTypeNode, index: int) -> str:
        """Return the name of the field of a union's struct that has a member's values.

        Args:
            member: The member.
            index: Its place in the union.
        """
        if self._options.generalized_sum_type_support:
            return f"connect_union_field_{index}"
        if member.name is None:
            return member.kind
        return member.name if self._options.enhanced_avro_schema_support else member.simple_name

    def _add_doc(self, builder: SchemaBuilder, type: AvroTypeNode, doc: str | None) -> None:
        own = type.props.get("connect.doc")
        if not self._options.discard_type_doc_default:
            if self._options.connect_meta_data and own is not None:
                builder.doc(str(own))
            return
        shown = next((each for each in (doc, type.doc, own) if each is not None), None)
        if shown is not None:
            builder.doc(shown)
        if self._options.connect_meta_data and type.doc is not None:
            builder.parameter("connect.record.doc", type.doc)

    def _add_version(self, builder: SchemaBuilder, type: AvroTypeNode, version: int | None) -> None:
        found = type.props.get("connect.version", version)
        if found is None:
            return
        if not isinstance(found, int):
            raise DataException(f"Invalid Connect version found: {found}")
        if found < 0:
            return
        known = builder.build().version
        if known is not None and known != found:
            raise DataException(
                f"Mismatched versions: version already added to SchemaBuilder ({known}) differs from version in source "
                f"schema ({found})"
            )
        builder.version(found)

    def _add_parameters(self, builder: SchemaBuilder, type: AvroTypeNode) -> None:
        parameters = type.props.get("connect.parameters")
        if self._options.connect_meta_data and parameters is not None:
            if not isinstance(parameters, dict) or not all(isinstance(each, str) for each in parameters.values()):
                raise DataException(f"Expected schema parameter values to be strings but found: {parameters}")
            builder.parameters(parameters)
        for name, value in type.props.items():
            if name.startswith("avro"):
                builder.parameter(name, str(value))

    def _add_default(self, builder: SchemaBuilder, type: AvroTypeNode, default: Any) -> None:
        own = type.props.get("connect.default")
        if default is NO_DEFAULT:
            default = own
        elif self._keeps_docs and own is None:
            builder.parameter(FIELD_DEFAULT, "true")
        if default is None:
            return
        try:
            builder.default(default_value(self._options, builder.build(), type, default))
        except DataException as error:
            log.warning("The default of the schema %s is ignored: %s", type.name or type.kind, error)

    def _add_name(self, builder: SchemaBuilder, type: AvroTypeNode) -> None:
        name, known = type.props.get("connect.name"), builder.build().name
        if name is not None and not isinstance(name, str):
            raise DataException(f"Invalid schema name: {name}")
        if name is None and (type.kind in ("record", "enum") or (type.kind == "fixed" and known != DECIMAL)):
            name = type.name
        if name is None or name.startswith(DEFAULT_FULL_NAME):
            return
        if known is not None and known != name:
            raise DataException(
                f"Mismatched names: name already added to SchemaBuilder ({known}) differs from name in source schema "
                f"({name})"
            )
        builder.name(name)


def with_parameters(schema: Schema, added: dict[str, str]) -> Schema:
    """Return a schema with more parameters.

    Args:
        schema: The schema.
        added: They replace those of the same name.
    """
    keys = schema.key_schema if schema.type is Type.MAP else None
    values = schema.value_schema if schema.type in (Type.MAP, Type.ARRAY) else None
    fields = schema.fields if schema.type is Type.STRUCT else ()
    about = (schema.optional, schema.default, schema.name, schema.version, schema.doc)
    return Schema(schema.type, *about, {**(schema.parameters or {}), **added}, fields, keys, values)


def _bytes(type: AvroTypeNode) -> SchemaBuilder:
    builder = SchemaBuilder(Type.BYTES)
    if type.logical == "decimal":
        scale, precision = type.props.get("scale"), type.props.get("precision")
        builder = decimal_builder(int(scale) if isinstance(scale, int | float) else 0)
        if precision is not None and not isinstance(precision, int | float):
            raise DataException("precision property must be a JSON Integer.")
        if precision is not None and precision != DEFAULT_PRECISION:
            builder.parameter(PRECISION, str(int(precision)))
    if type.kind == "fixed":
        builder.parameter(FIXED_SIZE, str(type.size))
    return builder


def _integer(type: AvroTypeNode) -> SchemaBuilder:
    logical, own = type.logical, type.props.get("connect.type")
    if type.kind == "long":
        return timestamp_builder() if logical == "timestamp-millis" else SchemaBuilder(Type.INT64)
    if logical is not None:
        return {"date": date_builder, "time-millis": time_builder}.get(logical, _int32)()
    if own is None:
        return SchemaBuilder(Type.INT32)
    if own not in ("int8", "int16"):
        raise DataException("Connect type annotation for Avro int field is null")
    return SchemaBuilder(Type(own))


def _int32() -> SchemaBuilder:
    return SchemaBuilder(Type.INT32)


def _is_entry(type: AvroTypeNode) -> bool:
    if type.kind != "record":
        return False
    return type.name == f"{NAMESPACE}.{MAP_ENTRY}" or type.props.get("connect.internal.type") == MAP_ENTRY
