"""Converts JSON to the bytes of a schema's format and back, like Confluent's proxy.

Avro uses Avro's JSON encoding (a union's value is `{"type": value}`), JSON Schema plain JSON, Protobuf its JSON
including fields with default values.
"""

from __future__ import annotations

import io
import json
from typing import Any, Protocol

from kafkapy.common import strict_json
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.types import Schema


class SchemaCodec(Protocol):
    """Converts values of one schema. Both methods raise ValueError, TypeError or KeyError for values that do not
    fit."""

    def write(self, value: Any) -> bytes: ...

    def read(self, payload: memoryview) -> Any: ...


def codec(kind: str, registry: SchemaRegistryClient, schema_id: int, schema: Schema) -> SchemaCodec:
    """Create a codec. `kind`: avro, jsonschema or protobuf. Raises the registry's errors, and ValueError for an
    invalid schema."""
    if kind == "avro":
        return _AvroCodec(registry, schema)
    if kind == "jsonschema":
        return _JsonCodec(registry, schema)
    return _ProtobufCodec(registry, registry.get_schema(schema_id, fmt="serialized"))


class _AvroCodec:
    """Avro's JSON encoding: dates and times are numbers."""

    def __init__(self, registry: SchemaRegistryClient, schema: Schema) -> None:
        from kafkapy.schemas import avro

        self._avro = avro
        self._schema: Any = avro.fastavro.parse_schema(_without_logical_types(avro.parse(registry, schema)))

    def write(self, value: Any) -> bytes:
        """Encode a value. It is validated first, because fastavro's writer truncates fractions and does not check
        int's range."""
        from fastavro.validation import ValidationError

        given = next(iter(self._avro.fastavro.json_reader(io.StringIO(json.dumps(value)), self._schema)))
        try:
            self._avro.fastavro.validate(given, self._schema)
        except ValidationError as error:
            raise ValueError(str(error)) from None
        out = io.BytesIO()
        self._avro.fastavro.schemaless_writer(out, self._schema, given)
        return out.getvalue()

    def read(self, payload: memoryview) -> Any:
        value = self._avro.read_value(payload, self._schema, None, return_record_name=True)
        out = io.StringIO()
        self._avro.fastavro.json_writer(out, self._schema, [value])
        return json.loads(out.getvalue(), parse_constant=str)  # "NaN" is a string in Avro's JSON encoding


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: value if name == "default" else _without_logical_types(value)
        for name, value in schema.items()
        if name != "logicalType" and not name.startswith("__")
    }


class _JsonCodec:
    def __init__(self, registry: SchemaRegistryClient, schema: Schema) -> None:
        from kafkapy.schemas import json_schema

        self._first_error = json_schema.first_error
        self._compact = json_schema.compact
        self._schema = json_schema.parse(registry, schema)

    def write(self, value: Any) -> bytes:
        wrong = self._first_error(self._schema, value)
        if wrong is not None:
            raise ValueError(wrong)
        return self._compact(value).encode()

    def read(self, payload: memoryview) -> Any:
        return strict_json.loads(bytes(payload))


class _ProtobufCodec:
    """Writes the first message type of its file; reads any."""

    def __init__(self, registry: SchemaRegistryClient, schema: Schema) -> None:
        from kafkapy.schemas import protobuf

        self._protobuf = protobuf
        self._file = protobuf.load(registry, schema)

    def _message(self, indexes: list[int]) -> Any:
        from google.protobuf import message_factory

        return message_factory.GetMessageClass(self._protobuf.message_at(self._file, indexes))()

    def write(self, value: Any) -> bytes:
        from google.protobuf import json_format

        from kafkapy.schemas.wire_format import write_indexes

        message = self._message([0])
        try:
            json_format.ParseDict(value, message)
        except json_format.Error as error:
            raise ValueError(str(error)) from None
        return write_indexes([0]) + bytes(message.SerializeToString())

    def read(self, payload: memoryview) -> Any:
        from google.protobuf import json_format
        from google.protobuf.message import DecodeError

        from kafkapy.schemas.wire_format import read_indexes

        indexes, rest = read_indexes(payload)
        message = self._message(indexes)
        try:
            message.ParseFromString(bytes(rest))
        except DecodeError as error:
            raise ValueError(str(error)) from None
        return json_format.MessageToDict(message, always_print_fields_with_no_presence=True)
