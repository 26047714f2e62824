"""A question to the stores of an instance, and the answer of each partition (KIP-796)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from kafkapy.streams.queries.position import Position, PositionBound
from kafkapy.streams.queries.queries import Query


class FailureReason(Enum):
    """Why a partition gives no answer.

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
    """The answer of one partition.

    Args:
        value: The answer; None if the key is not there.
        failure_reason: None: it is an answer.
        failure_message: In words.
        position: What the store had seen.
        execution_info: How the question was answered, if that was asked for.

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
        """An answer.

        Args:
            value: The answer.
        """
        return cls(value)

    @classmethod
    def for_failure(cls, reason: FailureReason, message: str) -> QueryResult:
        """No answer.

        Args:
            reason: Why.
            message: In words.
        """
        return cls(failure_reason=reason, failure_message=message)

    def is_success(self) -> bool:
        """Whether it is an answer."""
        return self.failure_reason is None

    def is_failure(self) -> bool:
        """Whether there is no answer."""
        return self.failure_reason is not None

    @property
    def result(self) -> Any:
        """The answer.

        Raises:
            ValueError: There is none.
        """
        if self.failure_reason is not None:
            raise ValueError(
                f"Cannot get result for failed query. Failure is {self.failure_reason.name}: {self.failure_message}"
            )
        return self.value


@dataclass(frozen=True)
class StateQueryRequest:
    """A question to a store. Immutable: methods return new objects.

    Args:
        store_name: The store.
        query: The question.
        position_bound: What the store must have seen.
        partitions: Of the store; None: all that this instance has.
        is_require_active: Whether only running tasks answer, and no copies.
        is_execution_info_enabled: Whether the answers say how they were found.

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
        """Begin a question.

        Args:
            name: The store.
        """
        return InStore(name)

    def with_position_bound(self, bound: PositionBound) -> StateQueryRequest:
        """Ask only stores that have seen so much.

        Args:
            bound: The least position.
        """
        return replace(self, position_bound=bound)

    def with_partitions(self, partitions: Collection[int]) -> StateQueryRequest:
        """Ask these partitions.

        Args:
            partitions: Their numbers.
        """
        return replace(self, partitions=frozenset(partitions))

    def with_all_partitions(self) -> StateQueryRequest:
        """Ask all partitions that the instance has; so it is by default."""
        return replace(self, partitions=None)

    def require_active(self) -> StateQueryRequest:
        """Ask running tasks alone."""
        return replace(self, is_require_active=True)

    def enable_execution_info(self) -> StateQueryRequest:
        """Say how the answers were found."""
        return replace(self, is_execution_info_enabled=True)


@dataclass(frozen=True)
class InStore:
    """A question that lacks its query.

    Args:
        name: The store.

    Example:
        >>> StateQueryRequest.in_store("counts").name
        'counts'
    """

    name: str

    def with_query(self, query: Query[Any]) -> StateQueryRequest:
        """The question.

        Args:
            query: What is asked.
        """
        return StateQueryRequest(self.name, query)


@dataclass
class StateQueryResult:
    """The answers of all partitions that were asked.

    Args:
        partition_results: By partition.
        global_result: Of a global store.

    Example:
        >>> StateQueryResult({0: QueryResult.for_result(42)}).only_partition_result.result
        42
    """

    partition_results: dict[int, QueryResult] = field(default_factory=dict)
    global_result: QueryResult | None = None

    @property
    def only_partition_result(self) -> QueryResult | None:
        """The answer, if a single partition has one; None: none has.

        Raises:
            ValueError: Several partitions have an answer.
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
        """What all partitions together had seen: the bound for a later question."""
        merged = Position.empty()
        for result in self.partition_results.values():
            merged = merged.merge(result.position)
        return merged
