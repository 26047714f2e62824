"""What nodes, stores and caches of a task measure at the level DEBUG."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.streams import Consumed, Materialized, Serdes, StreamsBuilder
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.metrics.detailed_metrics import DetailedMetrics
from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.state.thread_cache import ThreadCache
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.task.record_collector import ProducedRecord
from kafkapy.streams.task.stream_task import StreamTask
from kafkapy.streams.topology.processor_topology import make_topology


class Sent:
    """Where a task's records go."""

    def __init__(self) -> None:
        self.records: list[ProducedRecord] = []

    def send(self, record: ProducedRecord) -> None:
        self.records.append(record)

    def partitions_for(self, topic: str) -> int:
        return 1


@pytest.mark.parametrize(
    ("store_type", "tag"), [(StoreType.IN_MEMORY, "in-memory-state-id"), (StoreType.ROCKS_DB, "rocksdb-state-id")]
)
def test_a_count_with_a_cache(tmp_path: Path, store_type: StoreType, tag: str) -> None:
    builder, string = StreamsBuilder(), Serdes.string()
    stored: Materialized[str, int] = Materialized.as_("counts").with_store_type(store_type)
    builder.stream("in", Consumed.with_(string, string)).group_by_key().count(materialized=stored)
    config = StreamsConfig(
        {
            "application.id": "a",
            "bootstrap.servers": "b:1",
            "state.dir": str(tmp_path),
            "default.key.serde": string,
            "default.value.serde": string,
        }
    )
    topology_builder = builder.build().builder
    topology = make_topology(topology_builder, topology_builder.subgraphs("a")[0], config.originals, "a", True)
    cache = ThreadCache(10_000)
    details = DetailedMetrics("t", "0_0", topology, cache)
    task = StreamTask("0_0", topology, [("in", 0)], config, Sent(), cache, lambda _: None, lambda *_: 0)
    task.initialize_stores()
    task.initialize_topology()
    task.add_records("in", 0, [ConsumedRecord("in", 0, offset, 0, b"k", b"v", []) for offset in range(4)])
    while task.process(1):
        pass
    found = {(metric.name.name, metric.name.tags[-1]): metric.value for metric in details.metrics()}
    task.suspend()
    task.close()
    assert found["process-total", ("processor-node-id", "KSTREAM-SOURCE-0000000000")] == 4
    assert found["record-e2e-latency-min", ("processor-node-id", "KSTREAM-SOURCE-0000000000")] > 0
    assert found["put-rate", (tag, "counts")] > 0
    assert found["hit-ratio-max", ("record-cache-id", "counts")] == 0.75  # the first `get` finds nothing
