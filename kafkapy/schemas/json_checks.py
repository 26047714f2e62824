"""Checks constraints of a JSON Schema by columns, to find the rows that must be validated individually.

A check may suspect a valid row, but never passes an invalid one; jsonschema validates each suspect. In a column, a
missing property and a null one are the same. If the schema distinguishes them, the text decides: a property is missing
if its name does not occur in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

Rows = Any
"""Places of texts, one for each value of a column."""
Mask = Any
Check = Callable[[pa.Array, Rows, "Texts"], Mask]
"""A column without nulls, and the texts that its values are from; gives the suspects."""

_OF_OBJECTS = frozenset({"type", "properties", "required", "additionalProperties"})
_OF_LISTS = frozenset({"type", "items", "minItems", "maxItems"})
_LOWER = frozenset({"minimum", "exclusiveMinimum"})
_BOUNDS = _LOWER | {"maximum", "exclusiveMaximum"}
_LENGTHS = frozenset({"minLength", "maxLength"})
_WITHOUT_VERDICT = frozenset({"format", "$ref"})
"""Formats are not asserted here, and references are followed."""
_EXACT = 2**53


class Texts:
    """The values as they were written."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._texts = texts
        self._with_null = np.array([b"null" in text for text in texts], np.bool_)

    def may_have_null(self, name: str, rows: Rows) -> Mask:
        """Of each row: may a property of that name be null in its text?"""
        found = self._with_null[rows]
        name_bytes = json.dumps(name, ensure_ascii=False).encode()
        for place in np.flatnonzero(found).tolist():
            text = self._texts[rows[place]]
            found[place] = name_bytes in text or b"\\" in text
        return found


class _Unchecked(Exception):
    """The schema has a constraint that only jsonschema can check, value by value."""


class ColumnChecks:
    """The checks of a schema whose values are objects. `validator`: jsonschema's, of the whole schema."""

    def __init__(self, validator: Any) -> None:
        self._validator = validator
        self._known = set(type(validator).VALIDATORS) - _WITHOUT_VERDICT
        self._closed: set[bool] = set()
        """Do objects refuse properties that they do not name? Of all objects in the schema."""
        self._check: Check | None = None
        try:
            check = self._node(validator.schema)
            if len(self._closed) == 1:
                self._check = check
        except Exception:  # what is wrong with the schema is jsonschema's to tell, of each value
            pass

    @property
    def are_possible(self) -> bool:
        """Return whether checks by columns are possible; else each value is a suspect."""
        return self._check is not None

    @property
    def refuse_unknown(self) -> bool:
        """Return whether properties that no object of the schema names are invalid."""
        return True in self._closed

    def suspects(self, column: pa.Array, texts: Sequence[bytes]) -> Mask:
        """`column`: of structs, none of which is null."""
        assert self._check is not None
        return self._check(column, np.arange(len(texts)), Texts(texts))

    def _node(self, schema: Any) -> Check:
        own = self._known & schema.keys()
        if "$id" in schema and schema is not self._validator.schema:
            raise _Unchecked
        if "$ref" in schema:
            return self._referred(schema["$ref"], own)
        for choice in ("oneOf", "anyOf"):
            if choice in own:
                return self._nullable(schema[choice], own)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            others = [kind for kind in kinds if kind != "null"]
            if len(others) != 1:
                raise _Unchecked
            kinds = others[0]
        if kinds == "object":
            return self._object(schema, own)
        return self._list(schema, own) if kinds == "array" else self._leaf(schema, own)

    def _referred(self, reference: str, own: set[str]) -> Check:
        if own or not reference.startswith("#/"):
            raise _Unchecked
        found = self._validator.schema
        for part in reference[2:].split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        return self._node(found)

    def _nullable(self, members: list[Any], own: set[str]) -> Check:
        others = [member for member in members if member != {"type": "null"}]
        if len(own) != 1 or len(others) != 1 or len(members) != 2 or self._takes_null(others[0]):
            raise _Unchecked
        return self._node(others[0])

    def _takes_null(self, schema: Any) -> bool:
        return bool(self._validator.evolve(schema=schema).is_valid(None))

    def _object(self, schema: Any, own: set[str]) -> Check:
        more, required = schema.get("additionalProperties", True), set(schema.get("required", ()))
        if own - _OF_OBJECTS or not isinstance(more, bool) or required - schema["properties"].keys():
            raise _Unchecked
        self._closed.add(not more)
        properties = [
            (name, self._node(each), name in required, self._takes_null(each))
            for name, each in schema["properties"].items()
        ]

        def check(column: pa.Array, rows: Rows, texts: Texts) -> Mask:
            suspects = np.zeros(len(column), np.bool_)
            for child, (name, inner, is_required, takes_null) in zip(column.flatten(), properties, strict=True):
                if not child.null_count:
                    suspects |= inner(child, rows, texts)
                    continue
                there = child.is_valid().to_numpy(zero_copy_only=False)
                if is_required:
                    suspects |= ~there
                elif not takes_null:
                    suspects[~there] |= texts.may_have_null(name, rows[~there])
                suspects[there] |= inner(child.drop_null(), rows[there], texts)
            return suspects

        return check

    def _list(self, schema: Any, own: set[str]) -> Check:
        if own - _OF_LISTS:
            raise _Unchecked
        inner, takes_null = self._node(schema["items"]), self._takes_null(schema["items"])
        least, most = float(schema.get("minItems", 0)), float(schema.get("maxItems", "inf"))

        def check(column: pa.Array, rows: Rows, texts: Texts) -> Mask:
            lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
            suspects = (lengths < least) | (lengths > most)
            items, parents = column.flatten(), pc.list_parent_indices(column).to_numpy()
            there = items.is_valid().to_numpy(zero_copy_only=False)
            if not takes_null:
                suspects[parents[~there]] = True
            parents = parents[there]
            suspects[parents[inner(items.drop_null(), rows[parents], texts)]] = True
            return suspects

        return check

    def _leaf(self, schema: Any, own: set[str]) -> Check:
        """Check bounds and lengths by columns, and other constraints by jsonschema for each distinct value."""
        if own <= {"type"}:
            return lambda column, *_: np.zeros(len(column), np.bool_)
        if own <= {"type"} | _BOUNDS and schema["type"] in ("integer", "number"):
            outside = [_outside(name, schema[name]) for name in sorted(own & _BOUNDS)]
            return lambda column, *_: np.any([each(column.to_numpy()) for each in outside], axis=0)
        if own <= {"type"} | _LENGTHS and schema["type"] == "string":
            least, most = float(schema.get("minLength", 0)), float(schema.get("maxLength", "inf"))

            def has_wrong_length(column: pa.Array, *_: Any) -> Mask:
                lengths = pc.utf8_length(column).to_numpy()
                return (lengths < least) | (lengths > most)

            return has_wrong_length
        validator = self._validator.evolve(schema=schema)

        def is_refused(column: pa.Array, *_: Any) -> Mask:
            distinct = column.dictionary_encode()
            refused = np.array([not validator.is_valid(value) for value in distinct.dictionary.to_pylist()], np.bool_)
            return refused[distinct.indices.to_numpy()]

        return is_refused


def _outside(name: str, limit: Any) -> Callable[[Any], Mask]:
    """Return values outside of or at the limit; the latter may be rounded."""
    if isinstance(limit, bool) or not abs(limit) <= _EXACT:
        raise _Unchecked
    rounded = float(limit)
    return (lambda numbers: ~(numbers > rounded)) if name in _LOWER else (lambda numbers: ~(numbers < rounded))
