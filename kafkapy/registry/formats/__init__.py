"""The formats of schemas: parsing, canonical form, and rules of compatibility."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kafkapy.common.deep_calls import run_deep

if TYPE_CHECKING:
    from kafkapy.registry.formats.parsed_schema import ParsedSchema
    from kafkapy.registry.formats.references import Documents
    from kafkapy.registry.formats.strictness import Strictness

CONFLUENT_TYPES = ("JSON", "PROTOBUF", "AVRO")
"""The types reported to clients: Go's fails on a list with an unknown type."""
SCHEMA_TYPES = (*CONFLUENT_TYPES, "THRIFT")


@lru_cache(maxsize=1_000)
def parse(
    schema_type: str, text: str, references: Documents | None = None, strictness: Strictness | None = None
) -> ParsedSchema:
    """Parse a schema. A format's libraries are imported at its first use.

    Args:
        references: The documents that the schema may refer to. Default: none.
        strictness: The rules for the schema. Default: those for a new one.

    Raises:
        SchemaParseError: The text is no schema.
    """
    from kafkapy.registry.compatibility.incompatibility import SchemaParseError
    from kafkapy.registry.formats.references import Documents
    from kafkapy.registry.formats.strictness import Strictness

    documents = Documents() if references is None else references
    rules = Strictness.NEW if strictness is None else strictness
    try:
        return run_deep(lambda: _parse(schema_type, text, documents, rules))
    except RecursionError:
        raise SchemaParseError("The schema is nested too deep") from None


def _parse(schema_type: str, text: str, references: Documents, strictness: Strictness) -> ParsedSchema:
    if schema_type == "AVRO":
        from kafkapy.registry.formats.avro_schema import AvroSchema

        return AvroSchema(text, references, strictness)
    if schema_type == "JSON":
        from kafkapy.registry.formats.json_document import JsonDocumentSchema

        return JsonDocumentSchema(text, references, strictness)
    if schema_type == "PROTOBUF":
        from kafkapy.registry.formats.proto_schema import ProtoSchema

        return ProtoSchema(text, references, strictness)
    if schema_type == "THRIFT":
        from kafkapy.registry.formats.thrift_schema import ThriftSchema

        return ThriftSchema(text, references)
    from kafkapy.registry.compatibility.incompatibility import SchemaParseError

    raise SchemaParseError(f"Invalid schema type {schema_type}")
