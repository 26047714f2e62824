"""Serializes columns with the results of the built-in serializers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kafkapy.streams.columns.batch import ColumnBatch
from kafkapy.streams.columns.column_types import column_type
from kafkapy.streams.columns.errors import NotInColumns


def encoded_batch(batch: ColumnBatch, key_serializer: Any, value_serializer: Any) -> pa.RecordBatch:
    """Return the rows of a batch for `KafkaProducer.send_arrow`.

    Args:
        batch: The rows.
        key_serializer: Serializer of the topic's keys.
        value_serializer: Serializer of the topic's values.

    Raises:
        NotInColumns: A serializer is not built in, or the values are not of its type.
    """
    columns = [
        encoded(batch.key, column_type(key_serializer)),
        encoded(batch.value, column_type(value_serializer)),
        pa.array(batch.timestamps),
    ]
    names = ["key", "value", "timestamp"]
    if batch.headers is not None:
        columns.append(batch.to_arrow().column("headers"))
        names.append("headers")
    return pa.RecordBatch.from_arrays(columns, names)


def encoded(values: pa.Array, data_type: pa.DataType | None) -> pa.Array:
    """Serialize each value; null stays null.

    Args:
        values: Values of any type.
        data_type: The type returned by `column_type` for the serializer.

    Raises:
        NotInColumns: The values are not of this type.
    """
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), pa.binary())
    if data_type is None or not _fits(values.type, data_type):
        raise NotInColumns(f"values of type {values.type} for a serializer of {data_type}")
    try:
        values = values.cast(data_type)
    except pa.ArrowInvalid as error:
        raise NotInColumns from error
    if pa.types.is_binary(data_type) or pa.types.is_string(data_type):
        return values.cast(pa.binary())
    return _big_endian(values, data_type)


def _fits(found: pa.DataType, data_type: pa.DataType) -> bool:
    types = pa.types
    if types.is_string(data_type):
        return bool(types.is_string(found) or types.is_large_string(found))
    if types.is_binary(data_type):
        return bool(types.is_binary(found) or types.is_large_binary(found))
    if types.is_integer(data_type):
        return bool(types.is_integer(found))
    return bool(found == data_type)


def _big_endian(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Serialize numbers like Kafka's serializers; null stays null."""
    count = len(values)
    size = data_type.bit_width // 8
    kind = np.dtype(data_type.to_pandas_dtype()).newbyteorder(">")
    if not values.null_count:
        offsets = np.arange(count + 1, dtype=np.int32) * size
        data = values.to_numpy(zero_copy_only=False).astype(kind).tobytes()
        return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    is_valid = values.is_valid().to_numpy(zero_copy_only=False)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(is_valid * size, out=offsets[1:])
    data = values.drop_null().to_numpy(zero_copy_only=False).astype(kind).tobytes()
    validity = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), count, buffers, values.null_count)
