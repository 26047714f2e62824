"""Columns of Avro in Spark without a jar: `from_avro`, over the same code as `kafkapy.schemas.arrow`."""

from __future__ import annotations

import pickle
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas.arrow import ColumnDecoder, decode_array, decoder_of
from kafkapy.schemas.column_types import spark_type
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.types import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column

Mode = Literal["FAILFAST", "PERMISSIVE"]


def from_avro(
    column: Column | str,
    source: SchemaRegistryClient | str,
    *,
    reader_schema: str | Schema | None = None,
    subject: str | None = None,
    mode: Mode = "FAILFAST",
) -> Column:
    """Decode a column of bytes to a typed column.

    If `source` is a registry (or its URL), values are in its wire format: each is decoded with its writer's schema,
    and resolved to `reader_schema`, or to the latest version of `subject`. JSON Schemas of a registry are supported,
    too. Else `source` is an Avro schema, and values have no prefix, as for Spark's `from_avro`. As there, times of the
    day are numbers. Raises KafkaConfigurationError, SerdeError for a schema without a Spark type, and the registry's
    errors.

    Args:
        column: The column, or its name.
        source: The registry or its URL, or a schema.
        reader_schema: Schema that values are resolved to. None (default): the latest version of `subject`.
        subject: Subject in the registry. None (default): none.
        mode: "FAILFAST" (default): an error; "PERMISSIVE": null.
    """
    if mode not in ("FAILFAST", "PERMISSIVE"):
        raise KafkaConfigurationError(f"mode is FAILFAST or PERMISSIVE, not {mode!r}")
    registry = SchemaRegistryClient(source) if isinstance(source, str) and _is_url(source) else source
    schema = _reader(registry, reader_schema, subject)
    packed = pickle.dumps(registry if isinstance(registry, SchemaRegistryClient) else None)
    returned = from_arrow_type(spark_type(_decoder(packed, schema).type))
    arrow_type = to_arrow_type(returned, timezone="UTC")
    errors: Literal["raise", "null"] = "raise" if mode == "FAILFAST" else "null"

    def decode(values: pa.Array) -> pa.Array:
        return decode_array(_decoder(packed, schema), values, errors, spark_type).cast(arrow_type)

    make: Any = arrow_udf  # its overloads know no types of structs
    typed: Column = make(decode, returned)(column)
    return typed


@lru_cache(maxsize=16)
def _decoder(packed: bytes, schema: Schema) -> ColumnDecoder:
    """A worker keeps it from task to task, and with it what the registry has said."""
    return decoder_of(pickle.loads(packed), schema)


def _is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _reader(registry: SchemaRegistryClient | str, reader_schema: str | Schema | None, subject: str | None) -> Schema:
    if isinstance(reader_schema, str):
        reader_schema = Schema(reader_schema)
    if isinstance(registry, str):
        if reader_schema is not None or subject is not None:
            raise KafkaConfigurationError("reader_schema and subject go with a registry")
        return Schema(registry)
    if reader_schema is not None:
        return reader_schema
    if subject is None:
        raise KafkaConfigurationError("The column's type must be known beforehand: give reader_schema or subject")
    return registry.get_latest_version(subject).schema
