"""Flushes a leader's appends before they count as committed, where `flush.messages` asks for it."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.cluster.in_sync_replicas import PartitionHost
from kafkapy.log.log import Log
from kafkapy.log.log_types import LogOffsetMetadata
from kafkapy.protocol.errors import Errors


class LogSync:
    """Runs one fsync of the log at a time; appends that arrive meanwhile share the next one.

    Invariant: all records of this leader below `end` are on the disk or were committed before; `_waiting` holds
    callbacks for higher offsets, and each is called once. Kafka flushes before the append returns. Here the response,
    and the high watermark, wait for the fsync; followers may fetch the records earlier.
    """

    def __init__(self, partition_log: Log, host: PartitionHost, synced: Callable[[LogSync], None]) -> None:
        """`synced` is called after each fsync, when `end` has been updated."""
        self.log = partition_log
        self.end: LogOffsetMetadata = partition_log.high_watermark_metadata
        self.running = False
        self._again = False
        self._error = Errors.NONE
        self._host = host
        self._synced = synced
        self._waiting: list[tuple[int, Callable[[Errors], None]]] = []

    def appended(self) -> None:
        """Note that there are new records to flush."""
        if self.running:
            self._again = True
        else:
            self._run()

    def when_synced(self, offset: int, done: Callable[[Errors], None]) -> None:
        """Call `done` when all records below `offset`, which was appended, are on the disk, or the flush has failed."""
        if self.running:
            self._waiting.append((offset, done))
        else:
            done(self._error)

    def _run(self) -> None:
        self.running, self._again = True, False
        end = self.log.log_end_offset_metadata
        self._host.flush_log(self.log, lambda error: self._flushed(end, error))

    def _flushed(self, end: LogOffsetMetadata, error: Errors) -> None:
        self._error = error
        failed = error is not Errors.NONE
        waiting = self._waiting
        self._waiting = [] if failed else [entry for entry in waiting if entry[0] > end.message_offset]
        self.running = False
        if not failed:
            self.end = end
            if self._again:
                self._run()
            self._synced(self)
        for offset, done in waiting:
            if failed or offset <= end.message_offset:
                done(error)
