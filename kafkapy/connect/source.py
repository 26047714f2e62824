"""The bases of source connectors, which copy data into Kafka (Kafka's `connect.source`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from kafkapy.connect.connector import Connector, ConnectorContext, ConnectorTask
from kafkapy.producer.future import RecordMetadata

SourceRecord = Any
"""A record with `source_partition` and `source_offset`."""

TRANSACTION_BOUNDARY_CONFIG = "transaction.boundary"


class TransactionBoundary(Enum):
    """Where transactions of a source task end with exactly-once support (KIP-618).

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
    """What a connector says of exactly-once with a config."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class ConnectorTransactionBoundaries(Enum):
    """Whether a connector's tasks can say themselves where transactions end."""

    SUPPORTED = "SUPPORTED"
    UNSUPPORTED = "UNSUPPORTED"


class OffsetStorageReader(Protocol):
    """Reads the offsets that earlier runs of a connector have committed. It blocks; raises ConnectException."""

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """The offset of one source partition; None if it has none."""
        ...

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """The offsets of several source partitions, in their order; None where there is none."""
        ...


class TransactionContext(Protocol):
    """With `transaction.boundary=connector` a task says here where its transactions end.

    Without a record: after the batch that the current or next `poll` returns; with one: after that record.
    """

    def commit_transaction(self, record: SourceRecord | None = None) -> None: ...
    def abort_transaction(self, record: SourceRecord | None = None) -> None: ...


class SourceConnectorContext(ConnectorContext, Protocol):
    """The context of a source connector."""

    def offset_storage_reader(self) -> OffsetStorageReader: ...


class SourceTaskContext(Protocol):
    """What the worker does for a source task."""

    def configs(self) -> dict[str, str | None]:
        """The task's newest config, with what config providers say now."""
        ...

    def offset_storage_reader(self) -> OffsetStorageReader: ...

    def transaction_context(self) -> TransactionContext | None:
        """None unless exactly-once support is on and `transaction.boundary` is `connector`."""
        ...


class SourceConnector(Connector):
    """A connector whose tasks copy data into Kafka."""

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        """Whether this config gives exactly-once; None (default): not said."""
        return None

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Whether tasks use `TransactionContext`; UNSUPPORTED by default."""
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
        """Take the context."""
        self.context = context

    @abstractmethod
    def poll(self) -> Sequence[SourceRecord] | None:
        """Return the next records; None or nothing if there are none yet.

        It may wait a while for some, but returns now and then, so that the task can be paused and stopped.

        Raises:
            RetriableException: It is called again.
            Exception: The task becomes FAILED.
        """

    def commit(self) -> None:
        """Called after offsets were committed; errors are logged only."""

    def commit_record(self, record: SourceRecord, metadata: RecordMetadata | None) -> None:
        """Called when a record is in Kafka, or was dropped (`metadata` None); errors are logged only.

        A task that doesn't override it costs nothing for a record.
        """
