"""The configs of the log manager, and its interface to the log cleaner."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_config import DAY_MS, LogConfig

NEVER = MAX_LONG


class BrokerLogConfig(Protocol):
    """The broker configs that the manager uses."""

    @property
    def log_dirs(self) -> Sequence[str]: ...

    def log_config_defaults(self) -> LogConfig: ...

    num_recovery_threads_per_data_dir: int
    log_flush_scheduler_interval_ms: int
    log_flush_offset_checkpoint_interval_ms: int
    log_flush_start_offset_checkpoint_interval_ms: int
    log_retention_check_interval_ms: int
    producer_id_expiration_ms: int
    producer_id_expiration_check_interval_ms: int
    log_initial_task_delay_ms: int


class LogManagerConfig(NamedTuple):
    """Threads, and periods of the background tasks in ms (NEVER: disabled)."""

    recovery_threads_per_data_dir: int = 1
    flush_check_ms: int = NEVER
    flush_recovery_offset_checkpoint_ms: int = 60_000
    flush_start_offset_checkpoint_ms: int = 60_000
    retention_check_ms: int = 300_000
    producer_id_expiration_ms: int = DAY_MS
    producer_id_expiration_check_interval_ms: int = 600_000
    initial_task_delay_ms: int = 30_000

    @classmethod
    def of(cls, config: BrokerLogConfig) -> LogManagerConfig:
        """Return the values of a broker's config."""
        return cls(
            config.num_recovery_threads_per_data_dir,
            config.log_flush_scheduler_interval_ms,
            config.log_flush_offset_checkpoint_interval_ms,
            config.log_flush_start_offset_checkpoint_interval_ms,
            config.log_retention_check_interval_ms,
            config.producer_id_expiration_ms,
            config.producer_id_expiration_check_interval_ms,
            config.log_initial_task_delay_ms,
        )


class LogCleaning(Protocol):
    """The methods of the log cleaner that the manager calls (Kafka's `LogCleaner`)."""

    def startup(self) -> None: ...

    def shutdown(self) -> None: ...

    def abort_cleaning(self, partition: TopicPartition) -> None:
        """Abort the cleaning of a partition, if one is running; return when it has stopped."""
        ...

    def abort_and_pause_cleaning(self, partition: TopicPartition) -> None: ...

    def resume_cleaning(self, partitions: Iterable[TopicPartition]) -> None: ...

    def pause_cleaning_for_non_compacted_partitions(self) -> list[tuple[TopicPartition, Log]]:
        """Pause cleaning of the logs that are not compacted and not being cleaned; return these logs."""
        ...

    def update_checkpoints(self, directory: str, partitions_to_remove: Collection[TopicPartition] = ()) -> None: ...

    def alter_checkpoint_dir(self, partition: TopicPartition, source: str, destination: str) -> None: ...

    def maybe_truncate_checkpoint(self, directory: str, partition: TopicPartition, offset: int) -> None: ...

    def handle_log_dir_failure(self, directory: str) -> None: ...
