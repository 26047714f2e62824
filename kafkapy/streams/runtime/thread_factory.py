"""Creates the threads of an instance with their clients, changelog readers and tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import KafkaTimeoutError
from kafkapy.streams.assignment.assignment_info import AssignmentInfo
from kafkapy.streams.assignment.task_id import ProcessId, TaskId
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import StreamsException
from kafkapy.streams.metrics.detailed_metrics import DetailedMetrics
from kafkapy.streams.metrics.thread_metrics import ThreadMetrics
from kafkapy.streams.runtime.changelog_reader import ChangelogReader, StateRestoreListener
from kafkapy.streams.runtime.clients import StreamsClients
from kafkapy.streams.runtime.internal_topic_manager import InternalTopicManager
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.runtime.stream_thread import StreamThread
from kafkapy.streams.runtime.streams_assignor import Assignment, StreamsPartitionAssignor
from kafkapy.streams.runtime.streams_producer import StreamsProducer
from kafkapy.streams.runtime.task_manager import TaskManager
from kafkapy.streams.runtime.thread_clients import ThreadClients
from kafkapy.streams.state.thread_cache import ThreadCache
from kafkapy.streams.task.stream_task import StreamTask
from kafkapy.streams.topology.node_specs import SourceSpec
from kafkapy.streams.topology.processor_topology import make_topology
from kafkapy.streams.topology.topology_builder import TopologyBuilder


class ThreadListeners(NamedTuple):
    """Callbacks of threads.

    Attributes:
        on_state: Called with a thread and "REBALANCING" or "RUNNING".
        on_failure: Called with a thread and the error that ended it, after everything is closed.
        on_assignment: Called with the assignment of all instances by the group's leader.
        restore: Listener for the restoration of stores, or None.
    """

    on_state: Callable[[StreamThread, str], None]
    on_failure: Callable[[StreamThread, BaseException], None]
    on_assignment: Callable[[AssignmentInfo], None]
    restore: StateRestoreListener | None


class StreamThreadFactory:
    """Creates threads, each with its own clients and cache.

    Args:
        config: The application's configuration.
        builder: The topology.
        directory: State directory of the instance.
        process_id: Process id of the instance.
        client_id: Prefix of the names of threads and clients.
        topics: Creates internal topics.
        global_store: Returns a global store by name; None if there is none.
        listeners: Callbacks of the threads.
    """

    def __init__(
        self,
        config: StreamsConfig,
        builder: TopologyBuilder,
        directory: StateDirectory,
        process_id: ProcessId,
        client_id: str,
        topics: InternalTopicManager,
        global_store: Callable[[str], Any],
        listeners: ThreadListeners,
    ) -> None:
        self._config = config
        self._builder = builder
        self._prefix = config.topic_prefix
        self._directory = directory
        self._process_id = process_id
        self._client_id = client_id
        self._topics = topics
        self._global_store = global_store
        self._listeners = listeners

    def make(self, number: int, error_code: int = 0) -> StreamThread:
        """Create a thread without starting it.

        Args:
            number: Its number, from 1.
            error_code: Error code for the group with the first join; 0: none.
        """
        name = f"{self._client_id}-StreamThread-{number}"
        config, listeners = self._config, self._listeners

        def committed(partition: TopicPartition) -> int | None:
            found = consumer.committed(partition)
            return None if found is None else int(found)

        options = StreamsClients(config)
        transactional_id = f"{config.application_id}-{self._process_id}-{number}" if config.exactly_once else None
        producer = StreamsProducer(lambda: options.producer(name, transactional_id), config.exactly_once)
        restore = options.restore_consumer(name)
        ends = self._ends if config.exactly_once else None
        reader = ChangelogReader(restore, committed, config.commit_interval_ms, listeners.restore, ends=ends)
        tasks = self._make_tasks(name, reader, producer)

        def assigned(assignment: Assignment) -> None:
            if assignor.rejoin_now:
                assignor.rejoin_now = False
                assignment = assignment._replace(info=assignment.info._replace(next_rebalance_ms=0))
            thread.assigned = assignment

        def joining() -> None:
            tasks.is_rebalancing = True

        assignor = StreamsPartitionAssignor(
            self._builder, config, self._topics, self._process_id, tasks.offset_sums, assigned, joining
        )
        assignor.error_code = error_code
        consumer = options.main_consumer(name, assignor, number)
        tasks.consumer = consumer

        sources, pattern = self._subscription()
        thread = StreamThread(
            name,
            config,
            sources,
            pattern,
            tasks,
            ThreadClients(name, consumer, restore, producer),
            listeners.on_state,
            listeners.on_failure,
            listeners.on_assignment,
        )
        return thread

    def _ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the end offsets of changelogs, open transactions included.

        Raises:
            KafkaTimeoutError: They are not available now.
        """
        found = self._topics.end_offsets(partitions)
        if found is None:
            time.sleep(self._config.retry_backoff_ms / 1000)
            raise KafkaTimeoutError("The ends of changelogs are not known")
        return found

    def _make_tasks(self, name: str, reader: ChangelogReader, producer: StreamsProducer) -> TaskManager:
        """Create the task manager of a thread."""
        config = self._config
        cache = ThreadCache(config.statestore_cache_max_bytes // max(1, config.num_stream_threads))
        metrics = ThreadMetrics(name, config.metrics_recording_level)

        def make_task(id: TaskId, partitions: Collection[TopicPartition]) -> StreamTask:
            task = self._make_task(id, partitions, producer, cache)
            if metrics.is_detailed:
                task.details = DetailedMetrics(name, str(id), task.topology, cache)
            return task

        return TaskManager(config, self._directory, make_task, reader, producer, cache, metrics)

    def _make_task(
        self, id: TaskId, partitions: Collection[TopicPartition], producer: StreamsProducer, cache: ThreadCache
    ) -> StreamTask:
        matched = {partition.topic for partition in partitions}
        for subgraph in self._builder.subgraphs(self._prefix, matched):
            if subgraph.id == id.subtopology:
                cached = self._config.statestore_cache_max_bytes > 0
                topology = make_topology(self._builder, subgraph, self._config.originals, self._prefix, cached)
                return StreamTask(
                    str(id),
                    topology,
                    [(one.topic, one.partition) for one in partitions],
                    self._config,
                    producer,
                    cache,
                    self._global_store,
                    lambda topic, number: 0,
                    id.partition,
                )
        raise StreamsException(f"The topology has no sub-topology {id.subtopology}: is this another version of it?")

    def _subscription(self) -> tuple[list[str], str | None]:
        """Return the source topics, or a pattern for all of them if a source has a pattern."""
        topics: set[str] = set()
        patterns: list[str] = []
        for subgraph in self._builder.subgraphs(self._prefix):
            for spec in subgraph.nodes:
                if isinstance(spec, SourceSpec) and spec.pattern is not None:
                    patterns.append(spec.pattern.pattern)
                elif isinstance(spec, SourceSpec):
                    topics.update(self._builder.full_name(topic, self._prefix) for topic in spec.topics)
        if not patterns:
            return sorted(topics), None
        return [], "|".join([f"^{topic}$" for topic in sorted(topics)] + [f"^(?:{one})$" for one in patterns])
