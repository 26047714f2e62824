"""Avro's types as a tree, read from JSON, and written as Avro's Java library writes them.

A name is known from where it was declared on, so types may be recursive; `AvroType` objects are compared by identity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkapy.registry.compatibility.incompatibility import SchemaParseError

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MISSING = object()
_DEEPEST = 200
"""Levels of a schema. What is nested deeper is refused before it could exhaust the stack."""


@dataclass(eq=False)
class AvroField:
    name: str
    type: AvroType
    doc: str | None
    default: Any
    order: str
    aliases: tuple[str, ...]
    properties: dict[str, Any]

    @property
    def has_default(self) -> bool:
        return self.default is not _MISSING


@dataclass(eq=False)
class AvroType:
    """`kind`: a primitive, record, error, enum, array, map, fixed or union. `name` and `namespace` are those of named types;
    `branches` the union's, or the one of an array or map."""

    kind: str
    name: str = ""
    namespace: str = ""
    doc: str | None = None
    fields: list[AvroField] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    default: str | None = None
    size: int = 0
    branches: list[AvroType] = field(default_factory=list)
    aliases: tuple[str, ...] = ()
    properties: dict[str, Any] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


class AvroReader:
    """Reads one text; `names` are the types that it may refer to, and then has its own, too."""

    def __init__(self, names: dict[str, AvroType]) -> None:
        self.names = names

    def read(self, content: Any, namespace: str = "", depth: int = 0) -> AvroType:
        if depth > _DEEPEST:
            raise SchemaParseError(f"The schema is nested deeper than {_DEEPEST} levels")
        if isinstance(content, str):
            return self._named(content, namespace)
        if isinstance(content, list):
            return self._union(content, namespace, depth)
        if not isinstance(content, dict):
            raise SchemaParseError(f"A type is a name, an object or a list, not {json.dumps(content)}")
        kind = content.get("type")
        if isinstance(kind, dict | list):  # {"type": {"type": …}}, as the Java library reads it
            return self.read(kind, namespace, depth + 1)
        if kind in PRIMITIVES:
            return AvroType(kind, properties=_rest(content))
        if kind in ("record", "error"):
            return self._record(kind, content, namespace, depth)
        if kind == "enum":
            return self._enum(content, namespace)
        if kind == "fixed":
            return self._fixed(content, namespace)
        if kind in ("array", "map"):
            part = "items" if kind == "array" else "values"
            if part not in content:
                raise SchemaParseError(f"No {part} in the {kind} {json.dumps(content)}")
            branch = self.read(content[part], namespace, depth + 1)
            return AvroType(kind, branches=[branch], properties=_rest(content))
        if isinstance(kind, str):
            return self._named(kind, namespace)
        raise SchemaParseError(f"No type: {json.dumps(content)}")

    def _named(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = f"{namespace}.{name}" if "." not in name and namespace else name
        found = self.names.get(full) or self.names.get(name)
        if found is None:
            raise SchemaParseError(f'"{full}" is not a defined name')
        return found

    def _union(self, content: list[Any], namespace: str, depth: int) -> AvroType:
        branches = [self.read(each, namespace, depth + 1) for each in content]
        seen = set()
        for branch in branches:
            if branch.kind == "union":
                raise SchemaParseError(f"Nested union: {json.dumps(content)}")
            name = branch.full_name or branch.kind
            if name in seen:
                raise SchemaParseError(f"Duplicate in union: {name}")
            seen.add(name)
        return AvroType("union", branches=branches)

    def _declare(self, kind: str, content: Mapping[str, Any], namespace: str) -> AvroType:
        name = content.get("name")
        if not isinstance(name, str):
            raise SchemaParseError(f"No name in schema: {json.dumps(content)}")
        space, dot, simple = name.rpartition(".")
        if not dot:
            given = content.get("namespace")
            space = namespace if given is None else str(given)
        for part in (simple, *(space.split(".") if space else ())):
            if not _NAME.fullmatch(part):
                raise SchemaParseError(f"Illegal character in: {part}" if part else "Empty name")
        if simple in PRIMITIVES and not space:
            raise SchemaParseError(f"Schemas may not be named after primitives: {simple}")
        aliases = content.get("aliases") or ()
        if not isinstance(aliases, list | tuple) or not all(isinstance(alias, str) for alias in aliases):
            raise SchemaParseError(f"aliases is not an array of strings: {json.dumps(aliases)}")
        whole = tuple(f"{space}.{alias}" if space and "." not in alias else alias for alias in aliases)
        made = AvroType(kind, simple, space, doc=_text(content, "doc"), aliases=whole)
        if made.full_name in self.names:
            raise SchemaParseError(f"Can't redefine: {made.full_name}")
        self.names[made.full_name] = made
        return made

    def _record(self, kind: str, content: Mapping[str, Any], namespace: str, depth: int) -> AvroType:
        made = self._declare(kind, content, namespace)
        fields = content.get("fields")
        if not isinstance(fields, list):
            raise SchemaParseError(f"Record has no fields: {json.dumps(content)}")
        for each in fields:
            made.fields.append(self._field(each, made.namespace, depth))
        names = [each.name for each in made.fields]
        for name in names:
            if names.count(name) > 1:
                raise SchemaParseError(f"Duplicate field {name} in record {made.full_name}")
        made.properties = _rest(content)
        return made

    def _field(self, content: Any, namespace: str, depth: int) -> AvroField:
        if not isinstance(content, dict) or not isinstance(content.get("name"), str):
            raise SchemaParseError(f"No field name: {json.dumps(content)}")
        name = content["name"]
        if not _NAME.fullmatch(name):
            raise SchemaParseError(f"Illegal character in: {name}")
        if "type" not in content:
            raise SchemaParseError(f"No field type: {json.dumps(content)}")
        order = content.get("order", "ascending")
        if order not in ("ascending", "descending", "ignore"):
            raise SchemaParseError(f"Field {name}: order is {json.dumps(order)}; it is ascending, descending or ignore")
        return AvroField(
            name,
            self.read(content["type"], namespace, depth + 1),
            _text(content, "doc"),
            content.get("default", _MISSING),
            order,
            tuple(content.get("aliases") or ()),
            _rest(content, "default", "order"),
        )

    def _enum(self, content: Mapping[str, Any], namespace: str) -> AvroType:
        made = self._declare("enum", content, namespace)
        symbols = content.get("symbols")
        if not isinstance(symbols, list):
            raise SchemaParseError(f"Enum has no symbols: {json.dumps(content)}")
        for symbol in symbols:
            if not isinstance(symbol, str) or not _NAME.fullmatch(symbol):
                raise SchemaParseError(f"Illegal character in: {symbol}")
            if symbols.count(symbol) > 1:
                raise SchemaParseError(f"Duplicate enum symbol: {symbol}")
        made.symbols, made.default = tuple(symbols), _text(content, "default")
        if made.default is not None and made.default not in made.symbols:
            raise SchemaParseError(f"The Enum Default: {made.default} is not in the enum symbol set: {symbols}")
        made.properties = _rest(content, "default")
        return made

    def _fixed(self, content: Mapping[str, Any], namespace: str) -> AvroType:
        made = self._declare("fixed", content, namespace)
        size = content.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise SchemaParseError(f"Invalid or no size: {json.dumps(content)}")
        made.size = size
        made.properties = _rest(content)
        return made


def _text(content: Mapping[str, Any], name: str) -> str | None:
    found = content.get(name)
    return found if isinstance(found, str) else None


_RESERVED = ("type", "name", "namespace", "doc", "fields", "items", "values", "size", "symbols", "aliases")
"""Nobody's properties, not even of types that have no use for them (Java's `SCHEMA_RESERVED`)."""


def _rest(content: Mapping[str, Any], *others: str) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name not in _RESERVED and name not in others}


