"""Values of a topic as columns, by the schemas that they were written with; what cannot be read, with its reason."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from kafkapy.schemas.arrow import AvroColumns, ColumnDecoder, decoder_of, ids_of_values
from kafkapy.schemas.avro import fastavro
from kafkapy.schemas.avro_columns import compile_reader, read_values
from kafkapy.schemas.column_types import type_of_avro, without_times
from kafkapy.schemas.errors import SchemaRegistryError, SerdeError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import describe
from kafkapy.schemas.types import AVRO, JSON, Schema
from kafkapy.schemas.wire_format import PREFIX_SIZE
from kafkapy.warehouse.columns import NotATable, columns_of, storable

NO_SCHEMA = 0
"""Stands for the schema of bare values, and for deletions, which have no value."""
_NOT_IN_WIRE_FORMAT = -2


class Decoded(NamedTuple):
    """`rows`: a struct for each value, of which those that `broken` names mean nothing. `reasons`: of the broken ones, by row."""

    rows: pa.StructArray
    broken: Any
    reasons: dict[int, str]


class UnreadableSchema(Exception):
    """No value of this schema can be a row; the text says why."""


class SchemaValues:
    """Reads values of one schema. `skip`: bytes before the value."""

    def __init__(self, registry: SchemaRegistryClient | None, schema: Schema, skip: int) -> None:
        self._skip = skip
        try:
            # References are the registry's; without one, none has any.
            self._decoder: ColumnDecoder = decoder_of(_without_prefix(registry, schema), schema)
            self.columns = columns_of(self._decoder.type)
        except (SerdeError, NotATable) as error:
            raise UnreadableSchema(str(error)) from None
        except SchemaRegistryError:
            raise
        except Exception as error:
            raise UnreadableSchema(f"it makes no sense: {describe(error)}") from None
        self._type = storable(self._decoder.type)
        self._reader = None
        if isinstance(self._decoder, AvroColumns):
            parsed = self._decoder.writer_schema
            self._reader = compile_reader(parsed, self._decoder.type)

    def read(self, values: pa.Array) -> Decoded:
        if self._reader is not None:
            found, broken = read_values(self._reader, values, self._skip)
            reasons = self._reasons(values, np.flatnonzero(broken).tolist()) if broken.any() else {}
            return Decoded(found.cast(self._type), broken, reasons)
        return self._read_slowly(values)

    def _read_slowly(self, values: pa.Array) -> Decoded:
        bare = [value[self._skip :] for value in values.to_pylist()]
        try:
            found = self._decoder.decode(bare, None, "raise", lambda row: f"row {row}")
            broken = found.is_null().to_numpy(zero_copy_only=False)
        except SerdeError:
            found = self._decoder.decode(bare, None, "null", lambda row: f"row {row}")
            broken = found.is_null().to_numpy(zero_copy_only=False)
        reasons = self._reasons(values, np.flatnonzero(broken).tolist()) if broken.any() else {}
        return Decoded(found.cast(self._type), broken, reasons)

    def _reasons(self, values: pa.Array, rows: list[int]) -> dict[int, str]:
        found = {}
        for row in rows:
            try:
                self._decoder.decode([values[row].as_py()[self._skip :]], None, "raise", lambda _: "this place")
                found[row] = "the value is null"
            except SerdeError as error:
                found[row] = str(error).partition("cannot be read: ")[2] or str(error)
            except Exception as error:
                found[row] = describe(error)
        return found


def _without_prefix(registry: SchemaRegistryClient | None, schema: Schema) -> Any:
    """Decoders strip prefixes if they have a registry: here that is done before; only references need one."""
    return None if registry is None or not schema.references else _References(registry)
