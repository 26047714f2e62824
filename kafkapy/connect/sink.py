"""Base classes of sink connectors, which copy data out of Kafka (Kafka's `connect.sink`)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.connector import Connector, ConnectorContext, ConnectorTask
from kafkapy.connect.records import SinkRecord
from kafkapy.structs import OffsetAndMetadata

TOPICS_CONFIG = "topics"
TOPICS_REGEX_CONFIG = "topics.regex"


class ErrantRecordReporter(Protocol):
    """Reports records that a task cannot write (KIP-610), to the dead-letter topic or the log, as configured by
    errors.*."""

    def report(self, record: SinkRecord, error: BaseException) -> Future[None]:
        """Report a record; the future is done when the report is durable. Offsets are committed only afterwards.

        Raises:
            ConnectException: `errors.tolerance` is none.
        """
        ...


class SinkConnectorContext(ConnectorContext, Protocol):
    """The context of a sink connector."""


class SinkTaskContext(Protocol):
    """The worker's interface for a sink task; called on the task's thread."""

    def configs(self) -> dict[str, str | None]:
        """Return the task's newest config, with current values of config providers."""
        ...

    def offset(self, partition: TopicPartition, offset: int) -> None:
        """Continue reading at this offset, after the current call."""
        ...

    def timeout(self, timeout_ms: float) -> None:
        """Set the delay before records are put again after the RetriableException that follows."""
        ...

    def assignment(self) -> set[TopicPartition]: ...

    def pause(self, *partitions: TopicPartition) -> None:
        """Stop reading these partitions. Raises IllegalWorkerStateException."""
        ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def request_commit(self) -> None:
        """Commit offsets soon, without waiting for `offset.flush.interval.ms`."""
        ...

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        """Return the reporter; None: errors are neither tolerated nor reported."""
        ...


class SinkConnector(Connector):
    """A connector whose tasks copy data out of Kafka."""

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Check, or store in the external system, offsets that a user wants to set (KIP-875); None resets one.

        Returns:
            Whether they were checked; False by default.

        Raises:
            ConnectException: They are not valid; nothing is changed then.
        """
        return False


class SinkTask(ConnectorTask):
    """Copies data out of Kafka. Invariant: `context` is set before `start` is called."""

    context: SinkTaskContext

    def initialize(self, context: SinkTaskContext) -> None:
        """Receive the context."""
        self.context = context

    @abstractmethod
    def put(self, records: Sequence[SinkRecord]) -> None:
        """Write records, or keep them until `flush`.

        Raises:
            RetriableException: The same records are put again, after `context.timeout`.
            Exception: The task becomes FAILED.
        """

    def flush(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Make all records that were put durable; `offsets` are those after them."""

    def pre_commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the offsets that may be committed; by default the given ones, after `flush`. Empty: no commit."""
        self.flush(offsets)
        return offsets

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """Called when the task is assigned partitions, before their records are put."""

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """Called when partitions are revoked; the counterpart of `open`."""
