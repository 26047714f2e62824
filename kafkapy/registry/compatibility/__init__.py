"""Which schemas can read what others wrote: Avro, Protobuf and JSON Schema, by the rules of their reference implementations;
Thrift by those of its wire (`thrift.py`).

Pure functions over texts. `compare` is about one direction; a registry's levels are made of it (`kafkapy.registry.levels`).
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
    """Why `new` cannot read everything that was written with `old`; empty if it can.

    `schema_type`: AVRO, PROTOBUF, JSON or THRIFT. `references`: the texts that `new` refers to, also indirectly, by the names
    that it has for them (in Avro the full name of a type, in Protobuf a file, in JSON Schema a URI); those of a reference stand
    before it.
    `old_references`: the same for `old`; None: the same ones. Raises SchemaParseError if a text is no schema.
    """
    from kafkapy.registry.compatibility.incompatibility import SchemaParseError
    from kafkapy.registry.formats import parse  # the formats import from this package
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
