"""JSON Schema as Connect's schemas (`JsonSchemaData.toConnectSchema`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from kafkapy.connect.converters.jsonschema.json_data import JsonData
from kafkapy.connect.converters.jsonschema.json_options import GENERAL_UNION, NULL_SYMBOL, ONE_OF, JsonOptions
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import STRING_SCHEMA, Schema, Type
from kafkapy.connect.errors import DataException

_TYPES: Final = {
    "int8": Type.INT8,
    "int16": Type.INT16,
    "int32": Type.INT32,
    "int64": Type.INT64,
    "float32": Type.FLOAT32,
    "float64": Type.FLOAT64,
    "bytes": Type.BYTES,
}
_DEEPEST: Final = 50


class JsonSchemaReader:
    """Converts one document.

    Invariant: `_open` has the references that are being followed; one inside of itself is refused.

    Args:
        options: The converter's settings.
        document: The schema, in JSON.
        others: Documents that it refers to, by name. Default: none.

    Example:
        >>> JsonSchemaReader(JsonOptions(), {"type": "integer"}).convert()
        Schema{INT64}
    """

    def __init__(self, options: JsonOptions, document: Any, others: Mapping[str, Any] | None = None) -> None:
        self._options = options
        self._document = document
        self._others = others or {}
        self._data = JsonData(options)
        self._open: list[tuple[int, str]] = []
        self._unions = 0

    def convert(self, version: int | None = None) -> Schema:
        """Return the document's schema. Raises DataException.

        Args:
            version: In the registry. Default: None.
        """
        return self._schema(self._document, self._document, False, version)

    def _schema(self, node: Any, document: Any, optional: bool = False, version: int | None = None) -> Schema:
        if not isinstance(node, dict):
            raise DataException(f"The JSON Schema {node!r} has no type that Connect has; give it one")
        if "$ref" in node:
            return self._referred(node["$ref"], document, optional, version)
        if "allOf" in node and "properties" not in node:
            return self._all_of(node, document, optional, version)
        members = self._members(node)
        if members is not None:
            return self._sum(node, members, document, optional, version)
        builder = self._builder(node, document)
        return self._described(builder, node, optional, version)

    # -- references

    def _referred(self, text: str, document: Any, optional: bool, version: int | None) -> Schema:
        key = (id(document), text)
        if key in self._open or len(self._open) > _DEEPEST:
            raise DataException(f"The JSON Schema refers to itself by {text}; schemas of Connect cannot do so here")
        node, where = self._resolved(text, document)
        self._open.append(key)
        try:
            return self._schema(node, where, optional, version)
        finally:
            self._open.pop()

    def _resolved(self, text: str, document: Any) -> tuple[Any, Any]:
        name, _, pointer = text.partition("#")
        if name:
            document = self._others.get(name)
            if document is None:
                raise DataException(f"The JSON Schema refers to {name}, which is not among its references")
        node = document
        for step in filter(None, pointer.split("/")):
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(node, list) and step.isdigit() and int(step) < len(node):
                node = node[int(step)]
            elif isinstance(node, dict) and step in node:
                node = node[step]
            else:
                raise DataException(f"The JSON Schema refers to {text}, which does not exist")
        return node, document

    # -- unions

    def _members(self, node: dict[str, Any]) -> list[Any] | None:
        kinds = node.get("type")
        if isinstance(kinds, list):
            return [{**node, "type": kind} for kind in kinds]
        if "properties" in node:
            return None
        found = node.get("oneOf", node.get("anyOf"))
        return found if isinstance(found, list) else None

    def _sum(
        self, node: dict[str, Any], members: list[Any], document: Any, optional: bool, version: int | None
    ) -> Schema:
        others = [each for each in members if not _is_null(each)]
        if len(others) == 1 and len(members) == 2:
            return self._schema(others[0], document, True, version)
        if len(others) == 1 and len(members) == 1 and self._options.flatten_singleton_unions:
            return self._schema(others[0], document, optional, version)
        builder, name = SchemaBuilder(Type.STRUCT), ONE_OF
        if self._options.generalized_sum_type_support:
            name = f"connect_union_{self._unions}"
            self._unions += 1
            builder.parameter(GENERAL_UNION, name)
        builder.name(name)
        prefix = "connect_union_field_" if self._options.generalized_sum_type_support else f"{ONE_OF}.field."
        for index, member in enumerate(others):
            builder.field(f"{prefix}{index}", self._schema(member, document, True))
        is_optional = optional or len(others) < len(members)
        described = {key: each for key, each in node.items() if key != "title"}
        return self._described(builder, described, is_optional, version)

    def _all_of(self, node: dict[str, Any], document: Any, optional: bool, version: int | None) -> Schema:
        properties: dict[str, tuple[Any, Any]] = {}
        needed: set[str] = set()
        self._collect(node, document, properties, needed, 0)
        if properties:
            builder = SchemaBuilder(Type.STRUCT)
            for name, (each, where) in properties.items():
                is_optional = self._options.use_optional_for_nonrequired and name not in needed
                builder.field(name, self._schema(each, where, is_optional))
            return self._described(builder, node, optional, version)
        for each in node["allOf"]:
            if isinstance(each, dict) and (each.keys() & {"type", "$ref", "oneOf", "anyOf", "allOf", "enum"}):
                return self._schema(each, document, optional, version)
        raise DataException("The JSON Schema has an allOf without a type that Connect has")

    def _collect(
        self, node: Any, document: Any, found: dict[str, tuple[Any, Any]], needed: set[str], depth: int
    ) -> None:
        if depth > _DEEPEST or not isinstance(node, dict):
            return
        if "$ref" in node:
            node, document = self._resolved(node["$ref"], document)
        for name, each in node.get("properties", {}).items():
            found.setdefault(name, (each, document))
        needed.update(node.get("required", ()))
        for each in node.get("allOf", ()):
            self._collect(each, document, found, needed, depth + 1)

    # -- types

    def _builder(self, node: dict[str, Any], document: Any) -> SchemaBuilder:
        kind, own = node.get("type"), node.get("connect.type")
        if "enum" in node and kind in (None, "string"):
            return self._enum(node["enum"])
        if "const" in node and kind is None:
            return self._enum([node["const"]])
        if kind in ("integer", "number"):
            if own is not None and own not in _TYPES:
                raise DataException(f"Unsupported type {own}")
            return SchemaBuilder(_TYPES.get(own or "", Type.INT64 if kind == "integer" else Type.FLOAT64))
        if kind == "string":
            return SchemaBuilder(Type.BYTES if own == "bytes" else Type.STRING)
        if kind == "boolean":
            return SchemaBuilder(Type.BOOLEAN)
        if kind == "array" or (kind is None and "items" in node):
            return self._array(node, document)
        if kind == "object" or (kind is None and ("properties" in node or "additionalProperties" in node)):
            return self._object(node, document)
        raise DataException(f"Unsupported schema type {kind or 'without type'}")

    def _enum(self, values: list[Any]) -> SchemaBuilder:
        builder, name = SchemaBuilder(Type.STRING), self._options.enum_parameter
        builder.parameter(name, "")
        for index, value in enumerate(values):
            symbol = NULL_SYMBOL if value is None else str(value)
            builder.parameter(f"{name}.{symbol}", str(index) if self._options.generalized_sum_type_support else symbol)
        return builder

    def _array(self, node: dict[str, Any], document: Any) -> SchemaBuilder:
        items = node.get("items")
        if not isinstance(items, dict):
            raise DataException("Array schema did not specify the items type")
        if node.get("connect.type") != "map" or "properties" not in items:
            return SchemaBuilder.array(self._schema(items, document))
        entry = items["properties"]
        return SchemaBuilder.map(self._schema(entry.get("key"), document), self._schema(entry.get("value"), document))

    def _object(self, node: dict[str, Any], document: Any) -> SchemaBuilder:
        if node.get("connect.type") == "map":
            return SchemaBuilder.map(STRING_SCHEMA, self._schema(node.get("additionalProperties"), document))
        builder, needed = SchemaBuilder(Type.STRUCT), set(node.get("required", ()))
        for name, each in _in_order(node.get("properties", {})):
            is_optional = self._options.use_optional_for_nonrequired and name not in needed
            builder.field(name, self._schema(each, document, is_optional))
        return builder

    def _described(self, builder: SchemaBuilder, node: dict[str, Any], optional: bool, version: int | None) -> Schema:
        if node.get("title") is not None:
            builder.name(str(node["title"]))
        found = node.get("connect.version", version)
        if found is not None:
            builder.version(int(found))
        if node.get("description") is not None:
            builder.doc(str(node["description"]))
        builder.parameters({str(key): str(value) for key, value in node.get("connect.parameters", {}).items()})
        if node.get("default") is not None:
            builder.default(self._data.value(builder.build(), node["default"]))
        return builder.optional().build() if optional else builder.build()


def _is_null(node: Any) -> bool:
    return isinstance(node, dict) and node.get("type") == "null"


def _in_order(properties: dict[str, Any]) -> list[tuple[str, Any]]:
    """Properties by their `connect.index`; those without one keep their place in the document."""
    placed = enumerate(properties.items())
    return [each for _, each in sorted(placed, key=lambda item: (_index(item[1][1], item[0]), item[0]))]


def _index(node: Any, place: int) -> int:
    found = node.get("connect.index") if isinstance(node, dict) else None
    return found if isinstance(found, int) else place
