"""Nodes of MirrorMaker between two clusters, A and B, both ways and exactly once."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from system_tests.services import HOST, Service

_INTERNAL_TOPICS = (
    "checkpoints.topic",
    "heartbeats.topic",
    "offset-syncs.topic",
    "offset.storage",
    "status.storage",
    "config.storage",
)


class MirrorNode(Service):
    """A node of MirrorMaker in its dedicated mode; several share the flows.

    Args:
        directory: For what it writes.
        bootstraps: The brokers' addresses by the cluster's alias.
        topics: What is copied, as in the config `topics`.
    """

    name = "connect_mirror_maker"

    def __init__(self, directory: Path, bootstraps: dict[str, str], topics: str) -> None:
        super().__init__(directory)
        self._properties = directory / "mirror-maker.properties"
        lines = [
            f"clusters = {', '.join(bootstraps)}",
            *(f"{alias}.bootstrap.servers = {address}" for alias, address in bootstraps.items()),
            *(f"{alias}.exactly.once.source.support = enabled" for alias in bootstraps),
            *(f"{alias}.consumer.isolation.level = read_committed" for alias in bootstraps),
            *(
                f"{source}->{target}.enabled = true"
                for source in bootstraps
                for target in bootstraps
                if source != target
            ),
            *(f"{topic}.replication.factor = 1" for topic in _INTERNAL_TOPICS),
            f"topics = {topics}",
            "groups = .*",
            "replication.factor = 1",
            "tasks.max = 2",
            "emit.checkpoints.interval.seconds = 1",
            "refresh.topics.interval.seconds = 5",
            "refresh.groups.interval.seconds = 2",
            "offset.lag.max = 10",
            *(f"{alias}.scheduled.rebalance.max.delay.ms = 3000" for alias in bootstraps),
            "dedicated.mode.enable.internal.rest = true",
            f"listeners = http://{HOST}:{self.port}",
        ]
        self._properties.write_text("\n".join(lines) + "\n")

    def command(self) -> list[str]:
        return [sys.executable, "-m", "kafkapy.tools.connect_mirror_maker", str(self._properties)]

    def is_serving(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), 1).close()
        except OSError:
            return False
        return True
