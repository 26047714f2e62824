"""Checks whether a field's default fits its type; in a union any branch may match, as in the current Java library."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from kafkapy.common import exact_json
from kafkapy.registry.formats.avro_numbers import NAMED_NUMBERS
from kafkapy.registry.formats.avro_types import AvroType

_INTEGERS = {"int": 31, "long": 63}


def is_valid_default(schema: AvroType, value: Any) -> bool:
    """Return whether the default `value` (JSON) fits the schema."""
    kind = schema.kind
    if kind in _INTEGERS:
        bound = 1 << _INTEGERS[kind]
        return isinstance(value, int) and not isinstance(value, bool) and -bound <= value < bound
    if kind in ("float", "double"):
        return value in NAMED_NUMBERS if isinstance(value, str) else _is_number(value)
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in ("string", "bytes", "fixed", "enum"):
        return isinstance(value, str)
    if kind == "array":
        return isinstance(value, list) and all(is_valid_default(schema.branches[0], each) for each in value)
    if kind == "map":
        return isinstance(value, dict) and all(is_valid_default(schema.branches[0], each) for each in value.values())
    if kind == "union":
        return any(is_valid_default(branch, value) for branch in schema.branches)
    if not isinstance(value, dict):
        return False
    return all(
        is_valid_default(each.type, value[each.name]) if each.name in value else each.has_default
        for each in schema.fields
    )


def _is_number(value: Any) -> bool:
    """Return whether the value is a JSON number."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def first_wrong_default(schema: AvroType, seen: set[int] | None = None) -> str | None:
    """Describe the first field whose default does not fit; None if all fit."""
    seen = set() if seen is None else seen
    if id(schema) in seen:
        return None
    seen.add(id(schema))
    for branch in schema.branches:
        if wrong := first_wrong_default(branch, seen):
            return wrong
    for each in schema.fields:
        if each.has_default and not is_valid_default(each.type, each.default):
            return f"Invalid default for field {each.name}: {exact_json.dumps(each.default)} not a {each.type.kind}"
        if wrong := first_wrong_default(each.type, seen):
            return wrong
    return None
