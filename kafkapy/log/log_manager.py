"""All logs of a broker (Kafka's `LogManager`): opens them at start, makes, deletes, flushes and cleans them up, closes them."""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from kafkapy.common.scheduler import Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.checkpoints import MalformedFileError, OffsetCheckpointFile
from kafkapy.log.log import Log
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_dirs import LogDir, LogDirError, check_distinct
from kafkapy.log.log_files import (
    DELETE_DIR_SUFFIX,
    FUTURE_DIR_SUFFIX,
    STRAY_DIR_SUFFIX,
    log_delete_dir_name,
    log_dir_name,
    parse_topic_partition_name,
)
from kafkapy.log.log_loader import DAY_MS, load_log
from kafkapy.protocol.errors import Errors, KafkaError

logger = logging.getLogger("kafkapy.log.LogManager")

_OTHER_DIRECTORIES = ("remote-log-index-cache", "__cluster_metadata-0")


class Cleaner(Protocol):
    """What the manager needs of the log cleaner (Kafka's `LogCleaner`)."""

    def startup(self) -> None: ...

    def shutdown(self) -> None: ...

    def abort_cleaning(self, partition: TopicPartition) -> None:
        """Stop cleaning a partition if that is going on; returns when it has stopped."""
        ...

    def abort_and_pause_cleaning(self, partition: TopicPartition) -> None: ...

    def resume_cleaning(self, partitions: Iterable[TopicPartition]) -> None: ...

    def pause_cleaning_for_non_compacted_partitions(self) -> list[tuple[TopicPartition, Log]]:
        """Keep the cleaner off the logs that are not compacted and not being cleaned; those logs."""
        ...

    def update_checkpoints(self, directory: str, partition_to_remove: TopicPartition | None = None) -> None: ...

    def maybe_truncate_checkpoint(self, directory: str, partition: TopicPartition, offset: int) -> None: ...

    def handle_log_dir_failure(self, directory: str) -> None: ...


class LogManagerConfig(Protocol):
    """The broker configs that the manager follows."""

    @property
    def log_dirs(self) -> Sequence[str]: ...

    def log_config_defaults(self) -> LogConfig: ...

    @property
    def num_recovery_threads_per_data_dir(self) -> int: ...

    @property
    def log_flush_scheduler_interval_ms(self) -> int: ...

    @property
    def log_flush_offset_checkpoint_interval_ms(self) -> int: ...

    @property
    def log_flush_start_offset_checkpoint_interval_ms(self) -> int: ...

    @property
    def log_retention_check_interval_ms(self) -> int: ...

    @property
    def producer_id_expiration_ms(self) -> int: ...

    @property
    def producer_id_expiration_check_interval_ms(self) -> int: ...

    @property
    def log_initial_task_delay_ms(self) -> int: ...


