"""What is around an event: ids and hours of many records as columns. No Python object for any record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pyarrow.compute as pc  # type: ignore[import-untyped, unused-ignore]

HOUR_US = 3_600_000_000


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
    found = header_values(records.column("headers"), header)
    try:
        texts = found.cast(pa.string())
    except pa.ArrowInvalid:
        texts = pa.array(
            [None if each is None else each.decode("utf-8", "replace") for each in found.to_pylist()], pa.string()
        )
    missing = texts.null_count
    if missing:
        texts = pc.coalesce(texts, places(records, log))
    return texts, missing


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
