"""Avro in the registry's wire format; fastavro reads and writes the values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

from kafkapy.common.extras import need
from kafkapy.schemas.avro_text import json_of
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import SchemaDeserializer, SchemaSerializer, with_references
from kafkapy.schemas.types import Schema
from kafkapy.schemas.wire_format import Written
from kafkapy.serializer import T_co, T_contra

need("avro", "fastavro", by="Avro")

import fastavro as fastavro  # noqa: E402

AvroSchema = str | list[Any] | dict[str, Any]
"""As fastavro has parsed it; it stands for itself."""

_COMPLEX = frozenset({"record", "error", "enum", "fixed", "array", "map"})


class AvroSerializer(SchemaSerializer[AvroSchema, T_contra]):
    """`AvroSerializer(registry, schema)`: dictionaries (or what `to_dict` makes of values of the serializer's type) to Avro.

    `schema`: JSON, or a `Schema` if it has references; None with `use_latest_version`. Logical types and the choice in unions
    are fastavro's. The other options are those of `SchemaSerializer`.

    Args:
        registry: The client of the schema registry.
        options: Options of `kafkapy.schemas.serde.SchemaSerializer`.

    Example:
        >>> from kafkapy.schemas import SchemaRegistryClient
        >>> registry = SchemaRegistryClient("http://localhost:8081")
        >>> AvroSerializer(registry, '"string"').serialize("clicks", [], None) is None
        True
    """

    def __init__(
        self,
        registry: SchemaRegistryClient,
        schema: str | Schema | None = None,
        *,
        to_dict: Callable[[T_contra], Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(registry, _schema(schema), **options)
        self._to_dict = to_dict
        self._own_name = None if self.schema is None else _name_in(json_of(self.schema.schema_str))

    def _parse(self, schema: Schema) -> AvroSchema:
        return parse(self.registry, schema)

    @property
    def _record_name(self) -> str | None:
        return self._own_name

    def _write(self, parsed: AvroSchema, data: T_contra) -> bytes:
        out = BytesIO()
        fastavro.schemaless_writer(out, parsed, data if self._to_dict is None else self._to_dict(data))
        return out.getvalue()


class AvroDeserializer(SchemaDeserializer[AvroSchema, T_co]):
    """`AvroDeserializer(registry)`: Avro to dictionaries, or to what `from_dict` makes of them: that is its type.

    `reader_schema`: values are resolved to it, else they come as they were written. `return_record_name`: records inside of
    unions come as (name, record), as the serializer takes them.

    Args:
        registry: The client of the schema registry.
        is_key: Whether keys are converted. Default False: values.

    Example:
        >>> from kafkapy.schemas import SchemaRegistryClient
        >>> AvroDeserializer(SchemaRegistryClient("http://localhost:8081")).deserialize("clicks", [], None) is None
        True
    """

    def __init__(
        self,
        registry: SchemaRegistryClient,
        reader_schema: str | Schema | None = None,
        *,
        from_dict: Callable[[Any], T_co] | None = None,
        return_record_name: bool = False,
        is_key: bool = False,
    ) -> None:
        super().__init__(registry, is_key=is_key)
        self._reader_schema = _schema(reader_schema)
        self._from_dict = from_dict
        self._return_record_name = return_record_name
        self._reader: AvroSchema | None = None
        if self._reader_schema is not None and not self._reader_schema.references:
            self._reader = parse(registry, self._reader_schema)

    def _parse(self, schema: Schema) -> AvroSchema:
        if self._reader_schema is not None and self._reader is None:
            self._reader = parse(self.registry, self._reader_schema)
        return parse(self.registry, schema, is_written=True)

    def _read(self, writer: AvroSchema, written: Written) -> T_co:
        value: Any = read_value(written.payload, writer, self._reader, return_record_name=self._return_record_name)
        return value if self._from_dict is None else self._from_dict(value)


def parse(registry: SchemaRegistryClient | None, schema: Schema, *, is_written: bool = False) -> AvroSchema:
    """Parse a schema, with its references inserted at their first use. Raises fastavro's and the registry's errors.

    `is_written`: the schema is a writer's. Then defaults that don't fit their fields are omitted: older registries
    accepted them, and reading does not need them.
    """
    try:
        return _parsed(registry, schema, _with_number)
    except fastavro.schema.SchemaParseException:
        if not is_written:
            raise
        return _parsed(registry, schema, _without_default)


def _with_defaults(schema: AvroSchema, change: Callable[[dict[str, Any]], dict[str, Any]]) -> AvroSchema:
    """A schema with each field, which may have a default, as `change` gives it."""
    if isinstance(schema, list):
        return [_with_defaults(each, change) for each in schema]
    if not isinstance(schema, dict):
        return schema
    own = dict(schema)
    for name in ("type", "items", "values"):
        if isinstance(own.get(name), dict | list):
            own[name] = _with_defaults(own[name], change)
    if isinstance(own.get("fields"), list):
        own["fields"] = [
            _with_defaults(change(field), change) if isinstance(field, dict) else field for field in own["fields"]
        ]
    return own


def _without_default(field: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in field.items() if name != "default"}


def _with_number(field: dict[str, Any]) -> dict[str, Any]:
    """Convert a float's default that is a string (`"NaN"`) to the number."""
    kind = field.get("type")
    kind = kind.get("type") if isinstance(kind, dict) else kind
    if kind in ("float", "double") and isinstance(field.get("default"), str):
        try:
            return {**field, "default": float(field["default"])}
        except ValueError:
            pass
    return field


def _parsed(
    registry: SchemaRegistryClient | None, schema: Schema, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> AvroSchema:
    named: dict[str, Any] = {}
    if schema.references and registry is not None:
        for used in with_references(registry, schema).values():
            fastavro.parse_schema(_with_defaults(json_of(used.schema_str), change), named)
    definitions = dict(named)
    parsed: AvroSchema = fastavro.parse_schema(_with_defaults(json_of(schema.schema_str), change), named)
    if definitions:
        parsed = fastavro.parse_schema(_written_out(parsed, definitions))
    return parsed


def _written_out(schema: Any, definitions: dict[str, Any]) -> Any:
    """A schema with the definitions of the names that it uses; those are taken out of `definitions`."""
    if isinstance(schema, str):
        return _written_out(definitions.pop(schema), definitions) if schema in definitions else schema
    if isinstance(schema, list):
        return [_written_out(each, definitions) for each in schema]
    own = {name: value for name, value in schema.items() if not name.startswith("__")}
    is_type = isinstance(own.get("type"), str) and own["type"] in _COMPLEX  # else a field, or a type in braces
    if is_type:
        definitions.pop(own.get("name", ""), None)
    for name in ("items", "values", "fields") if is_type else ("type",):
        if name in own:
            own[name] = _written_out(own[name], definitions)
    return own


def read_value(
    payload: memoryview | bytes, writer: AvroSchema, reader: AvroSchema | None, *, return_record_name: bool = False
) -> Any:
    """Decode a value. Raises fastavro's errors, and ValueError if bytes remain."""
    source = BytesIO(payload)
    value = fastavro.schemaless_reader(source, writer, reader, return_record_name=return_record_name)
    if source.tell() != len(payload):
        raise ValueError(f"{len(payload) - source.tell()} bytes are left behind the value")
    return value


def _schema(given: str | Schema | None) -> Schema | None:
    """Convert the user's schema; the plain name of a type is a schema, too."""
    if not isinstance(given, str):
        return given
    return Schema(json.dumps(given) if given.strip().isidentifier() else given)


def _name_in(schema: AvroSchema) -> str | None:
    """The full name of a record, an enum or a fixed; None for other types."""
    if not isinstance(schema, Mapping) or "name" not in schema:
        return None
    name, namespace = str(schema["name"]), schema.get("namespace")
    return f"{namespace}.{name}" if namespace and "." not in name else name
