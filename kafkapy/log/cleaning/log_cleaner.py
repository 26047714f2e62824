"""Log compaction: the threads that clean the logs of compacted topics (Kafka's `LogCleaner`).

Each thread cleans the dirtiest log, then chooses the next. Without a log to clean it sleeps for log.cleaner.backoff.ms.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from kafkapy.common.config_def import ConfigException
from kafkapy.common.limits import MAX_INT
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.cleaning.cleaner import Cleaner
from kafkapy.log.cleaning.cleaner_stats import CleanerStats
from kafkapy.log.cleaning.log_cleaner_manager import (
    LogCleanerManager,
    LogCleaningAbortedError,
    LogCleaningError,
    LogToClean,
)
from kafkapy.log.cleaning.offset_map import OffsetMap
from kafkapy.log.cleaning.throttler import Throttler
from kafkapy.log.local_log import DirFailureHandler
from kafkapy.log.log import Log
from kafkapy.protocol.errors import Errors, KafkaError

logger = logging.getLogger("kafkapy.log.LogCleaner")


class CleanerBrokerConfig(Protocol):
    """The configs of the cleaner; all of them can change at runtime."""

    log_cleaner_threads: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_buffer_size: int
    log_cleaner_io_max_bytes_per_second: float
    log_cleaner_backoff_ms: int


class CleanerConfig(NamedTuple):
    """Kafka's `CleanerConfig`; sizes in bytes, for all threads together."""

    num_threads: int = 1
    dedupe_buffer_size: int = 128 << 20
    dedupe_buffer_load_factor: float = 0.9
    io_buffer_size: int = 512 << 10
    max_io_bytes_per_second: float = float("inf")
    backoff_ms: int = 15_000

    @classmethod
    def of(cls, config: CleanerBrokerConfig) -> CleanerConfig:
        """Return the values of a broker's config."""
        return cls(
            config.log_cleaner_threads,
            config.log_cleaner_dedupe_buffer_size,
            config.log_cleaner_io_buffer_load_factor,
            config.log_cleaner_io_buffer_size,
            config.log_cleaner_io_max_bytes_per_second,
            config.log_cleaner_backoff_ms,
        )


