"""Checks whether one schema can read data written with another.

Avro, Protobuf and JSON Schema follow the rules of their reference implementations; Thrift those of its binary protocol
(`thrift.py`). Pure functions over texts. `compare` checks one direction; `kafkapy.registry.levels` builds the
registry's levels on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkapy.common.deep_calls import run_deep
from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.registry.compatibility.incompatibility import Incompatibility, SchemaParseError

__all__ = ["Incompatibility", "SchemaParseError", "compare"]


def compare(
    schema_type: str,
    old: str,
    new: str,
    references: Mapping[str, str] | None = None,
    old_references: Mapping[str, str] | None = None,
) -> list[Incompatibility]:
    """Return why `new` cannot read all data written with `old`; empty if it can.

    Args:
        schema_type: AVRO, PROTOBUF, JSON or THRIFT.
        old: The writer's schema.
        new: The reader's schema.
        references: The texts that `new` refers to, directly or not, by their names in it (in Avro the full name of a
            type, in Protobuf a file, in JSON Schema a URI). A reference's own references precede it.
        old_references: The same for `old`. None: those of `new`.
    Raises:
        SchemaParseError: A text is no schema.
    """
    from kafkapy.registry.compatibility.incompatibility import SchemaParseError
    from kafkapy.registry.formats import parse  # imported here, because the formats import from this package
    from kafkapy.registry.formats.references import Documents
    from kafkapy.registry.formats.strictness import Strictness

    mine = Documents.of(references or {})
    theirs = mine if old_references is None else Documents.of(old_references)
    reader, writer = parse(schema_type, new, mine), parse(schema_type, old, theirs, Strictness.STORED)
    try:
        return run_deep(lambda: reader.incompatibilities(writer))
    except RecursionError:
        raise SchemaParseError("The schemas are nested too deep to be compared") from None


if not TYPE_CHECKING:
    _, __getattr__ = lazy_names(__name__, {"incompatibility": "Incompatibility SchemaParseError"})
