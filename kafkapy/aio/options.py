"""Converts aiokafka's options to kafka-python's."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from kafkapy.consumer.options import ConsumerSettings, default_options
from kafkapy.errors import KafkaConfigurationError
from kafkapy.producer.config import DEFAULT_OPTIONS as PRODUCER_DEFAULTS
from kafkapy.producer.config import ProducerSettings

_log = logging.getLogger("kafkapy.clients")

_FETCH_MAX_WAIT_MS: int = default_options()["fetch_max_wait_ms"]
_ABSENT = ("client_rack", "max_poll_records", "sasl_mechanism", "api_version")
"""Options for which None means the default."""


class AioConsumerSettings(ConsumerSettings, total=False):
    """The keyword arguments of `kafkapy.KafkaConsumer` except the deserializers, and aiokafka's."""

    loop: asyncio.AbstractEventLoop | None
    rebalance_timeout_ms: int | None


class AioProducerSettings(ProducerSettings, total=False):
    """The keyword arguments of `kafkapy.KafkaProducer` except the serializers, and aiokafka's."""

    loop: asyncio.AbstractEventLoop | None
    max_batch_size: int


AIO_CONSUMER_DEFAULTS: dict[str, Any] = {**default_options(), "loop": None, "rebalance_timeout_ms": None}
AIO_PRODUCER_DEFAULTS: dict[str, Any] = {
    **PRODUCER_DEFAULTS,
    "loop": None,
    "max_batch_size": PRODUCER_DEFAULTS["batch_size"],
}


def consumer_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a consumer under kafka-python's names. Raises KafkaConfigurationError."""
    options = _shared(given)
    rebalance_timeout = options.pop("rebalance_timeout_ms", None)
    if rebalance_timeout is not None:
        _log.warning("rebalance_timeout_ms has no effect: members have max_poll_interval_ms to join")
    request_timeout_ms = options.get("request_timeout_ms")
    if (
        "fetch_max_wait_ms" not in options
        and request_timeout_ms is not None
        and request_timeout_ms <= _FETCH_MAX_WAIT_MS
    ):
        options["fetch_max_wait_ms"] = request_timeout_ms // 2  # aiokafka accepts such short time-outs
    return options


def producer_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a producer under kafka-python's names. Raises KafkaConfigurationError."""
    options = _shared(given)
    if "max_batch_size" in options:
        if "batch_size" in options:
            raise KafkaConfigurationError("max_batch_size is aiokafka's name of batch_size: give one of them")
        options["batch_size"] = options.pop("max_batch_size")
    return options


def _shared(given: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: value for name, value in given.items() if value is not None or name not in _ABSENT}
    loop = options.pop("loop", None)
    if loop is not None and loop is not asyncio.get_running_loop():
        raise KafkaConfigurationError("loop must be the running loop: a client belongs to the loop it is made in")
    if options.get("sasl_kerberos_service_name") == "kafka":
        del options["sasl_kerberos_service_name"]
    return options
