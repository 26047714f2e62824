"""An acks=all produce that waits for its followers (Kafka's `DelayedProduce`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.purgatory import DelayedOperation

if TYPE_CHECKING:
    from kafkapy.server.replica_manager import ReplicaManager


class PendingAppend:
    """One partition of an append: its outcome so far. `error` holds what is answered if time runs out."""

    __slots__ = ("error", "partition", "pending", "required_offset")

    def __init__(self, partition: TopicPartition, required_offset: int) -> None:
        self.partition = partition
        self.required_offset = required_offset
        self.error = Errors.REQUEST_TIMED_OUT
        self.pending = True


class DelayedProduce(DelayedOperation):
    """Done when each partition's high watermark has passed its batch, or the partition can't get there any more."""

    __slots__ = ("_appends", "_done", "_replica_manager")

    def __init__(
        self,
        delay_ms: int,
        appends: list[PendingAppend],
        replica_manager: ReplicaManager,
        done: Callable[[], None],
    ) -> None:
        super().__init__(delay_ms)
        self._appends = appends
        self._replica_manager = replica_manager
        self._done = done

    def try_complete(self) -> bool:
        waiting = False
        for append in self._appends:
            if append.pending:
                self._look_at(append)
                waiting = waiting or append.pending
        return not waiting and self.force_complete()

    def _look_at(self, append: PendingAppend) -> None:
        try:
            partition = self._replica_manager.get_partition(append.partition)
        except KafkaError as error:
            append.error = error.error
            append.pending = False
            return
        finished, problem = partition.is_replicated_up_to(append.required_offset)
        if finished:
            append.error = problem
            append.pending = False

    def on_complete(self) -> None:
        self._done()
