"""A schema in Avro."""

from __future__ import annotations

from functools import cached_property

from kafkapy.common import exact_json
from kafkapy.registry.compatibility.avro import can_read
from kafkapy.registry.compatibility.incompatibility import Incompatibility, SchemaParseError
from kafkapy.registry.formats.avro_defaults import first_wrong_default
from kafkapy.registry.formats.avro_types import AvroReader, AvroType, to_json
from kafkapy.registry.formats.json_texts import load_json
from kafkapy.registry.formats.references import Documents
from kafkapy.registry.formats.strictness import Strictness


class AvroSchema:
    """`root` is the type; types that references declare are written by name."""

    schema_type = "AVRO"

    def __init__(self, text: str, references: Documents, strictness: Strictness = Strictness.NEW) -> None:
        names: dict[str, AvroType] = {}
        for name, document in references.items:
            try:
                AvroReader(names, is_new=False).read(load_json(document.text, Strictness.STORED, comments=True))
            except SchemaParseError as error:
                raise SchemaParseError(f"The reference {name} is no Avro schema: {error}") from None
        self._declared = frozenset(names)
        is_new = strictness is Strictness.NEW
        self.root = AvroReader(names, is_new).read(load_json(text, strictness, comments=True))
        if is_new and (wrong := first_wrong_default(self.root)):
            raise SchemaParseError(wrong)

    @cached_property
    def canonical(self) -> str:
        return exact_json.dumps(to_json(self.root, set(self._declared)))

    @cached_property
    def normalized(self) -> str:
        return exact_json.dumps(to_json(self.root, set(self._declared), sort=True))

    @cached_property
    def identity(self) -> str:
        return exact_json.dumps(to_json(self.root, set(self._declared)), number=lambda found: found.canonical_text)

    def formatted(self, wanted: str) -> str:
        """Return the text; `wanted` "resolved": with the declarations of the references inserted."""
        return exact_json.dumps(to_json(self.root, set())) if wanted == "resolved" else self.canonical

    def incompatibilities(self, writer: AvroSchema) -> list[Incompatibility]:
        return can_read(self.root, writer.root)
