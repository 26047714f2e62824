"""An instance of a Streams application (Kafka's `KafkaStreams`)."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.group_assignment import SHUTDOWN_REQUESTED
from kafkapy.streams.assignment.task_id import ProcessId, TaskId
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import StreamsException, StreamsNotStartedException, TopologyException
from kafkapy.streams.exception_handlers import StreamThreadExceptionResponse
from kafkapy.streams.processor import Duration, milliseconds
from kafkapy.streams.queries.store_query import StoreQueryParameters
from kafkapy.streams.queries.streams_metadata import KeyQueryMetadata, StreamsMetadata, StreamsMetadataState
from kafkapy.streams.runtime.changelog_reader import ChangelogReader, StateRestoreListener
from kafkapy.streams.runtime.clients import StreamsClients
from kafkapy.streams.runtime.global_thread import GlobalStreamThread
from kafkapy.streams.runtime.internal_topic_manager import InternalTopicManager
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.runtime.store_queries import StoreQueries
from kafkapy.streams.runtime.stream_thread import ShutdownRequested, StreamThread
from kafkapy.streams.runtime.streams_assignor import Assignment, StreamsPartitionAssignor
from kafkapy.streams.runtime.streams_producer import StreamsProducer
from kafkapy.streams.runtime.task_manager import TaskManager
from kafkapy.streams.serdes import Serializer
from kafkapy.streams.state.thread_cache import ThreadCache
from kafkapy.streams.task.global_task import GlobalTask
from kafkapy.streams.task.stream_task import StreamTask
from kafkapy.streams.topology.node_specs import SourceSpec
from kafkapy.streams.topology.processor_topology import make_global_topology, make_topology
from kafkapy.streams.topology.topology import Topology
from kafkapy.streams.topology.topology_builder import TopologyBuilder

log = logging.getLogger("kafkapy.streams")


class LagInfo(NamedTuple):
    """How far a store is behind its changelog (Kafka's `LagInfo`).

    Attributes:
        current_offset_position: The offset of the next record that the store reads.
        end_offset_position: The end of the changelog.
        offset_lag: The difference.

    Example:
        >>> LagInfo(40, 42, 2).offset_lag
        2
    """

    current_offset_position: int
    end_offset_position: int
    offset_lag: int


class KafkaStreams:
    """Runs a topology. The instances of an application share its tasks.

    Invariant: the state goes CREATED, REBALANCING, RUNNING (and back), PENDING_SHUTDOWN, NOT_RUNNING; or PENDING_ERROR, ERROR.

    Args:
        topology: Of `StreamsBuilder.build`.
        config: By Kafka's names (`StreamsConfig`).

    Raises:
        ConfigException: A config is wrong or missing.
        TopologyException: The topology has no source.

    Example:
        streams = KafkaStreams(builder.build(), {"application.id": "counts", "bootstrap.servers": "localhost:9092"})
        streams.start()

    Example:
        >>> from kafkapy.streams import StreamsBuilder
        >>> builder = StreamsBuilder()
        >>> builder.stream("lines").to("copies")
        >>> streams = KafkaStreams(builder.build(), {"application.id": "copy", "bootstrap.servers": "localhost:9092"})
        >>> streams.start()  # doctest: +SKIP
        >>> streams.close()  # doctest: +SKIP
    """

    def __init__(self, topology: Topology, config: Mapping[str, Any]) -> None:
        self._config = StreamsConfig(config)
        self._builder = topology.builder
        self._prefix = self._config.topic_prefix
        if not self._builder.subgraphs(self._prefix) and not self._builder.global_stores:
            raise TopologyException(
                "Topology has no stream threads and no global threads, must subscribe to at least one source topic"
            )
        self._state = "CREATED"
        self._lock = threading.RLock()
        self._threads: dict[int, StreamThread] = {}
        """By number, from 1 on."""
        self._caches: dict[int, ThreadCache] = {}
        self._client_id = ""
        self._is_paused = False
        self._is_application_stopped = False
        self._thread_states: dict[StreamThread, str] = {}
        self._handler: Callable[[BaseException], StreamThreadExceptionResponse | None] | None = None
        self._listener: Callable[[str, str], Any] | None = None
        self._restore_listener: StateRestoreListener | None = None
        self._directory = StateDirectory(self._config.state_dir, self._config.application_id)
        self._process_id: ProcessId | None = None
        self._global: GlobalStreamThread | None = None
        self._topics: InternalTopicManager | None = None
        sources = _store_sources(self._builder, self._prefix)
        self._metadata = StreamsMetadataState(sources)
        self._queries = StoreQueries(
            sources.keys() | self._builder.global_stores.keys(),
            lambda: list(self._threads.values()),
            self._global_store,
        )

    # --- face -------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Restore global tables, then start the threads.

        Raises:
            RuntimeError: It was started before.
            StreamsException: The topics of global tables cannot be read.
        """
        with self._lock:
            if self._state != "CREATED":
                raise RuntimeError(
                    f"The client is either already started or already stopped, cannot re-start: {self._state}"
                )
            self._set_state("REBALANCING")
        self._process_id = self._directory.process_id()
        client_id = self._config.client_id or f"{self._config.application_id}-{uuid.uuid4()}"
        admin = StreamsClients(self._config).admin(client_id)
        self._topics = InternalTopicManager(admin, self._config.replication_factor, self._config.task_timeout_ms)
        self._global = self._make_global_thread(f"{client_id}-GlobalStreamThread")
        if self._global is not None:
            self._global.start()
            self._global.wait_until_ready()
        self._client_id = client_id
        for number in range(1, self._config.num_stream_threads + 1):
            self._threads[number] = self._make_thread(number)
        for thread in list(self._threads.values()):
            thread.start()

    def close(self, timeout: Duration | None = None) -> bool:
        """Commit, leave the group, and stop.

        Args:
            timeout: ms or a timedelta; None: as long as it takes.

        Returns:
            Whether all threads ended in time.
        """
        with self._lock:
            if self._state in ("NOT_RUNNING", "ERROR"):
                return True
            self._set_state("PENDING_SHUTDOWN" if self._state != "PENDING_ERROR" else "PENDING_ERROR")
        return self._end(timeout)

    def _end(self, timeout: Duration | None) -> bool:
        """Stop the threads and wait for their end."""
        threads = list(self._threads.values())
        for thread in threads:
            thread.stop()
        deadline = None if timeout is None else time.monotonic() + milliseconds(timeout, "timeout") / 1000
        for thread in threads:
            if thread is not threading.current_thread() and thread.ident is not None:
                thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        ended = not any(thread.is_alive() for thread in threads)
        if ended and self._global is not None:
            self._global.stop()
            self._global.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
            ended = not self._global.is_alive()
        if ended:
            if self._topics is not None:
                self._topics.close()
            self._directory.close()
            self._set_state("NOT_RUNNING" if self._state != "PENDING_ERROR" else "ERROR")
        return ended

    def state(self) -> str:
        """CREATED, REBALANCING, RUNNING, PENDING_SHUTDOWN, NOT_RUNNING, PENDING_ERROR or ERROR."""
        return self._state

    def set_state_listener(self, listener: Callable[[str, str], Any]) -> None:
        """Set a function that is called with the new and the old state at each change.

        Args:
            listener: Function of the new state and the old one.
        """
        self._listener = listener

    def all_local_store_partition_lags(self) -> dict[str, dict[int, LagInfo]]:
        """Return the changelog lag of this instance's stores: of running and restoring tasks, and of standby replicas.

        Returns:
            Lags by store name and partition number.

        Raises:
            StreamsException: The end offsets of the changelogs are not available now.

        Example:
            >>> streams.all_local_store_partition_lags()  # doctest: +SKIP
            {'counts': {0: LagInfo(current_offset_position=42, end_offset_position=42, offset_lag=0)}}
        """
        positions: dict[tuple[str, TopicPartition], int | None] = {}
        for thread in list(self._threads.values()):
            positions |= thread.tasks.store_positions()
        if not positions or self._topics is None:
            return {}
        ends = self._topics.end_offsets(sorted({partition for _, partition in positions}))
        if ends is None:
            raise StreamsException("The ends of the changelogs cannot be had now")
        lags: dict[str, dict[int, LagInfo]] = {}
        for (store, partition), position in positions.items():
            end = ends[partition]
            at = end if position is None else min(position, end)
            lags.setdefault(store, {})[partition.partition] = LagInfo(at, end, end - at)
        return lags

    def store(self, parameters: StoreQueryParameters | str) -> Any:
        """Return a read-only view of a store of this instance. Thread-safe; a task waits while its store is read.

        Args:
            parameters: The store to query. A name alone: all local partitions, the view's class by the store's, values
                without timestamps.

        Returns:
            A `ReadOnlyKeyValueStore`, `ReadOnlyWindowStore` or `ReadOnlySessionStore`. It can be kept: each query
            looks up the partitions that the instance has at that time.

        Raises:
            StreamsNotStartedException: `start` was not called.
            RuntimeError: The instance was closed, or has failed.
            UnknownStateStoreException: The topology has no such store.
            InvalidStateStorePartitionException: This instance does not have the partition.
            InvalidStateStoreException: The store is of another type, or tasks are being restored.

        Example:
            >>> streams.store("counts").get("kafka")  # doctest: +SKIP
            42
        """
        if isinstance(parameters, str):
            parameters = StoreQueryParameters(parameters)
        self._check_is_queried()
        return self._queries.view(parameters)

    def metadata_for_all_streams_clients(self) -> list[StreamsMetadata]:
        """Return the stores and partitions of each instance with an `application.server`."""
        self._check_is_queried()
        return self._metadata.all()

    def streams_metadata_for_store(self, store_name: str) -> list[StreamsMetadata]:
        """Return the instances with partitions or standby replicas of a store.

        Args:
            store_name: The store.
        """
        self._check_is_queried()
        return self._metadata.for_store(store_name)

    def query_metadata_for_key(
        self,
        store_name: str,
        key: Any,
        partition_of: Serializer | Callable[[str, Any, None, int], int | None],
    ) -> KeyQueryMetadata | None:
        """Return the instance that has a key.

        Args:
            store_name: The store.
            key: The key.
            partition_of: The serializer of the keys of the topic that the store is filled from; or a function with topic, key,
                None and the number of partitions, if that topic is written with a partitioner of its own.

        Returns:
            None if it is not known: no instance has an `application.server`, or nothing is assigned yet.
        """
        self._check_is_queried()
        return self._metadata.for_key(store_name, key, partition_of)

    def _check_is_queried(self) -> None:
        if self._state == "CREATED":
            raise StreamsNotStartedException("KafkaStreams has not been started, you can retry after calling start()")
        if self._state not in ("REBALANCING", "RUNNING"):
            raise RuntimeError(f"KafkaStreams is not running. State is {self._state}.")

    def set_global_state_restore_listener(self, listener: StateRestoreListener) -> None:
        """Set a listener for the restoration of stores.

        Args:
            listener: Its methods are called on the restoring threads.

        Raises:
            RuntimeError: The instance was started before.
        """
        if self._state != "CREATED":
            raise RuntimeError(
                f"Can only set the GlobalStateRestoreListener before calling start(). Current state is: {self._state}"
            )
        self._restore_listener = listener

    def clean_up(self) -> None:
        """Delete the application's local state; it will be restored from the changelogs.

        Raises:
            RuntimeError: The instance runs.
        """
        if self._state not in ("CREATED", "NOT_RUNNING", "ERROR"):
            raise RuntimeError("Cannot clean up while running.")
        self._directory.clean(0, time.time())

    def set_uncaught_exception_handler(
        self, handler: Callable[[BaseException], StreamThreadExceptionResponse | None]
    ) -> None:
        """Set a function that decides how to react to an error that ended a thread (KIP-671).

        Args:
            handler: Called with the error, on the thread that ends. None, as without a handler: the instance stops.
        """
        self._handler = handler

    def pause(self) -> None:
        """Stop processing until `resume` (KIP-834). The instance stays in its group and goes on restoring tasks."""
        self._pause(True)

    def resume(self) -> None:
        """Continue processing after `pause`."""
        self._pause(False)

    def is_paused(self) -> bool:
        """Whether the instance is paused."""
        return self._is_paused

    @property
    def is_application_stopped(self) -> bool:
        """Whether this instance ends, or has ended, because one of the application has requested that all of them stop."""
        return self._is_application_stopped

    def add_stream_thread(self) -> str | None:
        """Add and start a thread (KIP-663).

        Returns:
            Its name; None: the instance does not run.
        """
        with self._lock:
            if self._state not in ("REBALANCING", "RUNNING"):
                return None
            number = next(number for number in range(1, len(self._threads) + 2) if number not in self._threads)
            thread = self._threads[number] = self._make_thread(number)
            self._follow_threads()
            self._share_cache()
        thread.start()
        return thread.name

    def remove_stream_thread(self, timeout: Duration | None = None) -> str | None:
        """Stop and remove a thread (KIP-663). Its tasks are reassigned.

        Args:
            timeout: ms or a timedelta, for which its end is waited for; None: as long as it takes.

        Returns:
            Its name; None: there is none, or the instance does not run.

        Raises:
            TimeoutError: The thread has not ended in time; it goes on to shut down.
        """
        with self._lock:
            others = [number for number, one in self._threads.items() if one is not threading.current_thread()]
            if self._state not in ("REBALANCING", "RUNNING") or not others:
                return None
            thread = self._threads[others[-1]]
        thread.stop()
        thread.join(None if timeout is None else milliseconds(timeout, "timeout") / 1000)
        if thread.is_alive():
            raise TimeoutError(f"Thread {thread.name} did not stop in the allotted time")
        with self._lock:
            self._forget_thread(thread)
            self._follow_threads()
            self._share_cache()
        return thread.name

    def __enter__(self) -> KafkaStreams:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # --- within -----------------------------------------------------------------------------------------------------------

    def _make_thread(self, number: int, error_code: int = 0) -> StreamThread:
        """Create a thread without starting it.

        Args:
            number: Number of the thread, from 1.
            error_code: Error code in the first join of the group; 0: none.
        """
        name = f"{self._client_id}-StreamThread-{number}"
        config, topics, process_id = self._config, self._topics, self._process_id
        assert topics is not None
        assert process_id is not None

        def committed(partition: TopicPartition) -> int | None:
            found = consumer.committed(partition)
            return None if found is None else int(found)

        tasks, close_tasks_clients = self._make_tasks(number, name, process_id, committed)

        def assigned(assignment: Assignment) -> None:
            if assignor.rejoin_now:
                assignor.rejoin_now = False
                assignment = assignment._replace(info=assignment.info._replace(next_rebalance_ms=0))
            thread.assigned = assignment

        assignor = StreamsPartitionAssignor(self._builder, config, topics, process_id, tasks.offset_sums, assigned)
        assignor.error_code = error_code
        consumer = StreamsClients(config).main_consumer(name, assignor, number)
        tasks.consumer = consumer

        def close_clients() -> None:
            consumer.close()
            close_tasks_clients()

        sources, pattern = self._subscription()
        thread = StreamThread(
            name,
            config,
            sources,
            pattern,
            tasks,
            consumer,
            self._thread_state,
            self._thread_failed,
            self._metadata.update,
            close_clients,
        )
        return thread

    def _make_tasks(
        self, number: int, name: str, process_id: ProcessId, committed: Callable[[TopicPartition], int | None]
    ) -> tuple[TaskManager, Callable[[], None]]:
        """Return the task manager of a thread, and a function that closes its clients other than the main consumer."""
        config, options = self._config, StreamsClients(self._config)
        transactional_id = f"{config.application_id}-{process_id}-{number}" if config.exactly_once else None
        producer = StreamsProducer(lambda: options.producer(name, transactional_id), config.exactly_once)
        restore = options.restore_consumer(name)
        cache = ThreadCache(config.statestore_cache_max_bytes // max(1, config.num_stream_threads))

        def make_task(id: TaskId, partitions: Collection[TopicPartition]) -> StreamTask:
            return self._make_task(id, partitions, producer, cache)

        def close() -> None:
            restore.close()
            producer.close()

        reader = ChangelogReader(restore, committed, config.commit_interval_ms, self._restore_listener)
        tasks = TaskManager(config, self._directory, make_task, reader, producer)
        tasks.is_paused = self._is_paused
        self._caches[number] = cache
        return tasks, close

    def _global_store(self, name: str) -> Any:
        return None if self._global is None else self._global.store(name)

    def _make_global_thread(self, name: str) -> GlobalStreamThread | None:
        config = self._config
        topology = make_global_topology(self._builder, config.originals, self._prefix, cached=False)
        if topology is None:
            return None
        handler = config.instance("default.deserialization.exception.handler")
        task = GlobalTask(topology, config, ThreadCache(0), handler)
        consumer = StreamsClients(config).global_consumer(name)
        return GlobalStreamThread(name, task, consumer, self._directory, config.poll_ms, self._failed)

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
        """Return the topics to subscribe to; if a source has a pattern, one pattern for all topics."""
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

    def _thread_state(self, thread: StreamThread, state: str) -> None:
        with self._lock:
            self._thread_states[thread] = state
            self._follow_threads()

    def _follow_threads(self) -> None:
        """Set the state RUNNING if all threads run."""
        if self._state in ("REBALANCING", "RUNNING"):
            states = [self._thread_states.get(thread) for thread in self._threads.values()]
            self._set_state("RUNNING" if states and set(states) == {"RUNNING"} else "REBALANCING")

    def _thread_failed(self, thread: StreamThread, error: BaseException) -> None:
        """Handle the failure of a thread; called on that thread."""
        response = None
        if isinstance(error, ShutdownRequested):
            self._is_application_stopped = True
        elif self._handler is not None:
            response = self._handler(error)
        with self._lock:
            runs = self._state in ("REBALANCING", "RUNNING")
            number = self._forget_thread(thread)
            replaced = bool(runs and number) and response in (
                StreamThreadExceptionResponse.REPLACE_THREAD,
                StreamThreadExceptionResponse.SHUTDOWN_APPLICATION,
            )
            if replaced:
                stops = response is StreamThreadExceptionResponse.SHUTDOWN_APPLICATION
                self._threads[number] = successor = self._make_thread(number, SHUTDOWN_REQUESTED if stops else 0)
        if replaced:
            log.info("%s replaces a thread that has failed", successor.name)
            successor.start()
        elif runs:
            self._stop_by_error()

    def _failed(self, error: BaseException) -> None:
        """Handle the failure of the global thread, without which no task can run."""
        if self._handler is not None:
            self._handler(error)
        if self._state in ("REBALANCING", "RUNNING"):
            self._stop_by_error()

    def _stop_by_error(self) -> None:
        """Stop the instance on a new thread, since the calling thread is one of those to wait for."""
        with self._lock:
            self._set_state("PENDING_ERROR")
        threading.Thread(target=self._end, args=(None,), name=f"{self._client_id}-CloseThread", daemon=True).start()

    def _forget_thread(self, thread: StreamThread) -> int:
        """Remove an ended thread; return its number, 0 if it was removed before."""
        self._thread_states.pop(thread, None)
        number = next((number for number, one in self._threads.items() if one is thread), 0)
        if number and self._state in ("REBALANCING", "RUNNING"):
            del self._threads[number]
            del self._caches[number]
        return number

    def _share_cache(self) -> None:
        """Divide the memory of the record cache among the threads."""
        size = self._config.statestore_cache_max_bytes // max(1, len(self._threads))
        for number, cache in list(self._caches.items()):
            with self._threads[number].tasks.lock:
                cache.resize(size)

    def _pause(self, paused: bool) -> None:
        with self._lock:
            self._is_paused = paused
            for thread in self._threads.values():
                thread.tasks.is_paused = paused

    def _set_state(self, state: str) -> None:
        with self._lock:
            old, self._state = self._state, state
        if old != state:
            log.info("State transition from %s to %s", old, state)
            if self._listener is not None:
                self._listener(state, old)


def _store_sources(builder: TopologyBuilder, prefix: str) -> dict[str, frozenset[str]]:
    """Return the source topics of the sub-topology of each store."""
    return {
        name: frozenset(subgraph.source_topics) for subgraph in builder.subgraphs(prefix) for name in subgraph.stores
    }
