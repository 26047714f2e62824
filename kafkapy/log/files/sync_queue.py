"""Delayed fsyncs of small files."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from kafkapy.common.scheduler import Scheduler
from kafkapy.protocol.errors import KafkaError

logger = logging.getLogger("kafkapy.log.SyncQueue")

SYNC_DELAY_MS = 1000
"""Files added during the delay are synced together, each once, after the disk has served clients that wait for new
leaders.
"""


class SyncQueue:
    """Runs fsyncs one after the other in one delayed background task.

    One change of leaders or one new topic touches the files of a thousand logs. A task for each would fill the
    background pool, and its fsyncs would delay those of ZooKeeper on the same disk, just when clients wait for leaders.

    Invariant: after `add`, the function is run once.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._waiting: dict[Callable[[], object], None] = {}
        self._scheduled = False

    def add(self, sync: Callable[[], object]) -> None:
        """Queue a function, from any thread, unless it is queued already. Its `KafkaError` is logged."""
        with self._lock:
            self._waiting[sync] = None
            schedule, self._scheduled = not self._scheduled, True
        if schedule:
            self._scheduler.schedule_in_thread("sync-small-files", self.run_all, SYNC_DELAY_MS)

    def run_all(self) -> None:
        """Run all queued functions; blocks on the disk."""
        while True:
            with self._lock:
                waiting, self._waiting = self._waiting, {}
                self._scheduled = bool(waiting)
            if not waiting:
                return
            for sync in waiting:
                try:
                    sync()
                except KafkaError as error:
                    logger.error("%s", error)
                except Exception:
                    logger.exception("A file could not be synced")  # continue with the others
