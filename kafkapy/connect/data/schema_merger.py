"""Finds the schema that all elements of an array, or all keys or values of a map, fit."""

from __future__ import annotations

from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_and_value import SchemaAndValue

_ORDER = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)


class SchemaMerger:
    """Merges schemas.

    Invariant: `schema` fits each value since the first. It is None before the first value, and after two incompatible
    ones.
    """

    def __init__(self) -> None:
        self.schema: Schema | None = None
        self._compatible = True

    def merge(self, latest: SchemaAndValue | None) -> None:
        """Merge the schema of one more value; None and values without a schema change nothing."""
        if latest is None or latest.schema is None or not self._compatible:
            return
        if self.schema is None:
            self.schema = latest.schema
        else:
            self.schema = common_schema(self.schema, latest.schema)
            self._compatible = self.schema is not None


def common_schema(one: Schema, other: Schema) -> Schema | None:
    """Return the wider of two schemas of numbers, or that of two equal ones; None if there is none.

    Args:
        one: A schema.
        other: Another.

    Example:
        >>> common_schema(Schema(Type.INT8), Schema(Type.FLOAT32))
        Schema{FLOAT32}
    """
    if one.type is not other.type:
        if one.type not in _ORDER or other.type not in _ORDER:
            return None
        return max(one, other, key=lambda schema: _ORDER.index(schema.type))
    if one.optional == other.optional:
        return one if one.optional else other
    return one if one == other else None
