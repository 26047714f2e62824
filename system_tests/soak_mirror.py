"""What a node of MirrorMaker does for months, done again and again."""

from __future__ import annotations

import itertools
from pathlib import Path

from kafkapy.testing.cluster import KafkaCluster
from system_tests.mirror_nodes import MirrorNode
from system_tests.services import wait_until
from system_tests.soak_connect import AT_ONCE, Counted

SECONDS = 60
FOR_EACH_TOPIC = ("kafkapy.connect.storage.TopicStatus",)
"""As Kafka's: which topics a connector has used is known until it is deleted (KIP-558)."""
CONFIG = {"auto.create.topics.enable": "false"}
"""Else a deleted topic is made again by a consumer that has not noticed."""
_COPIED = "kafkapy.mirror.mirror_metrics._PartitionValues"
"""One for each partition that is copied."""


class CountedMirror(Counted, MirrorNode):
    """A node of MirrorMaker that looks for topics each second."""

    def __init__(self, directory: Path, bootstraps: dict[str, str]) -> None:
        super().__init__(directory, bootstraps, "soak.*")
        with self._properties.open("a") as file:
            file.write("refresh.topics.interval.seconds = 1\n")


class MirrorSoak:
    """A node of MirrorMaker between clusters A and B, and topics that it must forget."""

    def __init__(self, directory: Path, source: KafkaCluster, target: KafkaCluster) -> None:
        self._clusters = source, target
        self.node = CountedMirror(directory, {"A": source.bootstrap_servers, "B": target.bootstrap_servers})
        self._names = (f"soak-{number}" for number in itertools.count())
        self.node.start()

    def close(self) -> None:
        self.node.close()

    def topics(self, count: int) -> None:
        """Topics that are copied and deleted, in both clusters."""
        source, target = self._clusters
        for number in range(0, count, AT_ONCE):
            made = [next(self._names) for _ in range(min(AT_ONCE, count - number))]
            for name in made:
                source.create_topic(name, 1)
                source.produce_many(name, [b"value"])
            copies = [f"A.{name}" for name in made]
            wait_until(lambda copies=copies: self._have_arrived(copies), SECONDS, f"{copies} have a record")  # type: ignore[misc]
            for cluster, names in ((source, made), (target, copies)):
                for name in names:
                    cluster.delete_topic(name)
        wait_until(self._has_noticed, SECONDS, "the node copies nothing but heartbeats")

    def _has_noticed(self) -> bool:
        return self.node.alive().get(_COPIED, 0) < AT_ONCE

    def _have_arrived(self, names: list[str]) -> bool:
        target = self._clusters[1]
        return target.admin.list_topics().keys() >= set(names) and all(target.records(name) for name in names)