class LogCleaner:
    """The cleaner threads and their shared state.

    Before a log is truncated, deleted or moved, its cleaning is aborted and paused here. The methods block for at most
    the few milliseconds until a cleaner notices.
    """

    def __init__(
        self,
        config: CleanerConfig,
        log_dirs: Iterable[str],
        logs: Mapping[TopicPartition, Log],
        time: Time,
        on_dir_failure: DirFailureHandler,
    ) -> None:
        """`log_dirs`: absolute paths of the live dirs; `logs`: the live map of all logs."""
        self._config = config
        self._time = time
        self._on_dir_failure = on_dir_failure
        self.manager = LogCleanerManager(log_dirs, logs, on_dir_failure)
        self._throttler = Throttler(config.max_io_bytes_per_second, time)
        self._threads: list[CleanerThread] = []

    @property
    def config(self) -> CleanerConfig:
        return self._config

    def startup(self) -> None:
        """Start the threads."""
        logger.info("Starting the log cleaner")
        self._threads = [self.new_thread(i) for i in range(self._config.num_threads)]
        for thread in self._threads:
            thread.start()

    def new_thread(self, thread_id: int) -> CleanerThread:
        """Return a cleaner thread that is not started. `ValueError` if its share of memory is too small for a single
        key.
        """
        return CleanerThread(thread_id, self._config, self.manager, self._throttler, self._time, self._on_dir_failure)

    def shutdown(self) -> None:
        """Abort running cleanings and stop the threads. Returns when they have ended."""
        logger.info("Shutting down the log cleaner.")
        for thread in self._threads:
            thread.initiate_shutdown()
        for thread in self._threads:
            thread.await_shutdown()
        self._threads = []

    def validate_reconfiguration(self, config: CleanerConfig) -> None:
        """`ConfigException` if the number of threads changes too much at once."""
        current = self._config.num_threads
        if config.num_threads < 1:
            raise ConfigException("Log cleaner threads should be at least 1")
        if config.num_threads < current // 2:
            raise ConfigException(
                f"Log cleaner threads cannot be reduced to less than half the current value {current}"
            )
        if config.num_threads > current * 2:
            raise ConfigException(
                f"Log cleaner threads cannot be increased to more than double the current value {current}"
            )

    def reconfigure(self, config: CleanerConfig) -> None:
        """Use other values: new threads replace the old ones, including those that died."""
        self._config = config
        self._throttler.desired_rate_per_sec = config.max_io_bytes_per_second
        self.shutdown()
        self.startup()

    # -- for users of logs

    def abort_cleaning(self, partition: TopicPartition) -> None:
        """Abort the cleaning of a partition, if one is running; return when it has stopped."""
        self.manager.abort_cleaning(partition)

    def abort_and_pause_cleaning(self, partition: TopicPartition) -> None:
        """Abort as `abort_cleaning`, and prevent cleanings until `resume_cleaning` has been called once for each call."""
        self.manager.abort_and_pause_cleaning(partition)

    def resume_cleaning(self, partitions: Iterable[TopicPartition]) -> None:
        """Undo one pause of each."""
        self.manager.resume_cleaning(partitions)

    def pause_cleaning_for_non_compacted_partitions(self) -> list[tuple[TopicPartition, Log]]:
        """Pause cleaning of the logs that are not compacted and not being cleaned; return these logs."""
        return self.manager.pause_cleaning_for_non_compacted_partitions()

    def update_checkpoints(self, directory: str, partitions_to_remove: Collection[TopicPartition] = ()) -> None:
        """Write a dir's cleaner-offset-checkpoint without deleted partitions."""
        self.manager.update_checkpoints(directory, partitions_to_remove)

    def alter_checkpoint_dir(self, partition: TopicPartition, source: str, destination: str) -> None:
        """Move a log's checkpoint entry to another dir."""
        self.manager.alter_checkpoint_dir(partition, source, destination)

    def maybe_truncate_checkpoint(self, directory: str, partition: TopicPartition, offset: int) -> None:
        """Limit a log's checkpoint entry after truncation to `offset`."""
        self.manager.maybe_truncate_checkpoint(directory, partition, offset)

    def handle_log_dir_failure(self, directory: str) -> None:
        """Ignore a dir that is offline."""
        self.manager.handle_log_dir_failure(directory)

    # -- metrics

    @property
    def dead_thread_count(self) -> int:
        return sum(thread.failed for thread in self._threads)

    @property
    def max_buffer_utilization_percent(self) -> int:
        """Return the maximum over all threads' last cleanings."""
        return int(max((thread.last_stats.buffer_utilization for thread in self._threads), default=0.0) * 100)

    @property
    def cleaner_recopy_percent(self) -> int:
        """Return the ratio of bytes written to bytes read in the last cleanings."""
        stats = [thread.last_stats for thread in self._threads]
        return 100 * sum(one.bytes_written for one in stats) // max(sum(one.bytes_read for one in stats), 1)

    @property
    def max_clean_time_secs(self) -> int:
        return int(max((thread.last_stats.elapsed_secs for thread in self._threads), default=0.0))


class _ShutdownError(Exception):
    """The thread is to stop."""


