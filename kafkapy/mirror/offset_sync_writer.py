"""Writes the offset syncs needed for translation, and not more (Kafka's `OffsetSyncWriter`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any, Protocol

from kafkapy.mirror.mirror_records import OffsetSync
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.mirror")

MAX_OUTSTANDING_OFFSET_SYNCS = 10


class SyncProducer(Protocol):
    """The part of a producer that the writer uses."""

    def send(self, topic: str, *, key: bytes, value: bytes, partition: int) -> Any: ...
    def close(self) -> None: ...


class PartitionSyncState:
    """Whether the newest offset sync of a partition is too old (Kafka's `OffsetSyncWriter.PartitionState`).

    Invariant: `_is_due` stays true from the first `update` that asks for a sync until `reset`.

    Example:
        >>> state = PartitionSyncState(max_offset_lag=100)
        >>> found = [state.update(10, 8)]
        >>> state.reset()
        >>> [*found, state.update(11, 9), state.update(13, 10)]
        [True, False, True]
    """

    __slots__ = ("_is_due", "_last_sync_downstream", "_max_offset_lag", "_previous_downstream", "_previous_upstream")

    def __init__(self, max_offset_lag: int) -> None:
        """`max_offset_lag`: `offset.lag.max`."""
        self._max_offset_lag = max_offset_lag
        self._previous_upstream = -1
        self._previous_downstream = -1
        self._last_sync_downstream = -1
        self._is_due = False

    def update(self, upstream: int, downstream: int) -> bool:
        """Update with the offsets of a record and its copy; return whether a sync must be written at once.

        It must for the first record, after `offset.lag.max` records, after a gap of the source, and after the remote
        topic was recreated. A group beyond the sync is translated to the sync's offset plus one, so one is added here,
        too.
        """
        if (
            self._last_sync_downstream == -1
            or downstream - (self._last_sync_downstream + 1) >= self._max_offset_lag
            or upstream - self._previous_upstream != 1
            or downstream < self._previous_downstream
        ):
            self._last_sync_downstream = downstream
            self._is_due = True
        self._previous_upstream = upstream
        self._previous_downstream = downstream
        return self._is_due

    def reset(self) -> None:
        """Record that the sync was queued."""
        self._is_due = False


class OffsetSyncWriter:
    """Invariant: a partition has at most one sync in `_pending` and one in `_delayed`, its newest; at most
    `MAX_OUTSTANDING_OFFSET_SYNCS` are with the producer. Methods can be called from any thread.
    """

    def __init__(
        self,
        producer: SyncProducer,
        topic: str,
        max_offset_lag: int,
        max_outstanding: int = MAX_OUTSTANDING_OFFSET_SYNCS,
    ) -> None:
        """
        Args:
            producer: Closed by `close`.
            topic: The offset syncs topic.
            max_offset_lag: `offset.lag.max`.
            max_outstanding: Limit of syncs in flight. Default: 10.
        """
        self._producer = producer
        self._topic = topic
        self._max_offset_lag = max_offset_lag
        self._free = max_outstanding
        self._states: dict[TopicPartition, PartitionSyncState] = {}
        self._delayed: dict[TopicPartition, OffsetSync] = {}
        self._pending: dict[TopicPartition, OffsetSync] = {}
        self._lock = threading.Lock()

    def maybe_queue(self, partition: TopicPartition, upstream: int, downstream: int) -> None:
        """Queue a sync of a record and its copy: the next `fire_pending` or a later one writes it."""
        self._queue(OffsetSync(partition, upstream, downstream), bool(self._due(partition, (upstream,), downstream)))

    def queue_run(self, partition: TopicPartition, upstream: Sequence[int], downstream: int) -> None:
        """Queue the syncs of records, and send those that are due, up to the limit of syncs in flight.

        Args:
            partition: Of the source.
            upstream: The records' offsets there, at least one.
            downstream: The offset of the first one's copy; the others follow it.
        """
        last = len(upstream) - 1
        due = self._due(partition, upstream, downstream)
        for at in due:
            self._queue(OffsetSync(partition, upstream[at], downstream + at), is_due=True)
            self.fire_pending()
        if not due or due[-1] != last:
            self._queue(OffsetSync(partition, upstream[last], downstream + last), is_due=False)
            self.fire_pending()

    def _due(self, partition: TopicPartition, upstream: Sequence[int], downstream: int) -> list[int]:
        """Return which of some records must be synced at once."""
        found = []
        with self._lock:
            state = self._states.get(partition)
            if state is None:
                state = self._states[partition] = PartitionSyncState(self._max_offset_lag)
            for at, offset in enumerate(upstream):
                if state.update(offset, downstream + at):
                    state.reset()
                    found.append(at)
        return found

    def _queue(self, sync: OffsetSync, is_due: bool) -> None:
        with self._lock:
            if is_due:
                self._delayed.pop(sync.topic_partition, None)
                self._pending[sync.topic_partition] = sync
            else:
                self._delayed[sync.topic_partition] = sync

    def promote_delayed(self) -> None:
        """Queue the delayed syncs, so that the translation also reaches the end of partitions with few records."""
        with self._lock:
            self._pending.update(self._delayed)
            self._delayed.clear()

    def fire_pending(self) -> None:
        """Send pending syncs, up to the limit of syncs in flight."""
        while True:
            with self._lock:
                if not self._pending or not self._free:
                    return
                partition = next(iter(self._pending))
                sync = self._pending.pop(partition)
                self._free -= 1
            self._send(sync)  # without the lock: it may wait for metadata

    def close(self) -> None:
        self._producer.close()

    def _send(self, sync: OffsetSync) -> None:
        try:
            sent = self._producer.send(self._topic, key=sync.record_key(), value=sync.record_value(), partition=0)
        except KafkaError as error:
            self._failed(error)
            return
        sent.add_callback(self._sent)
        sent.add_errback(self._failed)

    def _sent(self, _: object) -> None:
        with self._lock:
            self._free += 1

    def _failed(self, error: BaseException) -> None:
        log.error("An offset sync could not be written to %s: %s", self._topic, error)
        self._sent(None)
