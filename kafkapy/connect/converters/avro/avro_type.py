"""Avro's types as objects: read from a schema's JSON, and written as Avro's library in Java writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkapy.connect.errors import DataException

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
NO_DEFAULT: Final = object()
"""The default of a field that has none; None is the default null."""
_NAMED: Final = frozenset({"record", "enum", "fixed"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = frozenset({"type", "name", "namespace", "doc", "fields", "items", "values", "symbols", "size"})
_RESERVED_OF_FIELDS: Final = frozenset({"name", "type", "doc", "default", "order", "aliases"})


class AvroTypeNode:
    """A type of Avro; recursive records refer to themselves.

    Args:
        kind: `record`, `enum`, `fixed`, `array`, `map`, `union` or a primitive type.
        name: Full name of a record, an enum or a fixed. Default: None.
        doc: Default: None.
        items: Of the elements of an array, or of the values of a map.
        symbols: Of an enum.
        size: Of a fixed, in bytes.
        branches: Of a union.

    Attributes:
        props: Other properties, by name, in order.
        fields: Of a record.
        default_symbol: Of an enum; None: none.

    Raises:
        DataException: The name is not allowed.

    Example:
        >>> avro_text(AvroTypeNode("array", items=AvroTypeNode("int")))
        '{"type":"array","items":"int"}'
    """

    __slots__ = ("branches", "default_symbol", "doc", "fields", "items", "kind", "name", "props", "size", "symbols")

    def __init__(
        self,
        kind: str,
        name: str | None = None,
        *,
        doc: str | None = None,
        items: AvroTypeNode | None = None,
        symbols: Iterable[str] = (),
        size: int = 0,
        branches: Iterable[AvroTypeNode] = (),
    ) -> None:
        self.kind, self.name, self.doc, self.size = kind, name, doc, size
        self.symbols, self.branches = list(symbols), list(branches)
        self.props: dict[str, Any] = {}
        self.fields: list[AvroFieldNode] = []
        self.default_symbol: str | None = None
        self.items = items
        if name is not None:
            for part in name.split("."):
                check_name(part)

    @property
    def item(self) -> AvroTypeNode:
        """The type of the elements of an array, or of the values of a map."""
        assert self.items is not None
        return self.items

    @property
    def simple_name(self) -> str:
        return (self.name or self.kind).rpartition(".")[2]

    @property
    def namespace(self) -> str:
        return (self.name or "").rpartition(".")[0]

    @property
    def logical(self) -> str | None:
        found = self.props.get("logicalType")
        return found.lower() if isinstance(found, str) else None

    def field(self, name: str) -> AvroFieldNode | None:
        """Return a record's field, None if it has none of this name."""
        return next((each for each in self.fields if each.name == name), None)


class AvroFieldNode:
    """A field of a record.

    Args:
        name: The field's.
        type: Of its values.
        doc: Default: None.
        default: In JSON. Default: none.

    Raises:
        DataException: The name is not allowed.
    """

    __slots__ = ("default", "doc", "name", "props", "type")

    def __init__(self, name: str, type: AvroTypeNode, doc: str | None = None, default: Any = NO_DEFAULT) -> None:
        check_name(name)
        self.name, self.type, self.doc, self.default = name, type, doc, default
        self.props: dict[str, Any] = {}


def check_name(name: str) -> None:
    """Raise DataException for a name that Avro does not allow."""
    if not _NAME.fullmatch(name):
        raise DataException(
            f"Avro does not allow the name {name!r}: only letters, digits and _; set scrub.invalid.names=true to replace "
            "other characters"
        )


