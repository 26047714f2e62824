"""Reads JSON Schema into nodes (drafts 4, 6, 7, 2019-09 and 2020-12)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kafkapy.common.exact_json import identity_of
from kafkapy.registry.compatibility.incompatibility import SchemaParseError
from kafkapy.registry.formats.json_nodes import COMBINATIONS, KEYWORDS_OF, JsonNode

TYPES = ("string", "number", "integer", "boolean", "null", "array", "object")

_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class JsonScope(NamedTuple):
    """The context of a schema: the resolver of its references (from `referencing`), and its dialect."""

    resolver: Any
    dialect: str

    def inside(self, content: Mapping[str, Any]) -> JsonScope:
        """Return the scope inside of an object, with its `$id` and `$schema`."""
        from kafkapy.schemas.json_validation import dialect_of, resource_of

        dialect = dialect_of(content, self.dialect)
        if isinstance(content.get("$id", content.get("id")), str):
            return JsonScope(self.resolver.in_subresource(resource_of(content, dialect)), dialect)
        return JsonScope(self.resolver, dialect)

    def target_of(self, keyword: str, reference: str) -> tuple[Any, JsonScope]:
        """Resolve a reference; return the target and its scope. Raises SchemaParseError."""
        from referencing.exceptions import Unresolvable
        from referencing.jsonschema import lookup_recursive_ref

        try:
            recursive = keyword == "$recursiveRef"
            found = lookup_recursive_ref(self.resolver) if recursive else self.resolver.lookup(reference)
        except (Unresolvable, AttributeError, LookupError, TypeError, ValueError):
            raise SchemaParseError(f"The {keyword} {reference} leads to nothing") from None
        return found.contents, JsonScope(found.resolver, self.dialect)


class JsonReader:
    """Parses one schema. `is_new`: reject invalid parts; else treat them as a schema that accepts everything.

    Invariant: there is one node for each JSON object, so that cyclic references lead to the same node.
    """

    def __init__(self, is_new: bool = True) -> None:
        self._is_new = is_new
        self._nodes: dict[int, tuple[Any, JsonNode]] = {}

    def read(self, content: Any, scope: JsonScope) -> JsonNode:
        if isinstance(content, bool):
            return JsonNode("true" if content else "false", identity_of(content))
        known = self._nodes.get(id(content))
        if known is not None:
            return known[1]
        try:
            if not isinstance(content, dict):
                raise SchemaParseError(f"A schema is an object, true or false, not {identity_of(content)[:100]}")
            node = self._object(content, scope.inside(content))
        except SchemaParseError:
            if self._is_new:
                raise
            node = JsonNode("empty", identity_of(content))
        self._nodes[id(content)] = content, node
        return node

    def _object(self, content: Mapping[str, Any], scope: JsonScope) -> JsonNode:
        from kafkapy.schemas.json_validation import siblings_count

        identity = identity_of(content)
        parts: list[JsonNode] = []
        rest = dict(content)
        modern = siblings_count(scope.dialect)
        for keyword in _REFERENCES if modern else _REFERENCES[:1]:
            if isinstance(content.get(keyword), str):
                reference = self._reference(keyword, content, scope)
                if not modern:
                    return reference
                del rest[keyword]
                parts.append(reference)
        if isinstance(content.get("enum"), list):
            values = rest.pop("enum")
            parts.append(JsonNode("enum", identity_of(["enum", values]), values=frozenset(map(identity_of, values))))
        for criterion in COMBINATIONS:
            if isinstance(content.get(criterion), list):
                subschemas = [self.read(each, scope) for each in rest.pop(criterion)]
                parts.append(
                    JsonNode("combined", _identity(criterion, subschemas), criterion=criterion, parts=subschemas)
                )
        if "not" in content:
            inner = self.read(rest.pop("not"), scope)
            parts.append(JsonNode("not", _identity("not", [inner]), parts=[inner]))
        if "const" in content:
            value = rest.pop("const")
            parts.append(JsonNode("const", identity_of(["const", value]), values=frozenset([identity_of(value)])))
        parts += self._typed(rest, scope)
        if not parts:
            return JsonNode("empty", identity, content)
        if len(parts) == 1:
            only = parts[0]
            only.keywords = {**content, **only.keywords}
            if rest:
                only.identity = identity_of([only.identity, rest])
            return only
        whole = identity_of([_identity("allOf", parts), rest]) if rest else _identity("allOf", parts)
        return JsonNode("combined", whole, content, criterion="allOf", parts=parts)

    def _reference(self, keyword: str, content: Mapping[str, Any], scope: JsonScope) -> JsonNode:
        """Return the node for a reference keyword; from draft 2019-09 on, combined with the object's other
        keywords."""
        found: list[JsonNode] = []

        def target() -> JsonNode:
            if not found:
                try:
                    referred, where = scope.target_of(keyword, content[keyword])
                except SchemaParseError:
                    if self._is_new:
                        raise
                    referred, where = True, scope
                found.append(self.read(referred, where).resolved())
            return found[0]

        return JsonNode("ref", identity_of({keyword: content[keyword]}), content, target=target)

    def _typed(self, rest: dict[str, Any], scope: JsonScope) -> list[JsonNode]:
        """Return nodes for `type`, and for keywords of types that `type` does not list."""
        nodes: list[JsonNode] = []
        kind = rest.pop("type", None)
        if isinstance(kind, list):
            alternatives = [self._of_type(each, rest, scope) for each in kind]
            nodes.append(JsonNode("combined", _identity("anyOf", alternatives), criterion="anyOf", parts=alternatives))
            for each in kind:
                _drop(rest, each)
        elif isinstance(kind, str):
            nodes.append(self._of_type(kind, rest, scope))
            _drop(rest, kind)
        elif kind is not None:
            raise SchemaParseError(f"type is {identity_of(kind)}; it is a name or a list of names")
        for each in ("array", "object", "number", "string"):
            if any(keyword in rest for keyword in KEYWORDS_OF[each]):
                nodes.append(self._of_type(each, rest, scope))
                _drop(rest, each)
        return nodes

    def _of_type(self, kind: Any, content: Mapping[str, Any], scope: JsonScope) -> JsonNode:
        if kind not in TYPES:
            raise SchemaParseError(f"unknown type: [{kind}]")
        own = "number" if kind == "integer" else kind
        keywords = {name: content[name] for name in KEYWORDS_OF.get(own, ()) if name in content}
        keywords |= {name: content[name] for name in ("connect.type", "default") if name in content}
        node = JsonNode(own, identity_of([kind, keywords]), keywords, integer=kind == "integer")
        if own == "array":
            self._array(node, content, scope)
        elif own == "object":
            self._object_parts(node, content, scope)
        return node

    def _array(self, node: JsonNode, content: Mapping[str, Any], scope: JsonScope) -> None:
        items, additional = content.get("items"), content.get("additionalItems")
        if "prefixItems" in content:
            items, additional = content["prefixItems"], content.get("items")
        if isinstance(items, list):
            node.parts = [self.read(each, scope) for each in items]
        elif items is not None:
            node.all_items = self.read(items, scope)
        self._additional(node, additional, scope)
        if "unevaluatedItems" in content:
            node.unevaluated = self.read(content["unevaluatedItems"], scope)

    def _additional(self, node: JsonNode, additional: Any, scope: JsonScope) -> None:
        if isinstance(additional, bool):
            node.permits_additional = additional
        elif additional is not None:
            node.additional = self.read(additional, scope)

    def _object_parts(self, node: JsonNode, content: Mapping[str, Any], scope: JsonScope) -> None:
        def each_of(keyword: str) -> dict[str, Any]:
            found = content.get(keyword, {})
            if not isinstance(found, dict):
                raise SchemaParseError(f"{keyword} is an object, not {identity_of(found)[:100]}")
            return found

        node.properties = {name: self.read(each, scope) for name, each in each_of("properties").items()}
        node.patterns = {name: self.read(each, scope) for name, each in each_of("patternProperties").items()}
        self._additional(node, content.get("additionalProperties"), scope)
        for keyword in ("dependencies", "dependentSchemas", "dependentRequired"):
            for name, each in each_of(keyword).items():
                if isinstance(each, list):
                    node.property_dependencies[name] = frozenset(map(str, each))
                else:
                    node.schema_dependencies[name] = self.read(each, scope)
        if "unevaluatedProperties" in content:
            node.unevaluated = self.read(content["unevaluatedProperties"], scope)


def _identity(criterion: str, parts: list[JsonNode]) -> str:
    return identity_of([criterion, *(part.identity for part in parts)])


def _drop(rest: dict[str, Any], kind: str) -> None:
    for keyword in KEYWORDS_OF.get("number" if kind == "integer" else kind, ()):
        rest.pop(keyword, None)
