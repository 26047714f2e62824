"""MirrorMaker between two clusters with ACLs: the rights that docs/mirrormaker.md names suffice, and ACLs are copied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.acl_types import AclBindingFilter, AclPatternFilter, ResourceType
from kafkapy.consumer import KafkaConsumer
from kafkapy.errors import TopicAuthorizationFailedError
from kafkapy.producer import KafkaProducer
from kafkapy.testing import KafkaCluster
from tests.mirror.maker_process import mirror_maker
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = pytest.mark.integration

FLOW = {
    "A_to_B_enabled": "true",
    "A_to_B_topics": "orders",
    "A_to_B_groups": "billing",
    "B_to_A_emit_heartbeats_enabled": "false",
}
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


def topic_acls(cluster: KafkaCluster, topic: str) -> set[tuple[str, str, str]]:
    found = cluster.admin.describe_acls(AclBindingFilter(AclPatternFilter(ResourceType.TOPIC, topic)))
    return {(entry.principal, entry.operation.name, entry.permission_type.name) for _, entry in found}


def test_without_rights_it_says_which_are_missing(tmp_path: Path, clusters: dict[str, KafkaCluster]) -> None:
    with mirror_maker(tmp_path, clusters, "mirror", **FLOW) as (process, output):
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
    with mirror_maker(tmp_path, clusters, "mirror", **FLOW) as (process, output):

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
