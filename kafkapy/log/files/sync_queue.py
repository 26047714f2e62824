"""fsyncs of small files that nobody waits for."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from kafkapy.common.scheduler import Scheduler
from kafkapy.log.files.log_files import Fsync, fsync_files, sync_file_system
from kafkapy.protocol.errors import KafkaError

logger = logging.getLogger("kafkapy.log.SyncQueue")

SYNC_DELAY_MS = 1000
SYNCED_ALONE = 100
"""So many have their files synced one by one. Each fsync commits the file system's journal: whoever makes files waits for it."""


class SyncQueue:
    """Runs them one after the other in one background task, a moment later; of many logs in one sync of the file system.

    One change of leaders or one new topic touches the files of a thousand logs. A task for each would fill the background pool,
    and its fsyncs would hold up those of ZooKeeper on the same disk, just when clients wait for leaders.

    Invariant: what was added is run once after that.
    """

    def __init__(self, scheduler: Scheduler, on_dir_failure: Callable[[str, str, OSError], object]) -> None:
        self._scheduler = scheduler
        self._on_dir_failure = on_dir_failure
        self._lock = threading.Lock()
        self._waiting: dict[Callable[[Fsync], object], None] = {}
        self._scheduled = False

    def add(self, sync: Callable[[Fsync], object]) -> None:
        """From any thread. `sync` writes what is not written and names, by the function it is given, the files to be synced.
        What waits already is not added again; a `KafkaError` of it is logged."""
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
            if len(waiting) > SYNCED_ALONE:
                self._run_at_once(list(waiting))
            else:
                _run(list(waiting), fsync_files)

    def _run_at_once(self, waiting: list[Callable[[Fsync], object]]) -> None:
        log_dirs: set[str] = set()
        _run(waiting, lambda directory, names: log_dirs.add(os.path.dirname(directory)))
        for log_dir in log_dirs:
            try:
                sync_file_system(log_dir)
            except OSError as error:
                self._on_dir_failure(log_dir, f"Error while syncing log dir {log_dir}", error)


def _run(waiting: list[Callable[[Fsync], object]], fsync: Fsync) -> None:
    for sync in waiting:
        try:
            sync(fsync)
        except KafkaError as error:
            logger.error("%s", error)
        except Exception:
            logger.exception("A file could not be synced")  # the others must be nevertheless
