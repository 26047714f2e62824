"""What must hold before a consumer of any kind does what it is asked."""

from __future__ import annotations

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.core import ConsumerCore
from kafkapy.errors import IllegalStateError


class Preconditions:
    """The part of a consumer that says no: raises IllegalStateError, as kafka-python does."""

    _core: ConsumerCore
    _closed: bool

    def _timeout(self, timeout_ms: float | None) -> float:
        return self._core.config.request_timeout_ms if timeout_ms is None else timeout_ms

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateError("KafkaConsumer is closed")

    def _require_group(self) -> None:
        if self._core.coordinator is None:
            raise IllegalStateError("Requires group_id")

    def _check_assigned(self, partition: TopicPartition) -> None:
        if partition not in self._core.subscriptions.assignment:
            raise IllegalStateError("Partition is not assigned")
