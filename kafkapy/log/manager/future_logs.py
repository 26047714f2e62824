"""Future logs, which are copies in another log dir (KIP-113; part of Kafka's `LogManager`)."""

from __future__ import annotations

import logging
import os
import threading
from dataclasses import dataclass, field

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.log_files import log_delete_dir_name, log_dir_name, log_future_dir_name
from kafkapy.log.local_log import DirFailureHandler
from kafkapy.log.log import Log
from kafkapy.log.manager.log_deleter import LogDeleter
from kafkapy.log.manager.log_dirs import LogDirs
from kafkapy.log.manager.log_manager_config import LogCleaning
from kafkapy.log.manager.log_opener import LogOpener
from kafkapy.protocol.errors import Errors, KafkaError

logger = logging.getLogger("kafkapy.log.LogManager")


@dataclass(eq=False)
class FutureLogs:
    """Copies of current logs that replace them once they have caught up.

    Invariants: `logs` holds at most one for each partition, in a live dir other than the current log's, in a directory
    `<topic>-<partition>.<uuid>-future`. `preferred` has the dir of the next log of a partition, current or future. All
    methods require the manager's lock.
    """

    logs: dict[TopicPartition, Log]
    _current_logs: dict[TopicPartition, Log]
    """Both maps, the lock and the dirs are shared with the manager."""
    _lock: threading.RLock
    _dirs: LogDirs
    _opener: LogOpener
    _deleter: LogDeleter
    cleaner: LogCleaning | None
    _on_dir_failure: DirFailureHandler
    preferred: dict[TopicPartition, str] = field(default_factory=dict, init=False)

    def get(self, partition: TopicPartition) -> Log | None:
        return self.logs.get(partition)

    def maybe_prefer(self, partition: TopicPartition, directory: str) -> None:
        """Create the partition's next log in this dir, unless one is there already (`maybeUpdatePreferredLogDir`)."""
        with self._lock:
            there = (self._current_logs.get(partition), self.logs.get(partition))
            if not any(log is not None and log.parent_dir == directory for log in there):
                self.preferred[partition] = directory

    def get_or_create(self, partition: TopicPartition, topic_id: bytes | None) -> Log:
        """Return the future log, created in the preferred dir if there is none.

        `KafkaError` KAFKA_STORAGE_ERROR if it cannot be created, or if a dir is offline, because that may contain
        another one.
        """
        with self._lock:
            log = self.logs.get(partition)
            if log is not None:
                return log
            directory = self.preferred.get(partition)
            if directory is None or not self._dirs.is_online(directory):
                raise KafkaError(Errors.KAFKA_STORAGE_ERROR, f"There is no dir for the future log of {partition}")
            if self._dirs.offline_paths:
                raise KafkaError(
                    Errors.KAFKA_STORAGE_ERROR,
                    f"Can not create the future log of {partition} because log directories {self._dirs.offline_paths} are "
                    "offline",
                )
            path = f"{directory}/{log_future_dir_name(partition)}"
            try:
                log = self._opener.open(path, partition.topic, topic_id)
            except OSError as error:
                message = f"Error while creating the future log for {partition} in dir {directory}"
                self._on_dir_failure(directory, message, error)
                raise KafkaError(Errors.KAFKA_STORAGE_ERROR, message) from None
            self.preferred.pop(partition, None)
            self.logs[partition] = log
            logger.info("Created future log for partition %s in %s", partition, path)
            return log

    def replace_current(self, partition: TopicPartition) -> Log:
        """Replace the current log by the future log, delete the replaced one later, and return the new current log.

        Both must end at the same offset, without concurrent appends. `KafkaError` KAFKA_STORAGE_ERROR: if it comes from
        the old log's dir, the log has been replaced nevertheless.
        """
        with self._lock:
            source, destination = self._current_logs.get(partition), self.logs.get(partition)
            if source is None or destination is None:
                raise KafkaError(
                    Errors.KAFKA_STORAGE_ERROR, f"The current or the future replica of {partition} is offline"
                )
            logger.info("Replacing %s with %s", source, destination)
            # A crash between the two renames leaves two logs of the same name, which the next start reports.
            destination.rename_dir(log_dir_name(partition))
            destination.update_high_watermark(source.high_watermark)
            del self.logs[partition]
            self._current_logs[partition] = destination
            if self.cleaner is not None:
                self.cleaner.alter_checkpoint_dir(partition, source.parent_dir, destination.parent_dir)
            try:
                self._deleter.remove_later(source, log_delete_dir_name(partition), sync=True)
            except KafkaError:
                source.close_handlers()
                raise
            return destination

    def async_delete(self, partition: TopicPartition) -> Log | None:
        """Remove a future log, as `LogManager.async_delete` does; None if there is none. `KafkaError`
        KAFKA_STORAGE_ERROR.
        """
        with self._lock:
            self.preferred.pop(partition, None)
            log = self.logs.pop(partition, None)
            if log is not None:
                self._deleter.remove_later(log, log_delete_dir_name(partition))
            return log

    def ignore_same_dir_logs(self) -> None:
        """Ignore future logs in the dir of their current log, which no move creates: they cannot replace it."""
        for partition, log in list(self.logs.items()):
            current = self._current_logs.get(partition)
            if current is not None and current.parent_dir == log.parent_dir:
                logger.warning(
                    "Directory %s is left alone: the current log of %s is in the same log dir, %s. If nothing in it is needed, "
                    "remove it.",
                    log.directory, partition, current.directory,
                )  # fmt: skip
                del self.logs[partition]
                log.close_handlers()

    def drop_dir(self, directory: str) -> list[Log]:
        """Remove and return the logs of a dir that is offline."""
        gone = [log for log in self.logs.values() if log.parent_dir == directory]
        for log in gone:
            del self.logs[log.topic_partition]
        return gone


def is_future(log: Log) -> bool:
    return os.path.basename(log.directory).endswith("-future")
