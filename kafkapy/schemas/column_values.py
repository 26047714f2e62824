"""Converts columns between Arrow types exactly, and decodes batches in which some values fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

_NANOSECONDS_OF_A = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def converted(column: pa.Array, type: pa.DataType) -> pa.Array:
    """Convert values to another type. A time is truncated to the unit of `type`, towards the past.

    Args:
        column: Structs, lists and maps are converted inside.
        type: Of the same shape. Numbers become times (and times numbers) as they are; bytes become decimals as Avro has them.

    Raises:
        pa.ArrowInvalid, ValueError: A value does not fit.
    """
    if column.type == type:
        return column
    if pa.types.is_struct(type):
        if not len(type):
            return column.cast(type)
        given = column.flatten() if column.null_count else [column.field(index) for index in range(len(type))]
        children = [converted(each, field.type) for each, field in zip(given, type, strict=True)]
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(type), mask=mask)
    if pa.types.is_list(type):
        return _with_child(column, type, converted(column.values, type.value_type))
    if pa.types.is_map(type):
        entries = [column.keys, converted(column.items, type.item_type)]
        fields = [pa.field("key", type.key_type, nullable=False), pa.field("value", type.item_type)]
        return _with_child(column, type, pa.StructArray.from_arrays(entries, fields=fields))
    return _converted_leaf(column, type)


def _with_child(column: pa.Array, type: pa.DataType, child: pa.Array) -> pa.Array:
    validity, offsets = column.buffers()[:2]
    return pa.Array.from_buffers(type, len(column), [validity, offsets], column.null_count, column.offset, [child])


def _converted_leaf(column: pa.Array, type: pa.DataType) -> pa.Array:
    given = column.type
    if pa.types.is_decimal(type) and (pa.types.is_binary(given) or pa.types.is_fixed_size_binary(given)):
        return _decimals(column, type)
    if pa.types.is_timestamp(given) and pa.types.is_timestamp(type):
        return _other_unit(column, type)
    if pa.types.is_temporal(given) != pa.types.is_temporal(type):  # numbers, or what Arrow keeps as numbers
        return column.view(type)
    return column.cast(type)


def _other_unit(column: pa.Array, type: pa.DataType) -> pa.Array:
    coarser = _NANOSECONDS_OF_A[type.unit] // _NANOSECONDS_OF_A[column.type.unit]
    if coarser <= 1:
        return column.cast(type)
    cut = column.view(pa.int64()).fill_null(0).to_numpy() // coarser
    return pa.array(cut, mask=_nulls(column)).view(type)


def _nulls(column: pa.Array) -> Any:
    return column.is_null().to_numpy(zero_copy_only=False)


def _decimals(column: pa.Array, type: pa.DataType) -> pa.Array:
    """Of two's complement, big-endian. Raises ValueError for what has no bytes, or more digits than the type."""
    limit, width = 10**type.precision, type.bit_width // 8
    written = []
    for value in column.to_pylist():
        if value == b"":
            raise ValueError("a decimal has no bytes")
        number = int.from_bytes(value or b"\0", "big", signed=True)
        if not -limit < number < limit:
            raise ValueError(f"a decimal has more than the {type.precision} digits of its schema")
        written.append(number.to_bytes(width, "little", signed=True))
    validity = pa.py_buffer(np.packbits(~_nulls(column), bitorder="little"))
    return pa.Array.from_buffers(type, len(column), [validity, pa.py_buffer(b"".join(written))])


def fitting_of(type: pa.DataType) -> Callable[[Any], Any]:
    """A function that makes a JSON value one that Arrow takes as `type`: numbers of the kind that the column has.

    The function raises ValueError for a number that would not be the same.
    """
    if pa.types.is_struct(type):
        fields = [(field.name, fitting_of(field.type)) for field in type]
        return lambda value: (
            {name: fit(value[name]) for name, fit in fields if name in value} if isinstance(value, dict) else value
        )
    if pa.types.is_list(type):
        each = fitting_of(type.value_type)
        return lambda value: [each(one) for one in value] if isinstance(value, list) else value
    if pa.types.is_map(type):
        item = fitting_of(type.item_type)
        return lambda value: [(key, item(one)) for key, one in value.items()] if isinstance(value, dict) else value
    if pa.types.is_integer(type):
        return lambda value: _whole(value) if isinstance(value, float) else value
    if pa.types.is_floating(type):
        return lambda value: float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return lambda value: value


def _whole(value: float) -> int:
    if not value.is_integer():
        raise ValueError(f"{value} is no whole number")
    return int(value)


def salvaged(read: Callable[[Any], pa.Array], values: Any, type: pa.DataType) -> tuple[pa.Array, dict[int, Exception]]:
    """Call `read` on values, isolating those that fail; return the results, null for failures, and index -> error.

    Args:
        read: Takes any slice of `values`, each value on its own account, and gives as many; raises if one cannot be read.
        values: An Arrow array or a list.
        type: Of what `read` gives.

    Raises:
        Exception: A failure that is `retriable`: it says nothing about the values.
    """
    parts: list[pa.Array] = []
    errors: dict[int, Exception] = {}

    def visit(first: int, end: int) -> None:
        try:
            parts.append(read(values[first:end]))
        except Exception as error:
            if getattr(error, "retriable", False):
                raise
            if end - first > 1:
                middle = (first + end) // 2
                visit(first, middle)
                visit(middle, end)
            else:
                errors[first] = error
                parts.append(pa.nulls(1, type))

    if len(values):
        visit(0, len(values))
    if not parts:
        return pa.nulls(0, type), errors
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts), errors
