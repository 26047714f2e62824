"""What is around an event: ids and hours of many records as columns. No Python object for any record."""

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
    """Of each record the value of a header, as bytes; null where it has none. The last of a name counts."""
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
    """As texts, and how many records have none: their place stands for it, log-partition-offset."""
    texts = id_texts(header_values(records.column("headers"), header))
    missing = texts.null_count
    if missing:
        texts = pc.coalesce(texts, places(records, log))
    return texts, missing


def id_texts(ids: pa.Array) -> pa.Array:
    """Ids are bytes, and as texts the same if and only if they are the same bytes. One without any byte is none: null.

    Bytes that are UTF-8 are that text; others are "hex:" and their digits, and so are those that begin with "hex:" themselves.
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
    """What `id_texts` does, as Spark's SQL. `value`: of bytes."""
    is_text = f"is_valid_utf8(cast({value} AS string)) AND NOT startswith(cast({value} AS string), '{HEX}')"
    return f"nullif(CASE WHEN {is_text} THEN cast({value} AS string) ELSE '{HEX}' || lower(hex({value})) END, '')"


def places(records: pa.RecordBatch, log: str) -> pa.Array:
    """Where records of one topic are. `log`: the name of a `TopicLog`, since a topic may be made again."""
    parts = [records.column(name).cast(pa.string()) for name in ("partition", "offset")]
    return pc.binary_join_element_wise(pa.scalar(log), *parts, "-")


def hours_of(times: pa.Array) -> Any:
    """Hours since 1970 of timestamps in microseconds."""
    return times.cast(pa.int64()).to_numpy() // HOUR_US


def hour_name(hour: int) -> str:
    """As the warehouse names it: 2026-11-24-03."""
    return str(np.datetime64(int(hour), "h")).replace("T", "-")


def hour_columns(hours: Any) -> tuple[pa.Array, pa.Array]:
    """ds and hr, as dictionaries: there are few hours among many records."""
    unique, index = np.unique(hours, return_inverse=True)
    names = [hour_name(hour) for hour in unique]
    indices = pa.array(index.astype(np.int32))
    days = pa.DictionaryArray.from_arrays(indices, pa.array([name[:10] for name in names], pa.string()))
    return days, pa.DictionaryArray.from_arrays(indices, pa.array([name[11:] for name in names], pa.string()))


def hour_counts(hours: Any) -> dict[str, int]:
    unique, counts = np.unique(hours, return_counts=True)
    return {hour_name(hour): int(count) for hour, count in zip(unique, counts, strict=True)}
