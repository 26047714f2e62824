"""MirrorMaker between two clusters with ACLs: the rights that docs/mirrormaker.md names suffice, and ACLs are copied."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.acl_types import AclBindingFilter, AclPatternFilter, ResourceType
from kafkapy.consumer import KafkaConsumer
from kafkapy.errors import TopicAuthorizationFailedError
from kafkapy.producer import KafkaProducer
from kafkapy.testing import KafkaCluster
from kafkapy.testing.cluster_security import JAVA
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration

_OWN_TOPICS = ("checkpoints.topic", "heartbeats.topic", "offset-syncs.topic")
_STORES = ("offset.storage", "status.storage", "config.storage")
RIGHTS_AT_SOURCE: list[tuple[list[str], dict[str, Any]]] = [
    (["READ", "DESCRIBE_CONFIGS"], {"topic": "orders"}),
    (["CREATE", "READ", "WRITE", "DESCRIBE_CONFIGS"], {"topic": "mm2-offset-syncs.B.internal"}),
    (["DESCRIBE"], {"group": "billing"}),
    (["DESCRIBE"], {"cluster": True}),
]
RIGHTS_AT_TARGET: list[tuple[list[str], dict[str, Any]]] = [
    (["CREATE", "READ", "WRITE", "ALTER", "ALTER_CONFIGS", "DESCRIBE_CONFIGS"], {"topic": "A.", "prefixed": True}),
    (["CREATE", "READ", "WRITE", "DESCRIBE_CONFIGS"], {"topic": "mm2-", "prefixed": True}),
    (["CREATE", "WRITE", "DESCRIBE_CONFIGS"], {"topic": "heartbeats"}),
    (["READ"], {"group": "A-mm2"}),
    (["READ"], {"group": "billing"}),
    (["ALTER"], {"cluster": True}),
]


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, KafkaCluster]]:
    with (
        KafkaCluster(topics="orders", secured=True, users=["mirror", "alice"]) as a,
        KafkaCluster(secured=True, users=["mirror", "alice"]) as b,
    ):
        yield {"A": a, "B": b}


@contextmanager
def mirror_maker(directory: Path, clusters: dict[str, KafkaCluster]) -> Iterator[tuple[Any, Path]]:
    """Run a process that logs in as mirror on both sides; return it with the file of its output."""
    lines = {
        "clusters": "A, B",
        **{f"{alias}.{name}": value for alias, each in clusters.items() for name, value in login(each)},
        "A->B.enabled": "true",
        "A->B.topics": "orders",
        "A->B.groups": "billing",
        "B->A.emit.heartbeats.enabled": "false",
        "sync.topic.acls.enabled": "true",
        "sync.group.offsets.enabled": "true",
        "replication.factor": "1",
        **dict.fromkeys((f"{name}.replication.factor" for name in (*_OWN_TOPICS, *_STORES)), "1"),
        **dict.fromkeys(
            (
                f"{name}.interval.seconds"
                for name in ("sync.topic.acls", "sync.group.offsets", "emit.checkpoints", "refresh.groups")
            ),
            "1",
        ),
    }
    properties, output = directory / "mirror.properties", directory / "mirror.out"
    properties.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    with open(output, "wb") as out:
        command = [sys.executable, "-m", "kafkapy.tools.connect_mirror_maker", str(properties)]
        process = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        yield process, output
    finally:
        process.kill()
        process.wait()


def login(cluster: KafkaCluster) -> list[tuple[str, Any]]:
    return list(cluster.client_options("mirror", JAVA).items())


def topic_acls(cluster: KafkaCluster, topic: str) -> set[tuple[str, str, str]]:
    found = cluster.admin.describe_acls(AclBindingFilter(AclPatternFilter(ResourceType.TOPIC, topic)))
    return {(entry.principal, entry.operation.name, entry.permission_type.name) for _, entry in found}


def test_without_rights_it_says_which_are_missing(tmp_path: Path, clusters: dict[str, KafkaCluster]) -> None:
    with mirror_maker(tmp_path, clusters) as (process, output):
        assert process.wait(HANG_SECONDS) == 3
        assert "Not authorized to access topic 'mm2-offsets.A.internal': allow the worker's user" in output.read_text()


def test_rights_of_the_page_suffice(tmp_path: Path, clusters: dict[str, KafkaCluster]) -> None:
    a, b = clusters["A"], clusters["B"]
    for cluster, rights in ((a, RIGHTS_AT_SOURCE), (b, RIGHTS_AT_TARGET)):
        for operations, resource in rights:
            cluster.allow("mirror", operations, **resource)
    a.allow("alice", "ALL", topic="orders")
    a.allow("alice", "READ", group="billing")
    a.deny("bob", "WRITE", topic="orders")
    a.produce_many("orders", [b"1", b"2", b"3"])
    with KafkaConsumer(
        "orders", group_id="billing", auto_offset_reset="earliest", **a.client_options("alice")
    ) as reader:
        wait_until(lambda: bool(reader.poll(timeout_ms=100)))
        reader.commit()
    with mirror_maker(tmp_path, clusters) as (process, output):

        def is_done() -> bool:
            assert process.poll() is None, output.read_text()
            return bool(b.committed("billing"))

        wait_until(is_done, output.read_text)
        copied = {("User:alice", "READ", "ALLOW"), ("User:bob", "WRITE", "DENY")}
        wait_until(lambda: topic_acls(b, "A.orders") >= copied, output.read_text)
        assert not any(acl[:2] == ("User:alice", "WRITE") for acl in topic_acls(b, "A.orders"))
        assert "uthoriz" not in output.read_text()
    with KafkaConsumer("A.orders", auto_offset_reset="earliest", **b.client_options("alice")) as copies:
        found: list[Any] = []

        def is_read() -> bool:
            found.extend(record.value for batch in copies.poll(timeout_ms=100).values() for record in batch)
            return len(found) == 3

        wait_until(is_read)
        assert found == [b"1", b"2", b"3"]
    with (
        KafkaProducer(enable_idempotence=False, **b.client_options("alice")) as producer,
        pytest.raises(TopicAuthorizationFailedError),
    ):
        producer.send("A.orders", b"4").get(HANG_SECONDS)
