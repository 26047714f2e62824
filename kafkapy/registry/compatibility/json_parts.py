"""Comparisons without recursion: limits, enums, criteria of combinations."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from kafkapy.common.exact_json import is_multiple
from kafkapy.registry.compatibility.json_changes import JsonSchemaChange
from kafkapy.registry.formats.json_nodes import JsonNode

_LIMITS = {
    "string": {"maxLength": "MAX_LENGTH", "minLength": "MIN_LENGTH"},
    "number": {
        "maximum": "MAXIMUM",
        "minimum": "MINIMUM",
        "exclusiveMaximum": "EXCLUSIVE_MAXIMUM",
        "exclusiveMinimum": "EXCLUSIVE_MINIMUM",
    },
    "object": {"maxProperties": "MAX_PROPERTIES", "minProperties": "MIN_PROPERTIES"},
    "array": {"maxItems": "MAX_ITEMS", "minItems": "MIN_ITEMS"},
}


def scalar_changes(original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
    """Return the changes between two nodes of one kind."""
    for keyword, name in _LIMITS.get(original.kind, {}).items():
        before, after = _number(original.keywords.get(keyword)), _number(update.keywords.get(keyword))
        if before != after:
            yield JsonSchemaChange(f"{name}_{_direction(before, after)}", (keyword,))
    if original.kind == "string":
        yield from _pattern(original.keywords.get("pattern"), update.keywords.get("pattern"))
    elif original.kind == "number":
        yield from _number_changes(original, update)
    elif original.kind == "array":
        yield from _array_changes(original, update)
    elif original.kind == "const" and original.values != update.values:
        yield JsonSchemaChange("ENUM_ARRAY_CHANGED", ("const",))
    elif original.kind == "enum" and original.values != update.values:
        kind = "CHANGED"
        if update.values > original.values:
            kind = "EXTENDED"
        elif original.values > update.values:
            kind = "NARROWED"
        yield JsonSchemaChange(f"ENUM_ARRAY_{kind}", ("enum",))


def _number(value: Any) -> int | Decimal | None:
    return value if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _direction(before: int | Decimal | None, after: int | Decimal | None) -> str:
    if before is None:
        return "ADDED"
    if after is None:
        return "REMOVED"
    return "INCREASED" if before < after else "DECREASED"


def _pattern(before: Any, after: Any) -> Iterator[JsonSchemaChange]:
    if before != after:
        kind = "ADDED" if before is None else "REMOVED" if after is None else "CHANGED"
        yield JsonSchemaChange(f"PATTERN_{kind}", ("pattern",))


def _number_changes(original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
    before, after = _number(original.keywords.get("multipleOf")), _number(update.keywords.get("multipleOf"))
    if before != after:
        yield JsonSchemaChange(f"MULTIPLE_OF_{_multiple(before, after)}", ("multipleOf",))
    if original.integer != update.integer:
        yield JsonSchemaChange("TYPE_EXTENDED" if original.integer else "TYPE_NARROWED")


def _multiple(before: int | Decimal | None, after: int | Decimal | None) -> str:
    if before is None:
        return "ADDED"
    if after is None:
        return "REMOVED"
    if is_multiple(after, before):
        return "EXPANDED"
    return "REDUCED" if is_multiple(before, after) else "CHANGED"


def _array_changes(original: JsonNode, update: JsonNode) -> Iterator[JsonSchemaChange]:
    before, after = bool(original.keywords.get("uniqueItems")), bool(update.keywords.get("uniqueItems"))
    if before != after:
        yield JsonSchemaChange(f"UNIQUE_ITEMS_{'REMOVED' if before else 'ADDED'}", ("uniqueItems",))
    for keyword, name in (("maxContains", "MAX_CONTAINS"), ("minContains", "MIN_CONTAINS")):
        was, is_ = _number(original.keywords.get(keyword)), _number(update.keywords.get(keyword))
        if was != is_:
            yield JsonSchemaChange(f"{name}_{_direction(was, is_)}", (keyword,))


def criteria_change(original: JsonNode, update: JsonNode) -> str | None:
    """Return the change between allOf, anyOf and oneOf; None if there is none."""
    before, after = original.criterion, update.criterion
    if before == after:
        return None
    one, other = len(original.parts) == 1, len(update.parts) == 1
    extended = after == "anyOf" or (one and other) or (one and after == "oneOf") or (other and before == "allOf")
    return "COMBINED_TYPE_EXTENDED" if extended else "COMBINED_TYPE_CHANGED"


def maximum_matching(rows: int, columns: int, edges: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the size of a maximum bipartite matching (augmenting paths)."""
    row_of: dict[int, int] = {}

    def augment(row: int, visited: set[int]) -> bool:
        for column in range(columns):
            if (row, column) in edges and column not in visited:
                visited.add(column)
                if column not in row_of or augment(row_of[column], visited):
                    row_of[column] = row
                    return True
        return False

    for row in range(rows):
        augment(row, set())
    return [(row, column) for column, row in row_of.items()]
