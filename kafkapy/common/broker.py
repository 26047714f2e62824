"""A broker's registration: its id, listeners and rack."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class EndPoint(NamedTuple):
    """An address of a broker; `security_protocol` is Kafka's name (PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL)."""

    host: str | None
    port: int
    listener_name: str
    security_protocol: str

    @property
    def connection_string(self) -> str:
        """`LISTENER://host:port`, IPv6 hosts in brackets."""
        host = self.host or ""
        return f"{self.listener_name}://{f'[{host}]' if ':' in host else host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Broker:
    """A live broker (Kafka's `Broker`); `features` maps a feature's name to its (min, max) version."""

    id: int
    end_points: tuple[EndPoint, ...]
    rack: str | None = None
    features: dict[str, tuple[int, int]] = field(default_factory=dict, hash=False)

    def end_point(self, listener_name: str) -> EndPoint | None:
        """Return the end point of that listener, or None if the broker has none."""
        return next((e for e in self.end_points if e.listener_name == listener_name), None)
