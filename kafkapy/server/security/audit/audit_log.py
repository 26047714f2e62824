"""The queue of audit records, and the thread that writes them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Final, Protocol

from kafkapy.server.security.audit.audit_records import AuditedEvent, Lost

log = logging.getLogger("kafkapy.server.Audit")

MAX_BATCH: Final = 500
"""Limit of records per write."""
COMPLAINT_SECONDS: Final = 60.0
"""Interval of warnings about lost records in the broker's log."""


class AuditWriteError(Exception):
    """Records could not be written; the message says why."""


class AuditSink(Protocol):
    """The destination of records. All calls are made in one thread."""

    def write(self, lines: Sequence[bytes]) -> None:
        """Write all lines, or raise AuditWriteError; they are not passed again."""
        ...

    def stopping(self) -> None:
        """Abort a blocking `write` soon; called from another thread."""
        ...

    def close(self) -> None: ...


class AuditLog:
    """Accepts records from any thread without blocking, and writes them in its own.

    Invariant: at most about `max_records` wait (a few more if threads record at the same moment). Each record passed to
    `put` is written, counted in `lost`, or waiting; `_lost_recorded` of the lost ones have been recorded as lost.
    """

    def __init__(self, sink: AuditSink, max_records: int) -> None:
        self._sink = sink
        self._max_records = max_records
        self._queue: SimpleQueue[AuditedEvent | threading.Event | None] = SimpleQueue()
        """An event is set when all earlier records are processed; None ends the thread."""
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self.broker_id = -1
        """Part of each line; set at start."""
        self.written = 0
        """Number of records since the start."""
        self.lost = 0
        """Number of records since the start."""
        self._lost_recorded = 0
        self._complained_at: float | None = None

    def start(self) -> None:
        self._thread.start()

    def put(self, record: AuditedEvent) -> None:
        """Queue a record, or count it as lost if too many wait. Does not block."""
        if self._queue.qsize() >= self._max_records:
            self._lose(1, f"more than {self._max_records} records wait to be written")
        else:
            self._queue.put(record)

    def flush(self, timeout: float) -> bool:
        """Wait until all queued records are written; return False if some remain after `timeout` seconds. Blocks."""
        done = threading.Event()
        self._queue.put(done)
        return done.wait(timeout)

    def stop(self, timeout: float = 5.0) -> None:
        """Write the waiting records, for at most `timeout` seconds. Blocks."""
        if not self._thread.is_alive():
            return
        if not self.flush(timeout / 2):
            self._sink.stopping()
        self._queue.put(None)
        self._thread.join(timeout / 2)
        if left := self._queue.qsize():
            self._lose(left, "the broker stops")
        if self.lost > self._lost_recorded:
            log.warning("%d records of the audit are lost since the start", self.lost)

    def _run(self) -> None:
        stopped = False
        while not stopped:
            batch = [self._queue.get()]
            try:
                while len(batch) < MAX_BATCH:
                    batch.append(self._queue.get_nowait())
            except Empty:
                pass
            stopped = None in batch
            self._write([record for record in batch if isinstance(record, AuditedEvent)])
            for item in batch:
                if isinstance(item, threading.Event):
                    item.set()
        self._sink.close()

    def _write(self, records: list[AuditedEvent]) -> None:
        if not records:
            return
        lost = self.lost
        if lost > self._lost_recorded:
            records.append(AuditedEvent(records[-1].timestamp_ms, None, Lost(lost - self._lost_recorded)))
        try:
            self._sink.write([record.to_json(self.broker_id) for record in records])
        except AuditWriteError as problem:
            self._lose(len(records) - (lost > self._lost_recorded), str(problem))
        except Exception as problem:
            log.exception("The audit could not be written")
            self._lose(len(records) - (lost > self._lost_recorded), type(problem).__name__)
        else:
            self.written += len(records) - (lost > self._lost_recorded)
            self._lost_recorded = lost

    def _lose(self, count: int, reason: str) -> None:
        with self._lock:
            self.lost += count
            now = time.monotonic()
            complains = self._complained_at is None or now - self._complained_at >= COMPLAINT_SECONDS
            if complains:
                self._complained_at = now
        if complains:
            log.error("Records of the audit are lost, %d since the start: %s", self.lost, reason)
