"""Delayed deletion of logs (part of Kafka's `LogManager`)."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.manager.log_maintenance import LogMaintenance
from kafkapy.log.manager.log_manager_config import LogCleaning
from kafkapy.protocol.errors import KafkaError

logger = logging.getLogger("kafkapy.log.LogManager")

_CHECKPOINT_DELAY_MS = 100
"""Logs that are deleted within this period are removed from the checkpoints with one write."""


class _Removal(NamedTuple):
    due_ms: int
    """In ms of the monotonic clock."""
    delete: Callable[[], object]
    directory: str


class LogDeleter:
    """Deletes logs that are in no map any more.

    Invariant: a log's directory is renamed (`-delete`) before its removal is scheduled, so a crash leaves nothing that
    looks like a log. `_to_forget` are logs that may still be in the checkpoints of their dir. While `_to_remove` is not
    empty, one call of `_remove_what_is_due` is scheduled or running.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        maintenance: LogMaintenance,
        cleaner: LogCleaning | None,
        delay_ms: Callable[[], int],
        time: Time,
    ) -> None:
        self._scheduler = scheduler
        self._time = time
        self._maintenance = maintenance
        self._cleaner = cleaner
        self._delay_ms = delay_ms
        self._lock = threading.Lock()
        self._to_forget: list[tuple[str, TopicPartition]] = []
        self._to_remove: deque[_Removal] = deque()
        self._stopped = False

    def remove_later(self, log: Log, name: str, sync: bool = False) -> None:
        """Rename a log that is in no map any more, and delete it after log.segment.delete.delay.ms. `KafkaError`.

        The new name is made durable later, or immediately with `sync`: a topic of a thousand partitions must not block
        the reactor for as many fsyncs.
        """
        log.rename_dir(name, sync)
        logger.info(
            "Log for partition %s is renamed to %s and is scheduled for deletion", log.topic_partition, log.directory
        )
        self.delete_later(log.delete, log.directory)
        self._forget_later(log)

    def delete_later(self, delete: Callable[[], object], directory: str) -> None:
        """Call `delete`, which removes `directory`, after log.segment.delete.delay.ms.

        Directories are removed one after the other, as in Kafka: several threads would mostly wait for each other, and
        delay other work.
        """
        with self._lock:
            delay_ms = self._delay_ms()
            self._to_remove.append(_Removal(self._time.monotonic_ms() + delay_ms, delete, directory))
            if len(self._to_remove) == 1:
                self._scheduler.schedule_in_thread("kafka-delete-logs", self._remove_what_is_due, delay_ms)

    def _remove_what_is_due(self) -> None:
        while (removal := self._next_removal()) is not None:
            try:
                removal.delete()
                logger.info("Deleted log directory %s.", removal.directory)
            except Exception as error:
                expected = isinstance(error, KafkaError | OSError)
                logger.error(
                    "Exception while deleting %s: %s", removal.directory, error, exc_info=None if expected else error
                )
            with self._lock:
                self._to_remove.popleft()

    def _next_removal(self) -> _Removal | None:
        """Return the next due removal, which remains the first until it is done, so that no other thread starts. Return
        None if nothing is due, after scheduling the next call.
        """
        with self._lock:
            if not self._to_remove or self._stopped:
                return None
            first = self._to_remove[0]
            early_ms = first.due_ms - self._time.monotonic_ms()
            if early_ms > 0:
                self._scheduler.schedule_in_thread("kafka-delete-logs", self._remove_what_is_due, early_ms)
                return None
            return first

    def stop(self) -> None:
        """Stop; the next start removes the rest."""
        self._stopped = True

    def _forget_later(self, log: Log) -> None:
        """Schedule the removal of a deleted log from the checkpoints, so that a log of the same name does not get its
        recovery point after a crash. Each checkpoint is synced, and its dir with the new name of the log. Logs are
        deleted by the hundred, and one write serves all that came before.
        """
        with self._lock:
            self._to_forget.append((log.parent_dir, log.topic_partition))
            if len(self._to_forget) == 1:
                self._scheduler.schedule_in_thread(
                    "checkpoint-after-delete", self._forget_deleted, _CHECKPOINT_DELAY_MS
                )

    def _forget_deleted(self) -> None:
        with self._lock:
            deleted, self._to_forget = self._to_forget, []
        for directory in {directory for directory, _ in deleted}:
            if self._cleaner is not None:
                self._cleaner.update_checkpoints(directory, {partition for of, partition in deleted if of == directory})
        self._maintenance.checkpoint_all()
