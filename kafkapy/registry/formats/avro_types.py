"""Avro's types as a tree: parsed from JSON, and written in the form of Avro's Java library.

A name is defined from its declaration on, so types may be recursive; `AvroType` objects are compared by identity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkapy.common import exact_json
from kafkapy.registry.compatibility.incompatibility import SchemaParseError
from kafkapy.registry.formats.avro_numbers import default_of

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MISSING = object()
_MAX_SIZE = 2**31 - 1
"""Largest size of a fixed."""


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
    """A type. `kind`: a primitive, record, error, enum, array, map, fixed or union. Only named types have `name` and
    `namespace`.

    `branches`: those of a union, or the one element type of an array or map.
    """

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
    """Parses one text. `names`: the types that it may refer to; its own types are added.

    `is_new`: validate names and defaults of enums, as for a schema to be registered; in stored schemas they are
    accepted unchecked.
    """

    def __init__(self, names: dict[str, AvroType], is_new: bool = True) -> None:
        self.names = names
        self._is_new = is_new

    def read(self, content: Any, namespace: str = "") -> AvroType:
        if isinstance(content, str):
            return self._named(content, namespace)
        if isinstance(content, list):
            return self._union(content, namespace)
        if not isinstance(content, dict):
            raise SchemaParseError(f"A type is a name, an object or a list, not {exact_json.dumps(content)}")
        kind = content.get("type")
        if isinstance(kind, dict | list):  # {"type": {"type": …}}, which the Java library accepts
            return self.read(kind, namespace)
        if kind in PRIMITIVES:
            return AvroType(kind, properties=_rest(content))
        if kind in ("record", "error"):
            return self._record(kind, content, namespace)
        if kind == "enum":
            return self._enum(content, namespace)
        if kind == "fixed":
            return self._fixed(content, namespace)
        if kind in ("array", "map"):
            part = "items" if kind == "array" else "values"
            if part not in content:
                raise SchemaParseError(f"No {part} in the {kind} {exact_json.dumps(content)}")
            branch = self.read(content[part], namespace)
            return AvroType(kind, branches=[branch], properties=_rest(content))
        if isinstance(kind, str):
            return self._named(kind, namespace)
        raise SchemaParseError(f"No type: {exact_json.dumps(content)}")

    def _named(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = f"{namespace}.{name}" if "." not in name and namespace else name
        found = self.names.get(full) or self.names.get(name)
        if found is None:
            raise SchemaParseError(f'"{full}" is not a defined name')
        return found

    def _union(self, content: list[Any], namespace: str) -> AvroType:
        branches = [self.read(each, namespace) for each in content]
        seen = set()
        for branch in branches:
            if branch.kind == "union":
                raise SchemaParseError(f"Nested union: {exact_json.dumps(content)}")
            name = branch.full_name or branch.kind
            if name in seen:
                raise SchemaParseError(f"Duplicate in union: {name}")
            seen.add(name)
        return AvroType("union", branches=branches)

    def _declare(self, kind: str, content: Mapping[str, Any], namespace: str) -> AvroType:
        name = content.get("name")
        if not isinstance(name, str):
            raise SchemaParseError(f"No name in schema: {exact_json.dumps(content)}")
        space, dot, simple = name.rpartition(".")
        if not dot:
            given = content.get("namespace")
            space = given if isinstance(given, str) else namespace
        for part in (simple, *(space.split(".") if space else ())):
            self._check_name(part)
        if simple in PRIMITIVES and not space:
            raise SchemaParseError(f"Schemas may not be named after primitives: {simple}")
        whole = tuple(f"{space}.{alias}" if space and "." not in alias else alias for alias in _aliases(content))
        made = AvroType(kind, simple, space, doc=_text(content, "doc"), aliases=whole)
        if made.full_name in self.names:
            raise SchemaParseError(f"Can't redefine: {made.full_name}")
        self.names[made.full_name] = made
        return made

    def _check_name(self, name: str) -> None:
        if self._is_new and not _NAME.fullmatch(name):
            raise SchemaParseError(f"Illegal character in: {name}" if name else "Empty name")

    def _record(self, kind: str, content: Mapping[str, Any], namespace: str) -> AvroType:
        made = self._declare(kind, content, namespace)
        fields = content.get("fields")
        if not isinstance(fields, list):
            raise SchemaParseError(f"Record has no fields: {exact_json.dumps(content)}")
        for each in fields:
            made.fields.append(self._field(each, made.namespace))
        names = [each.name for each in made.fields]
        for name in names:
            if names.count(name) > 1:
                raise SchemaParseError(f"Duplicate field {name} in record {made.full_name}")
        made.properties = _rest(content)
        return made

    def _field(self, content: Any, namespace: str) -> AvroField:
        if not isinstance(content, dict) or not isinstance(content.get("name"), str):
            raise SchemaParseError(f"No field name: {exact_json.dumps(content)}")
        name = content["name"]
        self._check_name(name)
        if "type" not in content:
            raise SchemaParseError(f"No field type: {exact_json.dumps(content)}")
        order = content.get("order", "ascending")
        order = order.lower() if isinstance(order, str) else order
        if order not in ("ascending", "descending", "ignore"):
            raise SchemaParseError(
                f"Field {name}: order is {exact_json.dumps(order)}; it is ascending, descending or ignore"
            )
        kind = self.read(content["type"], namespace)
        return AvroField(
            name,
            kind,
            _text(content, "doc"),
            default_of(kind.kind, content.get("default", _MISSING)),
            order,
            _aliases(content),
            _rest(content, "default", "order"),
        )

    def _enum(self, content: Mapping[str, Any], namespace: str) -> AvroType:
        made = self._declare("enum", content, namespace)
        symbols = content.get("symbols")
        if not isinstance(symbols, list):
            raise SchemaParseError(f"Enum has no symbols: {exact_json.dumps(content)}")
        for symbol in symbols:
            if not isinstance(symbol, str):
                raise SchemaParseError(f"A symbol of an enum is a string, not {exact_json.dumps(symbol)}")
            self._check_name(symbol)
            if symbols.count(symbol) > 1:
                raise SchemaParseError(f"Duplicate enum symbol: {symbol}")
        made.symbols, made.default = tuple(symbols), _text(content, "default")
        if self._is_new and made.default is not None and made.default not in made.symbols:
            raise SchemaParseError(f"The Enum Default: {made.default} is not in the enum symbol set: {symbols}")
        made.properties = _rest(content, "default")
        return made

    def _fixed(self, content: Mapping[str, Any], namespace: str) -> AvroType:
        made = self._declare("fixed", content, namespace)
        size = content.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MAX_SIZE:
            raise SchemaParseError(f"Invalid or no size: {exact_json.dumps(content)}")
        made.size = size
        made.properties = _rest(content)
        return made


def _text(content: Mapping[str, Any], name: str) -> str | None:
    found = content.get(name)
    return found if isinstance(found, str) else None


def _aliases(content: Mapping[str, Any]) -> tuple[str, ...]:
    aliases = content.get("aliases") or []
    if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
        raise SchemaParseError(f"aliases is not an array of strings: {exact_json.dumps(aliases)}")
    return tuple(aliases)


_RESERVED = ("type", "name", "namespace", "doc", "fields", "items", "values", "size", "symbols", "aliases")
"""Attributes that are never custom properties, not even of types that don't use them (Java's `SCHEMA_RESERVED`)."""


def _rest(content: Mapping[str, Any], *others: str) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name not in _RESERVED and name not in others}


def to_json(schema: AvroType, known: set[str], namespace: str = "", sort: bool = False) -> Any:
    """Return the schema's JSON in the order of the Java library's `Schema.toString`.

    `known`: full names that are declared elsewhere or before; the schema's own are added. `sort`: sort the properties,
    for the normalized form.
    """
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
