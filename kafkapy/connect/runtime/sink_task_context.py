"""The worker's interface for a sink task (Kafka's `WorkerSinkTaskContext`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.errors import IllegalWorkerStateException
from kafkapy.connect.sink import ErrantRecordReporter
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId
from kafkapy.errors import IllegalStateError

if TYPE_CHECKING:
    from kafkapy.consumer.kafka_consumer import KafkaConsumer


class WorkerSinkTaskContext:
    """The context of a sink task; used on its thread.

    Invariant: `offsets` has requested positions that were not applied yet. `paused` has the partitions that the task
    itself has paused; while the connector is paused, all of the consumer's partitions are paused.

    Attributes:
        offsets: See above.
        paused: See above.
        timeout_ms: Requested pause before records are put again. None: not requested.
        commit_requested: Whether the task has requested a commit.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        state: ClusterConfigState,
        consumer: KafkaConsumer[bytes, bytes],
        reporter: ErrantRecordReporter | None,
        is_connector_paused: Callable[[], bool],
    ) -> None:
        """
        Args:
            id: The task.
            state: The cluster state with its config.
            consumer: The task's consumer.
            reporter: None: errors of records are not reported.
            is_connector_paused: Returns whether the connector is paused.
        """
        self.offsets: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()
        self.timeout_ms: float | None = None
        self.commit_requested = False
        self._id = id
        self._state = state
        self._consumer = consumer
        self._reporter = reporter
        self._is_connector_paused = is_connector_paused

    def configs(self) -> dict[str, str | None]:
        return self._state.task_config(self._id) or {}

    def offset(self, partition: TopicPartition, offset: int) -> None:
        self.offsets[partition] = offset

    def timeout(self, timeout_ms: float) -> None:
        self.timeout_ms = timeout_ms

    def assignment(self) -> set[TopicPartition]:
        return self._consumer.assignment()

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(partitions)
        if self._is_connector_paused():
            return
        try:
            self._consumer.pause(*partitions)
        except IllegalStateError as error:
            text = "SinkTasks may not pause partitions that are not currently assigned to them."
            raise IllegalWorkerStateException(text) from error

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)
        if self._is_connector_paused():
            return
        try:
            self._consumer.resume(*partitions)
        except IllegalStateError as error:
            text = "SinkTasks may not resume partitions that are not currently assigned to them."
            raise IllegalWorkerStateException(text) from error

    def request_commit(self) -> None:
        self.commit_requested = True

    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        return self._reporter
