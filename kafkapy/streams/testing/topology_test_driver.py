"""Runs a topology in the test's own thread, without a broker (Kafka's `TopologyTestDriver`)."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import TopologyException
from kafkapy.streams.exception_handlers import LogAndContinueExceptionHandler
from kafkapy.streams.processor import Duration, milliseconds
from kafkapy.streams.records import Headers
from kafkapy.streams.serdes import Deserializer, Serializer
from kafkapy.streams.state.thread_cache import ThreadCache
from kafkapy.streams.task.consumed_record import ConsumedRecord
from kafkapy.streams.task.global_task import GlobalTask
from kafkapy.streams.task.record_collector import ProducedRecord
from kafkapy.streams.task.stream_task import StreamTask
from kafkapy.streams.testing.test_topics import TestInputTopic, TestOutputTopic
from kafkapy.streams.topology.processor_topology import make_global_topology, make_topology
from kafkapy.streams.topology.topology import Topology

_DEFAULTS = {
    "bootstrap.servers": "dummy-bootstrap-host:0",
    "application.id": "dummy-topology-test-driver-app",
    "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": 0,
    "__emit.interval.ms.kstreams.windowed.aggregation__": 0,
}


class MetricName(NamedTuple):
    """The name of a metric, as in Kafka.

    Attributes:
        name: The name.
        group: Group of the metric.

    Example:
        >>> MetricName("process-total", "stream-task-metrics").group
        'stream-task-metrics'
    """

    name: str
    group: str


class Metric(NamedTuple):
    """A snapshot of a metric.

    Attributes:
        value: The value.

    Example:
        >>> Metric(42).value
        42
    """

    value: Any

    def metric_value(self) -> Any:
        return self.value


class _Outbox:
    """Records written by the task that the driver has not captured yet."""

    def __init__(self) -> None:
        self.records: list[ProducedRecord] = []

    def send(self, record: ProducedRecord) -> None:
        self.records.append(record)

    def send_batch(self, topic: str, rows: Any) -> None:
        from kafkapy.streams.columns.waiting import row_headers

        keys, values, timestamps = (rows.column(name).to_pylist() for name in ("key", "value", "timestamp"))
        headers = row_headers(rows) if "headers" in rows.schema.names else None
        for row in zip(keys, values, timestamps, headers or [[] for _ in keys], strict=True):
            self.records.append(ProducedRecord(topic, None, *row))

    def partitions_for(self, topic: str) -> int:
        return 1

    def take(self) -> list[ProducedRecord]:
        records, self.records = self.records, []
        return records


class TopologyTestDriver:
    """Runs a topology as one task with one partition for each topic. After each processed record it commits, and pipes
    records written to the topology's own input topics back.

    Invariant: outside of its methods no record is queued, unless `max.task.idle.ms` delays it.

    Args:
        topology: What to run.
        config: By Kafka's names; `application.id` and `bootstrap.servers` may be missing. `close` removes a
            `state.dir` that was created for the driver.
        initial_wall_clock_time: ms since the epoch; None: now. It only moves by `advance_wall_clock_time`.

    Raises:
        TopologyException: The topology is invalid.
        StreamsException: A processor, a store or a serde could not be initialized.
        ValueError: A repartition topic has no partitions.

    Example:
        with TopologyTestDriver(topology, config) as driver:
            words = driver.create_input_topic("words", Serdes.string().serializer(), Serdes.string().serializer())
            words.pipe_input("key", "to be or not to be")

    Example:
        >>> from kafkapy.streams import Consumed, Produced, Serdes, StreamsBuilder
        >>> from kafkapy.streams.testing import TopologyTestDriver
        >>> builder = StreamsBuilder()
        >>> string = Serdes.string()
        >>> lines = builder.stream("lines", Consumed.with_(string, string))
        >>> lines.map_values(str.upper).to("loud", Produced.with_(string, string))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.create_input_topic("lines", string, string).pipe_input("a", "kafka")
        ...     driver.create_output_topic("loud", string, string).read_value()
        'KAFKA'
    """

    __test__ = False

    def __init__(
        self, topology: Topology, config: Mapping[str, Any] | None = None, initial_wall_clock_time: int | None = None
    ) -> None:
        properties = {**_DEFAULTS, **(config or {})}
        self._own_state_dir = None if "state.dir" in properties else tempfile.mkdtemp(prefix="kafka-streams-test-")
        if self._own_state_dir is not None:
            properties["state.dir"] = self._own_state_dir
        self._config = StreamsConfig(properties)
        self._now_ms = int(time.time() * 1000) if initial_wall_clock_time is None else initial_wall_clock_time
        self._builder = topology.builder
        self._outbox = _Outbox()
        self._produced: dict[str, deque[ProducedRecord]] = {}
        self._offsets: dict[str, int] = {}
        cache = ThreadCache(self._config.statestore_cache_max_bytes)
        cached = self._config.statestore_cache_max_bytes > 0
        prefix = self._config.topic_prefix
        self._builder.internal_topics(prefix, self._config.windowstore_changelog_additional_retention_ms)  # checks them
        self._global = self._make_global_task(cache, cached, prefix)
        self._task = self._make_task(cache, cached, prefix)

    def _make_global_task(self, cache: ThreadCache, cached: bool, prefix: str) -> GlobalTask | None:
        topology = make_global_topology(self._builder, self._config.originals, prefix, cached)
        if topology is None:
            return None
        task = GlobalTask(topology, self._config, cache, LogAndContinueExceptionHandler())
        task.initialize()
        return task

    def _make_task(self, cache: ThreadCache, cached: bool, prefix: str) -> StreamTask | None:
        subgraph = self._builder.whole(prefix)
        if not subgraph.source_topics:
            return None
        topology = make_topology(self._builder, subgraph, self._config.originals, prefix, cached)
        partitions = [(topic, 0) for topic in topology.source_topics]
        task = StreamTask(
            "0_0", topology, partitions, self._config, self._outbox, cache, self._global_store, lambda topic, number: 0
        )
        task.context.system_time_ms = self._now_ms
        task.initialize_stores()
        task.initialize_topology()
        return task

    def _global_store(self, name: str) -> Any:
        return None if self._global is None else self._global.store(name)

    # --- topics -----------------------------------------------------------------------------------------------------------

    def create_input_topic(
        self, topic: str, key_serializer: Serializer, value_serializer: Serializer
    ) -> TestInputTopic[Any, Any]:
        """Create an input topic.

        Args:
            topic: Name of the topic.
            key_serializer: Serde or serializer of keys.
            value_serializer: Serde or serializer of values.
        """
        return TestInputTopic(self._pipe, topic, key_serializer, value_serializer)

    def create_output_topic(
        self, topic: str, key_deserializer: Deserializer, value_deserializer: Deserializer
    ) -> TestOutputTopic[Any, Any]:
        """Create an output topic.

        Args:
            topic: Name of the topic.
            key_deserializer: Serde or deserializer of keys.
            value_deserializer: Serde or deserializer of values.
        """
        return TestOutputTopic(topic, lambda: self._produced.get(topic), key_deserializer, value_deserializer)

    def produced_topic_names(self) -> set[str]:
        """Return all topics that were written, including changelogs and repartition topics."""
        return set(self._produced)

    def advance_wall_clock_time(self, advance: Duration) -> None:
        """Advance the wall-clock time, and call due punctuations.

        Args:
            advance: Time between records, a `timedelta` or ms.

        Raises:
            ValueError: The time is negative.
        """
        advance_ms = milliseconds(advance, "advance")
        if advance_ms < 0:
            raise ValueError("Sleep ms cannot be negative.")
        self._now_ms += advance_ms
        if self._task is not None:
            self._task.punctuate_system_time(self._now_ms)
            self._commit(self._task)
        self._complete()

    # --- inside -----------------------------------------------------------------------------------------------------------

    def get_all_state_stores(self) -> Mapping[str, Any]:
        """Return the stores by name, including global ones."""
        stores: dict[str, Any] = dict.fromkeys(self._builder.store_names())
        if self._global is not None:
            stores.update(self._global.state.stores)
        if self._task is not None:
            stores.update(self._task.state.stores)
        return stores

    def get_state_store(self, name: str) -> Any:
        """A store by name; None if there is none.

        Args:
            name: Name of the store.
        """
        return self.get_all_state_stores().get(name)

    def metrics(self) -> Mapping[MetricName, Metric]:
        """Metrics of the task, by Kafka's names."""
        dropped = 0 if self._task is None else self._task.dropped_records
        dropped += 0 if self._global is None else self._global.dropped_records
        return {MetricName("dropped-records-total", "stream-task-metrics"): Metric(float(dropped))}

    def close(self) -> None:
        """Close processors and stores. Records that they write then can still be read."""
        try:
            if self._task is not None:
                self._task.suspend()
                self._commit(self._task)
                self._task.close()
            if self._global is not None:
                self._global.close()
            self._capture()
        finally:
            shutil.rmtree(self._own_state_dir or Path(self._config.state_dir, self._config.application_id), True)

    def __enter__(self) -> TopologyTestDriver:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # --- within -----------------------------------------------------------------------------------------------------------

    def _pipe(self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers) -> None:
        partition = self._input_partition(topic)
        is_global = self._is_global(topic)
        if partition is None and not is_global:
            raise ValueError(f"Unknown topic: {topic}")
        record = ProducedRecord(topic, 0, key, value, timestamp, headers)
        if partition is not None:
            self._enqueue(partition, record)
            self._complete()
        if is_global:
            self._update_global(record)

    def _complete(self) -> None:
        """Process until no record is queued."""
        self._capture()
        task = self._task
        while task is not None and task.has_records_queued() and task.process(self._now_ms):
            task.punctuate_stream_time(self._now_ms)
            self._commit(task)
            self._capture()

    def _commit(self, task: StreamTask) -> None:
        task.prepare_commit()
        task.post_commit()

    def _capture(self) -> None:
        """Store written records, and pipe those of the topology's input topics back."""
        for record in self._outbox.take():
            self._produced.setdefault(record.topic, deque()).append(record)
            partition = self._input_partition(record.topic)
            if partition is not None:
                self._enqueue(partition, record)
            if self._is_global(record.topic):
                self._update_global(record)

    def _enqueue(self, partition: str, record: ProducedRecord) -> None:
        assert self._task is not None
        self._task.add_records(partition, 0, [self._consumed(record, partition)])

    def _update_global(self, record: ProducedRecord) -> None:
        assert self._global is not None
        self._global.update(self._consumed(record, record.topic))
        self._global.flush()

    def _consumed(self, record: ProducedRecord, partition: str) -> ConsumedRecord:
        offset = self._offsets.get(partition, 0)
        self._offsets[partition] = offset + 1
        timestamp = -1 if record.timestamp is None else record.timestamp
        return ConsumedRecord(record.topic, 0, offset, timestamp, record.key, record.value, record.headers)

    def _is_global(self, topic: str) -> bool:
        return self._global is not None and topic in self._global.topology.source_topics

    def _input_partition(self, topic: str) -> str | None:
        """Return the source topic, or the matching pattern: the driver treats patterns as topics."""
        if self._task is None:
            return None
        known = self._task.topology.source_topics
        if topic in known:
            return topic
        for name in known:
            if re.fullmatch(name, topic):
                if not self._is_pattern(name):
                    raise TopologyException(
                        f"Topology add source of type String for topic: {name} cannot contain regex pattern for input record "
                        f"topic: {topic} and hence cannot process the message."
                    )
                return name
        return None

    def _is_pattern(self, name: str) -> bool:
        assert self._task is not None
        spec = self._builder.node(self._task.topology.source(name).name)
        return getattr(spec, "pattern", None) is not None
