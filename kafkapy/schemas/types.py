"""Schemas as the registry knows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

AVRO, PROTOBUF, JSON = "AVRO", "PROTOBUF", "JSON"


class SchemaReference(NamedTuple):
    """Another schema that a schema uses.

    Attributes:
        name: Name there: a full name in Avro, a file in Protobuf, a URI in JSON Schema.
        subject: Subject of the other schema.
        version: Its version.

    Example:
        >>> SchemaReference("shop.Price", "prices-value", 1).version
        1
    """

    name: str
    subject: str
    version: int


class Schema(NamedTuple):
    """A schema's text and type, and the schemas it refers to.

    Attributes:
        schema_str: The text.
        schema_type: AVRO (default), PROTOBUF or JSON.
        references: The schemas that it uses. Default: none.

    Example:
        >>> Schema('"string"').schema_type
        'AVRO'
    """

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
        """Read the registry's JSON.

        Args:
            answer: Object of the registry's answer.
        """
        references = tuple(
            SchemaReference(found["name"], found["subject"], found["version"])
            for found in answer.get("references") or ()
        )
        return cls(answer["schema"], answer.get("schemaType") or AVRO, references)


class RegisteredSchema(NamedTuple):
    """A version of a subject.

    Attributes:
        subject: Name of the subject.
        version: Number of the version, from 1.
        schema_id: Id of the schema in the registry.
        schema: The schema.
        guid: GUID of the schema. None (default): the registry has none.

    Example:
        >>> RegisteredSchema("clicks-value", 1, 100, Schema('"string"')).schema_id
        100
    """

    subject: str
    version: int
    schema_id: int
    schema: Schema
    guid: str | None = None

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> RegisteredSchema:
        """Read the registry's JSON.

        Args:
            answer: Object of the registry's answer.
        """
        schema = Schema.from_json(answer)
        return cls(answer["subject"], answer["version"], answer["id"], schema, answer.get("guid"))
