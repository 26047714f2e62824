"""The options of a consumer: kafka-python's names and defaults."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from kafkapy.clients.config import ClientConfig
from kafkapy.clients.option_table import check_choice, check_function
from kafkapy.consumer import assignors
from kafkapy.consumer.assignors import (
    AbstractPartitionAssignor,
    RangePartitionAssignor,
    RebalanceProtocol,
    RoundRobinPartitionAssignor,
)
from kafkapy.errors import KafkaConfigurationError
from kafkapy.structs import IsolationLevel, OffsetResetStrategy

_log = logging.getLogger("kafkapy.consumer")
_INSTANCE_ID = re.compile(r"[A-Za-z0-9._\-]+")
_RESET_WORDS = {"smallest": "earliest", "largest": "latest"}
_ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}
DEFAULT_ASSIGNORS = (RangePartitionAssignor, RoundRobinPartitionAssignor)
_JAVA_PACKAGE = "org.apache.kafka.clients.consumer."
_JAVA_ASSIGNORS = {
    "RangeAssignor": "RangePartitionAssignor",
    "RoundRobinAssignor": "RoundRobinPartitionAssignor",
    "StickyAssignor": "StickyPartitionAssignor",
    "CooperativeStickyAssignor": "CooperativeStickyAssignor",
}


class ConsumerConfig(ClientConfig):
    """A consumer's configuration. Times in ms, sizes in bytes. Raises KafkaConfigurationError, naming the option."""

    client_rack: str = ""
    group_id: str | None = None
    group_instance_id: str | None = None
    key_deserializer: Any = None
    value_deserializer: Any = None
    deserialization_policy: Any = "raise"
    enable_incremental_fetch_sessions: bool = True
    fetch_max_wait_ms: int = 500
    fetch_min_bytes: int = 1
    fetch_max_bytes: int = 52_428_800
    max_partition_fetch_bytes: int = 1_048_576
    auto_offset_reset: str = "latest"
    enable_auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    default_offset_commit_callback: Callable[[Any, Any], Any] = lambda offsets, response: True
    check_crcs: bool = True
    isolation_level: str = "read_uncommitted"
    partition_assignment_strategy: Sequence[Any] = DEFAULT_ASSIGNORS
    max_poll_records: int = 500
    max_poll_interval_ms: int = 300_000
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    consumer_timeout_ms: float = float("inf")
    exclude_internal_topics: bool = True
    metrics_enabled: bool = True
    metric_group_prefix: str = "consumer"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.auto_offset_reset = _word(self.auto_offset_reset)
        self.auto_offset_reset = _RESET_WORDS.get(self.auto_offset_reset, self.auto_offset_reset)
        check_choice("auto_offset_reset", self.auto_offset_reset)
        self.reset_strategy = OffsetResetStrategy.of(self.auto_offset_reset)
        self._check_times()
        self._check_functions()
        self.isolation_level = _word(self.isolation_level)
        check_choice("isolation_level", self.isolation_level)
        if self.deserialization_policy not in ("raise", "skip") and not callable(self.deserialization_policy):
            raise KafkaConfigurationError(
                f'deserialization_policy must be "raise", "skip" or a function; it is {self.deserialization_policy!r}'
            )
        if self.group_instance_id is not None:
            _check_instance_id(self.group_instance_id)
            if self.group_id is None:
                raise KafkaConfigurationError("group_instance_id requires group_id")
        frame = self.fetch_max_bytes + self.max_partition_fetch_bytes
        self.receive_message_max_bytes = max(self.receive_message_max_bytes, frame)
        self.assignors = _assignors(self.partition_assignment_strategy, self.group_id is not None)
        self.rebalance_protocol = _common_protocol(self.assignors)

    @property
    def read_committed(self) -> bool:
        return self.isolation_level == "read_committed"

    @property
    def isolation(self) -> int:
        """`isolation_level` as encoded in requests."""
        return _ISOLATION_LEVELS[self.isolation_level]

    def _check_times(self) -> None:
        if not self.fetch_max_wait_ms < self.request_timeout_ms < self.connections_max_idle_ms:
            raise KafkaConfigurationError(
                f"connections_max_idle_ms ({self.connections_max_idle_ms}) must be larger than request_timeout_ms"
                f" ({self.request_timeout_ms}) which must be larger than fetch_max_wait_ms ({self.fetch_max_wait_ms})."
            )
        if self.group_id is not None and self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise KafkaConfigurationError("heartbeat_interval_ms must be lower than session_timeout_ms")

    def _check_functions(self) -> None:
        for name in ("key_deserializer", "value_deserializer"):
            check_function(name, getattr(self, name), "deserialize", "Deserializer, or a function of the bytes")
        check_function("default_offset_commit_callback", self.default_offset_commit_callback)


