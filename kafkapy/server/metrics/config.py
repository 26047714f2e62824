"""The configs of the metrics. They are kafkapy's own: the broker's others are exactly Kafka's."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import NamedTuple

LISTENER = "kafkapy.metrics.listener"
HEALTH_LISTENER = "kafkapy.health.listener"
MAX_SERIES = "kafkapy.metrics.max.series"
DEFAULT_MAX_SERIES = 2000
"""Of each metric; a page of a broker with more partitions stays as large as one with so many."""


class HttpAddress(NamedTuple):
    """An empty host is every address."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @classmethod
    def take_from(cls, properties: MutableMapping[str, str], config: str) -> HttpAddress | None:
        """Takes the config out of the properties of a broker; None: it is not there. `ValueError` says what is wrong."""
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
    """Where metrics are served, and how many series of one metric at most that tells of partitions."""

    address: HttpAddress
    max_series: int = DEFAULT_MAX_SERIES

    @classmethod
    def take_from(cls, properties: MutableMapping[str, str]) -> MetricsConfig | None:
        """Takes both configs out of the properties of a broker; None: no metrics. `ValueError` says what is wrong."""
        most = properties.pop(MAX_SERIES, str(DEFAULT_MAX_SERIES)).strip()
        if not most.isascii() or not most.isdigit() or int(most) < 1:
            raise ValueError(f"Invalid value {most} for configuration {MAX_SERIES}: a number of at least 1 is expected")
        address = HttpAddress.take_from(properties, LISTENER)
        return None if address is None else cls(address, int(most))
