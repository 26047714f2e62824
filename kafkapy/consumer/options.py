"""Converts a facade's options into a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal

from kafkapy.clients.client_options import AutoOffsetReset, ClientOptions, Isolation
from kafkapy.clients.facade import merge_options
from kafkapy.consumer.assignors import AbstractPartitionAssignor
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.errors import RecordDeserializationError
from kafkapy.serializer import Deserializer, K_co, V_co
from kafkapy.structs import IsolationLevel
from kafkapy.version import __version__


class ConsumerSettings(ClientOptions, total=False):
    """The keyword arguments of consumers, except the deserializers."""

    client_rack: str
    group_id: str | None
    group_instance_id: str | None
    deserialization_policy: Literal["raise", "skip"] | Callable[[RecordDeserializationError], object]
    enable_incremental_fetch_sessions: bool
    fetch_max_wait_ms: int
    fetch_min_bytes: int
    fetch_max_bytes: int
    max_partition_fetch_bytes: int
    auto_offset_reset: AutoOffsetReset
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    default_offset_commit_callback: Callable[[Any, Any], object]
    check_crcs: bool
    isolation_level: Isolation | IsolationLevel
    partition_assignment_strategy: Sequence[type[AbstractPartitionAssignor] | AbstractPartitionAssignor]
    max_poll_records: int
    max_poll_interval_ms: int
    session_timeout_ms: int
    heartbeat_interval_ms: int
    consumer_timeout_ms: float
    exclude_internal_topics: bool
    metrics_enabled: bool
    metric_group_prefix: str


class ConsumerOptions(ConsumerSettings, Generic[K_co, V_co], total=False):
    """All keyword arguments of consumers."""

    key_deserializer: Deserializer[K_co] | Callable[[bytes], K_co] | None
    value_deserializer: Deserializer[V_co] | Callable[[bytes], V_co] | None


def default_options() -> dict[str, Any]:
    """Return each option's default."""
    return {
        **ConsumerConfig.defaults(),
        "client_id": f"kafkapy-{__version__}",
        "bootstrap_servers": "localhost",
    }


def config_of(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[dict[str, Any], ConsumerConfig]:
    """Return all options, and the configuration. Raises KafkaConfigurationError for an unknown, unsupported or wrong
    option."""
    options = merge_options(defaults, given)
    return options, ConsumerConfig.from_options(options)
