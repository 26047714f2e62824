"""A schema in Avro."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

from kafkapy.registry.compatibility.avro import can_read
from kafkapy.registry.compatibility.incompatibility import Incompatibility, SchemaParseError
from kafkapy.registry.formats.avro_defaults import first_wrong_default
from kafkapy.registry.formats.avro_types import AvroReader, AvroType, to_json
from kafkapy.registry.formats.references import Documents


class AvroSchema:
    """`root` is the type; names that its references declare are written as names."""

    schema_type = "AVRO"

    def __init__(self, text: str, references: Documents) -> None:
        names: dict[str, AvroType] = {}
        for name, document in references.items:
            try:
                AvroReader(names).read(_load(document.text))
            except SchemaParseError as error:
                raise SchemaParseError(f"The reference {name} is no Avro schema: {error}") from None
        self._declared = frozenset(names)
        self.root = AvroReader(names).read(_load(text))
        if wrong := first_wrong_default(self.root):
            raise SchemaParseError(wrong)

    @cached_property
    def canonical(self) -> str:
        return _dump(to_json(self.root, set(self._declared)))

    @cached_property
    def normalized(self) -> str:
        return _dump(to_json(self.root, set(self._declared), sort=True))

    @property
    def identity(self) -> str:
        return self.canonical

    def formatted(self, wanted: str) -> str:
        """ "resolved": with what its references declare in their place."""
        return _dump(to_json(self.root, set())) if wanted == "resolved" else self.canonical

    def incompatibilities(self, writer: AvroSchema) -> list[Incompatibility]:
        return can_read(self.root, writer.root)


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaParseError(f"No JSON: {error}") from None


def _dump(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)
