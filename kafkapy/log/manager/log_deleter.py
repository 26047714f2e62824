"""Removes logs from their dirs, later (part of Kafka's `LogManager`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.manager.log_maintenance import LogMaintenance
from kafkapy.log.manager.log_manager_config import LogCleaning
from kafkapy.protocol.errors import KafkaError

logger = logging.getLogger("kafkapy.log.LogManager")

_FORGOTTEN_TOGETHER_MS = 100


class LogDeleter:
    """Logs that are in no map any more.

    Invariant: a log's directory has its new name (`-delete`) before its removal is waited for, so a crash leaves nothing that
    looks like a log. `_to_forget` are those that may still be in the checkpoints of their dir.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        maintenance: LogMaintenance,
        cleaner: LogCleaning | None,
        delay_ms: Callable[[], int],
    ) -> None:
        self._scheduler = scheduler
        self._maintenance = maintenance
        self._cleaner = cleaner
        self._delay_ms = delay_ms
        self._lock = threading.Lock()
        self._to_forget: list[tuple[str, TopicPartition]] = []

    def remove_later(self, log: Log, name: str, sync: bool = False) -> None:
        """Rename a log that is in no map any more, and remove it after log.segment.delete.delay.ms. `KafkaError`.

        Its new name is durable a moment later, with `sync` at once: a topic of a thousand partitions must not hold up everybody
        for as many fsyncs.
        """
        log.rename_dir(name, sync)
        logger.info(
            "Log for partition %s is renamed to %s and is scheduled for deletion", log.topic_partition, log.directory
        )
        self.delete_later(log.delete, log.directory)
        self._forget_later(log)

    def delete_later(self, delete: Callable[[], object], directory: str) -> None:
        """Call `delete`, which removes `directory`, after log.segment.delete.delay.ms."""

        def run() -> None:
            try:
                delete()
                logger.info("Deleted log directory %s.", directory)
            except (KafkaError, OSError) as error:
                logger.error("Exception while deleting %s: %s", directory, error)

        self._scheduler.schedule_in_thread("kafka-delete-logs", run, self._delay_ms())

    def _forget_later(self, log: Log) -> None:
        """Take a deleted log out of the checkpoints, so that a log of the same name is not opened with its recovery point after a
        crash. Each checkpoint is synced, and its dir with the new name of the log: logs are deleted by the hundred, and one
        writing serves all that came before it."""
        with self._lock:
            self._to_forget.append((log.parent_dir, log.topic_partition))
            if len(self._to_forget) == 1:
                self._scheduler.schedule_in_thread(
                    "checkpoint-after-delete", self._forget_deleted, _FORGOTTEN_TOGETHER_MS
                )

    def _forget_deleted(self) -> None:
        with self._lock:
            deleted, self._to_forget = self._to_forget, []
        for directory in {directory for directory, _ in deleted}:
            if self._cleaner is not None:
                self._cleaner.update_checkpoints(directory, {partition for of, partition in deleted if of == directory})
        self._maintenance.checkpoint_all()
