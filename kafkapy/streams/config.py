"""The configs of an application, by Kafka's names (`StreamsConfig`)."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import OneOf, at_least, between
from kafkapy.common.wire_enums import ConfigType
from kafkapy.security.import_path import import_object
from kafkapy.streams.exception_handlers import (
    DefaultProductionExceptionHandler,
    LogAndFailExceptionHandler,
    LogAndFailProcessingExceptionHandler,
)
from kafkapy.streams.processors.coroutines import MAX_IN_FLIGHT_DEFAULT
from kafkapy.streams.serdes import Serde

BOOLEAN, STRING, INT, LONG, LIST = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.LONG,
    ConfigType.LIST,
)
CLASS = ConfigType.CLASS
HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW

EXACTLY_ONCE_V2: Final = "exactly_once_v2"
_EOS_COMMIT_INTERVAL_MS: Final = 100

OPTIMIZATIONS: Final = ("reuse.ktable.source.topics", "merge.repartition.topics", "single.store.self.join")
"""Values of `topology.optimization` other than `all` and `none`."""


_TAG_PREFIX: Final = "client.tag."
_MAX_TAGS: Final = 5
_MAX_TAG_KEY: Final = 20
_MAX_TAG_VALUE: Final = 30
"""Kafka's limits, since each request to join contains the tags."""


