"""An acks=all produce that waits for its followers (Kafka's `DelayedProduce`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.purgatory.purgatory import DelayedOperation
from kafkapy.server.replication.hosted_partitions import HostedPartitions

_LEADERSHIP_LOST = (Errors.NOT_LEADER_OR_FOLLOWER, Errors.KAFKA_STORAGE_ERROR, Errors.UNKNOWN_TOPIC_OR_PARTITION)


class PendingAppend:
    """One partition of an append and its current result. Initially, `error` is that of a time-out."""

    __slots__ = ("error", "partition", "required_offset")

    def __init__(self, partition: TopicPartition, required_offset: int) -> None:
        self.partition = partition
        self.required_offset = required_offset
        self.error = Errors.REQUEST_TIMED_OUT


class DelayedProduce(DelayedOperation):
    """Completes when each partition's high watermark has passed its batch, or can't pass it any more. `leader_moved`
    is called if that is because this broker has lost leadership; it may complete the operation.

    Invariant: `_undecided` has the appends without a final result, by partition; an event on one partition checks that
    one only.
    """

    __slots__ = ("_done", "_leader_moved", "_replicas", "_undecided")

    def __init__(
        self,
        delay_ms: int,
        appends: list[PendingAppend],
        replicas: HostedPartitions,
        done: Callable[[], None],
        leader_moved: Callable[[], None],
    ) -> None:
        super().__init__(delay_ms)
        self._undecided: dict[Hashable, list[PendingAppend]] = {}
        for append in appends:
            self._undecided.setdefault(append.partition, []).append(append)
        self._replicas = replicas
        self._done = done
        self._leader_moved = leader_moved

    def try_complete(self) -> bool:
        for partition in list(self._undecided):
            self._look_at(partition)
        return self._is_over()

    def try_complete_after(self, key: Hashable) -> bool:
        if key in self._undecided and self._look_at(key) in _LEADERSHIP_LOST:
            self._leader_moved()
        return self._is_over()

    def answer_now(self) -> None:
        """Complete now; undecided appends get the time-out's error."""
        for partition in list(self._undecided):
            self._look_at(partition)
        self.force_complete()

    def _is_over(self) -> bool:
        return self.completed or (not self._undecided and self.force_complete())

    def _look_at(self, key: Hashable) -> Errors:
        appends = self._undecided[key]
        waiting = [append for append in appends if not self._is_decided(append)]
        if waiting:
            self._undecided[key] = waiting
        else:
            del self._undecided[key]
        return appends[0].error

    def _is_decided(self, append: PendingAppend) -> bool:
        try:
            partition = self._replicas.get_partition(append.partition)
        except KafkaError as error:
            append.error = error.error
            return True
        finished, problem = partition.is_replicated_up_to(append.required_offset)
        if finished:
            append.error = problem
        return finished

    def on_complete(self) -> None:
        self._done()