def avro_type(node: Any, named: dict[str, AvroTypeNode], space: str = "") -> AvroTypeNode:
    """Return the type of a schema's JSON.

    Args:
        node: The JSON.
        named: Types by full name that are defined already; those of the schema are added.
        space: Namespace of names without one. Default: none.

    Raises:
        DataException: It is no schema of Avro.

    Example:
        >>> avro_type({"type": "map", "values": "long"}, {}).item.kind
        'long'
    """
    if isinstance(node, str):
        if node in PRIMITIVES:
            return AvroTypeNode(node)
        found = named.get(_full(node, space)) or named.get(node)
        if found is None:
            raise DataException(f"The Avro schema uses the type {node}, which is not defined")
        return found
    if isinstance(node, list):
        return AvroTypeNode("union", branches=[avro_type(each, named, space) for each in node])
    kind = node.get("type") if isinstance(node, Mapping) else None
    if isinstance(kind, dict | list):
        return avro_type(kind, named, space)
    if kind in ("record", "error", "enum", "fixed"):
        return _named_type(node, named, space)
    if kind in ("array", "map"):
        made = AvroTypeNode(kind, items=avro_type(node.get("items" if kind == "array" else "values"), named, space))
    elif kind in PRIMITIVES:
        made = AvroTypeNode(str(kind))
    elif isinstance(kind, str):
        return avro_type(kind, named, space)
    else:
        raise DataException(f"This is no schema of Avro: {json.dumps(node)[:200]}")
    made.props = {name: each for name, each in node.items() if name not in _RESERVED}
    return made


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _named_type(node: Mapping[str, Any], named: dict[str, AvroTypeNode], space: str) -> AvroTypeNode:
    kind = "record" if node["type"] == "error" else node["type"]
    given, own = str(node.get("name")), node.get("namespace", space)
    full = _full(given, own or "")
    made = AvroTypeNode(kind, full, doc=node.get("doc"), symbols=node.get("symbols", ()), size=node.get("size", 0))
    if full in named:
        raise DataException(f"The Avro schema defines the type {full} twice")
    named[full] = made
    without = _RESERVED | ({"default"} if kind == "enum" else set()) | {"aliases"}
    made.props = {name: each for name, each in node.items() if name not in without}
    made.default_symbol = node.get("default") if kind == "enum" else None
    for field in node.get("fields", ()):
        inner = avro_type(field.get("type"), named, made.namespace)
        added = AvroFieldNode(field["name"], inner, field.get("doc"), field.get("default", NO_DEFAULT))
        added.props = {name: each for name, each in field.items() if name not in _RESERVED_OF_FIELDS}
        made.fields.append(added)
    return made


def avro_text(type: AvroTypeNode) -> str:
    """Return a schema's text, as `Schema.toString` of Avro's library in Java.

    Args:
        type: The type.

    Raises:
        DataException: It has two types of one name.

    Example:
        >>> avro_text(AvroTypeNode("fixed", "a.Id", size=16))
        '{"type":"fixed","name":"Id","namespace":"a","size":16}'
    """
    return json.dumps(_node(type, {}, ""), separators=(",", ":"), ensure_ascii=False)


def _node(type: AvroTypeNode, written: dict[str, AvroTypeNode], space: str) -> Any:
    if type.kind == "union":
        return [_node(each, written, space) for each in type.branches]
    if type.kind in _NAMED:
        return _named_node(type, written, space)
    if type.kind in PRIMITIVES and not type.props:
        return type.kind
    made: dict[str, Any] = {"type": type.kind}
    if type.items is not None:
        made["items" if type.kind == "array" else "values"] = _node(type.items, written, space)
    return made | type.props


def _named_node(type: AvroTypeNode, written: dict[str, AvroTypeNode], space: str) -> Any:
    assert type.name is not None
    known = written.get(type.name)
    if known is not None:
        if known is not type and avro_text(known) != avro_text(type):
            raise DataException(
                f"Two different schemas have the name {type.name}, which Avro does not allow; give one another name, for "
                "example by the transform SetSchemaMetadata"
            )
        short = type.namespace == space and type.simple_name not in PRIMITIVES
        return type.simple_name if short else type.name
    written[type.name] = type
    made: dict[str, Any] = {"type": type.kind, "name": type.simple_name}
    if type.namespace != space:
        made["namespace"] = type.namespace
    if type.doc is not None:
        made["doc"] = type.doc
    if type.kind == "record":
        made["fields"] = [_field_node(field, written, type.namespace) for field in type.fields]
    elif type.kind == "enum":
        made["symbols"] = type.symbols
        if type.default_symbol is not None:
            made["default"] = type.default_symbol
    else:
        made["size"] = type.size
    return made | type.props


def _field_node(field: AvroFieldNode, written: dict[str, AvroTypeNode], space: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": field.name, "type": _node(field.type, written, space)}
    if field.doc is not None:
        made["doc"] = field.doc
    if field.default is not NO_DEFAULT:
        made["default"] = field.default
    return made | field.props
