"""All logs of a broker (Kafka's `LogManager`): loads them at start, creates, deletes, flushes and closes them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from kafkapy.common.capabilities import SYNCFS
from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import MalformedFileError, OffsetCheckpointFile
from kafkapy.log.files.log_files import (
    DELETE_DIR_SUFFIX,
    STRAY_DIR_SUFFIX,
    delete_directory,
    log_delete_dir_name,
    log_dir_name,
    parse_topic_partition_name,
    sync_file_system,
)
from kafkapy.log.log import Log
from kafkapy.log.log_config import LogConfig
from kafkapy.log.manager.future_logs import FutureLogs, is_future
from kafkapy.log.manager.log_deleter import LogDeleter
from kafkapy.log.manager.log_dirs import LogDir, LogDirError, LogDirs
from kafkapy.log.manager.log_maintenance import LogMaintenance
from kafkapy.log.manager.log_manager_config import BrokerLogConfig, LogCleaning, LogManagerConfig
from kafkapy.log.manager.log_opener import LogOpener
from kafkapy.protocol.errors import Errors, KafkaError

logger = logging.getLogger("kafkapy.log.LogManager")

Result = TypeVar("Result")

MAX_SINGLE_SYNCS = 100
"""With more logs in a dir, a shutdown syncs its file system instead of each file: 10,000 logs would take a minute."""

_REMEDY = (
    "Restore the file from a backup; or move the directory of the partition away: it is then copied from its leader, or begins "
    "empty if it has no other replica"
)
_OTHER_DIRECTORIES = ("remote-log-index-cache", "__cluster_metadata-0")


class LogManager:
    """The logs in all log dirs.

    Invariants: while it runs, each live dir is locked against other brokers. `logs` has the log of each partition, in
    one live dir; `future` those that are being moved to another. `_names` has by topic the partitions in either map,
    and may have more.

    The maps change under `lock`; look-ups don't take it. The files of a new log are created without the lock, so that
    several threads can create logs; until the log is in the map, `_being_made` has it with its dir, and other threads
    that need it wait.

    A dir with an I/O error is taken offline: its logs are dropped, and `dir_failure_listeners` are called. After a
    crash there is no clean-shutdown marker, so the next start recovers the logs.
    """

    def __init__(
        self,
        log_dirs: Sequence[str],
        default_config: LogConfig,
        topic_configs: Mapping[str, Mapping[str, str]],
        scheduler: Scheduler,
        time: Time,
        config: LogManagerConfig = LogManagerConfig(),  # noqa: B008 (a tuple of numbers)
        make_cleaner: Callable[[LogManager], LogCleaning] | None = None,
    ) -> None:
        """Creates and locks the dirs; `startup` loads the logs. `topic_configs`: the overrides of each topic that has
        any.

        `LogDirError` if no dir is usable, or another broker uses one.
        """
        self._scheduler = scheduler
        self._time = time
        self._config = config
        self.logs: dict[TopicPartition, Log] = {}
        """The live map: copy it before iterating."""
        self._names: dict[str, set[TopicPartition]] = {}
        self.lock = threading.RLock()
        self._made = threading.Condition(self.lock)
        self._being_made: dict[TopicPartition, str] = {}
        self._dirs = LogDirs(log_dirs)
        self._failures: dict[str, str] = {}
        self.dir_failure_listeners: list[Callable[[str, list[TopicPartition]], object]] = []
        """Called, on the thread that met the error, with the offline dir and the partitions that are lost with it."""
        self.cleaner: LogCleaning | None = make_cleaner(self) if make_cleaner is not None else None
        self._opener = LogOpener(
            default_config,
            topic_configs,
            scheduler,
            time,
            self.handle_log_dir_failure,
            config.producer_id_expiration_ms,
        )
        future_logs: dict[TopicPartition, Log] = {}
        self.maintenance = LogMaintenance(
            self._dirs, self.logs, future_logs, self.cleaner, time, self.handle_log_dir_failure
        )
        self._deleter = LogDeleter(
            scheduler, self.maintenance, self.cleaner, lambda: self._opener.default_config.file_delete_delay_ms, time
        )
        self.future = FutureLogs(
            future_logs, self.logs, self.lock, self._dirs, self._opener, self._deleter, self.cleaner,
            self.handle_log_dir_failure,
        )  # fmt: skip

    @classmethod
    def from_config(
        cls,
        config: BrokerLogConfig,
        topic_configs: Mapping[str, Mapping[str, str]],
        scheduler: Scheduler,
        time: Time,
        make_cleaner: Callable[[LogManager], LogCleaning] | None = None,
    ) -> LogManager:
        """Return the manager of a broker."""
        return cls(
            config.log_dirs,
            config.log_config_defaults(),
            topic_configs,
            scheduler,
            time,
            LogManagerConfig.of(config),
            make_cleaner,
        )

    # -- dirs

    @property
    def live_log_dirs(self) -> list[str]:
        """Return the absolute paths of the live dirs."""
        return self._dirs.live_paths

    @property
    def offline_log_dirs(self) -> list[str]:
        return self._dirs.offline_paths

    def is_log_dir_online(self, directory: str) -> bool:
        """Return whether a dir is live. `KafkaError` LOG_DIR_NOT_FOUND if log.dirs does not contain it."""
        return self._dirs.is_online(directory)

    def handle_log_dir_failure(self, directory: str, message: str, error: OSError) -> None:
        """Take a dir offline: its logs are dropped with their state in memory."""
        with self.lock:
            log_dir = self._dirs.take_offline(directory)
            if log_dir is None:
                return
            self._failures[directory] = f"{message}: {error}"
            logger.error("%s: %s", message, error)
            logger.warning("Stopping serving logs in dir %s", directory)
            if not self.live_log_dirs:
                logger.critical("All log dirs in %s have failed", ", ".join(self.offline_log_dirs))
            offline = {partition: log for partition, log in self.logs.items() if log.parent_dir == directory}
            for partition in offline:
                del self.logs[partition]
            gone = [*offline.values(), *self.future.drop_dir(directory)]
        # Without the lock, because a log may be waiting here for it while holding its own lock.
        if self.cleaner is not None:
            self.cleaner.handle_log_dir_failure(directory)
        for log in gone:
            log.close_handlers()
        log_dir.lock.release()
        for listener in self.dir_failure_listeners:
            listener(directory, list(offline))

    def check_live(self) -> None:
        """Raise `LogDirError` if every dir that was usable at first has failed: a broker without dirs serves nothing."""
        if not self.live_log_dirs:
            raise LogDirError(
                f"All log dirs have failed: {'; '.join(self._failures.values())}. Repair them, or take them out of log.dirs, and "
                "start the broker again."
            )

    # -- start

    def startup(self) -> None:
        """Load all logs (blocks, for long after a crash), then start the periodic tasks. `LogDirError`."""
        started = self._time.monotonic_ms()
        try:
            loaded = sum([self._load_dir(log_dir) for log_dir in self._dirs.live()])
            self.future.ignore_same_dir_logs()
            self.check_live()
        except BaseException:
            self._dirs.release()
            raise
        logger.info("Loaded %d logs in %dms", loaded, self._time.monotonic_ms() - started)
        self.maintenance.start(self._scheduler, self._config)
        if self.cleaner is not None:
            self.cleaner.startup()

    def _load_dir(self, log_dir: LogDir) -> int:
        """Load all logs of one dir in parallel threads; return their number."""
        try:
            clean = log_dir.clean_shutdown_file.exists()
            # If this start fails half-way, the next one has to recover.
            log_dir.clean_shutdown_file.delete()
            log_dir.had_clean_shutdown = clean
            partitions = self._partitions_in(log_dir.path)
            recovery_points = _recovery_points(log_dir.recovery_points)
            log_start_offsets = log_dir.log_start_offsets.read()
        except OSError as error:
            self.handle_log_dir_failure(log_dir.path, f"Error while loading log dir {log_dir.path}", error)
            return 0
        logger.info(
            "%s %d logs from %s since %sclean shutdown file was found",
            "Skipping recovery of" if clean else "Recovering", len(partitions), log_dir.path, "" if clean else "no ",
        )  # fmt: skip

        def load(path: str) -> None:
            partition = partitions[path]
            try:
                self._load(
                    path, partition, recovery_points.get(partition, 0), log_start_offsets.get(partition, 0), clean
                )
            except OSError as error:
                self.handle_log_dir_failure(log_dir.path, f"Error while loading log {path}", error)
            except LogDirError:
                raise
            except Exception as error:
                if not isinstance(error, KafkaError | ValueError):
                    logger.exception("Unexpected error while loading log %s", path)
                raise LogDirError(f"The log of {partition} in {path} can't be loaded: {error}. {_REMEDY}") from error

        self._for_all(load, list(partitions), "log-recovery")
        log_dir.load_completed = True
        return len(partitions)

    def _partitions_in(self, directory: str) -> dict[str, TopicPartition]:
        """Return the path and partition of each log. Raises `OSError`, `LogDirError`."""
        found = {path: self._partition_of(path) for path in _subdirectories(directory)}
        return {path: partition for path, partition in found.items() if partition is not None}

    def _partition_of(self, path: str) -> TopicPartition | None:
        """Return None if the directory is not a partition's log: it waits for deletion, or is foreign."""
        name = os.path.basename(path)
        if name in _OTHER_DIRECTORIES:
            return None
        try:
            partition = parse_topic_partition_name(path)
        except ValueError as error:
            raise LogDirError(str(error)) from None
        if name.endswith(STRAY_DIR_SUFFIX):
            logger.warning("Log directory %s is left alone: it is not the current log of %s", path, partition)
            return None
        if name.endswith(DELETE_DIR_SUFFIX):
            self._deleter.delete_later(lambda: delete_directory(path), path)
            return None
        return partition

    def _load(self, path: str, partition: TopicPartition, recovery_point: int, log_start: int, clean: bool) -> None:
        started = self._time.monotonic_ms()
        log = self._opener.open(path, partition.topic, None, log_start, recovery_point, clean)
        with self.lock:
            if log.parent_dir not in self._dirs:  # taken offline concurrently
                return
            self._names.setdefault(partition.topic, set()).add(partition)
            previous = (self.future.logs if is_future(log) else self.logs).setdefault(partition, log)
        if previous is not log:
            raise LogDirError(
                f"Duplicate log directories for {partition} are found in both {log.directory} and {previous.directory}. It is "
                "likely because log directory failure happened while broker was replacing current replica with future "
                "replica. Recover broker from this failure by manually deleting one of the two directories for this "
                "partition. It is recommended to delete the partition in the log directory that is known to have failed "
                "recently."
            )
        took = self._time.monotonic_ms() - started
        logger.debug("Completed load of %s with %d segments in %dms", log, len(log.segments), took)

    def _for_all(self, work: Callable[[str], None], items: list[str], name: str) -> None:
        if self._config.recovery_threads_per_data_dir <= 1 or len(items) <= 1:
            for item in items:
                work(item)
            return
        with ThreadPoolExecutor(self._config.recovery_threads_per_data_dir, name) as pool:
            futures: list[Future[None]] = [pool.submit(work, item) for item in items]
            for future in futures:
                future.result()

    # -- shutdown

    def shutdown(self) -> None:
        """Flush and close all logs, write the checkpoints and the clean-shutdown markers, unlock the dirs. Blocks."""
        logger.info("Shutting down.")
        self._deleter.stop()
        if self.cleaner is not None:
            self.cleaner.shutdown()
        try:
            self._opener.syncs.run_all()
            for log_dir in self._dirs.live():
                self._close_dir(log_dir)
        finally:
            self._dirs.release()
        logger.info("Shutdown complete.")

    def _close_dir(self, log_dir: LogDir) -> None:
        logs = {log.directory: log for log in self._logs_in(log_dir.path)}
        non_blocking = SYNCFS and len(logs) > MAX_SINGLE_SYNCS
        failed: list[str] = []

        def close(name: str) -> None:
            try:
                if not non_blocking:
                    logs[name].flush(force_active_segment=True)
                logs[name].close(sync=not non_blocking)
            except Exception as error:
                logger.warning("Error while closing %s: %s", name, error)
                failed.append(name)

        self._for_all(close, list(logs), "log-closing")
        if failed or log_dir.path not in self._dirs:
            return
        try:
            if non_blocking:
                sync_file_system(log_dir.path)
                for log in logs.values():
                    log.file_system_synced()
            self.maintenance.checkpoint(log_dir)
            if log_dir.had_clean_shutdown or log_dir.load_completed:
                log_dir.clean_shutdown_file.write()
        except OSError as error:
            logger.error("Could not write the clean shutdown file in %s: %s", log_dir.path, error)

    # -- logs

    def get_log(self, partition: TopicPartition) -> Log | None:
        return self.logs.get(partition)

    def all_logs(self) -> list[Log]:
        """Return all logs, including future logs."""
        return [*self.logs.values(), *self.future.logs.values()]

    def logs_by_topic(self, topic: str) -> list[Log]:
        names = list(self._names.get(topic, ()))
        return [log for logs in (self.logs, self.future.logs) for name in names if (log := logs.get(name)) is not None]

    def _logs_in(self, directory: str) -> list[Log]:
        return [log for log in self.all_logs() if log.parent_dir == directory]

    def get_or_create_log(self, partition: TopicPartition, topic_id: bytes | None = None, is_new: bool = False) -> Log:
        """Return the partition's log; create it if there is none, in the dir with the fewest logs.

        Raises:
            KafkaError: INCONSISTENT_TOPIC_ID; KAFKA_STORAGE_ERROR if it cannot be created, or might be in an offline
                dir (unless `is_new`).
        """
        with self.lock:
            self._wait_until_made(partition)
            log = self.logs.get(partition)
            if log is not None:
                if topic_id is not None:
                    log.assign_topic_id(topic_id)
                return log
            if not is_new and self.offline_log_dirs:
                raise KafkaError(
                    Errors.KAFKA_STORAGE_ERROR,
                    f"Can not create log for {partition} because log directories {self.offline_log_dirs} are offline",
                )
            preferred = self.future.preferred.pop(partition, "")
            directories = [preferred] if preferred in self._dirs else self._dirs_by_load()
            self._being_made[partition] = directories[0] if directories else ""
        try:
            return self._create(partition, topic_id, directories)
        finally:
            with self.lock:
                del self._being_made[partition]
                self._made.notify_all()

    def _wait_until_made(self, partition: TopicPartition) -> None:
        while partition in self._being_made:
            self._made.wait()

    def _create(self, partition: TopicPartition, topic_id: bytes | None, directories: list[str]) -> Log:
        for directory in directories:
            path = f"{directory}/{log_dir_name(partition)}"
            try:
                log = self._opener.open(path, partition.topic, topic_id)
            except OSError as error:
                self.handle_log_dir_failure(
                    directory, f"Error while creating log for {partition} in dir {directory}", error
                )
                continue
            if self._add(partition, log):
                logger.info("Created log for partition %s in %s", partition, path)
                return log
        raise KafkaError(Errors.KAFKA_STORAGE_ERROR, f"No log directories available for {partition}")

    def _add(self, partition: TopicPartition, log: Log) -> bool:
        """Put a new log into the map. Return False if its dir has gone offline."""
        with self.lock:
            if log.parent_dir not in self._dirs:
                log.close_handlers()
                return False
            config = self._opener.config_of(partition.topic)
            if log.config is not config:  # changed concurrently
                log.update_config(config)
            self.logs[partition] = log
            self._names.setdefault(partition.topic, set()).add(partition)
            return True

    def _dirs_by_load(self) -> list[str]:
        """Return the live dirs, ordered by number of logs."""
        counts = dict.fromkeys(self.live_log_dirs, 0)
        if len(counts) > 1:
            for directory in [*(log.parent_dir for log in self.all_logs()), *self._being_made.values()]:
                if directory in counts:
                    counts[directory] += 1
        return sorted(counts, key=counts.__getitem__)

    def async_delete(self, partition: TopicPartition) -> Log | None:
        """Remove a partition's log: its directory is renamed now and deleted after log.segment.delete.delay.ms.

        Return None if there is no such log. `KafkaError` KAFKA_STORAGE_ERROR if it may be in an offline dir.
        """
        with self.lock:
            self._wait_until_made(partition)
            log = self.logs.pop(partition, None)
            if log is not None and self.future.get(partition) is None:
                self._forget_name(partition)
        if log is None:
            if self.offline_log_dirs:
                raise KafkaError(
                    Errors.KAFKA_STORAGE_ERROR,
                    f"Failed to delete log for {partition} because it may be in one of the offline directories "
                    f"{self.offline_log_dirs}",
                )
            return None
        if self.cleaner is not None:
            self.cleaner.abort_cleaning(partition)
        self._deleter.remove_later(log, log_delete_dir_name(partition))
        return log

    def _forget_name(self, partition: TopicPartition) -> None:
        names = self._names.get(partition.topic, set())
        names.discard(partition)
        if not names:
            self._names.pop(partition.topic, None)

    # -- configs

    def update_topic_config(self, topic: str, overrides: Mapping[str, str]) -> None:
        """Set the topic's own configs. `ConfigException` if a value is invalid."""
        config = self._opener.update_topic_config(topic, overrides)
        if config is None:
            return  # no change, as at a start, when all topics' configs are read again
        for log in self.logs_by_topic(topic):
            was_compact = log.config.compact
            self._use_config(log, config)
            if was_compact and not config.compact and self.cleaner is not None:
                self.cleaner.abort_cleaning(log.topic_partition)

    def reconfigure_default_config(self, config: LogConfig) -> None:
        """Set the broker's defaults; topics keep their own configs."""
        self._opener.reconfigure_default_config(config)
        for log in self.all_logs():
            self._use_config(log, self._opener.config_of(log.topic_partition.topic))

    def _use_config(self, log: Log, config: LogConfig) -> None:
        """Set a log's config now, or when another thread releases the log: then to the topic's config of that time."""
        if not log.try_update_config(config):
            topic = log.topic_partition.topic
            self._scheduler.schedule_in_thread(
                "update-log-config", lambda: log.update_config(self._opener.config_of(topic))
            )

    # -- truncation

    def truncate_to(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Truncate logs, and write their recovery points. Partitions without a log are ignored."""
        changed = set()
        for partition, offset in offsets.items():
            log = self.logs.get(partition)
            if log is None:
                continue
            # The cleaner never changes the active segment.
            if offset < log.active_segment.base_offset:
                truncated = self._without_cleaner(log, partial(log.truncate_to, offset))
            else:
                truncated = log.truncate_to(offset)
            if truncated:
                changed.add(log.parent_dir)
        self.maintenance.checkpoint_recovery_points(changed)

    def truncate_fully_and_start_at(
        self, partition: TopicPartition, offset: int, log_start_offset: int | None = None
    ) -> None:
        """Remove all records of a partition, and continue at `offset`."""
        log = self.logs.get(partition)
        if log is None:
            return
        self._without_cleaner(log, lambda: log.truncate_fully_and_start_at(offset, log_start_offset))
        self.maintenance.checkpoint_recovery_points([log.parent_dir])

    def empty(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Remove all records; each log starts at 0 again, and so do the checkpoints. Return the partitions that had
        records.
        """
        written_to = []
        for partition in partitions:
            log = self.logs.get(partition)
            if log is not None and log.log_end_offset:
                self._without_cleaner(log, partial(log.truncate_fully_and_start_at, 0))
                written_to.append(partition)
        return written_to

    def _without_cleaner(self, log: Log, truncate: Callable[[], Result]) -> Result:
        """Truncate a log with its cleaning paused, and limit the cleaner's checkpoint."""
        cleaner, partition = self.cleaner, log.topic_partition
        if cleaner is None:
            return truncate()
        cleaner.abort_and_pause_cleaning(partition)
        try:
            result = truncate()
            cleaner.maybe_truncate_checkpoint(log.parent_dir, partition, log.active_segment.base_offset)
            return result
        finally:
            cleaner.resume_cleaning([partition])


def _subdirectories(directory: str) -> list[str]:
    return [entry.path for entry in os.scandir(directory) if entry.is_dir()]


def _recovery_points(file: OffsetCheckpointFile) -> dict[TopicPartition, int]:
    """Without these, recovery checks more than needed. The log start offsets are indispensable: deleted records would
    reappear.
    """
    try:
        return file.read()
    except MalformedFileError as error:
        logger.warning("%s. It is taken as empty", error)
        return {}
