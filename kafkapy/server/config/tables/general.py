"""The broker's identity, ZooKeeper, threads, metrics, quotas."""

from __future__ import annotations

from kafkapy.common.config_def import Importance, UpdateMode
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import at_least
from kafkapy.common.wire_enums import ConfigType

BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
LIST, CLASS = ConfigType.LIST, ConfigType.CLASS
HIGH, LOW = Importance.HIGH, Importance.LOW


class GeneralConfigs(ConfigTable):
    alter_config_policy_class_name: str | None = config(
        CLASS, None, None, "Plug-in that may refuse changes of configs.", LOW)
    alter_log_dirs_replication_quota_window_num: int = config(
        INT, 11, at_least(1), "Samples kept in memory for the quota on moves between data directories.", LOW)
    alter_log_dirs_replication_quota_window_size_seconds: int = config(
        INT, 1, at_least(1), "Length of one such sample, seconds.", LOW)
    auto_include_jmx_reporter: bool = config(
        BOOLEAN, True, None, "Deprecated: add Kafka's JMX reporter to metric.reporters.", LOW)
    background_threads: int = config(
        INT, 10, at_least(1),
        "Threads for fsync, deletion, recovery and ZooKeeper work.", HIGH, UpdateMode.CLUSTER_WIDE)
    broker_id: int = config(
        INT, -1, None, "Id of this broker; -1 takes one from ZooKeeper if broker.id.generation.enable allows it.", HIGH)
    broker_id_generation_enable: bool = config(
        BOOLEAN, True, None, "Take an id from ZooKeeper when broker.id is unset.")
    broker_rack: str | None = config(
        STRING, None, None,
        "Rack of this broker: replicas are spread over racks, and consumers may fetch from their own.")
    client_quota_callback_class: str | None = config(
        CLASS, None, None, "A plug-in that decides the quotas of clients.", LOW)
    delete_records_purgatory_purge_interval_requests: int = config(
        INT, 1, None, "Completed DeleteRecords requests that may wait in purgatory to be purged.")
    delete_topic_enable: bool = config(BOOLEAN, True, None, "Off: DeleteTopics is refused.", HIGH)
    kafka_metrics_polling_interval_secs: int = config(
        INT, 10, at_least(1), "Period of the classes in kafka.metrics.reporters, seconds.", LOW)
    kafka_metrics_reporters: list[str] = config(
        LIST, "", None, "Reporters of the broker's own metrics (Java classes).", LOW)
    max_request_partition_size_limit: int = config(
        INT, 2000, at_least(1), "Most partitions one DescribeTopicPartitions answer holds.")
    metric_reporters: list[str] = config(
        LIST, "", None, "Reporters of metrics (Java classes).", LOW, UpdateMode.CLUSTER_WIDE)
    metrics_num_samples: int = config(INT, 2, at_least(1), "Samples a metric keeps.", LOW)
    metrics_recording_level: str = config(
        STRING, "INFO", None, "Level of detail of metrics: INFO, DEBUG or TRACE.", LOW)
    metrics_sample_window_ms: int = config(LONG, 30000, at_least(1), "Length of one sample of a metric.", LOW)
    producer_purgatory_purge_interval_requests: int = config(
        INT, 1000, None, "Completed produce requests that may wait in purgatory to be purged.")
    quota_window_num: int = config(INT, 11, at_least(1), "Samples kept for client quotas.", LOW)
    quota_window_size_seconds: int = config(INT, 1, at_least(1), "Length of one such sample, seconds.", LOW)
    reserved_broker_max_id: int = config(
        INT, 1000, at_least(0), "The highest broker.id that may be given by hand; generated ids lie above.")
    telemetry_max_bytes: int = config(
        INT, 1048576, at_least(1), "Largest telemetry message of a client (KIP-714), after compression.", LOW)
    raw_zookeeper_connect: str | None = config(
        STRING, None, None,
        "ZooKeeper's addresses, `host:port,host:port/chroot`; or `embedded`, `embedded:DIR`, `embedded:memory`: one in this "
        "process. Required.", HIGH, name="zookeeper.connect")
    zookeeper_connection_timeout_ms: int | None = config(
        INT, None, None, "How long to wait for a connection to ZooKeeper; unset takes the session timeout.", HIGH)
    zookeeper_max_in_flight_requests: int = config(
        INT, 10, at_least(1), "Requests to ZooKeeper that may be unanswered.", HIGH)
    zookeeper_session_timeout_ms: int = config(
        INT, 18000, None, "ZooKeeper's session timeout: so long a broker that is gone counts as alive.", HIGH)
