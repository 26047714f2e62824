"""A schema in Thrift's interface definition language, without includes: its last struct is the type of values.

Confluent's registry has no such type, but allows deployments to add types.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kafkapy.registry.compatibility.incompatibility import Incompatibility, SchemaParseError
from kafkapy.registry.formats.references import Documents
from kafkapy.registry.formats.thrift_idl import ThriftType, enums_of, structs_of


class ThriftSchema:
    schema_type = "THRIFT"

    def __init__(self, text: str, references: Documents) -> None:
        if references.items:
            raise SchemaParseError("A Thrift definition has no references")
        self.canonical = text
        self.struct = structs_of(text)[-1]

    @cached_property
    def normalized(self) -> str:
        """Return the normalized text: enums by name, structs in order, fields by id; without comments, typedefs and
        services."""
        enums = [
            f"enum {each.__name__} {{ {', '.join(f'{name} = {n}' for n, name in sorted(each._VALUES_TO_NAMES.items()))} }}"
            for each in sorted(enums_of(self.canonical), key=lambda each: str(each.__name__))
        ]
        return "\n".join([*enums, *map(_struct, structs_of(self.canonical))])

    @property
    def identity(self) -> str:
        return self.normalized

    def formatted(self, wanted: str) -> str:
        """Return the canonical text: there is only one format."""
        return self.canonical

    def incompatibilities(self, writer: ThriftSchema) -> list[Incompatibility]:
        from kafkapy.registry.compatibility.thrift import incompatible_changes

        return incompatible_changes(writer.struct, self.struct)


def _struct(struct: Any) -> str:
    fields = [
        f"{field.id}: {'required' if field.required else 'optional'} {field.type.name} {field.name}"
        + ("" if field.default is None else f" = {field.default!r}")
        for field in ThriftType.fields_of(struct)
    ]
    return f"struct {struct.__name__} {{ {'; '.join(fields)} }}"
