"""The options of a producer: kafka-python's names and defaults."""

from __future__ import annotations

import itertools
import logging
import selectors
from collections.abc import Callable, Mapping
from typing import Any, Generic, Self

from kafkapy.clients.client_options import Acks, ClientOptions, CompressionName
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.facade import without_old_options
from kafkapy.clients.option_table import check_choice, check_function, unrecognized
from kafkapy.errors import KafkaConfigurationError
from kafkapy.partitioner import DefaultPartitioner, Partitioner
from kafkapy.producer.sender import SenderConfig
from kafkapy.record.compression import CompressionType
from kafkapy.serializer import K_contra, Serializer, V_contra

_log = logging.getLogger("kafkapy.producer")

_GROWN_BATCH = 1 << 18
"""Limit in bytes of a batch that grows while it waits, if the user didn't set batch_size (see `RecordAccumulator`)."""
_numbers = itertools.count(1)

_WITHOUT_EFFECT = {
    "selector": selectors.DefaultSelector,
    "sasl_kerberos_service_name": "kafka",
}
"""Options of kafka-python that have no effect here: the event loop chooses the selector, and there is no Kerberos."""
_UNSUPPORTED = (
    "metric_reporters",
    "sasl_kerberos_name",
    "sasl_kerberos_domain_name",
    "proxy_url",
    "socks5_proxy",
    "kafka_client",
)


class ProducerSettings(ClientOptions, total=False):
    """The keyword arguments of producers, except the serializers.

    A partitioner may be a function of the key's bytes, all partitions and the partitions with a leader.
    """

    enable_idempotence: bool
    transactional_id: str | None
    transaction_timeout_ms: int
    delivery_timeout_ms: float
    acks: Acks
    compression_type: CompressionName | None
    retries: float
    batch_size: int
    linger_ms: float
    partitioner: Partitioner | Callable[[bytes | None, list[int], list[int]], int]
    buffer_memory: int
    max_block_ms: float
    metadata_max_idle_ms: float
    metrics_enabled: bool
    max_request_size: int


class ProducerOptions(ProducerSettings, Generic[K_contra, V_contra], total=False):
    """All keyword arguments of producers."""

    key_serializer: Serializer[K_contra] | Callable[[K_contra], bytes | None] | None
    value_serializer: Serializer[V_contra] | Callable[[V_contra], bytes | None] | None


class ProducerConfig(ClientConfig):
    """The validated options of a producer. Times in ms, sizes in bytes. Raises KafkaConfigurationError, which names
    the option."""

    key_serializer: Any = None
    value_serializer: Any = None
    enable_idempotence: bool = True
    transactional_id: str | None = None
    transaction_timeout_ms: int = 60_000
    delivery_timeout_ms: float = 120_000
    acks: int | str = -1
    compression_type: str | None = None
    retries: float = float("inf")
    batch_size: int = 16_384
    linger_ms: float = 0
    partitioner: Any = DefaultPartitioner()
    buffer_memory: int = 32 << 20
    max_block_ms: float = 60_000
    metadata_max_idle_ms: float = 300_000
    metrics_enabled: bool = True
    max_request_size: int = 1_048_576

    def __post_init__(self) -> None:
        super().__post_init__()
        self.idempotence_was_asked_for = False
        """Whether the user set enable_idempotence: then a conflicting option is an error, else it disables
        idempotence."""
        if self.acks == "all":
            self.acks = -1
        check_choice("acks", self.acks)
        check_choice("compression_type", self.compression_type)
        if self.compression_type == "none":
            self.compression_type = None
        for name in ("key_serializer", "value_serializer"):
            check_function(name, getattr(self, name), "serialize", "Serializer, or a function that gives bytes")
        chooses = callable(self.partitioner) or hasattr(self.partitioner, "partition")
        if not chooses or isinstance(self.partitioner, str):  # which has a method of that name
            raise KafkaConfigurationError(
                "partitioner must be a Partitioner, or a function of the key's bytes, all partitions and those with a leader;"
                f" it is {self.partitioner!r}"
            )
        self.max_batch_bytes = min(max(self.batch_size, 1), self.max_request_size)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Create it from keyword arguments. Raises ValueError for unknown names."""
        options = without_old_options(options)
        given = {name: options.pop(name) for name in cls.defaults() if name in options}
        _check_rest(options)
        if given.get("client_id") is None:
            given["client_id"] = f"kafkapy-producer-{next(_numbers)}"
        config = cls(**given)
        if "batch_size" not in given:
            config.max_batch_bytes = min(max(_GROWN_BATCH, config.batch_size), config.max_request_size)
        config._settle_idempotence(given)
        return config

    def _settle_idempotence(self, given: Mapping[str, Any]) -> None:
        """Enable idempotence unless the user has set an option that conflicts with it (KIP-679)."""
        if self.transactional_id:
            if not given.get("enable_idempotence", True):
                raise KafkaConfigurationError("Cannot set transactional_id without enable_idempotence.")
            self.enable_idempotence = True
        self.idempotence_was_asked_for = self.enable_idempotence and (
            "enable_idempotence" in given or bool(self.transactional_id)
        )
        if not self.enable_idempotence:
            return
        conflicts = [
            f"{name}={getattr(self, name)!r}"
            for name, fits in (
                ("acks", self.acks == -1),
                ("retries", self.retries > 0),
                ("max_in_flight_requests_per_connection", self.max_in_flight_requests_per_connection <= 5),
            )
            if name in given and not fits
        ]
        if self.pinned_versions is not None and 22 not in self.pinned_versions.ranges:
            conflicts.append(f"api_version={self.api_version!r}")
        if not conflicts:
            return
        sentence = ", ".join(conflicts)
        if self.idempotence_was_asked_for:
            raise KafkaConfigurationError(f"enable_idempotence=True is incompatible with user-provided {sentence}")
        _log.warning("Idempotence is disabled, because it is incompatible with user-provided %s", sentence)
        self.enable_idempotence = False

    def options(self) -> dict[str, Any]:
        """Return all options by name, as kafka-python's `producer.config` has them."""
        return {name: getattr(self, name) for name in self.defaults()}

    @property
    def codec(self) -> CompressionType:
        return CompressionType.for_name(self.compression_type or "none")

    def sender_config(self) -> SenderConfig:
        return SenderConfig(
            acks=int(self.acks),
            codec=self.codec,
            retries=self.retries,
            linger_ms=self.linger_ms,
            delivery_timeout_ms=self.delivery_timeout_ms,
            request_timeout_ms=self.request_timeout_ms,
            retry_backoff_ms=self.retry_backoff_ms,
            retry_backoff_max_ms=self.retry_backoff_max_ms,
            max_request_size=self.max_request_size,
            keep_order=self.max_in_flight_requests_per_connection == 1 and not self.enable_idempotence,
        )


def _check_rest(options: Mapping[str, Any]) -> None:
    """Reject options: kafka-python's unsupported ones by name, unknown ones with kafka-python's ValueError."""
    unknown = {}
    for name, value in options.items():
        if name in _WITHOUT_EFFECT:
            continue
        if name not in _UNSUPPORTED:
            unknown[name] = value
        elif value:
            raise KafkaConfigurationError(f"{name} is not supported")
    if unknown:
        raise ValueError(f"Unrecognized configs: {unknown}{unrecognized(unknown, ProducerConfig.defaults())}")


DEFAULT_OPTIONS = ProducerConfig.defaults()
DEFAULT_OPTIONS["client_id"] = None  # generated for each producer
