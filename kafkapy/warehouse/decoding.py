"""Decodes values of a topic to columns with their writers' schemas; undecodable values get a reason.

A bad value affects no other value: if decoding by columns fails, it is repeated value by value.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
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
from kafkapy.schemas.column_types import spark_type
from kafkapy.schemas.column_values import converted, salvaged
from kafkapy.schemas.errors import SchemaRegistryError, SerdeError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import describe
from kafkapy.schemas.types import Schema
from kafkapy.schemas.wire_format import PREFIX_SIZE
from kafkapy.warehouse.columns import NotATable, columns_of

NO_SCHEMA, DELETION = 0, -2
"""Used in place of a schema's id: for bare values, and for deletions, which have no value."""
_GREATEST_ID = 2**31 - 1
_ASK_AGAIN_SECONDS = 60.0
"""A schema that was unknown to the registry is looked up again after this time."""
_LONGEST_REASON = 500


class Decoded(NamedTuple):
    """Decoded values. `rows`: a struct for each decoded value; `places`: their indices among the values; `reasons`:
    index -> reason of the others."""

    rows: pa.StructArray
    places: Any
    reasons: dict[int, str]


class UnreadableSchema(Exception):
    """No value of this schema can be a row; the message says why."""


class SchemaValues:
    """Reads values of one schema. `skip`: bytes before the value. `type`: of what is read.

    Raises UnreadableSchema, and what the registry raises.
    """

    def __init__(self, registry: SchemaRegistryClient | None, schema: Schema, skip: int) -> None:
        self._skip = skip
        try:
            self._decoder: ColumnDecoder = decoder_of(registry, schema)
            self.columns = columns_of(self._decoder.type)
        except NotATable as error:
            raise UnreadableSchema(str(error)) from None
        except Exception as error:
            if getattr(error, "retriable", False) or isinstance(error, SchemaRegistryError):
                raise
            why = error.message if isinstance(error, SerdeError) else f"it makes no sense: {describe(error)}"
            raise UnreadableSchema(why) from None
        self.type = spark_type(self._decoder.type)
        self._reader = None
        if isinstance(self._decoder, AvroColumns):
            self._reader = compile_reader(self._decoder.written_schema, self._decoder.written_type)

    @property
    def message_name(self) -> str:
        """Return the full name of a Protobuf message; else ""."""
        return self._decoder.message_name if isinstance(self._decoder, ProtobufColumns) else ""

    def read(self, values: pa.Array) -> Decoded:
        """Decode values without nulls. Raises the registry's errors."""
        if self._reader is None:
            found, failures = self._decoder.read([value[self._skip :] for value in values.to_pylist()])
            places = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
        else:
            found, broken = read_values(self._reader, values, self._skip)
            places, failures = np.flatnonzero(~broken), {}
        reasons = {int(row): self._why(values[int(row)], failures.get(row)) for row in _others(places, len(values))}
        found = found if len(places) == len(found) else found.take(pa.array(places))
        rows, unfit = salvaged(self._stored, found, self.type)
        if unfit:
            reasons |= {int(places[row]): reason_of(error) for row, error in unfit.items()}
            kept = _others(np.array(list(unfit)), len(rows))
            rows, places = rows.take(pa.array(kept)), places[kept]
        return Decoded(rows, places, reasons)

    def _stored(self, found: pa.Array) -> pa.Array:
        return converted(converted(found, self._decoder.type), self.type)

    def _why(self, value: pa.Scalar, failure: Exception | None) -> str:
        if failure is None and self._reader is not None:
            failure = self._decoder.read([value.as_py()[self._skip :]])[1].get(0)
            if failure is None:
                return "its bytes do not follow its schema"
        return "the value is null" if failure is None else reason_of(failure)


def _others(places: Any, count: int) -> Any:
    """Places below `count` that are not among these."""
    left = np.ones(count, np.bool_)
    left[places] = False
    return np.flatnonzero(left)


def reason_of(error: Exception) -> str:
    """Return the reason for an undecodable value, as printable text."""
    if isinstance(error, EOFError | IndexError):
        told = "its bytes end before the value does"
    elif isinstance(error, UnicodeDecodeError):
        told = f"a text in it is not UTF-8: {error.reason}"
    elif isinstance(error, SerdeError):
        told = error.message
    elif isinstance(error, pa.ArrowInvalid | OverflowError):
        told = f"it holds a value that its column cannot: {error}"
    else:
        told = f"it does not follow its schema: {describe(error)}"
    told = told.encode("utf-8", "backslashreplace").decode()
    return told if len(told) <= _LONGEST_REASON else f"{told[:_LONGEST_REASON]} …"


class ValueDecoder:
    """The values of a topic.

    Args:
        registry: Where schemas are looked up.
        schema: Of all values, which are bare; None: they are in the registry's wire format.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        registry: SchemaRegistryClient | None,
        schema: Schema | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._registry = registry
        self._bare: SchemaValues | str | None = None
        if schema is not None:
            try:
                self._bare = SchemaValues(registry, schema, 0)
            except UnreadableSchema as error:
                self._bare = f"the schema of the table's file has no rows: {error}"
        self._known: dict[int, SchemaValues | str] = {}
        self._unknown: dict[int, float] = {}
        """Schema id -> when it was unknown to the registry."""
        self._clock = clock

    def ids(self, values: pa.Array) -> Any:
        """Return each value's schema id; -1 for null, -2 for an invalid prefix."""
        if self._bare is None:
            return ids_of_array(values)
        ids = np.full(len(values), NO_SCHEMA, np.int64)
        ids[values.is_null().to_numpy(zero_copy_only=False)] = -1
        return ids

    def of(self, schema_id: int) -> SchemaValues | str:
        """Return the decoder of a schema, or the reason why its values cannot be decoded. Raises the registry's
        temporary errors."""
        if self._bare is not None:
            return self._bare
        found = self._known.get(schema_id)
        if found is None:
            asked = self._unknown.get(schema_id)
            if schema_id <= _GREATEST_ID and (asked is None or self._clock() - asked >= _ASK_AGAIN_SECONDS):
                found = self._look_up(schema_id)
        return found if found is not None else f"schema {schema_id} is not in the registry"

    def ask_again(self) -> None:
        """Allow another look-up of schemas that were unknown to the registry."""
        self._unknown.clear()

    def _look_up(self, schema_id: int) -> SchemaValues | str | None:
        """Look up a schema; return None if it or one of its references is unknown."""
        assert self._registry is not None
        try:
            found: SchemaValues | str = SchemaValues(
                self._registry, columns_schema(self._registry, schema_id), PREFIX_SIZE
            )
        except UnreadableSchema as error:
            found = f"schema {schema_id} has no rows: {error}"
        except SchemaRegistryError as error:
            if error.http_status_code not in (404, 422):
                raise
            self._unknown[schema_id] = self._clock()
            return None
        self._known[schema_id] = found
        return found


@cache
def value_decoder(registry: str, schema: str, kind: str) -> ValueDecoder:
    """Return the decoder, one for each worker process and topic. `registry`: its configuration as JSON; `schema`,
    `kind`: those of bare values."""
    configuration = json.loads(registry)
    client = SchemaRegistryClient.from_conf(configuration) if configuration else None
    return ValueDecoder(client, Schema(schema, kind) if schema else None)
