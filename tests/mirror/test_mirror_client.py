"""What is copied to a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkapy.mirror import Checkpoint, MirrorClient, remote_cluster_utils
from kafkapy.structs import OffsetAndMetadata, TopicPartition
from tests.mirror.fake_admin import FakeAdmin
from tests.mirror.fake_consumer import FakeConsumer, record

A0 = TopicPartition("A.t", 0)
CONFIGS = {"bootstrap.servers": "127.0.0.1:1", "forwarding.admin.class": "tests.mirror.test_mirror_client:Cluster"}
IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}


class Cluster(FakeAdmin):
    """A cluster to which others are copied."""

    def __init__(self, configs: Mapping[str, Any]) -> None:
        super().__init__(configs)
        names = "t A.t B.A.t heartbeats A.heartbeats B.C.heartbeats A.checkpoints.internal mm2-offset-syncs.A.internal x-internal"
        self.topics = dict.fromkeys(names.split(), 1)


def test_topics_and_clusters() -> None:
    assert remote_cluster_utils.heartbeat_topics(CONFIGS) == {"heartbeats", "A.heartbeats", "B.C.heartbeats"}
    assert remote_cluster_utils.checkpoint_topics(CONFIGS) == {"A.checkpoints.internal"}
    assert remote_cluster_utils.upstream_clusters(CONFIGS) == {"A", "B", "C"}
    with MirrorClient(CONFIGS) as client:
        assert client.remote_topics() == {"A.t", "B.A.t", "A.heartbeats", "B.C.heartbeats"}
        assert client.remote_topics("B") == {"B.A.t", "B.C.heartbeats"}
        assert client.replication_policy.topic_source("A.t") == "A"


@pytest.mark.parametrize(("cluster", "hops"), [("A", 1), ("B", 1), ("C", 2), ("D", -1)])
def test_hops(cluster: str, hops: int) -> None:
    assert remote_cluster_utils.replication_hops(CONFIGS, cluster) == hops


def test_a_policy_that_keeps_names() -> None:
    configs = {**CONFIGS, **IDENTITY, "source.cluster.alias": "A"}
    assert remote_cluster_utils.upstream_clusters(configs) == {"A", "B", "C"}
    with MirrorClient(configs) as client:
        assert client._hops("t", "Z") == -1 and client._sources("t") == {"A"}
        assert client.remote_topics("A") >= {"t", "A.t"}


def test_offsets_of_a_remote_group(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = "A.checkpoints.internal"
    written = [Checkpoint("g", A0, 5, 3), Checkpoint("h", A0, 9, 9), Checkpoint("g", A0, 8, 6, "m")]
    records = [record(topic, number, each.record_key(), each.record_value()) for number, each in enumerate(written)]
    consumer = FakeConsumer([*records, record(topic, 3, b"", b"damaged")])
    monkeypatch.setattr("kafkapy.mirror.mirror_client.make_consumer", lambda *_, **__: consumer)
    found = remote_cluster_utils.translate_offsets(CONFIGS, "A", "g", timeout_s=30)
    assert found == {A0: OffsetAndMetadata(6, "m")} and consumer.is_closed
    assert remote_cluster_utils.translate_offsets(CONFIGS, "A", "g", timeout_s=0) == {}


def test_the_program_of_the_page() -> None:
    """What docs/mirrormaker.md shows of a filter works."""
    page = (Path(__file__).parents[2] / "docs/mirrormaker.md").read_text()
    program = page.split("```py\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(program, names)
    chosen = names["TopicsOfShop"]()
    assert chosen.should_replicate_topic("shop.orders") and not chosen.should_replicate_topic("orders")
