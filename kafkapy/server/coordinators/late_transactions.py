"""Detects hanging transactions: open in a partition's log for longer than any coordinator allows
(`hasLateTransaction`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime

from kafkapy.cluster.partition import Partition
from kafkapy.common.scheduler import ScheduledTask
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import spawn
from kafkapy.server.replication.replica_manager import ReplicaManager

log = logging.getLogger("kafkapy.server.LateTransactions")

LATE_TRANSACTION_BUFFER_MS = 300_000
"""Added to transaction.max.timeout.ms: a coordinator may take that long to abort a timed-out transaction."""
CHECK_INTERVAL_MS = 60_000
"""A transaction counts as late after minutes, so another minute makes no difference."""

OpenAt = tuple[TopicPartition, int]
"""(partition, first offset) of a transaction."""


class LateTransactions:
    """Checks the partitions led by this broker, and logs each late transaction once.

    Invariant: `_logged` has the transactions that were late at the last check.
    """

    def __init__(self, replica_manager: ReplicaManager, clock: Clock, max_transaction_timeout_ms: int) -> None:
        self._replica_manager = replica_manager
        self._clock = clock
        self._late_after_ms = max_transaction_timeout_ms + LATE_TRANSACTION_BUFFER_MS
        self._logged: set[OpenAt] = set()
        self._task: ScheduledTask | None = None
        self.partition_count = 0
        """How many partitions led by this broker had a late transaction at the last check."""

    def startup(self) -> None:
        self._task = self._clock.schedule(
            "late-transactions", lambda: spawn(self.check()), CHECK_INTERVAL_MS, CHECK_INTERVAL_MS
        )

    def shutdown(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def check(self) -> None:
        """Check all partitions, in chunks: partitions may be added and removed in between."""
        late: set[OpenAt] = set()
        for chunk in chunks(list(self._replica_manager.partitions())):
            await self._clock.checkpoint()
            for partition in chunk:
                late.update(self._late_in(partition))
        self._logged = late
        self.partition_count = len({name for name, _ in late})

    def _late_in(self, partition: Partition) -> Iterator[OpenAt]:
        partition_log = partition.log
        if partition_log is None or not partition.is_leader:
            return
        producers = partition_log.producers
        if not producers.ongoing_txns:
            return
        before_ms = self._clock.milliseconds() - self._late_after_ms
        for first_offset, txn in list(producers.ongoing_txns.items()):
            entry = producers.producers.get(txn.producer_id)
            if entry is None or not 0 < entry.last_timestamp < before_ms:
                continue
            open_at = partition.topic_partition, first_offset
            if open_at not in self._logged:
                _log_late(*open_at, entry.producer_id, entry.producer_epoch, entry.last_timestamp)
            yield open_at


def _log_late(name: TopicPartition, first_offset: int, producer_id: int, epoch: int, last_timestamp: int) -> None:
    since = datetime.fromtimestamp(last_timestamp / 1000, UTC).isoformat(timespec="seconds")
    log.warning(
        "A transaction hangs in %s: producer %d (epoch %d) began it at offset %d, has written nothing since %s, and no "
        "coordinator has ended it. read_committed consumers don't get past it. If kafka-transactions.sh find-hanging names it, "
        "this ends it: kafka-transactions.sh --bootstrap-server ... abort --topic %s --partition %d --start-offset %d",
        name, producer_id, epoch, first_offset, since, name.topic, name.partition, first_offset,
    )  # fmt: skip
