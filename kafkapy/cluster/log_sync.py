"""Makes a leader's appends durable before they count, where `flush.messages` asks for it."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.cluster.in_sync_replicas import PartitionHost
from kafkapy.log.log import Log
from kafkapy.log.log_types import LogOffsetMetadata
from kafkapy.protocol.errors import Errors


class LogSync:
    """One fsync of the log at a time; what is appended meanwhile shares the next one.

    Invariant: everything of the leader's below `end` is on the disk or was committed before; `_waiting` are those who asked for
    more, and each hears once. Kafka fsyncs before the append returns, so the answer, and a high watermark that nothing else
    holds back, come after it; followers may fetch before.
    """

    def __init__(self, partition_log: Log, host: PartitionHost, synced: Callable[[LogSync], None]) -> None:
        """`synced` is called after each fsync, with `end` where it is now."""
        self.log = partition_log
        self.end: LogOffsetMetadata = partition_log.high_watermark_metadata
        self.running = False
        self._again = False
        self._error = Errors.NONE
        self._host = host
        self._synced = synced
        self._waiting: list[tuple[int, Callable[[Errors], None]]] = []

    def appended(self) -> None:
        """There is more to sync."""
        if self.running:
            self._again = True
        else:
            self._run()

    def when_synced(self, offset: int, done: Callable[[Errors], None]) -> None:
        """Call `done` when everything below `offset`, which was appended, is on the disk, or can't get there."""
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
