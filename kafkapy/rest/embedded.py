"""Keys and values inside of requests: base64, JSON, or JSON that becomes a schema's format by the registry.

What needs the registry may block: it is called on a thread.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, NamedTuple

from kafkapy.rest.rest_errors import RestRefusal, not_convertible, registry_failed, unprocessable
from kafkapy.schemas.errors import SchemaRegistryError, SchemaRegistryUnavailableError, SerdeError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.types import Schema
from kafkapy.schemas.wire_format import prefix

BINARY, JSON = "binary", "json"
WITH_SCHEMAS = {"avro": "AVRO", "jsonschema": "JSON", "protobuf": "PROTOBUF"}
FORMATS = (BINARY, JSON, *WITH_SCHEMAS)


class WrittenWith(NamedTuple):
    """A schema by which values are written: its id, and the schema."""

    id: int
    schema: Schema


def to_bytes(kind: str, value: Any) -> bytes | None:
    """Of BINARY and JSON. Raises RestRefusal."""
    if value is None and kind == BINARY:
        return None
    if kind == JSON:
        return None if value is None else json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    if not isinstance(value, str):
        raise unprocessable("A binary key or value is a string in base64")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise RestRefusal(400, 400, "A binary key or value is no base64") from None


def from_bytes(kind: str, data: bytes | None) -> Any:
    """Of BINARY and JSON. Raises RestRefusal."""
    if data is None:
        return None
    if kind == BINARY:
        return base64.b64encode(data).decode()
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RestRefusal(500, 50002, f"A record is no JSON: {error}") from None


class EmbeddedValues:
    """Values with schemas of a registry. Its methods may block."""

    def __init__(self, registry: SchemaRegistryClient) -> None:
        self._registry = registry
        self._codecs: dict[tuple[str, int], Any] = {}
        self._in_subject: set[tuple[str, int]] = set()

    def chosen(self, kind: str, subject: str, text: str | None, schema_id: int | None) -> WrittenWith:
        """The schema that a request names: by id, which the subject must have, or by its text, which is registered then. Raises
        RestRefusal."""
        try:
            if schema_id is not None:
                schema = self._registry.get_schema(schema_id, subject)
                if (subject, schema_id) not in self._in_subject:
                    self._registry.lookup_schema(subject, schema)
                    self._in_subject.add((subject, schema_id))
                return WrittenWith(schema_id, schema)
            schema = Schema(text or "", WITH_SCHEMAS[kind])
            return WrittenWith(self._registry.register_schema(subject, schema), schema)
        except (SchemaRegistryUnavailableError, SchemaRegistryError) as error:
            raise registry_failed(str(error)) from None

    def write(self, kind: str, written_with: WrittenWith, value: Any) -> bytes:
        """Raises RestRefusal."""
        from kafkapy.rest.schema_codecs import codec

        key = kind, written_with.id
        try:
            if key not in self._codecs:
                self._codecs[key] = codec(kind, self._registry, written_with.id, written_with.schema)
            payload: bytes = self._codecs[key].write(value)
            return prefix(written_with.id) + payload
        except (ValueError, TypeError, KeyError, SerdeError) as error:
            raise not_convertible(str(error)[:500]) from None

    def read(self, kind: str, data: bytes | None) -> Any:
        """Raises RestRefusal."""
        from kafkapy.rest.schema_codecs import codec
        from kafkapy.schemas.wire_format import read

        if data is None:
            return None
        try:
            written = read(data)
            assert isinstance(written.schema, int)
            key = kind, written.schema
            if key not in self._codecs:
                schema = self._registry.get_schema(written.schema)
                self._codecs[key] = codec(kind, self._registry, written.schema, schema)
            return self._codecs[key].read(written.payload)
        except (ValueError, TypeError, KeyError, SerdeError) as error:
            raise RestRefusal(500, 50002, f"A record cannot be read as {kind}: {error}") from None