def to_json(schema: AvroType, known: set[str], namespace: str = "", sort: bool = False) -> Any:
    """As `Schema.toString` of the Java library orders it. `known`: full names that are declared elsewhere, or were before; the
    schema's own join them. `sort`: the properties, for the normalized form."""
    properties = dict(sorted(schema.properties.items())) if sort else schema.properties
    if schema.kind in PRIMITIVES:
        return {"type": schema.kind, **properties} if properties else schema.kind
    if schema.kind == "union":
        return [to_json(branch, known, namespace, sort) for branch in schema.branches]
    if schema.kind in ("array", "map"):
        part = "items" if schema.kind == "array" else "values"
        return {"type": schema.kind, part: to_json(schema.branches[0], known, namespace, sort), **properties}
    if schema.full_name in known:
        return schema.name if schema.namespace == namespace else schema.full_name
    known.add(schema.full_name)
    written: dict[str, Any] = {"type": schema.kind, "name": schema.name}
    if schema.namespace != namespace:
        written["namespace"] = schema.namespace
    if schema.doc is not None:
        written["doc"] = schema.doc
    if schema.kind == "enum":
        written["symbols"] = list(schema.symbols)
        if schema.default is not None:
            written["default"] = schema.default
    elif schema.kind == "fixed":
        written["size"] = schema.size
    else:
        written["fields"] = [_field_to_json(each, known, schema.namespace, sort) for each in schema.fields]
    written |= properties
    if schema.aliases:
        prefix = f"{schema.namespace}." if schema.namespace else ""
        shown = [
            alias.removeprefix(prefix) if "." not in alias.removeprefix(prefix) else alias for alias in schema.aliases
        ]
        written["aliases"] = sorted(shown) if sort else shown
    return written


def _field_to_json(each: AvroField, known: set[str], namespace: str, sort: bool) -> Any:
    written: dict[str, Any] = {"name": each.name, "type": to_json(each.type, known, namespace, sort)}
    if each.doc is not None:
        written["doc"] = each.doc
    if each.has_default:
        written["default"] = each.default
    if each.order != "ascending":
        written["order"] = each.order
    if each.aliases:
        written["aliases"] = list(each.aliases)
    return written | (dict(sorted(each.properties.items())) if sort else each.properties)
