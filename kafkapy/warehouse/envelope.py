"""Computes ids and hours of records as columns, without a Python object for each record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

HOUR_US = 3_600_000_000
NO_TIME_US = -1_000
"""Kafka's -1: the record has no time. Any other negative number is a time before 1970."""
FIRST_TIME_US = -62_135_596_800_000_000
"""The year 1 begins: before it hours have no names."""
HEX = "hex:"


def header_values(headers: Any, name: str) -> pa.Array:
    """Return each record's value of a header, as bytes; null without it. The last header of a name counts."""
    rows = len(headers)
    flat = headers.flatten()
    chosen = pc.equal(flat.field(0), name)
    values = flat.field(1).filter(chosen)
    parents = pc.list_parent_indices(headers).filter(chosen).to_numpy()
    if len(parents) == rows and (rows == 0 or (np.diff(parents) > 0).all()):
        return values
    places = np.full(rows, -1, np.int64)
    places[parents] = np.arange(len(parents))
    return values.take(pa.array(places, mask=places < 0))


def event_ids(records: pa.RecordBatch, header: str, log: str) -> tuple[pa.Array, int]:
    """Return ids as text, and the number of records without one, whose id is their place: log-partition-offset."""
    texts = id_texts(header_values(records.column("headers"), header))
    missing = texts.null_count
    if missing:
        texts = pc.coalesce(texts, places(records, log))
    return texts, missing


def id_texts(ids: pa.Array) -> pa.Array:
    """Convert ids from bytes to text, one-to-one. An empty id becomes null.

    UTF-8 becomes that text; other bytes become "hex:" and their digits, and so does text that begins with "hex:".
    """
    given = ids.cast(pa.binary())
    lengths = pc.binary_length(given)
    if pc.any(pc.equal(lengths, 0)).as_py():
        given = pc.if_else(pc.equal(lengths, 0), pa.scalar(None, pa.binary()), given)
    try:
        texts = given.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if each is None else _id_text(each) for each in given.to_pylist()], pa.string())
    if pc.any(pc.starts_with(texts, HEX)).as_py():
        return pa.array([None if each is None else _id_text(each) for each in given.to_pylist()], pa.string())
    return texts


def _id_text(id: bytes) -> str:
    try:
        text = id.decode()
    except UnicodeDecodeError:
        return HEX + id.hex()
    return HEX + id.hex() if text.startswith(HEX) else text


def id_sql(value: str) -> str:
    """Return `id_texts` as Spark SQL. `value`: an expression of bytes."""
    is_text = f"is_valid_utf8(cast({value} AS string)) AND NOT startswith(cast({value} AS string), '{HEX}')"
    return f"nullif(CASE WHEN {is_text} THEN cast({value} AS string) ELSE '{HEX}' || lower(hex({value})) END, '')"


def places(records: pa.RecordBatch, log: str) -> pa.Array:
    """Return the places of records of one topic. `log`: the name of a `TopicLog`, because a topic may be recreated."""
    parts = [records.column(name).cast(pa.string()) for name in ("partition", "offset")]
    return pc.binary_join_element_wise(pa.scalar(log), *parts, "-")


def hours_of(times: pa.Array) -> Any:
    """Convert timestamps in microseconds to hours since 1970."""
    return times.cast(pa.int64()).to_numpy() // HOUR_US


def hour_name(hour: int) -> str:
    """Return the warehouse's name of an hour: 2026-11-24-03."""
    return str(np.datetime64(int(hour), "h")).replace("T", "-")


def hour_columns(hours: Any) -> tuple[pa.Array, pa.Array]:
    """Return ds and hr, dictionary-encoded because many records share few hours."""
    unique, index = np.unique(hours, return_inverse=True)
    names = [hour_name(hour) for hour in unique]
    indices = pa.array(index.astype(np.int32))
    days = pa.DictionaryArray.from_arrays(indices, pa.array([name[:10] for name in names], pa.string()))
    return days, pa.DictionaryArray.from_arrays(indices, pa.array([name[11:] for name in names], pa.string()))


def hour_counts(hours: Any) -> dict[str, int]:
    unique, counts = np.unique(hours, return_counts=True)
    return {hour_name(hour): int(count) for hour, count in zip(unique, counts, strict=True)}