def _word(given: Any) -> Any:
    """Normalize a word option as kafka-python does: any letter case, or a member of `IsolationLevel`."""
    name = given.name if isinstance(given, IsolationLevel) else given
    return name.lower() if isinstance(name, str) else name


def _check_instance_id(instance_id: str) -> None:
    if not isinstance(instance_id, str) or not instance_id:
        raise KafkaConfigurationError("group_instance_id must be non-empty string")
    if instance_id in (".", ".."):
        raise KafkaConfigurationError('group_instance_id cannot be "." or ".."')
    if len(instance_id) > 249:
        raise KafkaConfigurationError("group_instance_id can't be longer than 249 characters")
    if not _INSTANCE_ID.fullmatch(instance_id):
        raise KafkaConfigurationError(
            "group_instance_id is illegal: it contains a character other than ASCII alphanumerics, '.', '_' and '-'"
        )


def _assignors(strategies: Sequence[Any], needed: bool) -> list[AbstractPartitionAssignor]:
    """Return this consumer's assignor instances, in order of preference."""
    if isinstance(strategies, str):
        raise KafkaConfigurationError(
            "partition_assignment_strategy must be a list of classes of kafkapy.coordinator.assignors, such as"
            f" RangePartitionAssignor; it is {strategies!r}"
        )
    if needed and not strategies:
        raise KafkaConfigurationError("partition_assignment_strategy must name at least one assignor")
    found = [_java_assignor(strategy) if isinstance(strategy, str) else strategy for strategy in strategies]
    made: list[Any] = [strategy() if inspect.isclass(strategy) else strategy for strategy in found]
    for assignor in made:
        if not isinstance(assignor, AbstractPartitionAssignor):
            raise KafkaConfigurationError(
                f"partition_assignment_strategy: {assignor!r} is no AbstractPartitionAssignor"
            )
    if len({assignor.name for assignor in made}) < len(made):
        raise KafkaConfigurationError("partition_assignment_strategy has two assignors of the same name")
    return made


def _java_assignor(name: str) -> type[AbstractPartitionAssignor]:
    """Return the class for Java's name of an assignor, which properties files have."""
    found = _JAVA_ASSIGNORS.get(name.removeprefix(_JAVA_PACKAGE))
    if found is None:
        known = ", ".join(f"{_JAVA_PACKAGE}{each}" for each in _JAVA_ASSIGNORS)
        raise KafkaConfigurationError(f"partition_assignment_strategy: there is no assignor {name}; there are {known}")
    return cast(type[AbstractPartitionAssignor], getattr(assignors, found))


def _common_protocol(assignors: list[AbstractPartitionAssignor]) -> RebalanceProtocol:
    """Return the best protocol that all assignors support (KIP-429)."""
    if not assignors:
        return RebalanceProtocol.EAGER
    common = set(RebalanceProtocol).intersection(*(assignor.supported_protocols() for assignor in assignors))
    if not common:
        names = [assignor.name for assignor in assignors]
        raise KafkaConfigurationError(
            f"Specified partition_assignment_strategy assignors {names} do not have commonly supported rebalance protocol"
        )
    return max(common)
