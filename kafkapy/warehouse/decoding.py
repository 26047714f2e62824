"""Values of a topic as columns, by the schemas that they were written with; what cannot be read, with its reason."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from kafkapy.schemas.arrow import (
    AvroColumns,
    ColumnDecoder,
    ProtobufColumns,
    columns_schema,
    decoder_of,
    ids_of_array,
)
from kafkapy.schemas.avro_columns import compile_reader, read_values
from kafkapy.schemas.errors import SchemaRegistryError, SchemaRegistryUnavailableError, SerdeError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import describe
from kafkapy.schemas.types import Schema
from kafkapy.schemas.wire_format import PREFIX_SIZE
from kafkapy.warehouse.columns import NotATable, columns_of, storable

NO_SCHEMA, DELETION = 0, -2
"""Stand in the place of a schema's id: for that of bare values, and for deletions, which have no value."""


class Decoded(NamedTuple):
    """`rows`: a struct for each value, of which those that `broken` names mean nothing. `reasons`: of the broken ones, by row."""

    rows: pa.StructArray
    broken: Any
    reasons: dict[int, str]


class UnreadableSchema(Exception):
    """No value of this schema can be a row; the text says why."""


class SchemaValues:
    """Reads values of one schema. `skip`: bytes before the value. Raises UnreadableSchema, and what the registry raises."""

    def __init__(self, registry: SchemaRegistryClient | None, schema: Schema, skip: int) -> None:
        self._skip = skip
        try:
            self._decoder: ColumnDecoder = decoder_of(registry, schema)
            self.columns = columns_of(self._decoder.type)
        except (SchemaRegistryError, SchemaRegistryUnavailableError):
            raise
        except (SerdeError, NotATable) as error:
            raise UnreadableSchema(str(error)) from None
        except Exception as error:
            raise UnreadableSchema(f"it makes no sense: {describe(error)}") from None
        self._type = storable(self._decoder.type)
        self._reader = None
        if isinstance(self._decoder, AvroColumns):
            self._reader = compile_reader(self._decoder.own_schema, self._decoder.type)

    @property
    def message_name(self) -> str:
        """Of Protobuf: the full name of the message; else empty."""
        return self._decoder.message_name if isinstance(self._decoder, ProtobufColumns) else ""

    def read(self, values: pa.Array) -> Decoded:
        """`values`: without nulls."""
        if self._reader is not None:
            found, broken = read_values(self._reader, values, self._skip)
        else:
            found, broken = self._read_by_library([value[self._skip :] for value in values.to_pylist()])
        reasons = self._reasons(values, np.flatnonzero(broken).tolist()) if broken.any() else {}
        return Decoded(found.cast(self._type), broken, reasons)

    def _read_by_library(self, values: list[bytes]) -> tuple[pa.Array, Any]:
        """All at once; if some cannot be read, without those."""
        try:
            found = self._decoder.decode(values, None, "raise", str)
            return found, found.is_null().to_numpy(zero_copy_only=False)
        except SerdeError:
            pass
        good = np.array([self._reads(value) for value in values], np.bool_)
        kept = self._decoder.decode(
            [value for value, fits in zip(values, good, strict=True) if fits], None, "raise", str
        )
        places = np.zeros(len(values), np.int64)
        places[good] = np.arange(len(kept))
        return kept.take(pa.array(places, mask=~good)), ~good

    def _reads(self, value: bytes) -> bool:
        return self._why_not(value) is None

    def _why_not(self, value: bytes) -> str | None:
        try:
            found = self._decoder.decode([value], None, "raise", str)
            return "the value is null" if found.null_count else None
        except SerdeError as error:
            return str(error).partition("cannot be read: ")[2] or str(error)

    def _reasons(self, values: pa.Array, rows: list[int]) -> dict[int, str]:
        return {
            row: self._why_not(values[row].as_py()[self._skip :]) or "the value does not end where it should"
            for row in rows
        }


class ValueDecoder:
    """The values of a topic. `schema`: of all of them, bare; None: they are in the registry's wire format."""

    def __init__(self, registry: SchemaRegistryClient | None, schema: Schema | None) -> None:
        self._registry = registry
        self._bare = None if schema is None else SchemaValues(registry, schema, 0)
        self._known: dict[int, SchemaValues | str] = {}

    def ids(self, values: pa.Array) -> Any:
        """Of each value its schema's; -1 for null, -2 for what is not in the wire format."""
        if self._bare is None:
            return ids_of_array(values)
        ids = np.full(len(values), NO_SCHEMA, np.int64)
        ids[values.is_null().to_numpy(zero_copy_only=False)] = -1
        return ids

    def of(self, schema_id: int) -> SchemaValues | str:
        """What reads values of that schema; or why none can be read. Raises what the registry raises if it cannot say."""
        if self._bare is not None:
            return self._bare
        if schema_id not in self._known:
            self._known[schema_id] = self._look_up(schema_id)
        return self._known[schema_id]

    def _look_up(self, schema_id: int) -> SchemaValues | str:
        assert self._registry is not None
        try:
            return SchemaValues(self._registry, columns_schema(self._registry, schema_id), PREFIX_SIZE)
        except UnreadableSchema as error:
            return f"schema {schema_id} has no rows: {error}"
        except SchemaRegistryError as error:
            if error.http_status_code != 404:
                raise
            return f"schema {schema_id} is not in the registry"


@cache
def value_decoder(registry: str, schema: str, kind: str) -> ValueDecoder:
    """One for each worker process and topic. `registry`: its configuration as JSON; `schema`, `kind`: of bare values."""
    configuration = json.loads(registry)
    client = SchemaRegistryClient.from_conf(configuration) if configuration else None
    return ValueDecoder(client, Schema(schema, kind) if schema else None)
