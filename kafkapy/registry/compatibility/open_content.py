"""What a JSON Schema says of properties and items that it does not name: anything goes (open), nothing does (closed), or what
fits another schema (partially open)."""

from __future__ import annotations

import re

from kafkapy.registry.formats.json_nodes import JsonNode


def items_open(node: JsonNode) -> bool:
    unevaluated = node.unevaluated
    return node.permits_additional and node.additional is None and (unevaluated is None or unevaluated.is_empty)


def properties_open(node: JsonNode) -> bool:
    return items_open(node) and not node.patterns


def covering_item(node: JsonNode) -> JsonNode | None:
    """What more items must be like; None if the model is open or closed."""
    if node.additional is not None:
        return node.additional
    unevaluated = node.unevaluated
    partly = unevaluated is not None and unevaluated.kind != "false" and not unevaluated.is_empty
    return unevaluated if node.permits_additional and partly else None


def covering_property(node: JsonNode, name: str) -> JsonNode | None:
    for pattern, schema in node.patterns.items():
        if _matches(pattern, name):
            return schema
    return covering_item(node)


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.search(pattern, name) is not None
    except re.error:  # JavaScript has constructs that Python's expressions don't
        return False
