"""The configs of the metrics. They exist in kafkapy only; the broker's other configs are Kafka's."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import NamedTuple

LISTENER = "kafkapy.metrics.listener"
HEALTH_LISTENER = "kafkapy.health.listener"
MAX_SERIES = "kafkapy.metrics.max.series"
DEFAULT_MAX_SERIES = 2000
"""Maximum series of each metric; bounds the page of a broker with many partitions."""


class HttpAddress(NamedTuple):
    """Where an HTTP server listens. An empty host means all addresses."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @classmethod
    def take_from(cls, properties: MutableMapping[str, str], config: str) -> HttpAddress | None:
        """Remove the config from a broker's properties and return it; None: it is not set. `ValueError`: it is invalid."""
        listener = properties.pop(config, "").strip()
        if not listener:
            return None
        host, colon, port = listener.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535 or "/" in host:
            raise ValueError(
                f"Invalid value {listener} for configuration {config}: host:port is expected, e.g. localhost:9404"
            )
        return cls(host.removeprefix("[").removesuffix("]"), int(port))


class MetricsConfig(NamedTuple):
    """The address of the metrics page, and the maximum series of each metric with partitions."""

    address: HttpAddress
    max_series: int = DEFAULT_MAX_SERIES

    @classmethod
    def take_from(cls, properties: MutableMapping[str, str]) -> MetricsConfig | None:
        """Remove both configs from a broker's properties and return them; None: no metrics. `ValueError`: one is invalid."""
        most = properties.pop(MAX_SERIES, str(DEFAULT_MAX_SERIES)).strip()
        if not most.isascii() or not most.isdigit() or int(most) < 1:
            raise ValueError(f"Invalid value {most} for configuration {MAX_SERIES}: a number of at least 1 is expected")
        address = HttpAddress.take_from(properties, LISTENER)
        return None if address is None else cls(address, int(most))
