"""Metrics of a task's nodes, stores and caches with `metrics.recording.level=DEBUG` (Kafka's `ProcessorNodeMetrics`,
`StateStoreMetrics`, `NamedCacheMetrics`).

They cost nothing at level INFO, since the methods of a task's nodes and stores are wrapped only at level DEBUG.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from kafkapy.streams.metrics.sensors import Extremes, Sensor, StreamsMetric, Tags, now_ms
from kafkapy.streams.state.thread_cache import NamedCache, ThreadCache
from kafkapy.streams.topology.nodes import SourceNode, TopologyNode
from kafkapy.streams.topology.processor_topology import ProcessorTopology

_NODE: Final = "stream-processor-node-metrics"
_STORE: Final = "stream-state-metrics"
_CACHE: Final = "stream-record-cache-metrics"

_STORE_METHODS: Final = {
    "put": "put",
    "put_if_absent": "put-if-absent",
    "put_all": "put-all",
    "get": "get",
    "fetch": "fetch",
    "delete": "delete",
    "remove": "remove",
    "all": "all",
    "range": "range",
    "prefix_scan": "prefix-scan",
    "flush": "flush",
}
_SCOPES: Final = {
    "RocksDBStore": "rocksdb",
    "RocksDBVersionedStore": "rocksdb",
    "RocksDBWindowStore": "rocksdb-window",
    "RocksDBTimeOrderedWindowStore": "rocksdb-window",
    "RocksDBSessionStore": "rocksdb-session",
    "RocksDBTimeOrderedSessionStore": "rocksdb-session",
    "InMemoryKeyValueStore": "in-memory",
    "InMemoryWindowStore": "in-memory-window",
    "InMemorySessionStore": "in-memory-session",
    "MemoryNavigableLRUCache": "in-memory-lru",
    "InMemoryTimeOrderedKeyValueChangeBuffer": "in-memory-suppression",
}


class DetailedMetrics:
    """Wraps a task's nodes and stores, and returns the measured metrics.

    Invariant: the task's thread records; any thread may read.

    Args:
        thread: The name of the thread.
        task: For example "0_1".
        topology: The task's topology, not initialized yet.
        cache: The thread's cache.
    """

    def __init__(self, thread: str, task: str, topology: ProcessorTopology, cache: ThreadCache) -> None:
        self._tags: Tags = (("thread-id", thread), ("task-id", task))
        self._nodes: dict[str, Sensor] = {}
        self._ends: dict[str, Extremes] = {}
        self._stores: dict[tuple[str, str], Sensor] = {}
        self._hits: dict[str, Extremes] = {}
        self._topology = topology
        for node in topology.nodes:
            self._wrap_node(node)
        for name, store in topology.stores.items():
            self._wrap_store(name, store)
            self._wrap_cache(name, cache.named(f"{task}-{name}"))

    def metrics(self) -> Iterator[StreamsMetric]:
        """Return all metrics."""
        for node, sensor in self._nodes.items():
            yield from sensor.rate_metrics(
                "process", _NODE, (*self._tags, ("processor-node-id", node)), "calls to process"
            )
        for node, latency in self._ends.items():
            tags = (*self._tags, ("processor-node-id", node))
            yield from latency.metrics("record-e2e-latency", _NODE, tags, "end-to-end latency of a record, in ms")
        for (store, operation), sensor in self._stores.items():
            tags = (*self._tags, (f"{scope_of(self._topology.stores[store])}-state-id", store))
            yield from sensor.metrics(operation, _STORE, tags, f"calls to {operation}", total=False)
        for store, ratio in self._hits.items():
            if ratio.is_empty:
                continue  # a store without a cache
            yield from ratio.metrics("hit-ratio", _CACHE, (*self._tags, ("record-cache-id", store)), "cache hit ratio")

    def _wrap_node(self, node: TopologyNode) -> None:
        process, sensor = node.process, Sensor()
        self._nodes[node.name] = sensor
        latency = None
        if isinstance(node, SourceNode) or not node.children:
            latency = self._ends[node.name] = Extremes()

        def measured(record: Any) -> None:
            sensor.counts.record(1, now_ms())
            process(record)
            if latency is not None:
                latency.record(time.time() * 1000 - record.timestamp)

        node.process = measured  # type: ignore[method-assign]

    def _wrap_store(self, name: str, store: Any) -> None:
        for method, operation in _STORE_METHODS.items():
            if callable(getattr(store, method, None)):
                sensor = self._stores[name, operation] = Sensor()
                setattr(store, method, _timed(getattr(store, method), sensor))

    def _wrap_cache(self, store: str, cache: NamedCache) -> None:
        get = type(cache).get.__get__(cache)  # a task that comes back finds the cache wrapped already
        ratio = Extremes()
        self._hits[store] = ratio
        counts = [0, 0]

        def measured(key: bytes) -> Any:
            found = get(key)
            counts[found is not None] += 1
            ratio.record(counts[1] / (counts[0] + counts[1]))
            return found

        cache.get = measured  # type: ignore[method-assign]


def _timed(method: Callable[..., Any], sensor: Sensor) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        started = now_ms()
        try:
            return method(*args, **kwargs)
        finally:
            sensor.record(now_ms() - started)

    return timed


def scope_of(store: Any) -> str:
    """Return Kafka's tag for the kind of a store: "rocksdb", "in-memory-window" ...

    Args:
        store: The outermost layer; the innermost one determines the kind.
    """
    layer = store
    while True:
        scope = _SCOPES.get(type(layer).__name__)
        if scope is not None:
            return scope
        below = getattr(layer, "_layer", None)
        if below is None:
            return "custom"
        layer = below
