"""JSON in the registry's wire format, validated by the library jsonschema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kafkapy.common import exact_json, strict_json
from kafkapy.common.deep_calls import run_deep
from kafkapy.common.extras import need
from kafkapy.schemas.errors import SchemaDeserializationError, SchemaSerializationError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import SchemaDeserializer, SchemaSerializer, with_references
from kafkapy.schemas.types import JSON, Schema
from kafkapy.schemas.wire_format import Written
from kafkapy.serializer import T_co, T_contra

need("json-schema", "jsonschema", by="JSON Schema")

import jsonschema  # noqa: E402

from kafkapy.schemas.json_validation import registry_of, validator_of  # noqa: E402


def compact(value: Any) -> str:
    """Encode JSON without spaces, like confluent-kafka. Raises ValueError for NaN and infinities, which JSON lacks."""
    return strict_json.dumps(value, separators=(",", ":"), ensure_ascii=False)


class ParsedJsonSchema(NamedTuple):
    schema: Any
    validator: Any

    @property
    def name(self) -> str | None:
        return title(self.schema)


class JSONSerializer(SchemaSerializer[ParsedJsonSchema, T_contra]):
    """`JSONSerializer(registry, schema)`: what JSON takes (or `to_dict` makes of values of the serializer's type) to JSON.

    `schema`: text, or a `Schema` if it has references; None with `use_latest_version`. `validate`: against the schema that
    the value is written with. `json_encode` instead of `compact`. The other options are those of `SchemaSerializer`.

    Args:
        registry: The client of the schema registry.
        options: Options of `kafkapy.schemas.serde.SchemaSerializer`.

    Example:
        >>> from kafkapy.schemas import SchemaRegistryClient
        >>> registry = SchemaRegistryClient("http://localhost:8081")
        >>> JSONSerializer(registry, '{"type": "object"}').serialize("clicks", [], None) is None
        True
    """

    def __init__(
        self,
        registry: SchemaRegistryClient,
        schema: str | Schema | None = None,
        *,
        to_dict: Callable[[T_contra], Any] | None = None,
        validate: bool = True,
        json_encode: Callable[[Any], str | bytes] = compact,
        **options: Any,
    ) -> None:
        super().__init__(registry, Schema(schema, JSON) if isinstance(schema, str) else schema, **options)
        self._to_dict = to_dict
        self._validate = validate
        self._encode = json_encode
        self._own_name = None if self.schema is None else title(_load(self.schema))

    def _parse(self, schema: Schema) -> ParsedJsonSchema:
        return parse(self.registry, schema)

    @property
    def _record_name(self) -> str | None:
        return self._own_name

    def _write(self, parsed: ParsedJsonSchema, data: T_contra) -> bytes:
        value = data if self._to_dict is None else self._to_dict(data)
        if self._validate:
            wrong = first_error(parsed, value)
            if wrong is not None:
                raise SchemaSerializationError(f"A value does not fit its schema: {wrong}")
        encoded = self._encode(value)
        return encoded.encode() if isinstance(encoded, str) else encoded


class JSONDeserializer(SchemaDeserializer[ParsedJsonSchema, T_co]):
    """`JSONDeserializer(registry)`: JSON to what it stands for, or to what `from_dict` makes of that: that is its type.

    `validate`: against `reader_schema` if there is one, else against the schema that the value was written with.

    Args:
        registry: The client of the schema registry.
        is_key: Whether keys are converted. Default False: values.
        json_decode: Reads the bytes. Default: strict JSON.

    Example:
        >>> from kafkapy.schemas import SchemaRegistryClient
        >>> JSONDeserializer(SchemaRegistryClient("http://localhost:8081")).deserialize("clicks", [], None) is None
        True
    """

    def __init__(
        self,
        registry: SchemaRegistryClient,
        reader_schema: str | Schema | None = None,
        *,
        from_dict: Callable[[Any], T_co] | None = None,
        validate: bool = True,
        json_decode: Callable[[bytes], Any] = strict_json.loads,
        is_key: bool = False,
    ) -> None:
        super().__init__(registry, is_key=is_key)
        self._reader_schema = Schema(reader_schema, JSON) if isinstance(reader_schema, str) else reader_schema
        self._reader: ParsedJsonSchema | None = None
        self._from_dict = from_dict
        self._validate = validate
        self._decode = json_decode

    def _parse(self, schema: Schema) -> ParsedJsonSchema:
        if self._reader_schema is not None and self._reader is None:
            self._reader = parse(self.registry, self._reader_schema)
        return parse(self.registry, schema)

    def _read(self, writer: ParsedJsonSchema, written: Written) -> T_co:
        value = self._decode(bytes(written.payload))
        if self._validate:
            wrong = first_error(self._reader or writer, value)
            if wrong is not None:
                raise SchemaDeserializationError(f"A value does not fit schema {written.schema}: {wrong}")
        return value if self._from_dict is None else self._from_dict(value)


def parse(registry: SchemaRegistryClient | None, schema: Schema) -> ParsedJsonSchema:
    """Parse a schema with its references, which are fetched from the registry.


    Raises ValueError and jsonschema's errors for what is no schema.
    """
    used = with_references(registry, schema) if registry is not None and schema.references else {}
    known = registry_of((name, _load(document)) for name, document in used.items())
    own = _load(schema)
    return ParsedJsonSchema(own, validator_of(own, known))


def first_error(parsed: ParsedJsonSchema, value: Any) -> str | None:
    """Return the first error of a value, with its place; None if the value is valid."""
    error = jsonschema.exceptions.best_match(parsed.validator.iter_errors(value))
    return None if error is None else f"{error.message} (at {error.json_path})"


def _load(schema: Schema) -> Any:
    """With exact numbers. Raises ValueError."""
    return run_deep(lambda: exact_json.loads(schema.schema_str))


def title(schema: Any) -> str | None:
    return schema.get("title") if isinstance(schema, dict) else None
