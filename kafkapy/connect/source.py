"""Base classes of source connectors, which copy data into Kafka (Kafka's `connect.source`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from kafkapy.connect.connector import Connector, ConnectorContext, ConnectorTask
from kafkapy.connect.records import SourceRecord
from kafkapy.producer.future import BatchMetadata, RecordMetadata
from kafkapy.structs import TopicPartition

TRANSACTION_BOUNDARY_CONFIG = "transaction.boundary"


class TransactionBoundary(Enum):
    """How transactions of a source task are delimited with exactly-once support (KIP-618).

    Example:
        >>> TransactionBoundary.from_property(" Interval ")
        <TransactionBoundary.INTERVAL: 'interval'>
    """

    POLL = "poll"
    INTERVAL = "interval"
    CONNECTOR = "connector"

    @classmethod
    def from_property(cls, text: str) -> TransactionBoundary:
        """Read the value of `transaction.boundary`. Raises ValueError."""
        return cls(text.strip().lower())

    def __str__(self) -> str:
        return self.value


class ExactlyOnceSupport(Enum):
    """Whether a connector supports exactly-once with a config."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class ConnectorTransactionBoundaries(Enum):
    """Whether a connector's tasks can define transaction boundaries."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class OffsetStorageReader(Protocol):
    """Reads the offsets that earlier runs of a connector have committed. Blocks; raises ConnectException."""

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the offset of one source partition; None if it has none."""
        ...

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the offsets of several source partitions, in their order; None if there is none."""
        ...


class TransactionContext(Protocol):
    """Ends transactions of a task with `transaction.boundary=connector`.

    Without a record: after the batch that the current or next `poll` returns; with one: after that record.
    """

    def commit_transaction(self, record: SourceRecord | None = None) -> None: ...
    def abort_transaction(self, record: SourceRecord | None = None) -> None: ...


class SourceConnectorContext(ConnectorContext, Protocol):
    """The context of a source connector."""

    def offset_storage_reader(self) -> OffsetStorageReader: ...


class SourceTaskContext(Protocol):
    """The worker's interface for a source task."""

    def configs(self) -> dict[str, str | None]:
        """Return the task's newest config, with current values of config providers."""
        ...

    def offset_storage_reader(self) -> OffsetStorageReader: ...

    def transaction_context(self) -> TransactionContext | None:
        """Return the context; None unless exactly-once support is on and `transaction.boundary` is `connector`."""
        ...


class SourceConnector(Connector):
    """A connector whose tasks copy data into Kafka."""

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Return whether the connector is exactly-once with this config; None (default): unknown."""
        return None

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Return whether tasks use `TransactionContext`; UNSUPPORTED by default."""
        return ConnectorTransactionBoundaries.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> bool:
        """Check offsets that a user wants to set (KIP-875), pairs of partition and offset; None resets one.

        Returns:
            Whether they were checked; False by default.

        Raises:
            ConnectException: They are not valid; nothing is changed then.
        """
        return False


class SourceTask(ConnectorTask):
    """Copies data into Kafka. Invariant: `context` is set before `start` is called."""

    context: SourceTaskContext

    def initialize(self, context: SourceTaskContext) -> None:
        """Receive the context."""
        self.context = context

    @abstractmethod
    def poll(self) -> Sequence[SourceRecord] | None:
        """Return the next records; None or an empty list if there are none yet.

        It may block for a while, but must return regularly, so that the task can be paused and stopped.

        Raises:
            RetriableException: The worker calls `poll` again.
            Exception: The task becomes FAILED.
        """

    def commit(self) -> None:
        """Called after offsets were committed; errors are only logged."""

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Called when a record is in Kafka, or was dropped (`metadata` None); errors are only logged.

        For a task that doesn't override it, the worker makes no calls.
        """

    def commit_records(self, records: Sequence[SourceRecord], batches: Sequence[BatchMetadata]) -> None:
        """Called in place of `commit_record` for records that were sent together; by default it calls that for each.

        A task that overrides `commit_record` is quicker if it overrides this, too: otherwise its records are sent one by
        one. Errors are only logged.

        Args:
            records: All are in Kafka, in this order, in one partition.
            batches: Where they are: runs of consecutive offsets.
        """
        rest = iter(records)
        for topic, partition, offset, timestamp, count in batches:
            place = TopicPartition(topic, partition)
            for number in range(count):
                at = offset if offset < 0 else offset + number
                metadata = RecordMetadata(topic, partition, place, at, timestamp, None, -1, -1, -1)
                self.commit_record(next(rest), metadata)