class StreamsConfig(ConfigTable):
    """The configuration of an application.

    Args:
        properties: By Kafka's names. Values may be texts as in a properties file, or of the type; serdes are objects with
            `serializer()` and `deserializer()`, handlers and extractors are classes, objects or import paths.

    Raises:
        ConfigException: A value is wrong, or `application.id` or `bootstrap.servers` is missing.

    Example:
        >>> StreamsConfig({"application.id": "counts", "bootstrap.servers": "localhost:9092"}).commit_interval_ms
        30000
    """

    application_id: str = config(
        STRING, None, None, "Name of the application: its group, and the prefix of its topics.", HIGH
    )
    bootstrap_servers: list[str] = config(LIST, None, None, "Brokers to begin with.", HIGH)
    num_standby_replicas: int = config(INT, 0, None, "Copies of each store on other instances.", HIGH)
    state_dir: str = config(STRING, f"{tempfile.gettempdir()}/kafka-streams", None, "Where stores are.", HIGH)
    acceptable_recovery_lag: int = config(LONG, 10000, at_least(0), "Records that a copy may lack to take over a task.")
    cache_max_bytes_buffering: int = config(
        LONG, 10485760, at_least(0), "Deprecated name of statestore.cache.max.bytes."
    )
    statestore_cache_max_bytes: int = config(LONG, 10485760, at_least(0), "Memory of the record cache.")
    client_id: str = config(STRING, "", None, "Prefix of the ids of clients; the application's with a UUID if empty.")
    default_deserialization_exception_handler: Any = config(
        CLASS, LogAndFailExceptionHandler, None, "What is done about records that cannot be read."
    )
    errors_dead_letter_queue_topic_name: str | None = config(
        STRING, None, None, "Topic for records that cannot be read, processed or serialized, by Kafka's own handlers."
    )
    default_key_serde: Any = config(CLASS, None, None, "Serde of keys where an operator has none.")
    default_value_serde: Any = config(CLASS, None, None, "Serde of values where an operator has none.")
    default_production_exception_handler: Any = config(
        CLASS, DefaultProductionExceptionHandler, None, "What is done about records that cannot be written."
    )
    processing_exception_handler: Any = config(
        CLASS, LogAndFailProcessingExceptionHandler, None, "What is done about records that an operator fails for."
    )
    default_timestamp_extractor: Any = config(
        CLASS, None, None, "Where records have their time from; Kafka's own if unset."
    )
    max_task_idle_ms: int = config(
        LONG, 0, None, "How long a task waits for records of an empty partition; -1: not at all."
    )
    max_warmup_replicas: int = config(INT, 2, at_least(1), "Copies that are made ready to take over at a time.")
    num_stream_threads: int = config(INT, 1, None, "Threads, or processes of the runner.")
    processing_guarantee: str = config(
        STRING,
        "at_least_once",
        OneOf("at_least_once", "exactly_once", "exactly_once_beta", EXACTLY_ONCE_V2),
        "at_least_once or exactly_once_v2.",
    )
    rack_aware_assignment_non_overlap_cost: int | None = config(
        INT, None, None, "Cost of moving a task.", name="rack.aware.assignment.non_overlap_cost"
    )
    rack_aware_assignment_strategy: str = config(
        STRING, "none", OneOf("none", "min_traffic", "balance_subtopology"), "Whether tasks go by racks."
    )
    rack_aware_assignment_tags: list[str] = config(LIST, [], None, "Client tags that spread standby replicas.")
    rack_aware_assignment_traffic_cost: int | None = config(
        INT, None, None, "Cost of traffic between racks.", name="rack.aware.assignment.traffic_cost"
    )
    task_assignor_class: str | None = config(STRING, None, None, "A task assignor of one's own.")
    replication_factor: int = config(INT, -1, None, "Of internal topics; -1: the broker's default.")
    security_protocol: str = config(STRING, "PLAINTEXT", None, "How brokers are spoken to.")
    task_timeout_ms: int = config(LONG, 300000, at_least(0), "How long a task is tried again after time-outs.")
    topology_optimization: str = config(STRING, "none", None, "none, all, or names of optimizations.")
    application_server: str = config(STRING, "", None, "host:port at which this instance answers queries.", LOW)
    kafkapy_application_server_enable: bool = config(
        BOOLEAN, False, None, "Whether stores are served over HTTP at application.server; kafkapy's own.", LOW
    )
    kafkapy_application_server_listen: str = config(
        STRING, "", None, "host:port to serve at, if it is not application.server; kafkapy's own.", LOW
    )
    kafkapy_coroutines_max_in_flight: int = config(
        INT,
        MAX_IN_FLIGHT_DEFAULT,
        at_least(1),
        "Coroutines that run at once, of each operator in a task; kafkapy's own.",
        LOW,
    )
    buffered_records_per_partition: int = config(INT, 1000, None, "Records that are read ahead.", LOW)
    commit_interval_ms: int = config(LONG, 30000, at_least(0), "How often is committed; 100 with exactly once.", LOW)
    repartition_purge_interval_ms: int = config(
        LONG, 30000, at_least(0), "How often processed repartition records go.", LOW
    )
    default_dsl_store: str = config(STRING, "rocksDB", OneOf("rocksDB", "in_memory"), "Stores of the DSL.", LOW)
    dsl_store_suppliers_class: Any = config(CLASS, None, None, "Stores of the DSL, by a class.", LOW)
    poll_ms: int = config(LONG, 100, None, "How long is waited for records.", LOW)
    probing_rebalance_interval_ms: int = config(
        LONG, 600000, at_least(60000), "How often is looked whether a copy may take over.", LOW
    )
    rocksdb_config_setter: Any = config(
        CLASS, None, None, "Options of RocksDB, by a class.", LOW, name="rocksdb.config.setter"
    )
    state_cleanup_delay_ms: int = config(
        LONG, 600000, None, "How long the state of a task that moved away is kept.", LOW
    )
    upgrade_from: str | None = config(STRING, None, None, "The release that instances of the group still run.", LOW)
    windowstore_changelog_additional_retention_ms: int = config(
        LONG, 86400000, None, "What changelogs of windows are kept beyond their retention.", LOW
    )
    retry_backoff_ms: int = config(LONG, 100, at_least(0), "Pause before a request is tried again.", LOW)
    request_timeout_ms: int = config(INT, 40000, at_least(0), "How long an answer is waited for.", LOW)
    metadata_max_age_ms: int = config(LONG, 300000, at_least(0), "How old metadata may become.", LOW)
    metrics_recording_level: str = config(STRING, "INFO", OneOf("INFO", "DEBUG", "TRACE"), "Detail of metrics.", LOW)
    retries: int = config(INT, 0, between(0, 2**31 - 1), "Deprecated.", LOW)

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self.originals = dict(properties)
        for required in ("application.id", "bootstrap.servers"):
            if not properties.get(required):
                raise ConfigException(f'Missing required configuration "{required}" which has no default value.')
        parsed = self.definition.parse(properties)
        for name, attribute in self.attributes.items():
            setattr(self, attribute, parsed[name])
        optimizations(self.topology_optimization)
        if "statestore.cache.max.bytes" not in properties and "cache.max.bytes.buffering" in properties:
            self.statestore_cache_max_bytes = self.cache_max_bytes_buffering
        if self.exactly_once and "commit.interval.ms" not in properties:
            self.commit_interval_ms = _EOS_COMMIT_INTERVAL_MS

        self.client_tags = _client_tags(properties, self.rack_aware_assignment_tags)

    @property
    def exactly_once(self) -> bool:
        return self.processing_guarantee != "at_least_once"

    @property
    def topic_prefix(self) -> str:
        """Return the prefix of internal topics."""
        return str(self.originals.get("__internal.override.topic.prefix__", self.application_id))

    def serde(self, name: str) -> Serde[Any] | None:
        """`default.key.serde` or `default.value.serde`; None if it is not set."""
        serde: Serde[Any] | None = made(self.originals.get(name), name)
        return serde

    def instance(self, name: str) -> Any:
        """Return the object of a handler or extractor."""
        handler = made(self.get(name), name)
        configure = getattr(handler, "configure", None)
        if callable(configure):
            configure(self.originals)
        return handler


