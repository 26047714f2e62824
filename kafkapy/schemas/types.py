"""Schemas as the registry knows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"


class SchemaReference(NamedTuple):
    """Another schema that a schema uses. `name` is what it is called there: a full name in Avro, a file in Protobuf, a URI in
    JSON Schema."""

    name: str
    subject: str
    version: int


class Schema(NamedTuple):
    """A schema's text and type (AVRO, PROTOBUF or JSON), and the schemas it refers to."""

    schema_str: str
    schema_type: str = AVRO
    references: tuple[SchemaReference, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As a request has it; what is left out has the registry's default."""
        body: dict[str, Any] = {"schema": self.schema_str}
        if self.schema_type != AVRO:
            body["schemaType"] = self.schema_type
        if self.references:
            body["references"] = [reference._asdict() for reference in self.references]
        return body

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> Schema:
        references = tuple(
            SchemaReference(found["name"], found["subject"], found["version"])
            for found in answer.get("references") or ()
        )
        return cls(answer["schema"], answer.get("schemaType") or AVRO, references)


class RegisteredSchema(NamedTuple):
    """A version of a subject."""

    subject: str
    version: int
    schema_id: int
    schema: Schema
    guid: str | None = None

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> RegisteredSchema:
        schema = Schema.from_json(answer)
        return cls(answer["subject"], answer["version"], answer["id"], schema, answer.get("guid"))
