"""Finds the local partitions of a store (Kafka's `QueryableStoreProvider`, `StreamThreadStateStoreProvider`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

from kafkapy.streams.errors import (
    InvalidStateStoreException,
    InvalidStateStorePartitionException,
    UnknownStateStoreException,
)
from kafkapy.streams.queries.position import position_of
from kafkapy.streams.queries.query_handlers import answer
from kafkapy.streams.queries.read_only_stores import StorePart
from kafkapy.streams.queries.state_query import FailureReason, QueryResult, StateQueryRequest, StateQueryResult
from kafkapy.streams.queries.store_query import StoreQueryParameters, type_of
from kafkapy.streams.runtime.task_manager import TaskManager


class QueriedThread(Protocol):
    """The part of a stream thread that queries use."""

    tasks: TaskManager

    @property
    def name(self) -> str: ...

    def is_alive(self) -> bool: ...


class StoreQueries:
    """Finds the stores of an instance.

    Args:
        store_names: Names of all stores of the topology.
        threads: Returns the threads of the instance.
        global_store: Returns a thread-safe view of a global store by name; None if there is none.
    """

    def __init__(
        self,
        store_names: Collection[str],
        threads: Callable[[], Sequence[QueriedThread]],
        global_store: Callable[[str], Any],
    ) -> None:
        self._store_names = store_names
        self._threads = threads
        self._global_store = global_store

    def view(self, parameters: StoreQueryParameters) -> Any:
        """Return a read-only view of a store.

        Raises:
            UnknownStateStoreException: The topology has no such store.
            InvalidStateStorePartitionException: This instance does not have the partition.
            InvalidStateStoreException: The store is of another type, or a task is not ready.
        """
        self._check_is_known(parameters.store_name)
        parts = list(self._parts(parameters))
        if not parts:
            raise self._missing(parameters)
        type = parameters.type or type_of(parts[0].store)
        for part in parts:
            if not type.accepts(part.store):
                raise InvalidStateStoreException(
                    f"Cannot get state store {parameters.store_name} because the queryable store type [{type.name}] does not "
                    f"accept the actual store type [{part.store.__class__.__name__}]."
                )
        return type.view(lambda: self._parts(parameters), type.plain)

    def key_serializer(self, store_name: str) -> Callable[[Any], bytes] | None:
        """Return the serializer of a store's keys; None: this instance has no part of it.

        Raises:
            UnknownStateStoreException: The topology has no such store.
        """
        self._check_is_known(store_name)
        for part in self._parts(StoreQueryParameters(store_name, stale_stores_enabled=True)):
            serialize: Callable[[Any], bytes] = part.store.serdes.raw_key
            return serialize
        return None

    def query(self, request: StateQueryRequest) -> StateQueryResult:
        """Return the results of all requested partitions.

        Raises:
            UnknownStateStoreException: The topology has no such store.
        """
        self._check_is_known(request.store_name)
        result = StateQueryResult()
        if self._global_store(request.store_name) is not None:
            result.global_result = QueryResult.for_failure(
                FailureReason.UNKNOWN_QUERY_TYPE,
                "Global stores do not yet support the KafkaStreams#query API. Use KafkaStreams#store instead.",
            )
            return result
        for thread in self._threads():
            if thread.is_alive():
                with thread.tasks.lock:
                    self._query_thread(request, thread, result)
        for partition in sorted((request.partitions or frozenset()) - result.partition_results.keys()):
            result.partition_results[partition] = QueryResult.for_failure(
                FailureReason.NOT_PRESENT, "The requested partition was not present at the time of the query."
            )
        return result

    def _query_thread(self, request: StateQueryRequest, thread: QueriedThread, result: StateQueryResult) -> None:
        """Query a thread's tasks while holding their lock; a running task's result takes precedence over a standby
        replica's."""
        for task in thread.tasks.queried_tasks(request.store_name):
            if request.partitions is not None and task.partition not in request.partitions:
                continue
            if request.is_require_active and not task.is_running:
                state = "RESTORING" if task.is_active else "RUNNING"
                answered = QueryResult.for_failure(
                    FailureReason.NOT_ACTIVE,
                    f"Query requires a running active task, but partition was in state {state} and was "
                    f"{'active' if task.is_active else 'not active'}.",
                )
            else:
                part = StorePart(task.store, thread.tasks.lock)
                answered = answer(request, part, task.partition, position_of(task.position))
            known = result.partition_results.get(task.partition)
            if known is None or known.is_failure():
                result.partition_results[task.partition] = answered

    def _check_is_known(self, store_name: str) -> None:
        if store_name not in self._store_names:
            raise UnknownStateStoreException(
                f"Cannot get state store {store_name} because no such store is registered in the topology."
            )

    def _missing(self, parameters: StoreQueryParameters) -> InvalidStateStoreException:
        if parameters.partition is not None:
            return InvalidStateStorePartitionException(
                f"The specified partition {parameters.partition} for store {parameters.store_name} does not exist."
            )
        return InvalidStateStoreException(
            f"The state store, {parameters.store_name}, may have migrated to another instance."
        )

    def _parts(self, parameters: StoreQueryParameters) -> Iterator[StorePart]:
        found = self._global_store(parameters.store_name)
        if found is not None:
            yield StorePart(found, nullcontext())
            return
        for thread in self._threads():
            if not thread.is_alive():
                continue
            if thread.tasks.is_restoring and not parameters.stale_stores_enabled:
                raise InvalidStateStoreException(
                    f"Cannot get state store {parameters.store_name} because the stream thread is PARTITIONS_ASSIGNED, not "
                    "RUNNING"
                )
            with thread.tasks.lock:
                stores = thread.tasks.stores(
                    parameters.store_name, parameters.partition, with_copies=parameters.stale_stores_enabled
                )
            for store in stores:
                yield StorePart(store, thread.tasks.lock)
