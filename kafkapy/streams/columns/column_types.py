"""The Arrow types of serdes' values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkapy.streams.serdes import Serdes

_TYPES: tuple[tuple[Any, pa.DataType], ...] = (
    (Serdes.string(), pa.string()),
    (Serdes.byte_array(), pa.binary()),
    (Serdes.long(), pa.int64()),
    (Serdes.integer(), pa.int32()),
    (Serdes.double(), pa.float64()),
)


def column_type(serde: Any) -> pa.DataType | None:
    """Return the type of the values of a serde or deserializer.

    Args:
        serde: Any serde; built-in ones are their own deserializers.

    Returns:
        None for a serde that is not built in: the type is inferred from values.
    """
    for known, data_type in _TYPES:
        same_size = getattr(serde, "_layout", None) is getattr(known, "_layout", None)
        if type(serde) is type(known) and same_size:
            return data_type
    return None


def column(values: list[Any], data_type: pa.DataType | None) -> pa.Array:
    """Create an array of Python values.

    Raises:
        pyarrow.ArrowInvalid: The values have no common type.
    """
    return pa.array(values, data_type)


def decoded(raw: pa.Array, data_type: pa.DataType) -> pa.Array | None:
    """Deserialize a column of bytes like the built-in deserializer of a type.

    Args:
        raw: A column of type binary.
        data_type: A type returned by `column_type`.

    Returns:
        None if some bytes are malformed; the records then have to be deserialized one by one.
    """
    if pa.types.is_binary(data_type):
        return raw
    if pa.types.is_string(data_type):
        try:
            return raw.cast(data_type)
        except pa.ArrowInvalid:
            return None
    size = data_type.bit_width // 8
    if pc.any(pc.not_equal(pc.binary_length(raw), size)).as_py():
        return None
    filled = raw.fill_null(bytes(size)) if raw.null_count else raw
    _, offsets, data = filled.buffers()
    start = np.frombuffer(offsets, np.int32)[filled.offset] if len(filled) else 0
    kind = data_type.to_pandas_dtype()
    numbers = np.frombuffer(data or b"", np.dtype(kind).newbyteorder(">"), len(filled), int(start))
    missing = raw.is_null().to_numpy(zero_copy_only=False) if raw.null_count else None
    return pa.array(numbers.astype(kind), data_type, mask=missing)
