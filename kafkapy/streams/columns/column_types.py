"""The Arrow types of the values that a serde gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kafkapy.streams.serdes import Serdes

_TYPES: tuple[tuple[Any, pa.DataType], ...] = (
    (Serdes.string(), pa.string()),
    (Serdes.byte_array(), pa.binary()),
    (Serdes.long(), pa.int64()),
    (Serdes.integer(), pa.int32()),
    (Serdes.double(), pa.float64()),
)


def column_type(serde: Any) -> pa.DataType | None:
    """The type of a serde's values, or of its deserializer's.

    Args:
        serde: Any; a serde that is built in is its own deserializer.

    Returns:
        None for a serde that is not built in: its values decide.
    """
    for known, data_type in _TYPES:
        same_size = getattr(serde, "_layout", None) is getattr(known, "_layout", None)
        if type(serde) is type(known) and same_size:
            return data_type
    return None


def column(values: list[Any], data_type: pa.DataType | None) -> pa.Array:
    """An array of Python values.

    Raises:
        pyarrow.ArrowInvalid: The values have no common type.
    """
    return pa.array(values, data_type)