class CleanerThread:
    """One thread with a cleaner of its own."""

    def __init__(
        self,
        thread_id: int,
        config: CleanerConfig,
        manager: LogCleanerManager,
        throttler: Throttler,
        time: Time,
        on_dir_failure: DirFailureHandler,
    ) -> None:
        threads = max(config.num_threads, 1)
        if config.dedupe_buffer_size // threads > MAX_INT:
            logger.warning(
                "Cannot use more than 2G of cleaner buffer space per cleaner thread, ignoring excess buffer space..."
            )
        self._config = config
        self._manager = manager
        self._time = time
        self._on_dir_failure = on_dir_failure
        self._stop = threading.Event()
        self._cleaner = Cleaner(
            thread_id,
            OffsetMap(min(config.dedupe_buffer_size // threads, MAX_INT)),
            max(config.io_buffer_size // threads // 2, 1),
            config.dedupe_buffer_load_factor,
            throttler,
            time,
            self._check_done,
        )
        self._thread = threading.Thread(target=self._run, name=f"kafka-log-cleaner-thread-{thread_id}", daemon=True)
        self.failed = False
        """Whether it died of an unexpected error."""
        self.last_stats = CleanerStats(time)

    def start(self) -> None:
        self._thread.start()

    def initiate_shutdown(self) -> None:
        self._stop.set()

    def await_shutdown(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        logger.info("[%s]: Starting", self._thread.name)
        try:
            while not self._stop.is_set():
                if not self.try_clean_filthiest_log():
                    self._stop.wait(self._config.backoff_ms / 1000)
                self._manager.maintain_uncleanable_partitions()
        except _ShutdownError:
            pass
        except Exception:
            self.failed = True
            logger.exception("[%s]: Error due to", self._thread.name)
        logger.info("[%s]: Stopped", self._thread.name)

    def _check_done(self, partition: TopicPartition) -> None:
        if self._stop.is_set():
            raise _ShutdownError
        self._manager.check_cleaning_aborted(partition)

    def try_clean_filthiest_log(self) -> bool:
        """Clean the dirtiest log, and apply retention to compacted logs; return whether there was a log to clean.

        A log that fails is marked as uncleanable, unless it failed because it is being deleted.
        """
        try:
            cleaned = self._clean_filthiest_log()
            self._delete_old_segments()
        except LogCleaningError as error:
            log = error.log
            if self._manager.mark_uncleanable(log):
                logger.warning(
                    "Unexpected exception thrown when cleaning log %s. Marking its partition (%s) as uncleanable",
                    log, log.topic_partition, exc_info=error,
                )  # fmt: skip
            return False
        return cleaned

    def _clean_filthiest_log(self) -> bool:
        to_clean = self._manager.grab_filthiest_compacted_log(self._time.milliseconds())
        if to_clean is None:
            return False
        try:
            self._clean_log(to_clean)
        except _ShutdownError:
            raise
        except Exception as error:
            raise LogCleaningError(to_clean.log, str(error)) from error
        return True

    def _clean_log(self, to_clean: LogToClean) -> None:
        log = to_clean.log
        end_offset = to_clean.first_dirty_offset
        try:
            end_offset, stats = self._cleaner.clean(to_clean)
            self.last_stats = stats
            self._log_stats(to_clean, end_offset, stats)
        except LogCleaningAbortedError:
            pass
        except KafkaError as error:
            if error.error is not Errors.KAFKA_STORAGE_ERROR:  # otherwise the dir is offline already
                raise
        except OSError as error:
            message = f"Failed to clean up log for {log.topic_partition} in dir {log.parent_dir} due to IOException"
            self._on_dir_failure(log.parent_dir, message, error)
        finally:
            self._manager.done_cleaning(log, end_offset)

    def _log_stats(self, to_clean: LogToClean, end_offset: int, stats: CleanerStats) -> None:
        logger.info(
            "[%s]: Log cleaner thread cleaned log %s (dirty section = [%d, %d]): %s",
            self._thread.name, to_clean.log.name, to_clean.first_dirty_offset, end_offset, stats,
        )  # fmt: skip
        if stats.invalid_messages_read:
            logger.warning("Found %d invalid messages during compaction.", stats.invalid_messages_read)

    def _delete_old_segments(self) -> None:
        logs = self._manager.deletable_logs()
        try:
            for log in logs:
                try:
                    log.delete_old_segments()
                except KafkaError as error:
                    raise LogCleaningError(log, str(error)) from error
        finally:
            self._manager.done_deleting([log.topic_partition for log in logs])
