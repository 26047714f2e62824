"""Tiered storage (KIP-405), which is off."""

from __future__ import annotations

from kafkapy.common.config_def import ConfigException, Importance, UpdateMode
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import NonEmptyString, at_least, between
from kafkapy.common.limits import MAX_LONG
from kafkapy.common.wire_enums import ConfigType

BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
DOUBLE = ConfigType.DOUBLE
MEDIUM, LOW = Importance.MEDIUM, Importance.LOW


class _ThreadPoolSize:
    def __call__(self, name: str, value: int) -> None:
        if value < -1 or value == 0:
            raise ConfigException.invalid(name, value, "Value can be -1 or greater than 0")

    def __str__(self) -> str:
        return "[1,...] or -1"


THREAD_POOL_SIZE = _ThreadPoolSize()


class TieredStorageConfigs(ConfigTable):
    log_local_retention_bytes: int = config(
        LONG, -2, at_least(-2),
        "Tiered storage: bytes of a partition kept on this broker; -2 takes log.retention.bytes.",
        MEDIUM, UpdateMode.CLUSTER_WIDE)
    log_local_retention_ms: int = config(
        LONG, -2, at_least(-2),
        "Tiered storage: time records stay on this broker; -2 takes log.retention.ms.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    remote_fetch_max_wait_ms: int = config(
        INT, 500, at_least(1),
        "Tiered storage: longest wait of a fetch for remote data.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    remote_log_index_file_cache_total_size_bytes: int = config(
        LONG, 1073741824, at_least(1), "Tiered storage: bytes of cached remote indexes.", LOW, UpdateMode.CLUSTER_WIDE)
    remote_log_manager_copier_thread_pool_size: int = config(
        INT, -1, THREAD_POOL_SIZE,
        "Tiered storage: threads that copy segments; -1 takes remote.log.manager.thread.pool.size.")
    remote_log_manager_copy_max_bytes_per_second: int = config(
        LONG, MAX_LONG, at_least(1), "Tiered storage: quota of copying.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    remote_log_manager_copy_quota_window_num: int = config(
        INT, 11, at_least(1), "Tiered storage: samples of that quota.")
    remote_log_manager_copy_quota_window_size_seconds: int = config(
        INT, 1, at_least(1), "Tiered storage: length of one sample, seconds.")
    remote_log_manager_expiration_thread_pool_size: int = config(
        INT, -1, THREAD_POOL_SIZE,
        "Tiered storage: threads that expire segments; -1 takes remote.log.manager.thread.pool.size.")
    remote_log_manager_fetch_max_bytes_per_second: int = config(
        LONG, MAX_LONG, at_least(1), "Tiered storage: quota of fetching.", MEDIUM, UpdateMode.CLUSTER_WIDE)
    remote_log_manager_fetch_quota_window_num: int = config(
        INT, 11, at_least(1), "Tiered storage: samples of that quota.")
    remote_log_manager_fetch_quota_window_size_seconds: int = config(
        INT, 1, at_least(1), "Tiered storage: length of one sample, seconds.")
    remote_log_manager_task_interval_ms: int = config(
        LONG, 30000, at_least(1), "Tiered storage: period of its tasks.", LOW)
    remote_log_manager_task_retry_backoff_max_ms: int = config(
        LONG, 30000, at_least(1), "Tiered storage: longest wait before a failed task runs again.", LOW, internal=True)
    remote_log_manager_task_retry_backoff_ms: int = config(
        LONG, 500, at_least(1), "Tiered storage: first wait before a failed task runs again.", LOW, internal=True)
    remote_log_manager_task_retry_jitter: float = config(
        DOUBLE, 0.2, between(0, 0.5), "Tiered storage: random part of that wait.", LOW, internal=True)
    remote_log_manager_thread_pool_size: int = config(INT, 10, at_least(1), "Tiered storage: threads of its tasks.")
    remote_log_metadata_custom_metadata_max_bytes: int = config(
        INT, 128, at_least(0), "Tiered storage: bytes of a plug-in's own metadata of a segment.", LOW)
    remote_log_metadata_manager_class_name: str = config(
        STRING, "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        NonEmptyString(),
        "Tiered storage: plug-in that keeps the metadata.")
    remote_log_metadata_manager_class_path: str | None = config(
        STRING, None, None, "Tiered storage: class path of that plug-in.")
    remote_log_metadata_manager_impl_prefix: str = config(
        STRING, "rlmm.config.", NonEmptyString(), "Tiered storage: prefix of that plug-in's configs.")
    remote_log_metadata_manager_listener_name: str | None = config(
        STRING, None, NonEmptyString(), "Tiered storage: listener that plug-in uses.")
    remote_log_reader_max_pending_tasks: int = config(INT, 100, at_least(1), "Tiered storage: reads that may wait.")
    remote_log_reader_threads: int = config(INT, 10, at_least(1), "Tiered storage: reading threads.")
    remote_log_storage_manager_class_name: str | None = config(
        STRING, None, NonEmptyString(), "Tiered storage: plug-in that stores segments.")
    remote_log_storage_manager_class_path: str | None = config(
        STRING, None, None, "Tiered storage: class path of that plug-in.")
    remote_log_storage_manager_impl_prefix: str = config(
        STRING, "rsm.config.", NonEmptyString(), "Tiered storage: prefix of that plug-in's configs.")
    remote_log_storage_system_enable: bool = config(BOOLEAN, False, None, "Tiered storage on this broker.")
