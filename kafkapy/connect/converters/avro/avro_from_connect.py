"""Connect's schemas as Avro's (`AvroData.fromConnectSchema`)."""

from __future__ import annotations

import logging
from typing import Any, Final

from kafkapy.connect.converters.avro.avro_defaults import default_json, is_default
from kafkapy.connect.converters.avro.avro_options import (
    DEFAULT_NAME,
    DEFAULT_PRECISION,
    ENUM_DEFAULT,
    ENUM_DOC,
    FIELD_DEFAULT,
    FIELD_DOC,
    FIXED_SIZE,
    MAP_ENTRY,
    NAMESPACE,
    PRECISION,
    RECORD_DOC,
    AvroOptions,
    is_fixed,
    is_union,
)
from kafkapy.connect.converters.avro.avro_type import NO_DEFAULT, AvroFieldNode, AvroTypeNode
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP
from kafkapy.connect.errors import DataException

log = logging.getLogger("kafkapy.connect.avro")

_KINDS: Final = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL: Final = {DECIMAL: "decimal", DATE: "date", TIME: "time-millis", TIMESTAMP: "timestamp-millis"}


class AvroSchemaMaker:
    """Converts one schema.

    Invariant: `_made` has the types of required schemas, `_structs` those of named structs; both are written once.

    Args:
        options: The converter's settings.

    Example:
        >>> from kafkapy.connect.converters.avro.avro_type import avro_text
        >>> from kafkapy.connect.data.schema import OPTIONAL_INT32_SCHEMA
        >>> avro_text(AvroSchemaMaker(AvroOptions()).convert(OPTIONAL_INT32_SCHEMA))
        '["null","int"]'
    """

    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._made: dict[Schema, AvroTypeNode] = {}
        self._structs: dict[str, AvroTypeNode] = {}
        self._seen: set[str] = set()
        self._unnamed = 0

    def convert(self, schema: Schema, as_member: bool = False) -> AvroTypeNode:
        """Return the type of a schema. Raises DataException.

        Args:
            schema: The schema.
            as_member: It is a member of a union, which has null itself. Default: it is none.
        """
        if not is_union(schema) and not schema.optional and schema in self._made:
            return self._made[schema]
        base = self._base(schema)
        if base.kind != "union":
            self._describe(schema, base)
            if schema.optional and not as_member:
                base = _optional(schema, base)
        if not schema.optional:
            self._made[schema] = base
        return base

    def _nested(self, schema: Schema | None, as_member: bool = False) -> AvroTypeNode:
        if schema is None:
            raise DataException("A schema of elements is missing, which Avro needs")
        known = self._structs.get(schema.name or "")
        if known is None:
            return self.convert(schema, as_member)
        return _optional(schema, known) if schema.optional and not as_member else known

    def _base(self, schema: Schema) -> AvroTypeNode:
        parameters = schema.parameters or {}
        match schema.type:
            case Type.STRING if self._options.is_enum(schema):
                return self._enum(schema)
            case Type.BYTES if is_fixed(schema):
                return AvroTypeNode("fixed", self._name(schema), size=int(parameters[FIXED_SIZE]))
            case Type.ARRAY:
                return AvroTypeNode("array", items=self._nested(schema.value_schema))
            case Type.MAP if self._options.has_text_keys(schema):
                return AvroTypeNode("map", items=self._nested(schema.value_schema))
            case Type.MAP:
                return AvroTypeNode("array", items=self._entry(schema))
            case Type.STRUCT if is_union(schema):
                members = [self._nested(required(field.schema), as_member=True) for field in schema.fields]
                return AvroTypeNode("union", branches=[*([AvroTypeNode("null")] if schema.optional else []), *members])
            case Type.STRUCT if schema.optional:
                return AvroTypeNode("union", branches=[AvroTypeNode("null"), self._nested(required(schema))])
            case Type.STRUCT:
                return self._record(schema)
        return AvroTypeNode(_KINDS[schema.type])

    def _name(self, schema: Schema) -> str:
        if schema.name is not None:
            return self._options.full_name(schema.name)
        self._unnamed += 1
        return f"{NAMESPACE}.{DEFAULT_NAME}{self._unnamed if self._unnamed > 1 else ''}"

    def _enum(self, schema: Schema) -> AvroTypeNode:
        parameters, name = schema.parameters or {}, self._options.enum_parameter
        simple = self._name(schema).rpartition(".")[2]
        symbols = [key.removeprefix(f"{name}.") for key in parameters if key.startswith(f"{name}.")]
        made = AvroTypeNode("enum", parameters[name], symbols=symbols)
        if self._options.discard_type_doc_default:
            made.doc = parameters.get("connect.enum.doc")
        else:
            made.doc = parameters.get(ENUM_DOC + simple)
            made.default_symbol = parameters.get(ENUM_DEFAULT + simple)
        return made

    def _entry(self, schema: Schema) -> AvroTypeNode:
        if schema.name is None:
            made = AvroTypeNode("record", f"{NAMESPACE}.{MAP_ENTRY}")
        else:
            made = AvroTypeNode("record", self._name(schema))
            made.props["connect.internal.type"] = MAP_ENTRY
        for name, part in (("key", schema.key_schema), ("value", schema.value_schema)):
            assert part is not None
            made.fields.append(self._field(name, part, None))
        return made

    def _record(self, schema: Schema) -> AvroTypeNode:
        parameters = schema.parameters or {}
        discards = self._options.discard_type_doc_default
        doc = parameters.get("connect.record.doc" if discards else RECORD_DOC)
        made = AvroTypeNode("record", self._name(schema), doc=doc)
        if schema.name is not None:
            self._structs[schema.name] = made
        for field in schema.fields:
            about = None if discards else parameters.get(FIELD_DOC + field.name)
            made.fields.append(self._field(self._options.name(field.name), field.schema, about))
        return made

    def _field(self, name: str, schema: Schema, doc: str | None) -> AvroFieldNode:
        scrubbed = None if schema.name is None else self._options.full_name(schema.name)
        again = scrubbed is not None and scrubbed in self._seen
        if scrubbed is not None:
            self._seen.add(scrubbed)
        inner = self.convert(schema)
        default: Any = NO_DEFAULT
        if schema.default is not None:
            default = default_json(self._options, schema, schema.default)
            if not is_default(inner, default):
                log.warning("The default of the field %s does not fit its Avro type, and is left out", name)
                default = NO_DEFAULT
        elif schema.optional:
            default = None
        made = AvroFieldNode(name, inner, schema.doc if self._options.discard_type_doc_default else doc, default)
        if again and self._options.connect_meta_data and _is_named(inner):
            found = self._parameters(schema)
            if found:
                made.props["connect.parameters"] = found
        return made

    def _parameters(self, schema: Schema) -> dict[str, str]:
        keeps = self._options.discard_type_doc_default
        return {key: value for key, value in (schema.parameters or {}).items() if keeps or key != FIELD_DEFAULT}

    def _describe(self, schema: Schema, made: AvroTypeNode) -> None:
        """Add the properties that are Connect's."""
        parameters, props = schema.parameters or {}, made.props
        if schema.name == DECIMAL:
            props["scale"] = int(parameters["scale"])
            props["precision"] = int(parameters.get(PRECISION, DEFAULT_PRECISION))
        if self._options.connect_meta_data:
            self._add_meta_data(schema, props)
        if schema.name in _LOGICAL:
            props["logicalType"] = _LOGICAL[schema.name]
        props.update({key: value for key, value in parameters.items() if key.startswith("avro")})

    def _add_meta_data(self, schema: Schema, props: dict[str, Any]) -> None:
        if schema.doc is not None:
            props["connect.doc"] = schema.doc
        if schema.version is not None:
            props["connect.version"] = schema.version
        if found := self._parameters(schema):
            props["connect.parameters"] = found
        own = self._options.discard_type_doc_default or FIELD_DEFAULT not in (schema.parameters or {})
        if schema.default is not None and own:
            props["connect.default"] = default_json(self._options, schema, schema.default)
        if schema.name is not None:
            props["connect.name"] = schema.name
        if schema.type in (Type.INT8, Type.INT16):
            props["connect.type"] = schema.type.value


def required(schema: Schema) -> Schema:
    """Return a schema that does not allow None."""
    if not schema.optional:
        return schema
    keys = schema.key_schema if schema.type is Type.MAP else None
    values = schema.value_schema if schema.type in (Type.MAP, Type.ARRAY) else None
    fields = schema.fields if schema.type is Type.STRUCT else ()
    about = (schema.name, schema.version, schema.doc, schema.parameters)
    return Schema(schema.type, False, schema.default, *about, fields, keys, values)


def _optional(schema: Schema, base: AvroTypeNode) -> AvroTypeNode:
    null = AvroTypeNode("null")
    return AvroTypeNode("union", branches=[null, base] if schema.default is None else [base, null])


def _is_named(type: AvroTypeNode) -> bool:
    return any(each.kind in ("record", "enum", "fixed") for each in (type.branches or [type]))
