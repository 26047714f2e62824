"""Runs an instance of an application (Kafka's `KafkaStreams`)."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kafkapy.clients.software import KAFKA_VERSION
from kafkapy.common.config_def import ConfigException
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.group_assignment import SHUTDOWN_REQUESTED
from kafkapy.streams.assignment.task_id import ProcessId, parse_host_info
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import StreamsException, StreamsNotStartedException, TopologyException
from kafkapy.streams.exception_handlers import StreamThreadExceptionResponse
from kafkapy.streams.metrics.sensors import StreamsMetric, StreamsMetricName
from kafkapy.streams.processor import Duration, milliseconds
from kafkapy.streams.queries.http.query_server import QueryServer
from kafkapy.streams.queries.state_query import StateQueryRequest, StateQueryResult
from kafkapy.streams.queries.store_query import StoreQueryParameters
from kafkapy.streams.queries.streams_metadata import KeyQueryMetadata, StreamsMetadata, StreamsMetadataState
from kafkapy.streams.runtime.changelog_reader import StateRestoreListener
from kafkapy.streams.runtime.clients import StreamsClients
from kafkapy.streams.runtime.global_thread import GlobalStreamThread
from kafkapy.streams.runtime.internal_topic_manager import InternalTopicManager
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.runtime.store_queries import StoreQueries
from kafkapy.streams.runtime.stream_thread import ShutdownRequested, StreamThread
from kafkapy.streams.runtime.stream_threads import StreamThreads
from kafkapy.streams.runtime.thread_factory import StreamThreadFactory, ThreadListeners
from kafkapy.streams.serdes import Serializer
from kafkapy.streams.state.thread_cache import ThreadCache
from kafkapy.streams.task.global_task import GlobalTask
from kafkapy.streams.topology.processor_topology import make_global_topology
from kafkapy.streams.topology.topology import Topology
from kafkapy.streams.topology.topology_builder import TopologyBuilder

log = logging.getLogger("kafkapy.streams")


class LagInfo(NamedTuple):
    """The lag of a store behind its changelog (Kafka's `LagInfo`).

    Attributes:
        current_offset_position: The offset of the next record to read.
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
    """Runs a topology as one of the application's instances, which share its tasks.

    Invariant: the state goes CREATED, REBALANCING, RUNNING (and back), PENDING_SHUTDOWN, NOT_RUNNING; or PENDING_ERROR, ERROR.

    Args:
        topology: Returned by `StreamsBuilder.build`.
        config: The configuration by Kafka's names (`StreamsConfig`).

    Raises:
        ConfigException: A config is wrong or missing.
        TopologyException: The topology has no sources.

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
        self._topology = topology
        self._builder = topology.builder
        self._prefix = self._config.topic_prefix
        if not self._builder.subgraphs(self._prefix) and not self._builder.global_stores:
            raise TopologyException(
                "Topology has no stream threads and no global threads, must subscribe to at least one source topic"
            )
        self._state = "CREATED"
        self._lock = threading.RLock()
        self._threads: StreamThreads | None = None
        """None before `start`."""
        self._client_id = ""
        self._is_paused = False
        self._is_application_stopped = False
        self._failed_threads = 0
        self._handler: Callable[[BaseException], StreamThreadExceptionResponse | None] | None = None
        self._listener: Callable[[str, str], Any] | None = None
        self._restore_listener: StateRestoreListener | None = None
        self._directory = StateDirectory(self._config.state_dir, self._config.application_id)
        self._global: GlobalStreamThread | None = None
        self._topics: InternalTopicManager | None = None
        self._server: QueryServer | None = None
        sources = _store_sources(self._builder, self._prefix)
        self._metadata = StreamsMetadataState(sources)
        self._queries = StoreQueries(
            sources.keys() | self._builder.global_stores.keys(),
            self._all_threads,
            self._global_store,
        )

    # --- face -------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Read the global tables, and start to run in the background.

        Raises:
            RuntimeError: The instance was started before.
            StreamsException: The topics of global tables cannot be read.
        """
        with self._lock:
            if self._state != "CREATED":
                raise RuntimeError(
                    f"The client is either already started or already stopped, cannot re-start: {self._state}"
                )
            self._set_state("REBALANCING")
        self._server = self._make_server()
        process_id = self._directory.process_id()
        client_id = self._config.client_id or f"{self._config.application_id}-{uuid.uuid4()}"
        admin = StreamsClients(self._config).admin(client_id)
        self._topics = InternalTopicManager(admin, self._config.replication_factor, self._config.task_timeout_ms)
        self._global = self._make_global_thread(f"{client_id}-GlobalStreamThread")
        if self._global is not None:
            self._global.start()
            self._global.wait_until_ready()
        self._client_id = client_id
        with self._lock:
            self._threads = self._make_threads(process_id, self._topics)
            self._threads.pause(self._is_paused)
            for _ in range(self._config.num_stream_threads):
                self._threads.add()
            self._threads.share_cache()
        for thread in self._all_threads():
            thread.start()

    def close(self, timeout: Duration | None = None) -> bool:
        """Commit, leave the group, and stop.

        Args:
            timeout: ms or a timedelta; None: no limit.

        Returns:
            Whether all threads have ended in time.
        """
        with self._lock:
            if self._state in ("NOT_RUNNING", "ERROR"):
                return True
            self._set_state("PENDING_SHUTDOWN" if self._state != "PENDING_ERROR" else "PENDING_ERROR")
        return self._end(timeout)

    def _end(self, timeout: Duration | None) -> bool:
        """Stop the threads, and wait for them."""
        threads = self._all_threads()
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
            if self._server is not None:
                self._server.close()
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
        """Return the lags of this instance's stores behind their changelogs: those of running and restoring tasks, and
        of standby replicas.

        Returns:
            Lags by the name of the store and the number of the partition.

        Raises:
            StreamsException: The end offsets of the changelogs are not available now.

        Example:
            >>> streams.all_local_store_partition_lags()  # doctest: +SKIP
            {'counts': {0: LagInfo(current_offset_position=42, end_offset_position=42, offset_lag=0)}}
        """
        positions: dict[tuple[str, TopicPartition], int | None] = {}
        for thread in self._all_threads():
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
        """Return a read-only view of a store of this instance. Thread-safe; a task is blocked while its store is read.

        Args:
            parameters: The store. For a name: the view of its class, all local partitions, values without timestamps.

        Returns:
            A `ReadOnlyKeyValueStore`, `ReadOnlyWindowStore` or `ReadOnlySessionStore`. It may be kept, since each read
            looks up the instance's present partitions.

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

    def key_serializer(self, store_name: str) -> Callable[[Any], bytes] | None:
        """Return the serializer of a store's keys for `query_metadata_for_key`; None: this instance has no part of the
        store.

        Args:
            store_name: The store.

        Raises:
            UnknownStateStoreException: The topology has no such store.
        """
        self._check_is_queried()
        return self._queries.key_serializer(store_name)

    def query(self, request: StateQueryRequest) -> StateQueryResult:
        """Query the stores of this instance (IQv2, KIP-796). Thread-safe.

        Args:
            request: Store, query, partitions, and minimum position.

        Returns:
            The result of each partition, which may be a failure.

        Raises:
            StreamsNotStartedException: `start` was not called.
            RuntimeError: The instance was closed, or has failed.
            UnknownStateStoreException: The topology has no such store.

        Example:
            >>> request = StateQueryRequest.in_store("counts").with_query(KeyQuery.with_key("kafka"))  # doctest: +SKIP
            >>> streams.query(request).only_partition_result.result  # doctest: +SKIP
            42
        """
        self._check_is_queried()
        return self._queries.query(request)

    def metadata_for_all_streams_clients(self) -> list[StreamsMetadata]:
        """Return the metadata of all instances of the application that have an `application.server`."""
        self._check_is_queried()
        return self._metadata.all()

    def streams_metadata_for_store(self, store_name: str) -> list[StreamsMetadata]:
        """Return the instances that have a part of a store, active or standby.

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
            partition_of: The serializer of the keys of the topic that the store is filled from; or a function of
                topic, key, None and the number of partitions, if that topic is written with a custom partitioner.

        Returns:
            None if it is unknown: no instance has an `application.server`, or nothing is assigned yet.
        """
        self._check_is_queried()
        return self._metadata.for_key(store_name, key, partition_of)

    def _check_is_queried(self) -> None:
        if self._state == "CREATED":
            raise StreamsNotStartedException("KafkaStreams has not been started, you can retry after calling start()")
        if self._state not in ("REBALANCING", "RUNNING"):
            raise RuntimeError(f"KafkaStreams is not running. State is {self._state}.")

    def set_global_state_restore_listener(self, listener: StateRestoreListener) -> None:
        """Set the listener for the restoration of stores.

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

    def metrics(self) -> dict[StreamsMetricName, Any]:
        """Return the metrics of the instance, its threads, tasks and clients, by Kafka's names. Thread-safe.

        With `metrics.recording.level` DEBUG also those of processors, stores and caches, which cost time for each
        record.

        Example:
            >>> next(value for name, value in streams.metrics().items() if name.name == "process-total")  # doctest: +SKIP
            42.0
        """
        found = list(self._own_metrics())
        for thread in self._all_threads():
            found.extend(thread.metrics())
        return dict(found)

    def _own_metrics(self) -> Iterator[StreamsMetric]:
        threads = self._all_threads()
        for name, description, value in (
            ("version", "The version of the Kafka Streams client.", KAFKA_VERSION),
            ("application-id", "The application ID of the Kafka Streams client.", self._config.application_id),
            ("topology-description", "The description of the topology.", str(self._topology.describe())),
            ("state", "The state of the Kafka Streams client.", self._state),
            (
                "alive-stream-threads",
                "The number of stream threads that run or take part in a rebalance.",
                sum(thread.is_alive() for thread in threads),
            ),
            ("failed-stream-threads", "The number of stream threads that have failed.", self._failed_threads),
        ):
            yield StreamsMetric(
                StreamsMetricName(name, "stream-metrics", description, (("client-id", self._client_id),)), value
            )

    def clean_up(self) -> None:
        """Delete the local state of the application; the next start restores it from the changelogs.

        Raises:
            RuntimeError: The instance is running.
        """
        if self._state not in ("CREATED", "NOT_RUNNING", "ERROR"):
            raise RuntimeError("Cannot clean up while running.")
        self._directory.clean(0, time.time())

    def set_uncaught_exception_handler(
        self, handler: Callable[[BaseException], StreamThreadExceptionResponse | None]
    ) -> None:
        """Set the function that decides what happens after an error has ended a thread (KIP-671).

        Args:
            handler: Called with the error, on the ending thread. If it returns None, the instance stops, as without a
                handler.
        """
        self._handler = handler

    def pause(self) -> None:
        """Stop processing until `resume` (KIP-834). The instance stays in its group, and continues to restore
        tasks."""
        self._pause(True)

    def resume(self) -> None:
        """Continue processing after `pause`."""
        self._pause(False)

    def is_paused(self) -> bool:
        """Return whether the instance is paused."""
        return self._is_paused

    @property
    def is_application_stopped(self) -> bool:
        """Return whether an instance of the application has requested a shutdown of all instances, so that this one
        stops."""
        return self._is_application_stopped

    def add_stream_thread(self) -> str | None:
        """Add a thread (KIP-663).

        Returns:
            Its name; None: the instance is not running.
        """
        with self._lock:
            threads = self._threads
            if threads is None or self._state not in ("REBALANCING", "RUNNING"):
                return None
            thread = threads.add()
            self._follow_threads()
        threads.share_cache()
        thread.start()
        return thread.name

    def remove_stream_thread(self, timeout: Duration | None = None) -> str | None:
        """Remove a thread (KIP-663); its tasks move to others.

        Args:
            timeout: How long to wait for its end, ms or a timedelta; None: no limit.

        Returns:
            Its name; None: there is none, or the instance is not running.

        Raises:
            TimeoutError: The thread has not ended in time; it will end later.
        """
        with self._lock:
            threads = self._threads
            thread = None if threads is None else threads.removable()
            if self._state not in ("REBALANCING", "RUNNING") or threads is None or thread is None:
                return None
        thread.stop()
        thread.join(None if timeout is None else milliseconds(timeout, "timeout") / 1000)
        if thread.is_alive():
            raise TimeoutError(f"Thread {thread.name} did not stop in the allotted time")
        with self._lock:
            threads.forget(thread)
            self._follow_threads()
        threads.share_cache()
        return thread.name

    def __enter__(self) -> KafkaStreams:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # --- within -----------------------------------------------------------------------------------------------------------

    def _make_server(self) -> QueryServer | None:
        """Start the HTTP end point, if it is configured.

        Raises:
            ConfigException: `application.server` is missing or wrong.
            StreamsException: It cannot listen at the address.
        """
        config = self._config
        if not config.kafkapy_application_server_enable:
            return None
        host = parse_host_info(config.application_server)
        if host is None:
            raise ConfigException("kafkapy.application.server.enable needs application.server, as host:port")
        server = QueryServer(self, host, config.kafkapy_application_server_listen)
        server.start()
        return server

    def _all_threads(self) -> list[StreamThread]:
        return [] if self._threads is None else self._threads.all()

    def _make_threads(self, process_id: ProcessId, topics: InternalTopicManager) -> StreamThreads:
        listeners = ThreadListeners(
            self._thread_state, self._thread_failed, self._metadata.update, self._restore_listener
        )
        factory = StreamThreadFactory(
            self._config,
            self._builder,
            self._directory,
            process_id,
            self._client_id,
            topics,
            self._global_store,
            listeners,
        )
        return StreamThreads(factory, self._config.statestore_cache_max_bytes)

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

    def _thread_state(self, thread: StreamThread, state: str) -> None:
        with self._lock:
            if self._threads is not None:
                self._threads.set_state(thread, state)
                self._follow_threads()

    def _follow_threads(self) -> None:
        """Set the state to RUNNING if all threads are running."""
        if self._state in ("REBALANCING", "RUNNING") and self._threads is not None:
            self._set_state("RUNNING" if self._threads.are_running() else "REBALANCING")

    def _thread_failed(self, thread: StreamThread, error: BaseException) -> None:
        """Handle the failure of a thread; called on that thread."""
        response = None
        self._failed_threads += 1
        if isinstance(error, ShutdownRequested):
            self._is_application_stopped = True
        elif self._handler is not None:
            response = self._handler(error)
        with self._lock:
            runs = self._state in ("REBALANCING", "RUNNING")
            is_known = self._threads is not None and thread in self._threads.all()
            successor = self._successor(thread, response) if runs and is_known else None
        if successor is not None:
            log.info("%s replaces a thread that has failed", successor.name)
            successor.start()
        elif runs:
            self._stop_by_error()

    def _successor(self, thread: StreamThread, response: StreamThreadExceptionResponse | None) -> StreamThread | None:
        """Create the thread that replaces a failed one; None if the instance stops."""
        assert self._threads is not None
        if response is StreamThreadExceptionResponse.REPLACE_THREAD:
            return self._threads.replace(thread, 0)
        if response is StreamThreadExceptionResponse.SHUTDOWN_APPLICATION:
            return self._threads.replace(thread, SHUTDOWN_REQUESTED)
        self._threads.forget(thread)
        return None

    def _failed(self, error: BaseException) -> None:
        """Handle the failure of the thread of global tables, without which no task can run."""
        if self._handler is not None:
            self._handler(error)
        if self._state in ("REBALANCING", "RUNNING"):
            self._stop_by_error()

    def _stop_by_error(self) -> None:
        """Stop the instance from a new thread, because the calling thread is one of those to wait for."""
        with self._lock:
            self._set_state("PENDING_ERROR")
        threading.Thread(target=self._end, args=(None,), name=f"{self._client_id}-CloseThread", daemon=True).start()

    def _pause(self, paused: bool) -> None:
        with self._lock:
            self._is_paused = paused
            if self._threads is not None:
                self._threads.pause(paused)

    def _set_state(self, state: str) -> None:
        with self._lock:
            old, self._state = self._state, state
        if old != state:
            log.info("State transition from %s to %s", old, state)
            if self._listener is not None:
                self._listener(state, old)


def _store_sources(builder: TopologyBuilder, prefix: str) -> dict[str, frozenset[str]]:
    """Return the source topics of each store's sub-topology."""
    return {
        name: frozenset(subgraph.source_topics) for subgraph in builder.subgraphs(prefix) for name in subgraph.stores
    }
