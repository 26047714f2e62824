"""A reassignment by kafka-reassign-partitions: executed, verified until it is complete."""

from __future__ import annotations

import json
from collections.abc import Mapping

from system_tests.cluster import Cluster
from system_tests.services import wait_until


class Reassignment:
    """Moves partitions of `topic` to the replicas that `moves` names (partition → brokers)."""

    def __init__(self, cluster: Cluster, topic: str, moves: Mapping[int, list[int]]) -> None:
        self._cluster = cluster
        self._topic = topic
        self._moves = moves
        self._file = cluster.directory / f"{topic}-reassignment.json"
        partitions = [{"topic": topic, "partition": p, "replicas": replicas} for p, replicas in moves.items()]
        self._file.write_text(json.dumps({"version": 1, "partitions": partitions}))

    def execute(self, throttle: int | None = None) -> None:
        """`throttle`: bytes a second."""
        limits = () if throttle is None else ("--throttle", str(throttle))
        output = self._tool("--execute", *limits)
        assert "Successfully started partition reassignment" in output, output

    def wait_until_complete(self, seconds: float = 60) -> float:
        """Wait until --verify says that all have moved (which takes their throttles away too); returns the seconds."""
        took = wait_until(
            self._is_complete, seconds, lambda: f"the reassignment is complete ({self._tool('--verify')})"
        )
        for partition, view in self._cluster.partitions(self._topic).items():
            assert view.replicas == self._moves.get(partition, view.replicas), f"{self._topic}-{partition} is at {view}"
        return took

    def _is_complete(self) -> bool:
        return self._tool("--verify").count("is completed.") == len(self._moves)

    def _tool(self, *arguments: str) -> str:
        return self._cluster.tool("reassign_partitions", "--reassignment-json-file", str(self._file), *arguments)
