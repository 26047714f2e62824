"""Aggregates in a record cache: read, written and forwarded many at a time."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkapy.streams.columns.batch import ColumnBatch, Numbers
from kafkapy.streams.columns.column_types import column_type, decoded
from kafkapy.streams.columns.writing import encoded
from kafkapy.streams.records import RecordContext
from kafkapy.streams.state.metered_key_value_store import MeteredTimestampedKeyValueStore
from kafkapy.streams.state.thread_cache import DirtyEntries
from kafkapy.streams.state.value_and_timestamp import TIMESTAMP_SIZE, ValueAndTimestampSerde
from kafkapy.streams.topology.nodes import TopologyNode

NONE: Final = -1
"""The timestamp of a key without an aggregate."""
_MAX_ROWS: Final = 16_384
_TIMESTAMP: Final = np.dtype(">i8")


class Aggregates(NamedTuple):
    """The stored aggregates of some keys.

    Attributes:
        raw_keys: The keys in the store's bytes.
        values: The aggregates; None: the key has none.
        timestamps: Their timestamps; `NONE`: the key has none.
    """

    raw_keys: list[bytes]
    values: list[Any]
    timestamps: Numbers


class CachedAggregates:
    """The aggregates of a store with a record cache. Keys and values are converted by columns.

    Invariant: the cache has the same entries, in the same order of use, as after single calls of the store.

    Args:
        store: A timestamped store with a cache, with built-in serdes.
        key_type: Arrow type of the keys.
        value_type: Arrow type of the values.
    """

    def __init__(
        self, store: MeteredTimestampedKeyValueStore[Any], key_type: pa.DataType, value_type: pa.DataType
    ) -> None:
        cache = store.cache()
        assert cache is not None
        self._cache = cache
        self._key_type = key_type
        self._value_type = value_type

    def get(self, keys: list[Any]) -> Aggregates:
        """Return the aggregates of keys.

        Raises:
            pyarrow.ArrowException: A key is not of the store's type.
        """
        raw_keys = encoded(pa.array(keys, self._key_type), self._key_type).to_pylist()
        found = self._cache.get_many(raw_keys)
        stored = [raw for raw in found if raw is not None]
        timestamps = np.full(len(keys), NONE)
        if not stored:
            return Aggregates(raw_keys, [None] * len(keys), timestamps)
        values = plain_values(stored, self._value_type).to_pylist()
        times = timestamps_of(stored)
        if len(stored) == len(keys):
            return Aggregates(raw_keys, values, times)
        known = np.array([raw is not None for raw in found])
        timestamps[known] = times
        rest = iter(values)
        return Aggregates(raw_keys, [None if raw is None else next(rest) for raw in found], timestamps)

    def raw_values(self, values: list[Any], timestamps: Numbers) -> list[bytes]:
        """Return aggregates in the store's bytes.

        Args:
            values: The aggregates, none of them None.
            timestamps: Their timestamps in ms.

        Raises:
            pyarrow.ArrowException: A value is not of the store's type.
        """
        raw_values = encoded(pa.array(values, self._value_type), self._value_type).to_pylist()
        times = timestamps.astype(_TIMESTAMP).tobytes()
        return [
            times[start : start + TIMESTAMP_SIZE] + raw
            for start, raw in zip(range(0, len(times), TIMESTAMP_SIZE), raw_values, strict=True)
        ]

    def put(self, raw_keys: list[bytes], raw_values: list[bytes], contexts: list[RecordContext]) -> None:
        """Set the aggregates of keys, in this order, with the contexts of their records."""
        self._cache.put_many(zip(raw_keys, raw_values, contexts, strict=True))


class ForwardedFlushes:
    """Forwards what a cache flushes as batches, if all operators that follow are stateless.

    Args:
        context: The context of the node that aggregates.
        key_type: Arrow type of the keys.
        value_type: Arrow type of the values.
    """

    def __init__(self, context: Any, key_type: pa.DataType, value_type: pa.DataType) -> None:
        self._context = context
        self._node: TopologyNode = context.current_node
        self._key_type = key_type
        self._value_type = value_type
        self._follows: bool | None = None

    def accepts(self, entries: DirtyEntries) -> bool:
        """Return whether the entries are of one partition, and all operators take them as a batch."""
        if self._follows is None:
            self._follows = all(child.takes_columns() and _is_stateless(child) for child in self._node.children)
        if not self._follows:
            return False
        first = entries[0][1].context
        partition, topic = first.partition, first.topic
        return all(entry.context.partition == partition and entry.context.topic == topic for _, entry in entries)

    def forward(self, entries: DirtyEntries) -> None:
        """Forward the entries."""
        if not self._node.children:
            return
        context = self._context
        before = context.current_node
        context.set_current_node(self._node)
        try:
            for first in range(0, len(entries), _MAX_ROWS):
                context.forward_batch(self._batch(entries[first : first + _MAX_ROWS]))
        finally:
            context.set_current_node(before)

    def _batch(self, entries: DirtyEntries) -> ColumnBatch:
        stored = [entry.value for _, entry in entries if entry.value is not None]
        contexts = [entry.context for _, entry in entries]
        headers = [context.headers for context in contexts]
        return ColumnBatch(
            decoded(pa.array([key for key, _ in entries], pa.binary()), self._key_type),
            plain_values(stored, self._value_type),
            timestamps_of(stored),
            np.array([context.offset for context in contexts], np.int64),
            headers if any(headers) else None,
            contexts[0].topic,
            contexts[0].partition,
        )


def timestamps_of(stored: list[bytes]) -> Numbers:
    """Return the timestamps of values of a timestamped store."""
    return np.frombuffer(b"".join([raw[:TIMESTAMP_SIZE] for raw in stored]), _TIMESTAMP).astype(np.int64)


def plain_values(stored: list[bytes], data_type: pa.DataType) -> pa.Array:
    """Return the deserialized values of a timestamped store."""
    values = decoded(pa.array([raw[TIMESTAMP_SIZE:] for raw in stored], pa.binary()), data_type)
    assert values is not None  # the store's own bytes
    return values


def cached_aggregates(store: Any, context: Any) -> CachedAggregates | None:
    """Prepare a store for aggregates in columns; called in a processor's `init`.

    Args:
        store: The store of the aggregates.
        context: The processor's context.

    Returns:
        None if the store has no record cache, or a serde is not built in.
    """
    if not isinstance(store, MeteredTimestampedKeyValueStore):
        return None
    cache, serdes = store.cache(), store.serdes
    if cache is None or not isinstance(serdes.value_serde, ValueAndTimestampSerde):
        return None
    key_type, value_type = column_type(serdes.key_serde), column_type(serdes.value_serde.inner)
    if key_type is None or value_type is None:
        return None
    cache.set_batch_listener(ForwardedFlushes(context, key_type, value_type))
    return CachedAggregates(store, key_type, value_type)


def contexts_of(batch: ColumnBatch, rows: Numbers) -> list[RecordContext]:
    """Return the record contexts of some rows of a batch."""
    topic, partition, headers = batch.topic, batch.partition, batch.headers
    places = zip(batch.timestamps[rows].tolist(), batch.offsets[rows].tolist(), rows.tolist(), strict=True)
    return [
        RecordContext(timestamp, offset, partition, topic, [] if headers is None else headers[row])
        for timestamp, offset, row in places
    ]


def _is_stateless(node: TopologyNode) -> bool:
    return not node.stores and all(_is_stateless(child) for child in node.children)
