"""A query of an instance's stores, and the result of each partition (KIP-796)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from kafkapy.streams.queries.position import Position, PositionBound
from kafkapy.streams.queries.queries import Query


class FailureReason(Enum):
    """The reason why a partition has no result.

    Example:
        >>> FailureReason.NOT_PRESENT.name
        'NOT_PRESENT'
    """

    UNKNOWN_QUERY_TYPE = "the store has no answer to such a question"
    NOT_ACTIVE = "the task is restored, or is a copy"
    NOT_UP_TO_BOUND = "the store has not seen enough of its input"
    NOT_PRESENT = "the instance does not have the partition now"
    DOES_NOT_EXIST = "the store has no such partition"
    STORE_EXCEPTION = "the store has failed"


@dataclass
class QueryResult:
    """The result of one partition.

    Args:
        value: The result; None if the key does not exist.
        failure_reason: Why the query failed; None: it succeeded.
        failure_message: The error message.
        position: The store's position.
        execution_info: How the query was executed, if requested.

    Example:
        >>> QueryResult.for_result(42).result
        42
    """

    value: Any = None
    failure_reason: FailureReason | None = None
    failure_message: str | None = None
    position: Position = field(default_factory=Position.empty)
    execution_info: list[str] = field(default_factory=list)

    @classmethod
    def for_result(cls, value: Any) -> QueryResult:
        """Return the result of a successful query.

        Args:
            value: The result.
        """
        return cls(value)

    @classmethod
    def for_failure(cls, reason: FailureReason, message: str) -> QueryResult:
        """Return the result of a failed query.

        Args:
            reason: The kind of failure.
            message: The error message.
        """
        return cls(failure_reason=reason, failure_message=message)

    def is_success(self) -> bool:
        """Return whether the query succeeded."""
        return self.failure_reason is None

    def is_failure(self) -> bool:
        """Return whether the query failed."""
        return self.failure_reason is not None

    @property
    def result(self) -> Any:
        """Return the result.

        Raises:
            ValueError: The query failed.
        """
        if self.failure_reason is not None:
            raise ValueError(
                f"Cannot get result for failed query. Failure is {self.failure_reason.name}: {self.failure_message}"
            )
        return self.value


@dataclass(frozen=True)
class StateQueryRequest:
    """A query of a store. Immutable: methods return new objects.

    Args:
        store_name: The store.
        query: The query.
        position_bound: The store's minimum position.
        partitions: Numbers of partitions; None: all that this instance has.
        is_require_active: Whether to query running tasks only, and no standby replicas.
        is_execution_info_enabled: Whether results have information about their execution.

    Example:
        >>> from kafkapy.streams.queries.queries import KeyQuery
        >>> request = StateQueryRequest.in_store("counts").with_query(KeyQuery.with_key("kafka"))
        >>> request.with_partitions({0}).require_active().is_require_active
        True
    """

    store_name: str
    query: Query[Any]
    position_bound: PositionBound = field(default_factory=PositionBound.unbounded)
    partitions: frozenset[int] | None = None
    is_require_active: bool = False
    is_execution_info_enabled: bool = False

    @staticmethod
    def in_store(name: str) -> InStore:
        """Begin a request.

        Args:
            name: The store.
        """
        return InStore(name)

    def with_position_bound(self, bound: PositionBound) -> StateQueryRequest:
        """Return a copy with a minimum position.

        Args:
            bound: The minimum position.
        """
        return replace(self, position_bound=bound)

    def with_partitions(self, partitions: Collection[int]) -> StateQueryRequest:
        """Return a copy for these partitions.

        Args:
            partitions: Their numbers.
        """
        return replace(self, partitions=frozenset(partitions))

    def with_all_partitions(self) -> StateQueryRequest:
        """Return a copy for all partitions of the instance (the default)."""
        return replace(self, partitions=None)

    def require_active(self) -> StateQueryRequest:
        """Return a copy that queries only running tasks."""
        return replace(self, is_require_active=True)

    def enable_execution_info(self) -> StateQueryRequest:
        """Return a copy whose results have information about their execution."""
        return replace(self, is_execution_info_enabled=True)


@dataclass(frozen=True)
class InStore:
    """A request without its query.

    Args:
        name: The store.

    Example:
        >>> StateQueryRequest.in_store("counts").name
        'counts'
    """

    name: str

    def with_query(self, query: Query[Any]) -> StateQueryRequest:
        """Return the complete request.

        Args:
            query: The query.
        """
        return StateQueryRequest(self.name, query)


@dataclass
class StateQueryResult:
    """The results of all queried partitions.

    Args:
        partition_results: Results by partition.
        global_result: Result of a global store.

    Example:
        >>> StateQueryResult({0: QueryResult.for_result(42)}).only_partition_result.result
        42
    """

    partition_results: dict[int, QueryResult] = field(default_factory=dict)
    global_result: QueryResult | None = None

    @property
    def only_partition_result(self) -> QueryResult | None:
        """Return the only result that is not None; None if there is none.

        Raises:
            ValueError: Several partitions have a result.
        """
        found = [
            result for result in self.partition_results.values() if result.is_failure() or result.value is not None
        ]
        if len(found) > 1:
            raise ValueError(
                "The query did not return exactly one partition result: "
                f"{sorted(number for number, result in self.partition_results.items() if result in found)}"
            )
        return found[0] if found else None

    @property
    def position(self) -> Position:
        """Return the merged position of all partitions, for the bound of a later query."""
        merged = Position.empty()
        for result in self.partition_results.values():
            merged = merged.merge(result.position)
        return merged
