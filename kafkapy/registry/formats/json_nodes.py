"""JSON Schema as a tree whose nodes have one kind each, as the reference implementation compares them.

A JSON object may have keywords for strings, numbers, enums and combinations side by side; here it becomes an `allOf`
of one node for each (a list of types becomes an `anyOf`). A `$ref` is resolved on demand, so schemas may be recursive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

STRING_KEYWORDS = ("minLength", "maxLength", "pattern", "format")
NUMBER_KEYWORDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
ARRAY_KEYWORDS = (
    *("items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "prefixItems"),
    *("unevaluatedItems", "minContains", "maxContains"),
)
OBJECT_KEYWORDS = (
    *("properties", "required", "minProperties", "maxProperties", "dependencies", "patternProperties"),
    *("additionalProperties", "propertyNames", "unevaluatedProperties", "dependentRequired", "dependentSchemas"),
)
COMBINATIONS = ("allOf", "anyOf", "oneOf")
KEYWORDS_OF = {
    "string": STRING_KEYWORDS,
    "number": NUMBER_KEYWORDS,
    "array": ARRAY_KEYWORDS,
    "object": OBJECT_KEYWORDS,
}


@dataclass(eq=False)
class JsonNode:
    """`kind`: empty, true, false, string, number, boolean, null, const, enum, combined, not, object, array or ref.

    `keywords` are the object's (subschemas are in the fields below). `identity`: equal for equal schemas. `integer`:
    whether a number must be an integer. `values`: those of an enum (one for a const), as JSON texts.
    """

    kind: str
    identity: str
    keywords: Mapping[str, Any] = field(default_factory=dict)
    integer: bool = False
    values: frozenset[str] = frozenset()
    criterion: str = ""
    parts: list[JsonNode] = field(default_factory=list)
    properties: dict[str, JsonNode] = field(default_factory=dict)
    patterns: dict[str, JsonNode] = field(default_factory=dict)
    schema_dependencies: dict[str, JsonNode] = field(default_factory=dict)
    property_dependencies: dict[str, frozenset[str]] = field(default_factory=dict)
    all_items: JsonNode | None = None
    additional: JsonNode | None = None
    permits_additional: bool = True
    unevaluated: JsonNode | None = None
    target: Callable[[], JsonNode] | None = None

    @property
    def has_default(self) -> bool:
        return "default" in self.keywords

    @property
    def required(self) -> frozenset[str]:
        found = self.keywords.get("required")
        return frozenset(found) if isinstance(found, list) else frozenset()

    @property
    def is_empty(self) -> bool:
        return self.kind in ("empty", "true")

    def resolved(self) -> JsonNode:
        return self.target() if self.target is not None else self
