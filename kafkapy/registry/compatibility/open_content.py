"""Content models of JSON Schema: whether unnamed properties and items are allowed.

Open: all are allowed; closed: none; partially open: those that fit another schema.
"""

from __future__ import annotations

from kafkapy.common.patterns import PatternError, PatternTimeoutError, ecma
from kafkapy.common.patterns.match_budget import MatchBudget
from kafkapy.registry.compatibility.incompatibility import SchemaParseError
from kafkapy.registry.formats.json_nodes import JsonNode


def items_open(node: JsonNode) -> bool:
    unevaluated = node.unevaluated
    return node.permits_additional and node.additional is None and (unevaluated is None or unevaluated.is_empty)


def properties_open(node: JsonNode) -> bool:
    return items_open(node) and not node.patterns


def covering_item(node: JsonNode) -> JsonNode | None:
    """Return the schema of additional items; None if the model is open or closed."""
    if node.additional is not None:
        return node.additional
    unevaluated = node.unevaluated
    partly = unevaluated is not None and unevaluated.kind != "false" and not unevaluated.is_empty
    return unevaluated if node.permits_additional and partly else None


def covering_property(node: JsonNode, name: str, budget: MatchBudget) -> JsonNode | None:
    """Return the schema of an unnamed property with this name. Raises SchemaParseError if matching takes too long."""
    for pattern, schema in node.patterns.items():
        if _matches(pattern, name, budget):
            return schema
    return covering_item(node)


def _matches(pattern: str, name: str, budget: MatchBudget) -> bool:
    try:
        return budget.search(ecma(pattern), name)
    except PatternTimeoutError as error:
        raise SchemaParseError(f"patternProperties: {error}") from None
    except PatternError:  # from an older registry, which did not validate patterns
        return False
