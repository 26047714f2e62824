"""From the options of a facade to a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from kafkapy.clients.facade import merge_options
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.version import __version__

_METRICS: dict[str, Any] = {
    "metrics_enabled": True,
    "metrics_num_samples": 2,
    "metrics_sample_window_ms": 30_000,
    "metric_group_prefix": "consumer",
}
"""Of these only `metrics_enabled` matters: the figures are totals, not samples over time."""

_NAMES = [option.name for option in fields(ConsumerConfig) if option.init]


def default_options() -> dict[str, Any]:
    """Option -> default."""
    defaults = {
        option.name: None if option.default is MISSING else option.default
        for option in fields(ConsumerConfig)
        if option.init
    }
    return {**defaults, **_METRICS, "client_id": f"kafkapy-{__version__}", "bootstrap_servers": "localhost"}


def config_of(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> tuple[dict[str, Any], ConsumerConfig]:
    """All options, and the configuration. Raises KafkaConfigurationError for what is unknown, unsupported, or wrong."""
    options = merge_options(defaults, given)
    return options, ConsumerConfig(**{name: options[name] for name in _NAMES})