class LogManager:
    """The logs in all log dirs.

    Invariants: while it runs, each live dir is locked against other brokers; `_logs` holds each partition's one log, in one live
    dir. Making and deleting logs is done under `_lock`, look-ups need none. A dir with an I/O error is taken offline: its logs
    are dropped, and `on_dir_failure` is told. What a crash leaves: no clean-shutdown marker, so the next start recovers.
    """

    def __init__(
        self,
        log_dirs: Sequence[str],
        default_config: LogConfig,
        topic_configs: Mapping[str, LogConfig],
        scheduler: Scheduler,
        time: Time,
        *,
        recovery_threads_per_data_dir: int = 1,
        flush_check_ms: int = (1 << 63) - 1,
        flush_recovery_offset_checkpoint_ms: int = 60_000,
        flush_start_offset_checkpoint_ms: int = 60_000,
        retention_check_ms: int = 300_000,
        producer_id_expiration_ms: int = DAY_MS,
        producer_id_expiration_check_interval_ms: int = 600_000,
        initial_task_delay_ms: int = 30_000,
        make_cleaner: Callable[[LogManager], Cleaner] | None = None,
    ) -> None:
        """Makes and locks the dirs; `startup` loads them. `topic_configs`: for topics that have configs of their own.

        `LogDirError` if no dir can be used, or one is in use by another broker.
        """
        self._log_dirs = [os.path.abspath(directory) for directory in log_dirs]
        self._default_config = default_config
        self._topic_configs = dict(topic_configs)
        self._scheduler = scheduler
        self._time = time
        self._recovery_threads = recovery_threads_per_data_dir
        self._flush_check_ms = flush_check_ms
        self._recovery_offset_checkpoint_ms = flush_recovery_offset_checkpoint_ms
        self._start_offset_checkpoint_ms = flush_start_offset_checkpoint_ms
        self._retention_check_ms = retention_check_ms
        self._producer_id_expiration_ms = producer_id_expiration_ms
        self._producer_id_expiration_check_ms = producer_id_expiration_check_interval_ms
        self._initial_task_delay_ms = initial_task_delay_ms
        self._logs: dict[TopicPartition, Log] = {}
        self._lock = threading.RLock()
        self._dirs: dict[str, LogDir] = {}
        self.on_dir_failure: Callable[[str, list[TopicPartition]], object] = lambda directory, partitions: None
        """Told, on whatever thread met the error, which dir is offline and which partitions are gone with it."""
        self._open_dirs()
        self.cleaner: Cleaner | None = make_cleaner(self) if make_cleaner is not None else None

    @classmethod
    def from_config(
        cls,
        config: LogManagerConfig,
        topic_configs: Mapping[str, Mapping[str, str]],
        scheduler: Scheduler,
        time: Time,
        make_cleaner: Callable[[LogManager], Cleaner] | None = None,
    ) -> LogManager:
        """The manager of a broker; `topic_configs`: the overrides of each topic that has any."""
        defaults = config.log_config_defaults()
        return cls(
            config.log_dirs,
            defaults,
            {topic: LogConfig.from_overrides(defaults, overrides) for topic, overrides in topic_configs.items()},
            scheduler,
            time,
            recovery_threads_per_data_dir=config.num_recovery_threads_per_data_dir,
            flush_check_ms=config.log_flush_scheduler_interval_ms,
            flush_recovery_offset_checkpoint_ms=config.log_flush_offset_checkpoint_interval_ms,
            flush_start_offset_checkpoint_ms=config.log_flush_start_offset_checkpoint_interval_ms,
            retention_check_ms=config.log_retention_check_interval_ms,
            producer_id_expiration_ms=config.producer_id_expiration_ms,
            producer_id_expiration_check_interval_ms=config.producer_id_expiration_check_interval_ms,
            initial_task_delay_ms=config.log_initial_task_delay_ms,
            make_cleaner=make_cleaner,
        )

    # -- dirs

    def _open_dirs(self) -> None:
        check_distinct(self._log_dirs)
        try:
            for path in self._log_dirs:
                log_dir = LogDir(path)
                try:
                    log_dir.create_and_validate()
                    log_dir.lock.acquire()
                except OSError as error:
                    logger.error("Failed to create or validate data directory %s: %s", path, error)
                else:
                    self._dirs[path] = log_dir
            if not self._dirs:
                raise LogDirError(f"None of the specified log dirs from {', '.join(self._log_dirs)} can be created or validated")
        except LogDirError:
            self._release_dirs()
            raise

    def _release_dirs(self) -> None:
        for log_dir in self._dirs.values():
            log_dir.lock.release()

    @property
    def live_log_dirs(self) -> list[str]:
        """Absolute paths of the dirs that work."""
        return list(self._dirs)

    @property
    def offline_log_dirs(self) -> list[str]:
        return [path for path in self._log_dirs if path not in self._dirs]

    def is_log_dir_online(self, directory: str) -> bool:
        """`KafkaError` LOG_DIR_NOT_FOUND if log.dirs does not have it."""
        path = os.path.abspath(directory)
        if path not in self._log_dirs:
            raise KafkaError(Errors.LOG_DIR_NOT_FOUND, f"Log dir {path} is not found in the config.")
        return path in self._dirs

    def handle_log_dir_failure(self, directory: str, message: str, error: OSError) -> None:
        """Take a dir offline: its logs are dropped with what is in memory of them."""
        with self._lock:
            log_dir = self._dirs.pop(directory, None)
            if log_dir is None:
                return
            logger.error("%s: %s", message, error)
            logger.warning("Stopping serving logs in dir %s", directory)
            if not self._dirs:
                logger.critical("All log dirs in %s have failed", ", ".join(self._log_dirs))
            offline = {partition: log for partition, log in self._logs.items() if log.parent_dir == directory}
            for partition in offline:
                del self._logs[partition]
        # Without the lock: a log may be waiting here for it, with its own lock held.
        if self.cleaner is not None:
            self.cleaner.handle_log_dir_failure(directory)
        for log in offline.values():
            log.close_handlers()
        log_dir.lock.release()
        self.on_dir_failure(directory, list(offline))

    # -- start

    def startup(self) -> None:
        """Load all logs (blocks; long after a crash), then start the periodic tasks. `LogDirError`, `KafkaError`."""
        started = self._time.monotonic_ms()
        try:
            loaded = sum([self._load_dir(log_dir) for log_dir in list(self._dirs.values())])
        except BaseException:
            self._release_dirs()
            raise
        logger.info("Loaded %d logs in %dms", loaded, self._time.monotonic_ms() - started)
        delay = self._initial_task_delay_ms
        for name, task, period in (
            ("kafka-log-retention", self.cleanup_logs, self._retention_check_ms),
            ("kafka-log-flusher", self.flush_dirty_logs, self._flush_check_ms),
            ("kafka-recovery-point-checkpoint", self.checkpoint_recovery_points, self._recovery_offset_checkpoint_ms),
            ("kafka-log-start-offset-checkpoint", self.checkpoint_log_start_offsets, self._start_offset_checkpoint_ms),
            ("PeriodicProducerExpirationCheck", self.remove_expired_producers, self._producer_id_expiration_check_ms),
        ):
            if period < (1 << 53):  # the default of log.flush.scheduler.interval.ms stands for never
                self._scheduler.schedule_in_thread(name, task, min(delay, period), period)
        if self.cleaner is not None:
            self.cleaner.startup()

    def _load_dir(self, log_dir: LogDir) -> int:
        """Load all logs of one dir in parallel threads; how many there were."""
        try:
            clean = log_dir.clean_shutdown_file.exists()
            # Should this start fail half-way, the next one has to recover.
            log_dir.clean_shutdown_file.delete()
            log_dir.had_clean_shutdown = clean
            paths = [path for path in _subdirectories(log_dir.path) if not self._is_set_aside(path)]
            recovery_points = _read_or_nothing(log_dir.recovery_points)
            log_start_offsets = _read_or_nothing(log_dir.log_start_offsets)
        except OSError as error:
            self.handle_log_dir_failure(log_dir.path, f"Error while loading log dir {log_dir.path}", error)
            return 0
        logger.info(
            "%s %d logs from %s since %sclean shutdown file was found",
            "Skipping recovery of" if clean else "Recovering", len(paths), log_dir.path, "" if clean else "no ",
        )  # fmt: skip

        def load(path: str) -> None:
            partition = parse_topic_partition_name(path)
            try:
                self._load(path, partition, recovery_points.get(partition, 0), log_start_offsets.get(partition, 0), clean)
            except OSError as error:
                self.handle_log_dir_failure(log_dir.path, f"Error while loading log {path}", error)

        self._for_all(load, paths, "log-recovery")
        log_dir.load_completed = True
        return len(paths)

    def _is_set_aside(self, path: str) -> bool:
        """Not a partition's log: waiting for removal, or not ours."""
        name = os.path.basename(path)
        if name in _OTHER_DIRECTORIES:
            return True
        try:
            partition = parse_topic_partition_name(path)
        except ValueError as error:
            raise LogDirError(str(error)) from None
        if name.endswith((FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX)):
            logger.warning("Log directory %s is left alone: it is not the current log of %s", path, partition)
            return True
        if name.endswith(DELETE_DIR_SUFFIX):
            self._delete_later(lambda: shutil.rmtree(path), path)
            return True
        return False

    def _load(self, path: str, partition: TopicPartition, recovery_point: int, log_start: int, clean: bool) -> None:
        started = self._time.monotonic_ms()
        log = load_log(
            path,
            self._config_of(partition.topic),
            self._scheduler,
            self._time,
            self.handle_log_dir_failure,
            log_start_offset=log_start,
            recovery_point=recovery_point,
            had_clean_shutdown=clean,
            producer_id_expiration_ms=self._producer_id_expiration_ms,
        )
        with self._lock:
            previous = self._logs.setdefault(partition, log)
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
        if self._recovery_threads <= 1 or len(items) <= 1:
            for item in items:
                work(item)
            return
        with ThreadPoolExecutor(self._recovery_threads, name) as pool:
            futures: list[Future[None]] = [pool.submit(work, item) for item in items]
            for future in futures:
                future.result()

    # -- stop

    def shutdown(self) -> None:
        """Flush and close all logs, write the checkpoints and the clean-shutdown markers, unlock the dirs. Blocks."""
        logger.info("Shutting down.")
        if self.cleaner is not None:
            self.cleaner.shutdown()
        try:
            for log_dir in list(self._dirs.values()):
                self._close_dir(log_dir)
        finally:
            self._release_dirs()
        logger.info("Shutdown complete.")

    def _close_dir(self, log_dir: LogDir) -> None:
        logs = {str(log.topic_partition): log for log in self._logs_in(log_dir.path)}
        failed: list[str] = []

        def close(name: str) -> None:
            try:
                logs[name].flush(force_active_segment=True)
                logs[name].close()
            except Exception as error:
                logger.warning("Error while closing %s: %s", name, error)
                failed.append(name)

        self._for_all(close, list(logs), "log-closing")
        if failed or log_dir.path not in self._dirs:
            return
        self._checkpoint_recovery_points_in(log_dir)
        self._checkpoint_log_start_offsets_in(log_dir)
        if log_dir.had_clean_shutdown or log_dir.load_completed:
            try:
                log_dir.clean_shutdown_file.write()
            except OSError as error:
                logger.error("Could not write the clean shutdown file in %s: %s", log_dir.path, error)

    # -- logs

    def get_log(self, partition: TopicPartition) -> Log | None:
        return self._logs.get(partition)

    def all_logs(self) -> list[Log]:
        return list(self._logs.values())

    @property
    def logs(self) -> dict[TopicPartition, Log]:
        """The live map, for the cleaner: take a copy before a walk."""
        return self._logs

    def logs_by_topic(self, topic: str) -> list[Log]:
        return [log for log in self.all_logs() if log.topic_partition.topic == topic]

    def _logs_in(self, directory: str) -> list[Log]:
        return [log for log in self.all_logs() if log.parent_dir == directory]

    def get_or_create_log(self, partition: TopicPartition, topic_id: bytes | None = None, is_new: bool = False) -> Log:
        """The partition's log, made if there is none, in the dir with the fewest logs.

        `KafkaError`: INCONSISTENT_TOPIC_ID; KAFKA_STORAGE_ERROR if it cannot be made, or might be in an offline dir
        (`is_new` says that it cannot).
        """
        with self._lock:
            log = self._logs.get(partition)
            if log is None:
                if not is_new and self.offline_log_dirs:
                    raise KafkaError(
                        Errors.KAFKA_STORAGE_ERROR,
                        f"Can not create log for {partition} because log directories {self.offline_log_dirs} are offline",
                    )
                log = self._logs[partition] = self._create(partition, topic_id)
            elif topic_id is not None:
                log.assign_topic_id(topic_id)
            return log

    def _create(self, partition: TopicPartition, topic_id: bytes | None) -> Log:
        counts = dict.fromkeys(self._dirs, 0)
        for log in self._logs.values():
            if log.parent_dir in counts:
                counts[log.parent_dir] += 1
        for directory in sorted(counts, key=counts.__getitem__):
            path = f"{directory}/{log_dir_name(partition)}"
            try:
                log = load_log(
                    path,
                    self._config_of(partition.topic),
                    self._scheduler,
                    self._time,
                    self.handle_log_dir_failure,
                    topic_id=topic_id,
                    producer_id_expiration_ms=self._producer_id_expiration_ms,
                )
            except OSError as error:
                self.handle_log_dir_failure(directory, f"Error while creating log for {partition} in dir {directory}", error)
                continue
            logger.info("Created log for partition %s in %s", partition, path)
            return log
        raise KafkaError(Errors.KAFKA_STORAGE_ERROR, f"No log directories available for {partition}")

    def async_delete(self, partition: TopicPartition) -> Log | None:
        """Take a partition's log away: its directory is renamed at once and removed after log.segment.delete.delay.ms.

        None if there is no such log. `KafkaError` KAFKA_STORAGE_ERROR if it may be in an offline dir.
        """
        with self._lock:
            log = self._logs.pop(partition, None)
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
            self.cleaner.update_checkpoints(log.parent_dir, partition)
        log.rename_dir(log_delete_dir_name(partition))
        logger.info("Log for partition %s is renamed to %s and is scheduled for deletion", partition, log.directory)
        self._delete_later(log.delete, log.directory)
        return log

    def _delete_later(self, delete: Callable[[], object], directory: str) -> None:
        def run() -> None:
            try:
                delete()
                logger.info("Deleted log directory %s.", directory)
            except (KafkaError, OSError) as error:
                logger.error("Exception while deleting %s: %s", directory, error)

        self._scheduler.schedule_in_thread("kafka-delete-logs", run, self._default_config.file_delete_delay_ms)

    # -- configs

    def _config_of(self, topic: str) -> LogConfig:
        return self._topic_configs.get(topic, self._default_config)

    def update_topic_config(self, topic: str, overrides: Mapping[str, str]) -> None:
        """The topic's own configs are these now. `ConfigException` if a value is not allowed."""
        config = LogConfig.from_overrides(self._default_config, overrides)
        if overrides:
            self._topic_configs[topic] = config
        else:
            self._topic_configs.pop(topic, None)
        for log in self.logs_by_topic(topic):
            old = log.update_config(config)
            if old.compact and not config.compact and self.cleaner is not None:
                self.cleaner.abort_cleaning(log.topic_partition)

    def reconfigure_default_config(self, config: LogConfig) -> None:
        """The broker's defaults are these now; topics keep what they have of their own."""
        self._default_config = config
        self._topic_configs = {
            topic: LogConfig.from_overrides(config, {name: own.get(name) for name in own.overridden})
            for topic, own in self._topic_configs.items()
        }
        for log in self.all_logs():
            log.update_config(self._config_of(log.topic_partition.topic))

    # -- truncation

    def truncate_to(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Truncate logs, and write down their recovery points. Partitions without a log are passed over."""
        changed = set()
        for partition, offset in offsets.items():
            log = self._logs.get(partition)
            if log is None:
                continue
            if self.cleaner is not None and offset < log.active_segment.base_offset:
                self.cleaner.abort_and_pause_cleaning(partition)
                try:
                    truncated = log.truncate_to(offset)
                    self.cleaner.maybe_truncate_checkpoint(log.parent_dir, partition, log.active_segment.base_offset)
                finally:
                    self.cleaner.resume_cleaning([partition])
            else:
                truncated = log.truncate_to(offset)
            if truncated:
                changed.add(log.parent_dir)
        self._checkpoint_recovery_points_of(changed)

    def truncate_fully_and_start_at(
        self, partition: TopicPartition, offset: int, log_start_offset: int | None = None
    ) -> None:
        """Drop all records of a partition; it goes on at `offset`."""
        log = self._logs.get(partition)
        if log is None:
            return
        cleaner = self.cleaner
        if cleaner is not None:
            cleaner.abort_and_pause_cleaning(partition)
        try:
            log.truncate_fully_and_start_at(offset, log_start_offset)
            if cleaner is not None:
                cleaner.maybe_truncate_checkpoint(log.parent_dir, partition, log.active_segment.base_offset)
        finally:
            if cleaner is not None:
                cleaner.resume_cleaning([partition])
        self._checkpoint_recovery_points_of({log.parent_dir})

    # -- periodic tasks, in background threads

    def checkpoint_recovery_points(self) -> None:
        self._checkpoint_recovery_points_of(self.live_log_dirs)

    def checkpoint_log_start_offsets(self) -> None:
        for log_dir in list(self._dirs.values()):
            self._checkpoint_log_start_offsets_in(log_dir)

    def _checkpoint_recovery_points_of(self, directories: Iterable[str]) -> None:
        for directory in directories:
            log_dir = self._dirs.get(directory)
            if log_dir is not None:
                self._checkpoint_recovery_points_in(log_dir)

    def _checkpoint_recovery_points_in(self, log_dir: LogDir) -> None:
        offsets = {log.topic_partition: log.recovery_point for log in self._logs_in(log_dir.path)}
        self._write_checkpoint(log_dir, log_dir.recovery_points, offsets)

    def _checkpoint_log_start_offsets_in(self, log_dir: LogDir) -> None:
        """Only where it does not follow from the first segment."""
        offsets = {
            log.topic_partition: log.log_start_offset
            for log in self._logs_in(log_dir.path)
            if log.log_start_offset > log.segments.first.base_offset
        }
        self._write_checkpoint(log_dir, log_dir.log_start_offsets, offsets)

    def _write_checkpoint(self, log_dir: LogDir, file: OffsetCheckpointFile, offsets: dict[TopicPartition, int]) -> None:
        try:
            file.write(offsets)
        except OSError as error:
            self.handle_log_dir_failure(log_dir.path, f"Disk error while writing {file.path}", error)

    def cleanup_logs(self) -> None:
        """Retention: delete old segments of the logs that are not compacted (the cleaner sees to the others)."""
        if self.cleaner is not None:
            deletable = self.cleaner.pause_cleaning_for_non_compacted_partitions()
        else:
            deletable = [(log.topic_partition, log) for log in self.all_logs() if not log.config.compact]
        try:
            for _, log in deletable:
                self._quietly("deleting old segments", log, log.delete_old_segments)
        finally:
            if self.cleaner is not None:
                self.cleaner.resume_cleaning([partition for partition, _ in deletable])

    def flush_dirty_logs(self) -> None:
        """flush.ms: fsync the logs whose last flush is so long ago."""
        now = self._time.milliseconds()
        for log in self.all_logs():
            if now - log.last_flush_ms >= log.config.flush_ms:
                self._quietly("flushing", log, log.flush)

    def remove_expired_producers(self) -> None:
        now = self._time.milliseconds()
        for log in self.all_logs():
            log.remove_expired_producers(now)

    def _quietly(self, doing: str, log: Log, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception:
            logger.exception("Error while %s of %s", doing, log.topic_partition)


def _subdirectories(directory: str) -> list[str]:
    return [entry.path for entry in os.scandir(directory) if entry.is_dir()]


def _read_or_nothing(file: OffsetCheckpointFile) -> dict[TopicPartition, int]:
    try:
        return file.read()
    except MalformedFileError as error:
        logger.warning("%s: it is taken as empty", error)
        return {}
