"""Keys and values within requests: base64, JSON, or JSON that is converted to a schema's format.

Conversions with a schema may block on the registry, so they are called on a thread.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkapy.common import strict_json
from kafkapy.rest.rest_errors import (
    RestRefusal,
    bad_request,
    not_convertible,
    registry_failed,
    unprocessable,
    unreadable,
)
from kafkapy.schemas.errors import SchemaRegistryError, SchemaRegistryUnavailableError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.types import Schema
from kafkapy.schemas.wire_format import prefix

if TYPE_CHECKING:
    from kafkapy.rest.schema_codecs import SchemaCodec

BINARY, JSON = "binary", "json"
WITH_SCHEMAS = {"avro": "AVRO", "jsonschema": "JSON", "protobuf": "PROTOBUF"}
FORMATS = (BINARY, JSON, *WITH_SCHEMAS)


class WrittenWith(NamedTuple):
    """The schema of written values, with its id."""

    id: int
    schema: Schema


def to_bytes(kind: str, value: Any) -> bytes | None:
    """Of BINARY and JSON. Raises RestRefusal."""
    if value is None:
        return None
    if kind == JSON:
        try:
            return strict_json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        except strict_json.JsonError as error:
            raise bad_request(f"A key or value cannot be written as JSON: {error}") from None
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
        return strict_json.loads(data)
    except strict_json.JsonError as error:
        raise unreadable(f"A record is no JSON: {error}") from None


class EmbeddedValues:
    """Converts values with schemas of a registry. The methods may block."""

    def __init__(self, registry: SchemaRegistryClient) -> None:
        self._registry = registry
        self._codecs: dict[tuple[str, int], SchemaCodec] = {}
        self._in_subject: set[tuple[str, int]] = set()

    def chosen(self, kind: str, subject: str, text: str | None, schema_id: int | None) -> WrittenWith:
        """Return the schema of a request: by an id that the subject must have, or by its text, which is registered.
        Raises RestRefusal."""
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
        try:
            codec = self._codec(kind, written_with.id, written_with.schema)
            return prefix(written_with.id) + codec.write(value)
        except SchemaRegistryUnavailableError:
            raise
        except Exception as error:  # the formats' libraries may raise anything for unfitting values
            raise not_convertible(_sentence(error)) from None

    def read(self, kind: str, data: bytes | None) -> Any:
        """Raises RestRefusal."""
        from kafkapy.schemas.wire_format import read

        if data is None:
            return None
        try:
            written = read(data)
            assert isinstance(written.schema, int)
            return self._codec(kind, written.schema).read(written.payload)
        except SchemaRegistryUnavailableError:
            raise
        except Exception as error:  # as above
            raise unreadable(f"A record cannot be read as {kind}: {_sentence(error)}") from None

    def _codec(self, kind: str, schema_id: int, schema: Schema | None = None) -> SchemaCodec:
        """Return the codec of a schema id; `schema`: the id's schema, if it is known."""
        from kafkapy.rest.schema_codecs import codec

        found = self._codecs.get((kind, schema_id))
        if found is None:
            found = codec(kind, self._registry, schema_id, schema or self._registry.get_schema(schema_id))
            self._codecs[kind, schema_id] = found
        return found


def _sentence(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:500]