def optimizations(value: str) -> set[str]:
    """Parse `topology.optimization`.

    Raises:
        ConfigException: A name is unknown, or is combined with `all` or `none`.
    """
    names = [name.strip() for name in value.split(",")]
    if names == ["none"]:
        return set()
    if names == ["all"]:
        return set(OPTIMIZATIONS)
    if "none" in names or "all" in names:
        raise ConfigException(f'"topology.optimization" = "{value}": none and all stand alone')
    for name in names:
        if name not in OPTIMIZATIONS:
            raise ConfigException.invalid("topology.optimization", value, f"Unknown optimization {name}")
    return set(names)


def made(value: Any, name: str) -> Any:
    """Return the object for a config's value: an object itself, or a new instance of a class or import path."""
    if isinstance(value, str):
        value = import_object(value, name)
    return value() if isinstance(value, type) else value


def _client_tags(properties: Mapping[str, Any], used: Collection[str]) -> dict[str, str]:
    """The tags of the instance (`client.tag.KEY`, KIP-708).

    Raises:
        ConfigException: There are too many, one is too long, or one that is used is missing.
    """
    tags = {name[len(_TAG_PREFIX) :]: str(value) for name, value in properties.items() if name.startswith(_TAG_PREFIX)}
    if len(tags) > _MAX_TAGS:
        raise ConfigException(f"At most {_MAX_TAGS} client tags can be specified using {_TAG_PREFIX} prefix.")
    for key in used:
        if key not in tags:
            raise ConfigException(
                f"Invalid value {list(used)} for configuration rack.aware.assignment.tags: Contains invalid value [{key}] "
                f"which doesn't have corresponding tag set via [{_TAG_PREFIX}] prefix."
            )
    for key, value in tags.items():
        for what, text, most in (("key", key, _MAX_TAG_KEY), ("value", value, _MAX_TAG_VALUE)):
            if len(text) > most:
                raise ConfigException(
                    f"Invalid value {text} for configuration {_TAG_PREFIX}: Tag {what} exceeds maximum length of {most}."
                )
    return tags
