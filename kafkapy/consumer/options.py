"""kafka-python's options of a consumer that are no business of the core's, and how options become a configuration."""

from __future__ import annotations

import selectors
from dataclasses import MISSING, fields
from typing import Any

from kafkapy.consumer.config import ConsumerConfig
from kafkapy.errors import KafkaConfigurationError
from kafkapy.version import __version__

_METRICS: dict[str, Any] = {
    "metric_reporters": [],
    "metrics_enabled": True,
    "metrics_num_samples": 2,
    "metrics_sample_window_ms": 30_000,
    "metric_group_prefix": "consumer",
    "selector": selectors.DefaultSelector,
}
"""Accepted as they are: figures are counted anyway, and the loop picks its selector."""

_ABSENT: dict[str, Any] = {
    "sasl_kerberos_name": None,
    "sasl_kerberos_service_name": "kafka",
    "sasl_kerberos_domain_name": None,
    "proxy_url": None,
    "socks5_proxy": None,
    "kafka_client": None,
}
"""Not there: another value than the default is an error."""


def default_options() -> dict[str, Any]:
    """Option -> default."""
    defaults = {
        option.name: option.default if option.default is not MISSING else None
        for option in fields(ConsumerConfig)
        if option.init
    }
    return {**defaults, **_METRICS, **_ABSENT, "client_id": f"kafkapy-{__version__}", "bootstrap_servers": "localhost"}


def config_of(options: dict[str, Any]) -> ConsumerConfig:
    """Raises KafkaConfigurationError for an option that is unknown, absent here, or wrong."""
    known = default_options()
    unknown = set(options).difference(known)
    if unknown:
        raise KafkaConfigurationError(f"Unrecognized configs: {unknown}")
    for name, default in _ABSENT.items():
        if options.get(name, default) != default:
            raise KafkaConfigurationError(f"{name} is not supported")
    names = {option.name for option in fields(ConsumerConfig) if option.init}
    chosen = {name: value for name, value in options.items() if name in names}
    chosen.setdefault("client_id", known["client_id"])
    return ConsumerConfig(**chosen)
