"""fsyncs of small files that nobody waits for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from kafkapy.common.scheduler import Scheduler
from kafkapy.protocol.errors import KafkaError

logger = logging.getLogger("kafkapy.log.SyncQueue")

SYNC_DELAY_MS = 1000
"""What comes meanwhile is synced with it, each file once, after clients that wait for new leaders have had the disk."""


class SyncQueue:
    """Runs them one after the other in one background task, a moment later.

    One change of leaders or one new topic touches the files of a thousand logs. A task for each would fill the background pool,
    and its fsyncs would hold up those of ZooKeeper on the same disk, just when clients wait for leaders.

    Invariant: what was added is run once after that.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._waiting: dict[Callable[[], object], None] = {}
        self._scheduled = False

    def add(self, sync: Callable[[], object]) -> None:
        """From any thread. What waits already is not added again; a `KafkaError` of it is logged."""
        with self._lock:
            self._waiting[sync] = None
            schedule, self._scheduled = not self._scheduled, True
        if schedule:
            self._scheduler.schedule_in_thread("sync-small-files", self.run_all, SYNC_DELAY_MS)

    def run_all(self) -> None:
        """Run what waits; blocks on the disk."""
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
                    logger.exception("A file could not be synced")  # the others must be nevertheless
